// Package models has the networks that compiled steps of training are shown and measured
// with: a perceptron, a transformer block, and ResNet-50.
package models

import (
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// Perceptron returns a network of fully connected layers of these widths, with ReLU
// between them.
func Perceptron(widths ...int) nn.Module {
	var layers []nn.Module
	for i := 1; i < len(widths); i++ {
		if i > 1 {
			layers = append(layers, nn.ReLU())
		}
		layers = append(layers, nn.NewLinear(widths[i-1], widths[i]))
	}
	return nn.NewSequential(layers...)
}

// A Block is a transformer's: attention and a perceptron, each after a norm.
type Block struct {
	Heads         int
	Norm1, Norm2  *nn.LayerNorm
	QKV, Out      *nn.Linear
	Widen, Shrink *nn.Linear
}

// NewBlock returns a block for vectors of width elements.
func NewBlock(width, heads int) *Block {
	return &Block{
		Heads: heads, Norm1: nn.NewLayerNorm([]int{width}), Norm2: nn.NewLayerNorm([]int{width}),
		QKV: nn.NewLinear(width, 3*width), Out: nn.NewLinear(width, width),
		Widen: nn.NewLinear(width, 4*width), Shrink: nn.NewLinear(4*width, width),
	}
}

// Forward maps [batch, steps, width] to the same.
func (b *Block) Forward(x tensor.Tensor) tensor.Tensor {
	n, steps, width := x.Size(0), x.Size(1), x.Size(2)
	parts := b.QKV.Forward(b.Norm1.Forward(x)).Chunk(3, 2)
	if len(parts) != 3 {
		return parts[0] // which carries the error
	}
	for i := range parts {
		parts[i] = parts[i].Reshape(n, steps, b.Heads, width/b.Heads).Transpose(1, 2)
	}
	scores := parts[0].MatMul(parts[1].Transpose(2, 3)).MulScalar(0.125)
	mixed := scores.Softmax(3).MatMul(parts[2]).Transpose(1, 2).Reshape(n, steps, width)
	x = x.Add(b.Out.Forward(mixed))
	return x.Add(b.Shrink.Forward(b.Widen.Forward(b.Norm2.Forward(x)).GELU()))
}
