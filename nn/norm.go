package nn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// affineOf returns weight and bias of a normalization, nil where there are none.
func (s *settings) affineOf(shape ...int) (weight, bias *Parameter) {
	switch {
	case s.err != nil:
		return s.broken(), nil
	case !s.affine:
		return nil, nil
	}
	weight = NewParameter(s.full(1, shape...))
	if s.bias {
		bias = NewParameter(s.full(0, shape...))
	}
	return weight, bias
}

// A LayerNorm normalizes over the last axes.
type LayerNorm struct {
	Weight *Parameter // [shape...], or nil
	Bias   *Parameter // [shape...], or nil

	shape []int
	eps   float64
}

// NewLayerNorm returns a normalization over the last len(shape) axes, which must have
// these extents.
//
// Options: tensor.Eps (1e-5), NoAffine, NoBias, tensor.On (the CPU), tensor.OfType
// (Float32).
func NewLayerNorm(shape []int, opts ...Option) *LayerNorm {
	s := read("layer norm", opts, normOptions)
	l := &LayerNorm{shape: slices.Clone(shape), eps: s.eps}
	l.Weight, l.Bias = s.affineOf(shape...)
	return l
}

// Forward maps [..., shape...] to itself.
func (l *LayerNorm) Forward(x tensor.Tensor) tensor.Tensor {
	if l == nil {
		return missing(l)
	}
	return x.LayerNorm(l.shape, tensor.Eps(l.eps), tensor.Weight(l.Weight.optional()), tensor.Bias(l.Bias.optional()))
}

// String describes the layer.
func (l *LayerNorm) String() string {
	l = given(l)
	return fmt.Sprintf("LayerNorm(%v, eps=%g)", l.shape, l.eps)
}

// An RMSNorm divides by the root of the mean square over the last axes.
type RMSNorm struct {
	Weight *Parameter // [shape...], or nil

	shape []int
	eps   float64
}

// NewRMSNorm returns a normalization over the last len(shape) axes, which must have
// these extents.
//
// Options: tensor.Eps (that of the dtype), NoAffine, NoBias, tensor.On (the CPU),
// tensor.OfType (Float32).
func NewRMSNorm(shape []int, opts ...Option) *RMSNorm {
	s := defaults()
	s.eps = -1
	s.with("rms norm", opts, normOptions)
	l := &RMSNorm{shape: slices.Clone(shape), eps: s.eps}
	s.bias = false
	l.Weight, _ = s.affineOf(shape...)
	return l
}

// Forward maps [..., shape...] to itself.
func (l *RMSNorm) Forward(x tensor.Tensor) tensor.Tensor {
	if l == nil {
		return missing(l)
	}
	return x.RMSNorm(l.shape, tensor.Eps(l.eps), tensor.Weight(l.Weight.optional()))
}

// String describes the layer.
func (l *RMSNorm) String() string {
	l = given(l)
	if l.eps < 0 {
		return fmt.Sprintf("RMSNorm(%v)", l.shape)
	}
	return fmt.Sprintf("RMSNorm(%v, eps=%g)", l.shape, l.eps)
}

// A GroupNorm normalizes groups of channels of each sample.
type GroupNorm struct {
	Weight *Parameter // [channels], or nil
	Bias   *Parameter // [channels], or nil

	groups, channels int
	eps              float64
}

// NewGroupNorm returns a normalization of channels in the given number of groups, which
// must divide them.
//
// Options: tensor.Eps (1e-5), NoAffine, NoBias, tensor.On (the CPU), tensor.OfType
// (Float32).
func NewGroupNorm(groups, channels int, opts ...Option) *GroupNorm {
	s := read("group norm", opts, normOptions)
	l := &GroupNorm{groups: groups, channels: channels, eps: s.eps}
	l.Weight, l.Bias = s.affineOf(channels)
	return l
}

// Forward maps [n, channels, ...] to itself.
func (l *GroupNorm) Forward(x tensor.Tensor) tensor.Tensor {
	if l == nil {
		return missing(l)
	}
	if n := x.Size(1); n != l.channels && sound(x) {
		return failed("group norm of %d channels got %d, axis 1 of shape %v", l.channels, n, x.Shape())
	}
	return x.GroupNorm(l.groups, tensor.Eps(l.eps), tensor.Weight(l.Weight.optional()), tensor.Bias(l.Bias.optional()))
}

// String describes the layer.
func (l *GroupNorm) String() string {
	l = given(l)
	return fmt.Sprintf("GroupNorm(groups=%d, channels=%d, eps=%g)", l.groups, l.channels, l.eps)
}

