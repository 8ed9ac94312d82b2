package nn

import (
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
)

// A LayerNorm normalizes over the last axes.
type LayerNorm struct {
	Weight *Parameter // [shape...], or nil
	Bias   *Parameter // [shape...], or nil

	shape []int
	eps   float64
}

// NewLayerNorm returns a normalization over the last len(shape) axes, which
// must have these extents.
func NewLayerNorm(shape []int, opts ...Option) *LayerNorm {
	o := options(opts)
	l := &LayerNorm{shape: shape, eps: o.eps}
	if o.affine {
		l.Weight = NewParameter(tensor.Ones(shape, o.place()...))
		if o.bias {
			l.Bias = NewParameter(tensor.Zeros(shape, o.place()...))
		}
	}
	return l
}

// Forward normalizes x.
func (l *LayerNorm) Forward(x tensor.Tensor) tensor.Tensor {
	opts := []tensor.LayerNormOption{tensor.Eps(l.eps)}
	if l.Weight != nil {
		opts = append(opts, tensor.Weight(l.Weight.Tensor))
	}
	if l.Bias != nil {
		opts = append(opts, tensor.Bias(l.Bias.Tensor))
	}
	return x.LayerNorm(l.shape, opts...)
}

// An RMSNorm divides by the root of the mean square over the last axes.
type RMSNorm struct {
	Weight *Parameter // [shape...], or nil

	shape []int
	eps   float64
}

// NewRMSNorm returns a normalization over the last len(shape) axes.
func NewRMSNorm(shape []int, opts ...Option) *RMSNorm {
	o := options(opts)
	l := &RMSNorm{shape: shape, eps: o.eps}
	if o.affine {
		l.Weight = NewParameter(tensor.Ones(shape, o.place()...))
	}
	return l
}

// Forward normalizes x.
func (l *RMSNorm) Forward(x tensor.Tensor) tensor.Tensor {
	opts := []tensor.RmsNormOption{tensor.Eps(l.eps)}
	if l.Weight != nil {
		opts = append(opts, tensor.Weight(l.Weight.Tensor))
	}
	return x.RmsNorm(l.shape, opts...)
}

// A GroupNorm normalizes groups of channels of each sample.
type GroupNorm struct {
	Weight *Parameter // [channels], or nil
	Bias   *Parameter // [channels], or nil

	groups int
	eps    float64
}

// NewGroupNorm returns a normalization of channels in the given number of groups.
func NewGroupNorm(groups, channels int, opts ...Option) *GroupNorm {
	o := options(opts)
	l := &GroupNorm{groups: groups, eps: o.eps}
	if o.affine {
		l.Weight = NewParameter(tensor.Ones([]int{channels}, o.place()...))
		l.Bias = NewParameter(tensor.Zeros([]int{channels}, o.place()...))
	}
	return l
}

// Forward normalizes x [n, channels, ...].
func (l *GroupNorm) Forward(x tensor.Tensor) tensor.Tensor {
	opts := []tensor.GroupNormOption{tensor.Eps(l.eps)}
	if l.Weight != nil {
		opts = append(opts, tensor.Weight(l.Weight.Tensor), tensor.Bias(l.Bias.Tensor))
	}
	return x.GroupNorm(l.groups, opts...)
}

// A BatchNorm normalizes every channel over the batch and the spatial axes. In
// training it uses the batch's statistics and updates the running ones; in
// evaluation it uses the running ones.
type BatchNorm struct {
	Weight      *Parameter // [channels], or nil
	Bias        *Parameter // [channels], or nil
	RunningMean *Buffer    // [channels]
	RunningVar  *Buffer    // [channels], unbiased

	eps, momentum float64
	evaluation    bool
}

// NewBatchNorm returns a normalization of the given number of channels, for
// inputs [n, channels] and [n, channels, spatial...].
func NewBatchNorm(channels int, opts ...Option) *BatchNorm {
	o := options(opts)
	shape := []int{channels}
	b := &BatchNorm{
		RunningMean: &Buffer{tensor.Zeros(shape, o.place()...)},
		RunningVar:  &Buffer{tensor.Ones(shape, o.place()...)},
		eps:         o.eps, momentum: o.momentum,
	}
	if o.affine {
		b.Weight = NewParameter(tensor.Ones(shape, o.place()...))
		b.Bias = NewParameter(tensor.Zeros(shape, o.place()...))
	}
	return b
}

func (b *BatchNorm) setTraining(on bool) { b.evaluation = !on }

// Forward normalizes x.
func (b *BatchNorm) Forward(x tensor.Tensor) tensor.Tensor {
	if b.evaluation {
		opts := []tensor.BatchNormOption{tensor.Eps(b.eps)}
		if b.Weight != nil {
			opts = append(opts, tensor.Weight(b.Weight.Tensor), tensor.Bias(b.Bias.Tensor))
		}
		return x.BatchNorm(b.RunningMean.Tensor, b.RunningVar.Tensor, opts...)
	}
	opts := []tensor.BatchNormTrainOption{tensor.Eps(b.eps)}
	if b.Weight != nil {
		opts = append(opts, tensor.Weight(b.Weight.Tensor), tensor.Bias(b.Bias.Tensor))
	}
	out, mean, variance := x.BatchNormTrain(opts...)
	if x.Err() != nil || out.Err() != nil {
		return out
	}
	if err := b.update(mean, variance, x.NumElements()/x.Size(1)); err != nil {
		return tensor.Wrap(core.Failed(err))
	}
	return out
}

// update moves the running statistics towards those of a batch with n elements
// a channel; the running variance is the unbiased one.
func (b *BatchNorm) update(mean, variance tensor.Tensor, n int) error {
	var err error
	tensor.NoGrad(func() {
		unbiased := variance.Detach().MulScalar(float64(n) / float64(max(n-1, 1)))
		if err = b.RunningMean.LerpScalarInPlace(mean.Detach(), b.momentum); err == nil {
			err = b.RunningVar.LerpScalarInPlace(unbiased, b.momentum)
		}
	})
	return err
}
