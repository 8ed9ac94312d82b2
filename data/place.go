package data

import (
	"sync"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// pinFor returns the kind of accelerators that batches which go to d are page-locked
// for; KindCPU where there are none.
func pinFor(d device.Device) device.Kind {
	kind := d.Kind
	if !d.Accelerator() {
		kind = device.AcceleratorKind()
	}
	if device.Count(kind) == 0 {
		return device.KindCPU
	}
	return kind
}

// sides holds one stream a device that the background work of all loaders is given
// to. More would not copy faster, and memory that was freed on a stream is reused on
// that stream only.
var sides sync.Map // sideKey to stream.Stream

type sideKey struct {
	drv device.Driver
	dev int
}

// sideOf returns the stream for loaders of a device, whose work comes after what the
// calling goroutine gave to its current stream, such as what made the dataset.
func sideOf(d device.Device) (stream.Stream, error) {
	d, drv, err := device.Find(d)
	if err != nil {
		return stream.Stream{}, err
	}
	key := sideKey{drv, d.Index}
	have, ok := sides.Load(key)
	if !ok {
		s := stream.New(d, 0)
		if err := s.Err(); err != nil {
			return s, err
		}
		have, _ = sides.LoadOrStore(key, s)
	}
	side := have.(stream.Stream)
	return side, side.WaitStream(stream.Current(d))
}

// place moves a field to where batches go, and gives up what it replaces or cannot
// move. A copy to an accelerator may still be under way on its current stream.
func (e *epoch) place(f tensor.Tensor) (tensor.Tensor, error) {
	steps := []func(tensor.Tensor) tensor.Tensor{e.pinned, e.moved}
	if !e.device.Accelerator() {
		steps[0], steps[1] = steps[1], steps[0]
	}
	for _, step := range steps {
		next := step(f)
		err := next.Err()
		if err != nil || next != f {
			f.Release()
		}
		if err != nil {
			return tensor.Tensor{}, err
		}
		f = next
	}
	return f, nil
}

// pinned returns f in page-locked memory where the loader pins; f itself where it is
// on an accelerator.
func (e *epoch) pinned(f tensor.Tensor) tensor.Tensor {
	if e.pin == device.KindCPU || f.Device().Accelerator() || f.Handle().Err() != nil {
		return f
	}
	return f.PinMemory(device.Device{Kind: e.pin})
}

// moved returns f on the loader's device.
func (e *epoch) moved(f tensor.Tensor) tensor.Tensor {
	if e.device.Accelerator() && !f.Device().Accelerator() {
		return f.To(e.device, tensor.NonBlocking())
	}
	return f.To(e.device)
}
