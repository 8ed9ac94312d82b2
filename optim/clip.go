package optim

import (
	"errors"
	"fmt"
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// GradNorm returns the Euclidean norm of all gradients together, read as one
// vector; parameters without a gradient count as zeros. It waits once for each
// device.
func GradNorm(params []*nn.Parameter) (norm float64, err error) {
	squares := map[device.Device][]tensor.Tensor{} // sums, by device
	err = eachGrad(params, func(g tensor.Tensor) error {
		s := squareSum(g)
		squares[g.Device()] = append(squares[g.Device()], s)
		return s.Err()
	})
	if err != nil {
		return 0, fmt.Errorf("optim: gradients' norm: %w", err)
	}
	total := 0.0
	for _, list := range squares {
		all := tensor.Stack(list, 0)
		for _, s := range list {
			s.Release()
		}
		sums, err := tensor.Data[float64](all)
		if err != nil {
			return 0, fmt.Errorf("optim: gradients' norm: %w", err)
		}
		all.Release()
		for _, s := range sums {
			total += s
		}
	}
	return math.Sqrt(total), nil
}

// squareSum returns the sum of the squares of the elements of g, as float64.
func squareSum(g tensor.Tensor) tensor.Tensor {
	x := g
	switch g.DType() {
	case tensor.Float16, tensor.BFloat16: // where squares and sums would overflow
		x = g.ToType(tensor.Float32)
	case tensor.Complex64, tensor.Complex128:
		x = g.Abs()
	}
	squares := x.Mul(x)
	sum := squares.Sum()
	wide := sum.ToType(tensor.Float64)
	if x != g {
		x.Release()
	}
	squares.Release()
	if wide != sum {
		sum.Release()
	}
	return wide
}

// ClipGradNorm scales all gradients together such that their GradNorm is at most
// limit, and returns the norm they had. A norm that is not finite is an error, and
// the gradients are left alone.
func ClipGradNorm(params []*nn.Parameter, limit float64) (float64, error) {
	if !(limit > 0) {
		return 0, fmt.Errorf("optim: clip: a limit of %g, which must be positive", limit)
	}
	norm, err := GradNorm(params)
	switch {
	case err != nil:
		return 0, err
	case math.IsNaN(norm) || math.IsInf(norm, 0):
		return norm, fmt.Errorf("optim: clip: the gradients' norm is %g", norm)
	}
	scale := limit / (norm + 1e-6) // as PyTorch has it
	if scale >= 1 {
		return norm, nil
	}
	err = eachGrad(params, func(g tensor.Tensor) error { return g.MulScalarInPlace(scale) })
	if err != nil {
		return norm, fmt.Errorf("optim: clip: %w", err)
	}
	return norm, nil
}

// ClipNorm is ClipGradNorm without reading the norm on the host, so that it can be
// recorded, captured and compiled: the norm comes as a zero-dimensional Float64 tensor,
// and is 0 where no parameter has a gradient. All gradients are on one device. Where the
// norm is not finite the gradients become NaN or zeros; the caller looks at the norm.
func ClipNorm(params []*nn.Parameter, limit float64) (norm tensor.Tensor, err error) {
	if !(limit > 0) {
		return norm, fmt.Errorf("optim: clip: a limit of %g, which must be positive", limit)
	}
	norm, err = tensor.NoGradValue(func() (tensor.Tensor, error) {
		var squares []tensor.Tensor
		err := eachGrad(params, func(g tensor.Tensor) error {
			squares = append(squares, squareSum(g))
			return squares[len(squares)-1].Err()
		})
		if err != nil || len(squares) == 0 {
			return tensor.Zeros([]int{}, tensor.OfType(tensor.Float64)), err
		}
		norm := tensor.Stack(squares, 0).Sum().Sqrt()
		scale := norm.AddScalar(1e-6).Reciprocal().MulScalar(limit).ClampMaxScalar(1)
		return norm, errors.Join(norm.Err(), eachGrad(params, func(g tensor.Tensor) error {
			by := scale.ToType(g.DType())
			return g.MulInPlace(by)
		}))
	})
	if err != nil {
		return norm, fmt.Errorf("optim: clip: %w", err)
	}
	return norm, nil
}

// ClipGradValue limits every element of every gradient to [-limit, limit]. NaN
// stays NaN.
func ClipGradValue(params []*nn.Parameter, limit float64) error {
	if !(limit > 0) {
		return fmt.Errorf("optim: clip: a limit of %g, which must be positive", limit)
	}
	err := eachGrad(params, func(g tensor.Tensor) error { return g.ClampScalarInPlace(-limit, limit) })
	if err != nil {
		return fmt.Errorf("optim: clip: %w", err)
	}
	return nil
}

// eachGrad calls f with every gradient, with recording off.
func eachGrad(params []*nn.Parameter, f func(g tensor.Tensor) error) error {
	return tensor.NoGrad(func() error {
		for i, p := range params {
			if p == nil {
				return fmt.Errorf("parameter %d is nil", i)
			}
			g, ok := p.Grad()
			if !ok {
				continue
			}
			err := f(g)
			g.Release() // the handle; the gradient stays
			if err != nil {
				return fmt.Errorf("parameter %d: %w", i, err)
			}
		}
		return nil
	})
}
