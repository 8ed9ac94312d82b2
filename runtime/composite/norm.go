package composite

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// The types of the operators that batch norms are handed.
type (
	normParts    = func(x, weight, bias *core.Tensor, eps float64) (out, average, variance *core.Tensor)
	normBackward = func(dy, x, weight, average, variance *core.Tensor, eps float64) (dX, dWeight, dBias *core.Tensor)
)

var batchNormOp = ir.Op{
	Name: "batch_norm_train", Kind: ir.Composition, Switch: -1, DTypes: ir.ClassFloat,
	In:  []ir.Operand{{Name: "x"}, {Name: "weight"}, {Name: "bias"}},
	Out: []ir.Result{{Name: "out"}, {Name: "average"}, {Name: "variance"}},
}

// BatchNormTrain returns x normalized by channel, times weight plus bias, and the
// average and variance of each channel. Images on the CPU go through kernels of their
// own, forward and backward; all else is made of parts, and so are gradients that are
// recorded, or are also of the statistics.
func BatchNormTrain(parts, forward normParts, backward normBackward, add product, clone ofOne,
	x, weight, bias *core.Tensor, eps float64) (out, average, variance *core.Tensor) {
	if !images(x, weight, bias) {
		return parts(x, weight, bias, eps)
	}
	if weight == nil {
		weight = channelwise(x, 1)
		defer weight.Release()
	}
	if bias == nil {
		bias = channelwise(x, 0)
		defer bias.Release()
	}
	outs := core.Custom(core.Apply{
		Op: &batchNormOp, In: []*core.Tensor{x, weight, bias},
		Save: core.SaveIn(0) | core.SaveIn(1) | core.SaveIn(2) | core.SaveOut(1) | core.SaveOut(2),
		Backward: func(g *core.Grad) {
			if g.Recording() || g.HasDy(1) || g.HasDy(2) {
				again(g, &batchNormOp, &core.Operators{Add: add, Clone: clone}, func(in []*core.Tensor) []*core.Tensor {
					return list(parts(in[0], in[1], in[2], eps))
				})
				return
			}
			dX, dWeight, dBias := backward(g.Dy(0), g.In(0), g.In(1), g.Out(1), g.Out(2), eps)
			g.Set(0, dX)
			g.Set(1, dWeight)
			g.Set(2, dBias)
		},
	}, func() []*core.Tensor { return list(forward(x, weight, bias, eps)) })
	return outs[0], outs[1], outs[2]
}

// channelwise returns a tensor of as many values as x has channels.
func channelwise(x *core.Tensor, value float32) *core.Tensor {
	n := look(x).Shape()[1]
	return core.From(slices.Repeat([]float32{value}, n), []int{n}, core.Placement{Device: look(x).Device(), DType: look(x).DType()})
}

func list(a, b, c *core.Tensor) []*core.Tensor { return []*core.Tensor{a, b, c} }

// minPlane is how many elements an image of one channel has at least, for which the
// kernels are made: they go over images one after the other.
const minPlane = 16

// images reports whether x, weight and bias, where there are these, are what the kernels
// are for: images on the CPU whose statistics, rounded to their dtype, serve to compute
// the gradient.
func images(x, weight, bias *core.Tensor) bool {
	if core.FirstError(x, weight, bias) != nil || look(x).Device().Accelerator() || look(x).Rank() < 3 {
		return false
	}
	for _, t := range []*core.Tensor{weight, bias} {
		if t != nil && (look(t).Device().Accelerator() || look(t).DType() != look(x).DType() || !slices.Equal(look(t).Shape(), look(x).Shape()[1:2])) {
			return false
		}
	}
	return (look(x).DType() == ir.Float32 || look(x).DType() == ir.Float64) && ir.NumElements(look(x).Shape()[2:]) >= minPlane
}
