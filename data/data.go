// Package data feeds models: datasets, and loaders that shuffle them into batches and
// prepare these in the background. It also keeps tensors in files. It knows nothing of
// models.
//
//	set, err := data.Tensors(images, labels) // the samples are along the first axis
//	if err != nil {
//		return err
//	}
//	loader := &data.Loader{Dataset: set, BatchSize: 64, Shuffle: true, Prefetch: 2, Device: device.Best()}
//	for batch, err := range loader.Epoch(ctx) {
//		if err != nil {
//			return err
//		}
//		step(batch[0], batch[1])
//	}
//
// The chapter docs/guide/data.md of the guide shows more.
//
// # Datasets
//
// Tensors, Subset and the like make a Dataset; a type of the program's own with Len and
// Batch is one, too. A Loader goes over it, an epoch at a time.
//
// # Files
//
// SaveTensors and LoadTensors keep tensors in safetensors files, which other libraries read
// as well; LoadTensors also reads files of PyTorch's torch.save. SaveArrays and LoadArrays keep them in NumPy's .npz files, SaveArray and LoadArray
// one tensor in an .npy file.
package data

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// A Dataset gives samples by number. Every sample has the same number of
// fields, such as an image and its label. A loader calls Batch from one goroutine
// at a time, which need not be the one that asked for the batches; a loader with
// several Workers from as many.
type Dataset interface {
	// Len returns the number of samples.
	Len() int
	// Batch returns the samples with the given numbers, one tensor a field, each
	// with the samples along its first axis. The tensors are the caller's. The
	// slice must not be changed or kept. Random numbers that are drawn in a
	// loader's call depend only on the epoch and the batch. On an accelerator the work
	// is given to the calling goroutine's current stream.
	Batch(indices []int) ([]tensor.Tensor, error)
}

type tensors struct {
	fields []tensor.Tensor
	n      int
}

// Tensors returns a dataset whose fields are the given tensors, with the samples
// along the first axis of each. It shares their elements.
func Tensors(fields ...tensor.Tensor) (Dataset, error) {
	if len(fields) == 0 {
		return nil, fmt.Errorf("data: a dataset needs at least one tensor")
	}
	d := &tensors{n: -1}
	for i, f := range fields {
		if err := f.Err(); err != nil {
			return nil, fmt.Errorf("data: field %d: %w", i, err)
		}
		if f.Rank() == 0 {
			return nil, fmt.Errorf("data: field %d is a scalar; its first axis must count the samples", i)
		}
		if n := f.Size(0); d.n >= 0 && n != d.n {
			return nil, fmt.Errorf("data: field %d has %d samples, field 0 has %d", i, n, d.n)
		}
		d.n = f.Size(0)
		// A handle of its own, so that no scope and no Release takes it away.
		core.OutsideScope(func() { d.fields = append(d.fields, f.Detach()) })
	}
	return d, nil
}

func (d *tensors) Len() int { return d.n }

// A pinner is a dataset that gathers samples in page-locked memory at once.
type pinner interface {
	Dataset
	// pinned is Batch with what is in host memory page-locked for accelerators of the
	// kind pin; where that is KindCPU it is Batch.
	pinned(indices []int, pin device.Kind) ([]tensor.Tensor, error)
}

// batchOf returns the samples of d with the given numbers, in page-locked memory where
// d can put them there.
func batchOf(d Dataset, indices []int, pin device.Kind) ([]tensor.Tensor, error) {
	if p, ok := d.(pinner); ok {
		return p.pinned(indices, pin)
	}
	return d.Batch(indices)
}

func (d *tensors) Batch(indices []int) ([]tensor.Tensor, error) {
	return d.pinned(indices, device.KindCPU)
}

func (d *tensors) pinned(indices []int, pin device.Kind) ([]tensor.Tensor, error) {
	which := make([]int64, len(indices))
	for i, x := range indices {
		if x < 0 || x >= d.n {
			return nil, fmt.Errorf("data: sample %d of %d", x, d.n)
		}
		which[i] = int64(x)
	}
	index := tensor.FromSlice(which, nil, tensor.On(device.CPU))
	defer index.Release()
	out := make([]tensor.Tensor, len(d.fields))
	for i, f := range d.fields {
		var err error
		if out[i], err = gather(f, index, pin); err != nil {
			release(out[:i])
			return nil, fmt.Errorf("data: field %d: %w", i, err)
		}
	}
	return out, nil
}

// gather returns the slices of f that index, in host memory, names: of a host tensor
// in memory that is page-locked for pin, unless that is KindCPU.
func gather(f, index tensor.Tensor, pin device.Kind) (tensor.Tensor, error) {
	if f.Device().Accelerator() {
		on := index.To(f.Device(), tensor.NonBlocking()) // read before the call returns
		defer on.Release()
		batch := f.IndexSelect(0, on)
		return batch, batch.Err()
	}
	if pin == device.KindCPU {
		batch := f.IndexSelect(0, index)
		return batch, batch.Err()
	}
	shape := slices.Clone(f.Shape())
	shape[0] = index.Size(0)
	batch := tensor.Empty(shape, tensor.OfType(f.DType()), tensor.On(device.CPU), tensor.Pinned(device.Device{Kind: pin}))
	err := out.IndexSelect(batch, f, 0, index)
	if err != nil {
		batch.Release()
	}
	return batch, err
}

type subset struct {
	of      Dataset
	indices []int
}

// Subset returns the samples of d with the given numbers, in their order. A
// number may occur more than once.
func Subset(d Dataset, indices []int) (Dataset, error) {
	if d == nil {
		return nil, errors.New("data: a subset of no dataset; it takes one that is not nil")
	}
	for _, i := range indices {
		if i < 0 || i >= d.Len() {
			return nil, fmt.Errorf("data: sample %d of a dataset of %d", i, d.Len())
		}
	}
	return &subset{d, slices.Clone(indices)}, nil
}

func (s *subset) Len() int { return len(s.indices) }

func (s *subset) Batch(indices []int) ([]tensor.Tensor, error) {
	return s.pinned(indices, device.KindCPU)
}

func (s *subset) pinned(indices []int, pin device.Kind) ([]tensor.Tensor, error) {
	which := make([]int, len(indices))
	for i, x := range indices {
		if x < 0 || x >= len(s.indices) {
			return nil, fmt.Errorf("data: sample %d of %d", x, len(s.indices))
		}
		which[i] = s.indices[x]
	}
	return batchOf(s.of, which, pin)
}

// release gives up tensors that nobody else has seen.
func release(ts []tensor.Tensor) {
	for _, t := range ts {
		t.Release()
	}
}
