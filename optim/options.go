package optim

import (
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/option"
)

// An Option is an optional argument of an optimizer. It is the type of all optional
// arguments; each constructor says which it takes, and returns an error for others.
type Option = tensor.Option

// Betas are the decays of Adam's estimates of the first two moments, 0.9 and 0.999
// unless given.
func Betas(first, second float64) Option {
	return option.Value("Betas", [2]float64{first, second})
}

// WeightDecay is a penalty on the parameters' squares, and with NewAdamW the share by
// which a step of rate 1 shrinks them; 0 unless given.
func WeightDecay(decay float64) Option { return option.Float("WeightDecay", decay) }

// Maximize makes an optimizer increase what is optimized: it steps along the gradient, not
// against it.
func Maximize(on ...bool) Option { return option.Flag("Maximize", on) }

// Momentum is the share of the last step's direction that SGD keeps; 0 unless given. It is
// not nn.Momentum: each is an error in place of the other.
func Momentum(share float64) Option { return option.Float("Momentum", share) }

// Dampening is the share of the gradient that SGD leaves out of the direction, except in a
// parameter's first step; 0 unless given.
func Dampening(share float64) Option { return option.Float("Dampening", share) }

// Nesterov makes SGD use Nesterov's momentum: a step goes along the gradient plus Momentum
// times the new direction. It needs momentum and no dampening.
func Nesterov(on ...bool) Option { return option.Flag("Nesterov", on) }
