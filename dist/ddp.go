package dist

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/option"
)

// The sizes of buckets, in bytes, as PyTorch has them: the first is small, so that the
// reduction begins early.
const (
	firstBucket   = 1 << 20
	defaultBucket = 25 << 20
)

// BucketBytes is how many bytes of gradients are reduced together, 25 MiB unless given.
// It is an option of NewDistributedDataParallel.
func BucketBytes(n int) Option { return option.Int("BucketBytes", n) }

// Compress has gradients travel in a smaller dtype, tensor.Float16 or tensor.BFloat16, for
// ranks with a slow way between them: rounding takes time of the device's. Averages of float32
// stay as they travelled, and optimizers of package optim read them so: two ranks exchange what they
// rounded, whose mean in float32 is the average, and more ranks have averages in the smaller dtype. Who asks for a gradient
// (Grad, clipping) has it converted to float32 then. After replays of a captured Minimize ask for
// it again; where another pass was captured or run since, there is an error instead. What a capture
// reads of a pass before it must have been asked for before. It is an option of
// NewDistributedDataParallel.
func Compress(d tensor.DType) Option { return option.Int("Compress", int(d)) }

// FindUnused allows passes that do not reach every parameter. Gradients of parameters
// that some rank reaches are averaged over all ranks; those that none reaches are left
// alone. It costs a small reduction and a wait for it in every pass. It is an option of
// NewDistributedDataParallel.
func FindUnused(on ...bool) Option { return option.Flag("FindUnused", on) }

// NoBuffers leaves buffers as every rank has them: without it, Forward in training mode
// first makes them those of rank 0. It is an option of NewDistributedDataParallel.
func NoBuffers(on ...bool) Option { return option.Flag("NoBuffers", on) }

// DistributedDataParallel trains a model of which every rank of a group has a replica,
// each on a part of the batch. A pass of Backward averages the gradients over the ranks,
// in buckets, while it goes on; where the batch's parts are equally large and the loss is
// a mean, the gradients are those of the whole batch. Replicas that begin alike and step
// alike stay alike.
//
// In a compiled step (package compile) the calls are a part of the program. Every rank compiles
// the same function, with the DistributedDataParallel as state.
//
// After a pass the gradients of parameters are the averages where they are. One that failed
// leaves the parameters without gradients. What is refused before the rank has brought a gradient, as a loss of the wrong
// shape is, leaves the group of use, and the rank may make the pass again; other ranks wait for it, until it aborts the group, as
// Run does for a function that returns an error. In the midst of a pass other ranks wait for what this one does not bring:
// the group is aborted, and each rank is told why.
type DistributedDataParallel struct {
	// Model is the replica, which must not be moved or converted.
	Model any `nn:"inline"`

	group    *Group `nn:"-"`
	training bool
	names    []string
	params   []*nn.Parameter
	buffers  []*nn.Buffer
	limit    int
	compress ir.DType // Invalid: none
	unused   bool
	leave    bool // buffers are left alone

	reducer *reducer `nn:"-"`
}

// NewDistributedDataParallel returns a model in training by a group. Its parameters are
// on the group's device. All ranks call it, with models of the same parameters and
// buffers: the first difference is an error on every rank. Values are made those of rank
// 0.
//
// Options: BucketBytes, Compress, FindUnused, NoBuffers.
func NewDistributedDataParallel(g *Group, model any, opts ...Option) (*DistributedDataParallel, error) {
	if !g.made() {
		return nil, errNil
	}
	d := &DistributedDataParallel{Model: model, group: g, training: true}
	o := option.Read(opts)
	d.limit = o.Int("BucketBytes", defaultBucket)
	d.compress = ir.DType(o.Int("Compress", int(ir.Invalid)))
	d.unused, d.leave = o.Flag("FindUnused", false), o.Flag("NoBuffers", false)
	err := o.Err("BucketBytes, Compress, FindUnused, NoBuffers")
	switch {
	case err != nil:
	case d.limit < 1:
		err = fmt.Errorf("%w: BucketBytes %d, want 1 or more", ErrCall, d.limit)
	case d.compress != ir.Invalid && d.compress != ir.Float16 && d.compress != ir.BFloat16:
		err = fmt.Errorf("%w: Compress %s, want %s or %s", ErrCall, d.compress, ir.Float16, ir.BFloat16)
	default:
		err = d.begin()
	}
	if err != nil {
		return nil, fmt.Errorf("dist: DistributedDataParallel: %w", err)
	}
	return d, nil
}

