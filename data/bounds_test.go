package data_test

import (
	"context"
	"math"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
)

// sized is a dataset of so many samples, each the number 1.
type sized int

func (n sized) Len() int { return int(n) }

func (n sized) Batch(indices []int) ([]tensor.Tensor, error) {
	return []tensor.Tensor{tensor.Ones([]int{len(indices)})}, nil
}

// TestBounds: sizes without end give all batches or an error.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name    string
		loader  data.Loader
		batches int // -1 for an error
	}{
		{"batch size", data.Loader{Dataset: sized(3), BatchSize: math.MaxInt}, 1},
		{"prefetch", data.Loader{Dataset: sized(3), BatchSize: 2, Prefetch: math.MaxInt}, 2},
		{"workers", data.Loader{Dataset: sized(3), BatchSize: 1, Prefetch: math.MaxInt, Workers: math.MaxInt}, 3},
		{"nothing ahead", data.Loader{Dataset: sized(0), BatchSize: 1, Prefetch: math.MaxInt}, 0},
		{"samples", data.Loader{Dataset: sized(math.MaxInt), BatchSize: 1}, -1},
		{"fewer than no samples", data.Loader{Dataset: sized(-1), BatchSize: 1, Prefetch: 1}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			for _, err := range c.loader.Epoch(context.Background()) {
				if err != nil {
					n = -1
					break
				}
				n++
			}
			if n != c.batches {
				t.Errorf("%d batches, want %d", n, c.batches)
			}
		})
	}
}
