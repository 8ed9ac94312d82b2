package dist

import (
	"errors"
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// DataParallel is a module that computes on several devices of this process: Forward cuts
// its operand along the first axis, has a replica on each device compute a part, and joins
// the results on the first device. Gradients flow back to the one model there is.
//
// Each pass copies all parameters to all devices and gathers all gradients on the first,
// one device after the other. DistributedDataParallel, which Run drives in one process too,
// does neither: prefer it. DataParallel is for programs that want a module and nothing else
// changed.
type DataParallel struct {
	// Model is the model, on the first device.
	Model nn.Module `nn:"inline"`

	devices  []device.Device
	replicas []nn.Module `nn:"-"` // of the devices but the first
}

// NewDataParallel returns a module over devices of one kind. build makes the model; it is
// called once for each device. What the first call returns is the model, on the first
// device; of the others only the form counts, which must be the same.
func NewDataParallel(devices []device.Device, build func() (nn.Module, error)) (*DataParallel, error) {
	if len(devices) == 0 || build == nil {
		return nil, fmt.Errorf("dist: DataParallel: %w: %d devices, and a function that makes the model: want both", ErrCall, len(devices))
	}
	d := &DataParallel{devices: devices}
	for i, dev := range devices {
		m, err := build()
		if err == nil && m == nil {
			err = fmt.Errorf("%w: no model", ErrCall)
		}
		if err == nil {
			err = nn.To(m, dev)
		}
		if err == nil && i > 0 {
			err = d.alike(m)
		}
		if err != nil {
			return nil, fmt.Errorf("dist: DataParallel: replica %d on %s: %w", i, dev, err)
		}
		if i == 0 {
			d.Model = m
			continue
		}
		d.replicas = append(d.replicas, m)
	}
	return d, nil
}

// alike returns how a replica differs from the model in its parameters and buffers.
func (d *DataParallel) alike(m nn.Module) error {
	if err := nn.CheckStateDict(m, nn.StateDict(d.Model)); err != nil {
		return fmt.Errorf("%w: %w", ErrMismatch, err)
	}
	return nil
}

// Forward returns the model's results for x, on the first device. The parts of x are as
// equal as can be; devices for which nothing is left do nothing.
func (d *DataParallel) Forward(x tensor.Tensor) tensor.Tensor {
	if d == nil || d.Model == nil {
		return tensor.Wrap(core.Failed(errUnmadeDP))
	}
	if x.Handle().Err() != nil {
		return x
	}
	if x.Rank() == 0 {
		return tensor.Wrap(core.Failed(fmt.Errorf("dist: DataParallel: %w: an operand without axes cannot be cut", ErrCall)))
	}
	size := max(1, (x.Size(0)+len(d.devices)-1)/len(d.devices))
	parts := min(len(d.devices), max(1, (x.Size(0)+size-1)/size))
	if parts == 1 {
		return d.Model.Forward(x.To(d.devices[0]))
	}
	in := make([]tensor.Tensor, parts)
	for i := range in {
		in[i] = x.Narrow(0, i*size, min(size, x.Size(0)-i*size)).To(d.devices[i])
	}
	for i := range parts - 1 {
		if err := d.copyTo(i); err != nil {
			return tensor.Wrap(core.Failed(fmt.Errorf("dist: DataParallel: replica on %s: %w", d.devices[i+1], err)))
		}
	}
	out := d.apply(in)
	for i := range out {
		out[i] = out[i].To(d.devices[0])
	}
	return tensor.Cat(out, 0)
}

// errUnmadeDP is the error of a module that was not made.
var errUnmadeDP = fmt.Errorf("dist: %w: a nil or zero *dist.DataParallel; NewDataParallel makes one", ErrCall)

// copyTo makes the parameters and buffers of a replica copies of the model's, through which
// gradients flow back.
func (d *DataParallel) copyTo(replica int) error {
	m, dev := d.replicas[replica], d.devices[replica+1]
	from := map[string]tensor.Tensor{}
	for name, p := range nn.Named(d.Model) {
		from[name] = p.Tensor
	}
	for name, b := range nn.NamedBuffers(d.Model) {
		from[name] = b.Tensor
	}
	var errs []error
	move := func(name string, t *tensor.Tensor) {
		moved := from[name].To(dev)
		if moved == from[name] {
			moved = moved.Clone()
		}
		errs = append(errs, moved.Err())
		*t = moved
	}
	for name, p := range nn.Named(m) {
		move(name, &p.Tensor)
	}
	for name, b := range nn.NamedBuffers(m) {
		move(name, &b.Tensor)
	}
	return errors.Join(errs...)
}

// apply computes the parts at once, on a goroutine each, recorded as the caller records.
func (d *DataParallel) apply(in []tensor.Tensor) []tensor.Tensor {
	out, record := make([]tensor.Tensor, len(in)), core.GradEnabled()
	var all sync.WaitGroup
	for i, x := range in {
		m := d.Model
		if i > 0 {
			m = d.replicas[i-1]
		}
		all.Go(func() {
			err := device.With(d.devices[i], func() error {
				with := core.NoGrad
				if record {
					with = core.EnableGrad
				}
				with(func() { out[i] = m.Forward(x) })
				return nil
			})
			if err != nil {
				out[i] = tensor.Wrap(core.Failed(err))
			}
		})
	}
	all.Wait()
	return out
}

// SetTraining has replicas be in the mode that nn.Train and nn.Eval set for the model.
func (d *DataParallel) SetTraining(on bool) {
	if d == nil {
		return
	}
	for _, m := range d.replicas {
		if on {
			nn.Train(m)
		} else {
			nn.Eval(m)
		}
	}
}