// begin compares the replicas, makes them alike, and takes over the gradients.
func (d *DistributedDataParallel) begin() error {
	var text strings.Builder
	for name, p := range nn.Named(d.Model) {
		if err := p.Err(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&text, "parameter %s of %s %v, trained: %v\n", name, p.DType(), p.Shape(), p.RequiresGrad())
		if p.RequiresGrad() {
			d.names, d.params = append(d.names, name), append(d.params, p)
		}
	}
	for name, b := range nn.NamedBuffers(d.Model) {
		if err := b.Err(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&text, "buffer %s of %s %v\n", name, b.DType(), b.Shape())
		d.buffers = append(d.buffers, b)
	}
	fmt.Fprintf(&text, "options: buckets of %d bytes, compression to %s, unused parameters allowed: %v\n", d.limit, d.compress, d.unused)
	if len(d.params) == 0 {
		return fmt.Errorf("%w: the model has no parameter that is trained", ErrCall)
	}
	if err := d.group.agree(text.String()); err != nil {
		return err
	}
	if err := d.copyState(); err != nil {
		return err
	}
	d.reducer = newReducer(d)
	return nil
}

// copyState makes parameters and buffers those of rank 0.
func (d *DistributedDataParallel) copyState() error {
	var all []tensor.Tensor
	for _, p := range nn.Named(d.Model) {
		all = append(all, p.Tensor)
	}
	for _, b := range d.buffers {
		all = append(all, b.Tensor)
	}
	return d.group.broadcastAll(all)
}

// broadcastAll makes tensors those of rank 0.
func (g *Group) broadcastAll(all []tensor.Tensor) error {
	return tensor.NoGrad(func() error {
		return g.Batch(func(b *Batch) {
			for _, t := range all {
				b.Broadcast(t, 0)
			}
		}).Wait(context.Background())
	})
}

// SetTraining notes the mode that nn.Train and nn.Eval set.
func (d *DistributedDataParallel) SetTraining(on bool) {
	if d != nil {
		d.training = on
	}
}

// Forward returns Model's Forward of x. In training mode buffers are first made those of
// rank 0, which all ranks take part in.
func (d *DistributedDataParallel) Forward(x tensor.Tensor) tensor.Tensor {
	if d == nil || d.group == nil {
		return tensor.Wrap(core.Failed(errUnmade))
	}
	m, ok := d.Model.(nn.Module)
	if !ok {
		return tensor.Wrap(core.Failed(fmt.Errorf("dist: DistributedDataParallel: %T has no Forward of one tensor; call SyncBuffers, and then its own", d.Model)))
	}
	if err := d.SyncBuffers(); err != nil {
		return tensor.Wrap(core.Failed(err))
	}
	return m.Forward(x)
}

// SyncBuffers makes the buffers those of rank 0 where the model is in training mode and
// gradients are to be averaged, as Forward does. It is for models that are called in
// another way.
func (d *DistributedDataParallel) SyncBuffers() error {
	if d == nil || d.group == nil {
		return errUnmade
	}
	if !d.training || d.leave || d.reducer.hold || len(d.buffers) == 0 || d.group.Size() == 1 {
		return nil
	}
	all := make([]tensor.Tensor, len(d.buffers))
	for i, b := range d.buffers {
		all[i] = b.Tensor
	}
	return d.group.broadcastAll(all)
}

var errUnmade = fmt.Errorf("dist: %w: a nil or zero *dist.DistributedDataParallel; NewDistributedDataParallel makes one", ErrCall)

// NoSync calls f, in which passes of Backward accumulate gradients on this rank alone.
// The first pass after it averages what was accumulated.
func (d *DistributedDataParallel) NoSync(f func() error) error {
	if d == nil || d.group == nil {
		return errUnmade
	}
	if f == nil {
		return nil
	}
	was := d.reducer.hold
	d.reducer.hold = true
	defer func() { d.reducer.hold = was }()
	return f()
}