// A BatchNorm normalizes every channel over the batch and the spatial axes. In
// training it uses the batch's statistics and moves the running ones towards
// them; in evaluation it uses the running ones. PyTorch's num_batches_tracked has
// no counterpart: LoadMatching leaves it out.
type BatchNorm struct {
	Weight      *Parameter // [channels], or nil
	Bias        *Parameter // [channels], or nil
	RunningMean *Buffer    // [channels]
	RunningVar  *Buffer    // [channels], unbiased

	eps, momentum float64
	evaluation    bool
}

// NewBatchNorm returns a normalization of the given number of channels, for inputs [n,
// channels] and [n, channels, spatial...].
//
// Options: Momentum (0.1), tensor.Eps (1e-5), NoAffine, NoBias, tensor.On (the CPU),
// tensor.OfType (Float32).
func NewBatchNorm(channels int, opts ...Option) *BatchNorm {
	s := read("batch norm", opts, batchNormOptions)
	b := &BatchNorm{eps: s.eps, momentum: s.momentum}
	b.RunningMean, b.RunningVar = NewBuffer(s.full(0, channels)), NewBuffer(s.full(1, channels))
	b.Weight, b.Bias = s.affineOf(channels)
	return b
}

// SetTraining chooses whether Forward uses the batch's statistics.
func (b *BatchNorm) SetTraining(on bool) {
	b = given(b)
	b.evaluation = !on
}

// Forward maps [n, channels, ...] to itself. In training every channel must have
// more than one element.
func (b *BatchNorm) Forward(x tensor.Tensor) tensor.Tensor {
	if b == nil {
		return missing(b)
	}
	if b.RunningMean == nil || b.RunningVar == nil {
		return failed("a batch norm without running statistics; make it with NewBatchNorm")
	}
	channels := b.RunningMean.NumElements()
	if n := x.Size(1); n != channels && sound(x) && sound(b.RunningMean.value()) {
		return failed("batch norm of %d channels got %d, axis 1 of shape %v", channels, n, x.Shape())
	}
	opts := []Option{tensor.Eps(b.eps), tensor.Weight(b.Weight.optional()), tensor.Bias(b.Bias.optional())}
	if b.evaluation {
		return x.BatchNorm(b.RunningMean.value(), b.RunningVar.value(), opts...)
	}
	n := x.NumElements() / max(channels, 1)
	if n < 2 && sound(x) && sound(b.RunningMean.value()) {
		return failed("batch norm in training needs more than one element a channel, shape %v has %d", x.Shape(), n)
	}
	if dt := b.RunningMean.value().DType(); b.Weight == nil && b.Bias == nil && sound(x) && x.DType().Size() < dt.Size() {
		ones := tensor.Ones([]int{channels}, tensor.On(x.Device()), tensor.OfType(dt)) // or statistics were rounded to x's dtype
		defer ones.Release()
		opts = append(opts, tensor.Weight(ones))
	}
	out, mean, variance := x.BatchNormTrain(opts...)
	if !sound(out) {
		return out
	}
	if err := b.update(mean, variance, float64(n)); err != nil {
		return failed("batch norm: %w", err)
	}
	mean.Release()
	variance.Release()
	return out
}

// update moves the running statistics towards those of a batch with n elements
// a channel. Both are computed before either is written, and the first goes back to
// what it was where the second cannot be, so that a call that fails leaves them.
func (b *BatchNorm) update(mean, variance tensor.Tensor, n float64) (err error) {
	defer func() {
		if err != nil { // which is the call's alone
			forgive(b.RunningMean.Tensor, b.RunningVar.Tensor)
		}
	}()
	return tensor.NoGrad(func() error {
		return tensor.Scope(func() error {
			before := b.RunningMean.Clone()
			nextMean := b.RunningMean.LerpScalar(mean, b.momentum)
			// The batch's variance is the biased one.
			nextVar := b.RunningVar.MulScalar(1-b.momentum).AddScaled(variance, b.momentum*n/(n-1))
			for _, t := range []tensor.Tensor{before, nextMean, nextVar} {
				if err := t.Err(); err != nil {
					return err
				}
			}
			if err := b.RunningMean.CopyFrom(nextMean); err != nil {
				return err
			}
			if err := b.RunningVar.CopyFrom(nextVar); err != nil {
				return errors.Join(err, b.RunningMean.CopyFrom(before))
			}
			return nil
		})
	})
}

// String describes the layer.
func (b *BatchNorm) String() string {
	b = given(b)
	return fmt.Sprintf("BatchNorm(channels=%d, eps=%g, momentum=%g)", b.RunningMean.value().NumElements(), b.eps, b.momentum)
}
