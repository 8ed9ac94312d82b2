package nn

import (
	"fmt"
	"math"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/option"
)

// An Option is an optional argument of a layer, of the type that all optional arguments
// have. Some are functions of this package, others of package tensor, such as
// tensor.On(dev) and tensor.Stride(2). Each constructor lists the options that it takes
// with their defaults; without a default, an option is off unless it is given. A layer
// that is given another option carries an error, and so do its results.
type Option = tensor.Option

// settings are what options adjust in the making of a layer.
type settings struct {
	err          error // of the options
	bias, affine bool
	device       device.Device
	dtype        ir.DType // Invalid for the default
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

// momentum names the option Momentum. Package optim has one of that name which means
// something else, so that neither must be taken for the other.
const momentum = "nn.Momentum"

// The options that layers take, by layer.
const (
	placeOptions     = "On, OfType"
	linearOptions    = "NoBias, " + placeOptions
	embeddingOptions = "PaddingIdx, MaxNorm, NormType, ScaleGradByFreq, " + placeOptions
	windowOptions    = "Kernel, Stride, Padding"
	kernelOptions    = windowOptions + ", Dilation, Groups, " + linearOptions
	convOptions      = "AutoPad, " + kernelOptions
	transposeOptions = "OutputPadding, " + kernelOptions
	normOptions      = "Eps, NoAffine, " + linearOptions
	batchNormOptions = momentum + ", " + normOptions
	stepsOptions     = "Layers, Bidirectional, BatchFirst, LayerDropout, " + linearOptions
	rnnOptions       = "Rectified, " + stepsOptions
	adaptiveOptions  = "DivValue, HeadBias, " + placeOptions
)

// readers set what an option says. Settings are their defaults before.
var readers = map[string]func(s *settings, o *option.Reader){
	"On":              func(s *settings, o *option.Reader) { s.device = option.Get(o, "On", s.device) },
	"OfType":          func(s *settings, o *option.Reader) { s.dtype = ir.DType(o.Int("OfType", int(s.dtype))) },
	"NoBias":          func(s *settings, o *option.Reader) { s.bias = !o.Flag("NoBias", !s.bias) },
	"NoAffine":        func(s *settings, o *option.Reader) { s.affine = !o.Flag("NoAffine", !s.affine) },
	"Kernel":          func(s *settings, o *option.Reader) { s.kernel = o.Ints("Kernel", nil) },
	"Stride":          func(s *settings, o *option.Reader) { s.stride = o.Ints("Stride", nil) },
	"Padding":         func(s *settings, o *option.Reader) { s.padding = o.Ints("Padding", nil) },
	"Dilation":        func(s *settings, o *option.Reader) { s.dilation = o.Ints("Dilation", nil) },
	"OutputPadding":   func(s *settings, o *option.Reader) { s.outputPadding = o.Ints("OutputPadding", nil) },
	"Groups":          func(s *settings, o *option.Reader) { s.groups = o.Int("Groups", s.groups) },
	"AutoPad":         func(s *settings, o *option.Reader) { s.autoPad = option.Choice(o, s.autoPad) },
	"Eps":             func(s *settings, o *option.Reader) { s.eps = o.Float("Eps", s.eps) },
	momentum:          func(s *settings, o *option.Reader) { s.momentum = o.Float(momentum, s.momentum) },
	"PaddingIdx":      func(s *settings, o *option.Reader) { s.paddingIndex = o.Int("PaddingIdx", s.paddingIndex) },
	"MaxNorm":         func(s *settings, o *option.Reader) { s.maxNorm = o.Float("MaxNorm", s.maxNorm) },
	"NormType":        func(s *settings, o *option.Reader) { s.normType = o.Float("NormType", s.normType) },
	"ScaleGradByFreq": func(s *settings, o *option.Reader) { s.byFrequency = o.Flag("ScaleGradByFreq", false) },
	"Layers":          func(s *settings, o *option.Reader) { s.layers = o.Int("Layers", s.layers) },
	"Bidirectional":   func(s *settings, o *option.Reader) { s.bidirectional = o.Flag("Bidirectional", false) },
	"BatchFirst":      func(s *settings, o *option.Reader) { s.batchFirst = o.Flag("BatchFirst", false) },
	"LayerDropout":    func(s *settings, o *option.Reader) { s.layerDropout = o.Float("LayerDropout", 0) },
	"Rectified":       func(s *settings, o *option.Reader) { s.rectified = o.Flag("Rectified", false) },
	"DivValue":        func(s *settings, o *option.Reader) { s.divValue = o.Float("DivValue", s.divValue) },
	"HeadBias":        func(s *settings, o *option.Reader) { s.headBias = o.Flag("HeadBias", false) },
}

func defaults() *settings {
	return &settings{bias: true, affine: true, device: core.DefaultPlacement().Device, groups: 1, eps: 1e-5, momentum: 0.1,
		paddingIndex: -1, maxNorm: math.Inf(1), normType: 2, layers: 1, divValue: 4}
}

// read returns the settings of a layer that takes the options of the given names.
func read(layer string, opts []Option, takes string) *settings {
	return defaults().with(layer, opts, takes)
}

// with returns s with a layer's options applied.
func (s *settings) with(layer string, opts []Option, takes string) *settings {
	o := option.Read(opts)
	for name := range strings.SplitSeq(takes, ", ") {
		readers[name](s, &o)
	}
	if err := o.Err(takes); err != nil {
		s.err = fmt.Errorf("%s: %w", layer, err)
	}
	return s
}

// place are the options of the tensors that a layer is made of.
func (s *settings) place() []Option { return []Option{tensor.On(s.device), tensor.OfType(s.dtype)} }

// NoBias leaves out a layer's bias. It is an option of every layer that has one.
func NoBias(on ...bool) Option { return option.Flag("NoBias", on) }

// Kernel sets a window's extent along each axis, in place of the argument kernel, which is
// one number for all of them. It is an option of convolutions and poolings. Like
// tensor.Stride and tensor.Padding it takes one number for all axes, or one for each.
func Kernel(n ...int) Option { return option.Ints("Kernel", n) }

// Layers stacks n recurrent layers, 1 unless given.
func Layers(n int) Option { return option.Int("Layers", n) }

// Bidirectional makes each recurrent layer process the steps in both directions, and joins
// the results along the last axis.
func Bidirectional(on ...bool) Option { return option.Flag("Bidirectional", on) }

// BatchFirst makes the inputs and outputs of recurrent layers [batch, steps, ...] in place
// of [steps, batch, ...]. The shapes of states do not change.
func BatchFirst(on ...bool) Option { return option.Flag("BatchFirst", on) }

// LayerDropout sets the outputs of each recurrent layer but the last to zero in training,
// each element with probability p.
func LayerDropout(p float64) Option { return option.Float("LayerDropout", p) }

// DivValue divides the width of each cluster of an adaptive softmax by v to get that of the
// next, 4 unless given.
func DivValue(v float64) Option { return option.Float("DivValue", v) }

// HeadBias gives the head of an adaptive softmax a bias.
func HeadBias(on ...bool) Option { return option.Flag("HeadBias", on) }

// NoAffine leaves out a normalization's weight and bias.
func NoAffine(on ...bool) Option { return option.Flag("NoAffine", on) }

// Momentum sets the share that a batch has in a BatchNorm's running statistics, 0.1
// unless given. It is not optim.Momentum: each is an error in place of the other.
func Momentum(m float64) Option { return option.Float(momentum, m) }
