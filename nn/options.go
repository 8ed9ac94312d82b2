package nn

import (
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// settings are what options adjust in the making of a layer.
type settings struct {
	bias, affine bool
	place        []tensor.CreateOption
	// windows: nothing for the default, one number for every spatial axis, or one an axis
	kernel, stride, padding, dilation, outputPadding []int
	groups                                           int
	autoPad                                          tensor.AutoPad
	eps, momentum                                    float64
	// embeddings
	paddingIndex      int
	maxNorm, normType float64
	byFrequency       bool
	// recurrent layers
	layers                               int
	bidirectional, batchFirst, rectified bool
	layerDropout                         float64
	// adaptive softmax
	divValue float64
	headBias bool
}

func defaults() *settings {
	return &settings{bias: true, affine: true, groups: 1, eps: 1e-5, momentum: 0.1, paddingIndex: -1, maxNorm: math.Inf(1), normType: 2, layers: 1, divValue: 4}
}

// setting is what every option does.
type setting struct{ set func(*settings) }

func (s setting) apply(to *settings) {
	if s.set != nil {
		s.set(to)
	}
}

type option interface{ apply(*settings) }

// with returns s with options applied in order.
func with[O option](s *settings, opts []O) *settings {
	for _, o := range opts {
		if any(o) != nil { // a nil option is none
			o.apply(s)
		}
	}
	return s
}

// The options that layers take.
type (
	// A LinearOption is an option of NewLinear: NoBias, On or OfType.
	LinearOption interface {
		option
		linear()
	}
	// An EmbeddingOption is an option of NewEmbedding: PaddingIndex, MaxNorm, NormType,
	// ScaleGradByFreq, On or OfType.
	EmbeddingOption interface {
		option
		embedding()
	}
	// A ConvOption is an option of a convolution: Kernel, Stride, Padding, PaddingSame,
	// Dilation, Groups, NoBias, On or OfType.
	ConvOption interface {
		option
		conv()
	}
	// A ConvTransposeOption is an option of a transposed convolution: those of a
	// convolution but PaddingSame, and OutputPadding.
	ConvTransposeOption interface {
		option
		convTranspose()
	}
	// A PoolOption is an option of a pooling: Kernel, Stride or Padding.
	PoolOption interface {
		option
		pool()
	}
	// A NormOption is an option of LayerNorm, RMSNorm and GroupNorm: Eps,
	// NoAffine, NoBias, On or OfType.
	NormOption interface {
		option
		norm()
	}
	// A RecurrentOption is an option of LSTM and GRU: Layers, Bidirectional,
	// BatchFirst, LayerDropout, NoBias, On or OfType.
	RecurrentOption interface {
		option
		recurrent()
	}
	// An RNNOption is an option of RNN: those of other recurrent layers and
	// Rectified.
	RNNOption interface {
		option
		rnn()
	}
	// An AdaptiveOption is an option of AdaptiveLogSoftmaxWithLoss: DivValue,
	// HeadBias, On or OfType.
	AdaptiveOption interface {
		option
		adaptive()
	}
	// A BatchNormOption is an option of BatchNorm: those of other normalizations
	// and Momentum.
	BatchNormOption interface {
		option
		batchNorm()
	}
)

// The types of the options.
type (
	// A PlaceOption says where and of what dtype a layer's tensors are.
	PlaceOption struct{ setting }
	// A BiasOption leaves out a bias.
	BiasOption struct{ setting }
	// A WindowOption describes a window of a convolution or a pooling.
	WindowOption struct{ setting }
	// A KernelOption is an option of convolutions alone.
	KernelOption struct{ setting }
	// A SameOption is an option of convolutions that are not transposed.
	SameOption struct{ setting }
	// An OutputOption is an option of transposed convolutions alone.
	OutputOption struct{ setting }
	// A RowOption is an option of embeddings alone.
	RowOption struct{ setting }
	// A StepsOption is an option of every recurrent layer.
	StepsOption struct{ setting }
	// A FunctionOption is an option of RNN alone.
	FunctionOption struct{ setting }
	// A ClusterOption is an option of adaptive softmax alone.
	ClusterOption struct{ setting }
	// A StatisticsOption is an option of every normalization.
	StatisticsOption struct{ setting }
	// A RunningOption is an option of BatchNorm alone.
	RunningOption struct{ setting }
)

func (PlaceOption) linear()        {}
func (PlaceOption) embedding()     {}
func (PlaceOption) conv()          {}
func (PlaceOption) convTranspose() {}
func (PlaceOption) norm()          {}
func (PlaceOption) batchNorm()     {}
func (PlaceOption) recurrent()     {}
func (PlaceOption) rnn()           {}
func (PlaceOption) adaptive()      {}

func (BiasOption) linear()        {}
func (BiasOption) conv()          {}
func (BiasOption) convTranspose() {}
func (BiasOption) norm()          {}
func (BiasOption) recurrent()     {}
func (BiasOption) rnn()           {}
func (BiasOption) batchNorm()     {}

func (WindowOption) conv()          {}
func (WindowOption) convTranspose() {}
func (WindowOption) pool()          {}

func (KernelOption) conv()          {}
func (KernelOption) convTranspose() {}

func (SameOption) conv() {}

func (OutputOption) convTranspose() {}

func (RowOption) embedding() {}

func (StepsOption) recurrent() {}
func (StepsOption) rnn()       {}

func (FunctionOption) rnn() {}

func (ClusterOption) adaptive() {}

func (StatisticsOption) norm()      {}
func (StatisticsOption) batchNorm() {}

func (RunningOption) batchNorm() {}

// On makes the layer's tensors on dev.
func On(dev device.Device) PlaceOption {
	return PlaceOption{setting{func(s *settings) { s.place = append(s.place, tensor.On(dev)) }}}
}

// OfType makes the layer's tensors of dtype dt.
func OfType(dt ir.DType) PlaceOption {
	return PlaceOption{setting{func(s *settings) { s.place = append(s.place, tensor.OfType(dt)) }}}
}

// NoBias leaves out a layer's bias.
func NoBias() BiasOption { return BiasOption{setting{func(s *settings) { s.bias = false }}} }

// Kernel sets a window's extent along each axis, in place of one for all.
func Kernel(n ...int) WindowOption {
	return WindowOption{setting{func(s *settings) { s.kernel = n }}}
}

// Stride sets the steps of a window, one number for all axes or one an axis. The
// default is 1 for convolutions and the window's extent for poolings.
func Stride(n ...int) WindowOption {
	return WindowOption{setting{func(s *settings) { s.stride = n }}}
}

// Padding sets what is added on both sides of each spatial axis, one number for
// all axes or one an axis: zeros, or for the maximum the smallest numbers.
func Padding(n ...int) WindowOption {
	return WindowOption{setting{func(s *settings) { s.padding = n }}}
}

// Dilation sets the distance between the elements a kernel looks at, one number
// for all axes or one an axis.
func Dilation(n ...int) KernelOption {
	return KernelOption{setting{func(s *settings) { s.dilation = n }}}
}

// Groups divides the channels of a convolution into independent groups.
func Groups(n int) KernelOption { return KernelOption{setting{func(s *settings) { s.groups = n }}} }

// OutputPadding adds to one side of the result of a transposed convolution, one
// number for all axes or one an axis.
func OutputPadding(n ...int) OutputOption {
	return OutputOption{setting{func(s *settings) { s.outputPadding = n }}}
}

// PaddingSame pads with as many zeros as make the result as long as the operand; one
// more at the end where their number is odd. It takes a stride of 1 and no Padding.
func PaddingSame() SameOption {
	return SameOption{setting{func(s *settings) { s.autoPad = tensor.AutoPadSame }}}
}

// MaxNorm has an embedding scale rows that are named to a norm of v where theirs is
// larger, in Weight itself.
func MaxNorm(v float64) RowOption {
	return RowOption{setting{func(s *settings) { s.maxNorm = v }}}
}

// NormType sets the p of the norm that MaxNorm limits, 2 unless given.
func NormType(p float64) RowOption {
	return RowOption{setting{func(s *settings) { s.normType = p }}}
}

// ScaleGradByFreq divides the gradient of an embedding's row by how often it is named.
func ScaleGradByFreq() RowOption {
	return RowOption{setting{func(s *settings) { s.byFrequency = true }}}
}

// PaddingIndex names a row of an embedding that starts as zeros and is not
// trained.
func PaddingIndex(row int) RowOption {
	return RowOption{setting{func(s *settings) { s.paddingIndex = row }}}
}

// Layers stacks n recurrent layers, 1 unless given.
func Layers(n int) StepsOption { return StepsOption{setting{func(s *settings) { s.layers = n }}} }

// Bidirectional has each recurrent layer go over the steps in both directions and
// joins what they give.
func Bidirectional() StepsOption {
	return StepsOption{setting{func(s *settings) { s.bidirectional = true }}}
}

// BatchFirst has inputs and outputs of recurrent layers be [batch, steps, ...];
// states are as without it.
func BatchFirst() StepsOption {
	return StepsOption{setting{func(s *settings) { s.batchFirst = true }}}
}

// LayerDropout drops elements between recurrent layers in training, each with
// probability p.
func LayerDropout(p float64) StepsOption {
	return StepsOption{setting{func(s *settings) { s.layerDropout = p }}}
}

// Rectified makes relu an RNN's function in place of tanh.
func Rectified() FunctionOption {
	return FunctionOption{setting{func(s *settings) { s.rectified = true }}}
}

// DivValue sets by how much each cluster of an adaptive softmax is narrower than
// the one before, 4 unless given.
func DivValue(v float64) ClusterOption {
	return ClusterOption{setting{func(s *settings) { s.divValue = v }}}
}

// HeadBias gives the head of an adaptive softmax a bias.
func HeadBias() ClusterOption {
	return ClusterOption{setting{func(s *settings) { s.headBias = true }}}
}

// Eps sets what a normalization adds to the variance or mean square.
func Eps(e float64) StatisticsOption {
	return StatisticsOption{setting{func(s *settings) { s.eps = e }}}
}

// NoAffine leaves out a normalization's weight and bias.
func NoAffine() StatisticsOption {
	return StatisticsOption{setting{func(s *settings) { s.affine = false }}}
}

// Momentum sets the share that a batch has in the running statistics, 0.1 unless
// given.
func Momentum(m float64) RunningOption {
	return RunningOption{setting{func(s *settings) { s.momentum = m }}}
}
