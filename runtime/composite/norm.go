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

// BatchNorms are the operators that a batch norm is made of.
type BatchNorms struct {
	BatchNormParts        normParts
	ChannelNormAffine     normParts
	ChannelNormAffineGrad normBackward
	Add                   product
	Clone                 ofOne
}

var batchNormOp = ir.Op{
	Name: "batch_norm_images", Kind: ir.Composition, Switch: -1, DTypes: ir.ClassFloat,
	In:  []ir.Operand{{Name: "x"}, {Name: "weight"}, {Name: "bias"}},
	Out: []ir.Result{{Name: "out"}, {Name: "average"}, {Name: "variance"}},
}

// BatchNormImages returns x, images, normalized by channel, times weight plus bias, and the
// average and variance of each channel, by kernels of its own, forward and backward. It
// is made of parts for gradients that are recorded, or are also of the statistics.
func BatchNormImages(o BatchNorms, x, weight, bias *core.Tensor, eps float64) (out, average, variance *core.Tensor) {
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
				again(g, &batchNormOp, &core.Operators{Add: o.Add, Clone: o.Clone}, func(in []*core.Tensor) []*core.Tensor {
					return list(o.BatchNormParts(in[0], in[1], in[2], eps))
				})
				return
			}
			dX, dWeight, dBias := o.ChannelNormAffineGrad(g.Dy(0), g.In(0), g.In(1), g.Out(1), g.Out(2), eps)
			g.Set(0, dX)
			g.Set(1, dWeight)
			g.Set(2, dBias)
		},
	}, func() []*core.Tensor { return list(o.ChannelNormAffine(x, weight, bias, eps)) })
	return outs[0], outs[1], outs[2]
}

// channelwise returns a tensor of as many values as x has channels.
func channelwise(x *core.Tensor, value float32) *core.Tensor {
	n := look(x).Shape()[1]
	return core.From(slices.Repeat([]float32{value}, n), []int{n}, core.Placement{Device: look(x).Device(), DType: look(x).DType()})
}

func list(a, b, c *core.Tensor) []*core.Tensor { return []*core.Tensor{a, b, c} }

type normPull = func(dy, x, mean, rstd, dMean, dRstd *core.Tensor, axes int, normal bool) *core.Tensor

// NormPulls are the operators that the gradient of a normalization of rows is made of.
type NormPulls struct {
	NormPullRows, NormPullParts normPull
	Add                         product
	Clone                       ofOne
}

var normPullOp = ir.Op{
	Name: "norm_pull", Kind: ir.Composition, Switch: -1, DTypes: ir.ClassFloat,
	In:  []ir.Operand{{Name: "g"}, {Name: "x"}, {Name: "mean"}, {Name: "rstd"}, {Name: "dmean"}, {Name: "drstd"}},
	Out: []ir.Result{{Name: "out"}},
}

// NormPull returns the gradient of a normalization of rows by its operand, by a kernel of
// its own. Its own gradient is that of its parts.
func NormPull(o NormPulls, dy, x, mean, rstd, dMean, dRstd *core.Tensor, axes int, normal bool) *core.Tensor {
	outs := core.Custom(core.Apply{
		Op: &normPullOp, In: []*core.Tensor{dy, x, mean, rstd, dMean, dRstd},
		Save: core.SaveIn(0) | core.SaveIn(1) | core.SaveIn(2) | core.SaveIn(3) | core.SaveIn(4) | core.SaveIn(5),
		Backward: func(g *core.Grad) {
			again(g, &normPullOp, &core.Operators{Add: o.Add, Clone: o.Clone}, func(in []*core.Tensor) []*core.Tensor {
				return []*core.Tensor{o.NormPullParts(in[0], in[1], in[2], in[3], in[4], in[5], axes, normal)}
			})
		},
	}, func() []*core.Tensor {
		return []*core.Tensor{o.NormPullRows(dy, x, mean, rstd, dMean, dRstd, axes, normal)}
	})
	return outs[0]
}
