package models

import (
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// A Bottleneck is a block of ResNet-50: three convolutions beside a shortcut, which is a
// convolution too where the shapes differ.
type Bottleneck struct {
	Body     *nn.Sequential
	Shortcut *nn.Sequential // nil for the identity
}

func newBottleneck(in, width, stride int, folded bool) *Bottleneck {
	out := 4 * width
	b := &Bottleneck{Body: nn.NewSequential(slices.Concat(
		convolved(in, width, 1, folded), []nn.Module{nn.ReLU()},
		convolved(width, width, 3, folded, tensor.Stride(stride), tensor.Padding(1)), []nn.Module{nn.ReLU()},
		convolved(width, out, 1, folded),
	)...)}
	if in != out || stride != 1 {
		b.Shortcut = nn.NewSequential(convolved(in, out, 1, folded, tensor.Stride(stride))...)
	}
	return b
}

// convolved returns a convolution and the norm behind it, or where that is folded into it a
// convolution with a bias.
func convolved(in, out, kernel int, folded bool, opts ...nn.Option) []nn.Module {
	if folded {
		return []nn.Module{nn.NewConv2d(in, out, kernel, opts...)}
	}
	return []nn.Module{nn.NewConv2d(in, out, kernel, append(opts, nn.NoBias())...), nn.NewBatchNorm(out)}
}

// Forward maps [n, in, height, width] to [n, out, height/stride, width/stride].
func (b *Bottleneck) Forward(x tensor.Tensor) tensor.Tensor {
	beside := x
	if b.Shortcut != nil {
		beside = b.Shortcut.Forward(x)
	}
	return b.Body.Forward(x).Add(beside).ReLU()
}

// A ResNet is a residual network for images.
type ResNet struct {
	Stem       *nn.Sequential
	Stages     *nn.Sequential
	Classifier *nn.Linear
}

// NewResNet returns a residual network of bottlenecks, so many a stage, for images of three
// channels. ResNet-50 is NewResNet(1000, 64, 3, 4, 6, 3).
func NewResNet(classes, width int, blocks ...int) *ResNet {
	return newResNet(classes, width, blocks, false)
}

// NewFoldedResNet returns such a network for inference alone: its norms, which do not change any
// more, are folded into the convolutions before them.
func NewFoldedResNet(classes, width int, blocks ...int) *ResNet {
	return newResNet(classes, width, blocks, true)
}

func newResNet(classes, width int, blocks []int, folded bool) *ResNet {
	m := &ResNet{Stem: nn.NewSequential(append(convolved(3, width, 7, folded, tensor.Stride(2), tensor.Padding(3)),
		nn.ReLU(), nn.MaxPool2d(3, tensor.Stride(2), tensor.Padding(1)))...)}
	in := width
	var stages []nn.Module
	for i, n := range blocks {
		for k := range n {
			stride := 1
			if i > 0 && k == 0 {
				stride = 2
			}
			stages = append(stages, newBottleneck(in, width<<i, stride, folded))
			in = 4 * width << i
		}
	}
	m.Stages, m.Classifier = nn.NewSequential(stages...), nn.NewLinear(in, classes)
	return m
}

// Forward maps images [n, 3, height, width] to a score for each class.
func (m *ResNet) Forward(x tensor.Tensor) tensor.Tensor {
	x = m.Stages.Forward(m.Stem.Forward(x))
	return m.Classifier.Forward(x.Mean(tensor.Dim(2, 3)))
}
