// Package experiment multiplies matrices with TF32 and without and measures both
// against a product in float64. It knows nothing of what its numbers should be.
package experiment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/precision"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A Result is what one run measured.
type Result struct {
	N    int     // extent of the matrices
	Mean float64 // of the true product's absolute values
	TF32 Side
	Full Side // float32 throughout
}

// A Side is a product of the matrices rounded to float32.
type Side struct {
	Max      float64       // largest distance from the true product
	Relative float64       // that divided by Result.Mean
	Took     time.Duration // the median of a few products, after one that is not counted
}

// timed is how many products are timed.
const timed = 5

// Run multiplies two n by n matrices of standard normal numbers on a device, in
// float64 and, rounded to float32, with TF32 allowed and not. The process's flag
// of matrix products is afterwards what it was. On a device without TF32 both
// sides are full float32.
func Run(dev device.Device, n int) (Result, error) {
	return tensor.ScopeValue(func() (Result, error) { return run(dev, n) })
}

func run(dev device.Device, n int) (Result, error) {
	r := Result{N: n}
	on := []tensor.Option{tensor.On(dev), tensor.OfType(tensor.Float64)}
	a, b := tensor.Randn([]int{n, n}, on...), tensor.Randn([]int{n, n}, on...)
	truth := a.MatMul(b)
	mean, err := truth.Abs().Mean().Item()
	if err != nil {
		return r, fmt.Errorf("the product in float64: %w", err)
	}
	r.Mean = mean
	a, b = a.ToType(tensor.Float32), b.ToType(tensor.Float32)
	was := precision.MatmulTF32()
	defer precision.SetMatmulTF32(was)
	for _, c := range []struct {
		tf32 bool
		into *Side
	}{{true, &r.TF32}, {false, &r.Full}} {
		precision.SetMatmulTF32(c.tf32)
		if *c.into, err = measure(a, b, truth, mean); err != nil {
			return r, fmt.Errorf("the product with TF32 %t: %w", c.tf32, err)
		}
	}
	return r, nil
}

// measure multiplies a and b, compares with the truth, and times the product.
func measure(a, b, truth tensor.Tensor, mean float64) (s Side, err error) {
	s.Max, err = tensor.ScopeValue(func() (float64, error) {
		return a.MatMul(b).ToType(tensor.Float64).Sub(truth).Abs().Max().Item()
	})
	if err != nil {
		return s, err
	}
	s.Relative = s.Max / mean
	var times [timed]time.Duration
	for i := range times {
		began := time.Now()
		out := a.MatMul(b)
		if err := stream.Synchronize(context.Background(), a.Device()); err != nil {
			return s, err
		}
		times[i] = time.Since(began)
		if err := out.Err(); err != nil {
			return s, err
		}
		out.Release()
	}
	slices.Sort(times[:])
	s.Took = times[timed/2]
	return s, nil
}
