// Package data feeds models: datasets, and loaders that shuffle them into
// batches and prepare these in the background. It knows nothing of models.
package data

import (
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
)

// A Dataset gives samples by number. Every sample has the same number of
// fields, such as an image and its label. A loader calls Batch from one
// goroutine at a time.
type Dataset interface {
	// Len returns the number of samples.
	Len() int
	// Batch returns the samples with the given numbers, one tensor a field, each
	// with the samples along its first axis.
	Batch(indices []int) ([]tensor.Tensor, error)
}

type tensors struct {
	fields []tensor.Tensor
	n      int
}

// Tensors returns a dataset whose fields are the given tensors, with the samples
// along the first axis of each.
func Tensors(fields ...tensor.Tensor) (Dataset, error) {
	if len(fields) == 0 {
		return nil, fmt.Errorf("data: a dataset needs at least one tensor")
	}
	d := &tensors{fields: fields, n: -1}
	for i, f := range fields {
		if err := f.Err(); err != nil {
			return nil, fmt.Errorf("data: field %d: %w", i, err)
		}
		if f.Rank() == 0 {
			return nil, fmt.Errorf("data: field %d is a scalar; its first axis must count the samples", i)
		}
		if n := f.Shape()[0]; d.n >= 0 && n != d.n {
			return nil, fmt.Errorf("data: field %d has %d samples, field 0 has %d", i, n, d.n)
		}
		d.n = f.Shape()[0]
	}
	return d, nil
}

func (d *tensors) Len() int { return d.n }

func (d *tensors) Batch(indices []int) ([]tensor.Tensor, error) {
	which := make([]int64, len(indices))
	for i, x := range indices {
		which[i] = int64(x)
	}
	out := make([]tensor.Tensor, len(d.fields))
	for i, f := range d.fields {
		index := tensor.FromOn(which, nil, tensor.On(f.Device()))
		out[i] = f.IndexSelect(0, index)
		if err := out[i].Err(); err != nil {
			return nil, fmt.Errorf("data: field %d: %w", i, err)
		}
		index.Release()
	}
	return out, nil
}