// Backward is loss.Backward for parts of a batch that are not equally large: loss is the
// mean over this rank's samples, and the gradients become those of the mean over all
// ranks' samples. A rank without any calls it with 0 and the zero Tensor.
func (d *DistributedDataParallel) Backward(loss tensor.Tensor, samples int) error {
	if d == nil || d.group == nil {
		return errUnmade
	}
	if samples < 0 {
		return fmt.Errorf("dist: DistributedDataParallel: %w: %d samples", ErrCall, samples)
	}
	if err := checkLoss(loss, samples); err != nil { // before other ranks count on this one
		return fmt.Errorf("dist: rank %d: DistributedDataParallel: Backward: %w", d.group.Rank(), err)
	}
	return tensor.Scope(func() error {
		on := tensor.On(d.group.Device())
		total := tensor.Full([]int{}, samples, on, tensor.OfType(tensor.Float64))
		if err := d.group.AllReduce(total, Sum).Wait(context.Background()); err != nil {
			return err
		}
		if samples == 0 {
			return d.reducer.empty()
		}
		weight := total.Reciprocal().MulScalar(float64(samples * d.group.Size()))
		d.reducer.ended = false
		err := loss.Backward(tensor.WithGradient(weight.ToType(loss.DType()).Reshape(loss.Shape()...)))
		if err != nil && !d.reducer.ended && !d.reducer.hold && !core.Recording() { // before any gradient, and other ranks wait for it
			d.group.Abort(err)
		}
		return err
	})
}

// checkLoss returns why a loss over so many samples is none that Backward takes, or nil.
func checkLoss(loss tensor.Tensor, samples int) error {
	if samples == 0 {
		return nil
	}
	if err := loss.Err(); err != nil {
		return err
	}
	if loss.NumElements() != 1 {
		return fmt.Errorf("%w: the loss has shape %v, want one element", ir.ErrShape, loss.Shape())
	}
	if !loss.RequiresGrad() {
		return fmt.Errorf("%w: the loss was not made from a parameter that is trained", core.ErrNoGrad)
	}
	return nil
}

// Minimize is optim.Minimize of a loss that is computed with the model, of whose parts of a
// batch each is equally large. Parameters change as the averages of their gradients arrive, with Compress those of
// half of the buckets first, then of half of the others, while these still travel, where the optimizer is an optim.Partial
// and every pass reaches every parameter; else all change in the end. The parameters are the same
// either way. Where a pass fails, some parameters may have changed. What loss made may be released
// when it returns, so that Backward frees it as it goes: what loss wants to keep beyond its call,
// for hooks too, it gives to tensor.Keep.
func (d *DistributedDataParallel) Minimize(o optim.Optimizer, loss func() tensor.Tensor) (tensor.Tensor, error) {
	if d == nil || d.group == nil {
		return tensor.Wrap(core.Failed(errUnmade)), errUnmade
	}
	if o == nil || loss == nil || core.Recording() {
		return optim.Minimize(o, loss)
	}
	r := d.reducer
	part, ok := o.(optim.Partial)
	early := ok && part.Whole() == o && !d.unused && !r.hold && r.change == nil
	return tensor.ScopeValue(func() (tensor.Tensor, error) {
		if err := o.ZeroGrad(); err != nil {
			return tensor.Tensor{}, err
		}
		value := loss()
		core.ReleaseBut(value.Handle())
		r.changed = false
		if early {
			r.change = part.StepOf
			defer func() { r.change = nil }()
		}
		err := value.Backward()
		if err != nil {
			return tensor.Tensor{}, err
		}
		if !r.changed {
			return value.Detach(), o.Step()
		}
		return value.Detach(), part.StepOf(d.others(o.Parameters()))
	})
}

// others returns those of params that are not trained by d.
func (d *DistributedDataParallel) others(params []*nn.Parameter) (out []*nn.Parameter) {
	own := make(map[*nn.Parameter]bool, len(d.params))
	for _, p := range d.params {
		own[p] = true
	}
	for _, p := range params {
		if !own[p] {
			out = append(out, p)
		}
	}
	return out
}

// Close gives the gradients of the model back to it. The group stays open.
func (d *DistributedDataParallel) Close() error {
	if d == nil || d.group == nil {
		return errUnmade
	}
	var errs []error
	for i, p := range d.params {
		errs = append(errs, p.Handle().SetTaker(nil, i))
	}
	return errors.Join(errs...)
}
