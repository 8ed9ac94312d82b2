package nn

import (
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// An Option adjusts the making of a layer.
type Option func(*settings)

type settings struct {
	bias  bool
	dev   device.Device
	dtype ir.DType
	// windows: one number for every spatial axis, or one for all
	stride, padding, dilation []int
	groups                    int
	// normalization
	eps, momentum float64
	affine        bool
}

func options(opts []Option) settings {
	s := settings{bias: true, dtype: ir.Float32, groups: 1, eps: 1e-5, momentum: 0.1, affine: true}
	for _, o := range opts {
		o(&s)
	}
	return s
}

// NoBias leaves out a layer's bias.
func NoBias() Option { return func(s *settings) { s.bias = false } }

// On makes the layer's parameters on dev.
func On(dev device.Device) Option { return func(s *settings) { s.dev = dev } }

// OfType makes the layer's parameters of dtype dt.
func OfType(dt ir.DType) Option { return func(s *settings) { s.dtype = dt } }

// Stride sets the steps of a window, one number for all axes or one an axis.
func Stride(n ...int) Option { return func(s *settings) { s.stride = n } }

// Padding sets the zeros added on both sides of each spatial axis.
func Padding(n ...int) Option { return func(s *settings) { s.padding = n } }

// Dilation sets the distance between the elements a window looks at.
func Dilation(n ...int) Option { return func(s *settings) { s.dilation = n } }

// Groups divides the channels of a convolution into independent groups.
func Groups(n int) Option { return func(s *settings) { s.groups = n } }

// Eps sets what a normalization adds to the variance.
func Eps(e float64) Option { return func(s *settings) { s.eps = e } }

// Momentum sets the share that a batch has in the running statistics.
func Momentum(m float64) Option { return func(s *settings) { s.momentum = m } }

// NoAffine leaves out a normalization's weight and bias.
func NoAffine() Option { return func(s *settings) { s.affine = false } }

func (s *settings) place() []tensor.CreateOption {
	return []tensor.CreateOption{tensor.On(s.dev), tensor.OfType(s.dtype)}
}

// uniform returns a parameter drawn from [-bound, bound).
func (s *settings) uniform(bound float64, shape ...int) *Parameter {
	return NewParameter(tensor.Rand(shape, s.place()...).MulScalar(2 * bound).SubScalar(bound))
}

// axes returns n repeated for rank axes when it is one number, def when none.
func axes(n []int, rank, def int) []int {
	if len(n) == 0 {
		n = []int{def}
	}
	if len(n) > 1 {
		return n
	}
	out := make([]int, rank)
	for i := range out {
		out[i] = n[0]
	}
	return out
}
