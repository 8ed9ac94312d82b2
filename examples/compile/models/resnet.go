package models

import (
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// A Bottleneck is a block of ResNet-50: three convolutions beside a shortcut, which is a
// convolution too where the shapes differ.
type Bottleneck struct {
	Body     *nn.Sequential
	Shortcut *nn.Sequential // nil for the identity
}

func newBottleneck(in, width, stride int) *Bottleneck {
	out := 4 * width
	b := &Bottleneck{Body: nn.NewSequential(
		nn.NewConv2d(in, width, 1, nn.NoBias()), nn.NewBatchNorm(width), nn.ReLU(),
		nn.NewConv2d(width, width, 3, tensor.Stride(stride), tensor.Padding(1), nn.NoBias()), nn.NewBatchNorm(width), nn.ReLU(),
		nn.NewConv2d(width, out, 1, nn.NoBias()), nn.NewBatchNorm(out),
	)}
	if in != out || stride != 1 {
		b.Shortcut = nn.NewSequential(nn.NewConv2d(in, out, 1, tensor.Stride(stride), nn.NoBias()), nn.NewBatchNorm(out))
	}
	return b
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
	m := &ResNet{Stem: nn.NewSequential(
		nn.NewConv2d(3, width, 7, tensor.Stride(2), tensor.Padding(3), nn.NoBias()), nn.NewBatchNorm(width), nn.ReLU(),
		nn.MaxPool2d(3, tensor.Stride(2), tensor.Padding(1)),
	)}
	in := width
	var stages []nn.Module
	for i, n := range blocks {
		for k := range n {
			stride := 1
			if i > 0 && k == 0 {
				stride = 2
			}
			stages = append(stages, newBottleneck(in, width<<i, stride))
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
