package optim

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// ClipGradNorm scales all gradients together such that their common Euclidean
// norm is at most limit, and returns the norm they had. A norm that is not
// finite is an error, and the gradients are left alone.
func ClipGradNorm(params []*nn.Parameter, limit float64) (float64, error) {
	var total float64
	err := eachGrad(params, func(_ *nn.Parameter, g tensor.Tensor) error {
		sum, err := g.Mul(g).Sum().Item()
		total += sum
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("optim: clip: %w", err)
	}
	norm := math.Sqrt(total)
	switch {
	case math.IsNaN(norm) || math.IsInf(norm, 0):
		return norm, fmt.Errorf("optim: clip: the gradients' norm is %g", norm)
	case norm <= limit:
		return norm, nil
	}
	scale := limit / (norm + 1e-6)
	return norm, eachGrad(params, func(p *nn.Parameter, g tensor.Tensor) error {
		return p.SetGrad(g.MulScalar(scale))
	})
}

// ClipGradValue limits every element of every gradient to [-limit, limit].
func ClipGradValue(params []*nn.Parameter, limit float64) error {
	return eachGrad(params, func(p *nn.Parameter, g tensor.Tensor) error {
		return p.SetGrad(g.ClampScalar(-limit, limit))
	})
}

// eachGrad calls f with every parameter that has a gradient, with recording off.
func eachGrad(params []*nn.Parameter, f func(p *nn.Parameter, g tensor.Tensor) error) error {
	var err error
	tensor.NoGrad(func() {
		for i, p := range params {
			g, ok := p.Grad()
			if !ok {
				continue
			}
			tensor.Scope(func(func(...tensor.Tensor)) { err = f(p, g) })
			if err != nil {
				err = fmt.Errorf("parameter %d: %w", i, err)
				return
			}
		}
	})
	return err
}
