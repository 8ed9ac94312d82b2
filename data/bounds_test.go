package data_test

import (
	"context"
	"math"
	"sync/atomic"
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
		{"ranks", data.Loader{Dataset: sized(3), BatchSize: 1, Share: data.Share{Rank: math.MaxInt - 1, Ranks: math.MaxInt}}, 1},
		{"ranks of nothing", data.Loader{Dataset: sized(0), BatchSize: 1, Share: data.Share{Rank: 1, Ranks: math.MaxInt}}, 0},
		{"ranks without a rest", data.Loader{Dataset: sized(3), BatchSize: 1, DropLast: true, Share: data.Share{Ranks: math.MaxInt}}, 0},
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

// growing is a dataset that has more samples whenever it is asked.
type growing struct{ n atomic.Int64 }

func (g *growing) Len() int { return int(g.n.Add(1)) }

func (g *growing) Batch(indices []int) ([]tensor.Tensor, error) {
	return []tensor.Tensor{tensor.Ones([]int{len(indices)})}, nil
}

// TestGrowing: an epoch is of the dataset and the loader as they were when it began.
func TestGrowing(t *testing.T) {
	for _, prefetch := range []int{0, 2} {
		set := &growing{}
		set.n.Store(4)
		l := &data.Loader{Dataset: set, BatchSize: 1, Prefetch: prefetch}
		samples, batches, most := 0, 0, 0
		for b, err := range l.Epoch(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if batches == 0 {
				most = int(set.n.Load())
			}
			l.BatchSize = 2
			samples += b[0].Shape()[0]
			batches++
		}
		if samples != batches || samples < 4 || samples > most {
			t.Errorf("prefetch %d: %d samples in %d batches, of a dataset that had %d", prefetch, samples, batches, most)
		}
	}
}
