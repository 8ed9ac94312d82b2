package composite

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// The types of the operators that batch norms are handed.
type (
	normParts    = func(x, weight, bias *core.Tensor, eps float64) (out, average, variance *core.Tensor)
	normMeasured = func(x, weight, bias *core.Tensor, eps float64) (out, average, variance, mean, spread *core.Tensor)
	normBackward = func(dy, x, weight, mean, spread *core.Tensor, eps float64) (dX, dWeight, dBias *core.Tensor)
)

// BatchNorms are the operators that a batch norm is made of.
type BatchNorms struct {
	BatchNormParts        normParts
	ChannelNormAffine     normMeasured
	ChannelNormAffineGrad normBackward
	Add                   product
	Clone                 ofOne
}

var batchNormOp = ir.Op{
	Name: "batch_norm_images", Kind: ir.Composition, Switch: -1, DTypes: ir.ClassFloat,
	In:  []ir.Operand{{Name: "x"}, {Name: "weight"}, {Name: "bias"}},
	Out: []ir.Result{{Name: "out"}, {Name: "average"}, {Name: "variance"}, {Name: "mean"}, {Name: "spread"}},
}

// BatchNormImages returns x, images, normalized by channel, times weight plus bias, and the
// average and variance of each channel, by kernels of its own, forward and backward; what goes
// from one to the other are the unrounded statistics. It is made of parts for gradients that are
// recorded, or are also of the statistics. Each result is rounded once.
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
		Save: core.SaveIn(0) | core.SaveIn(1) | core.SaveIn(2) | core.SaveOut(3) | core.SaveOut(4),
		Backward: func(g *core.Grad) {
			if g.Recording() || g.HasDy(1) || g.HasDy(2) {
				again(g, &batchNormOp, &core.Operators{Add: o.Add, Clone: o.Clone}, func(in []*core.Tensor) []*core.Tensor {
					out, average, variance := o.BatchNormParts(core.Wide(in[0]), core.Wide(in[1]), core.Wide(in[2]), eps)
					dt := look(in[0]).DType()
					out, average, variance = core.As(out, dt), core.As(average, dt), core.As(variance, dt)
					return []*core.Tensor{out, average, variance, core.As(average, ir.Float64), core.As(variance, ir.Float64)} // of the last gradients are 0
				})
				return
			}
			dX, dWeight, dBias := o.ChannelNormAffineGrad(g.Dy(0), g.In(0), g.In(1), g.Out(3), g.Out(4), eps)
			g.Set(0, dX)
			g.Set(1, dWeight)
			g.Set(2, dBias)
		},
	}, func() []*core.Tensor {
		out, average, variance, mean, spread := o.ChannelNormAffine(x, weight, bias, eps)
		return []*core.Tensor{out, average, variance, mean, spread}
	})
	return outs[0], outs[1], outs[2]
}

// The types of the operators that norms of groups are handed.
type (
	groupParts    = func(x, weight, bias *core.Tensor, groups int, eps float64) (out, average, rstd *core.Tensor)
	groupBackward = func(dy, x, weight, average, rstd *core.Tensor, groups int) (dX, dWeight, dBias *core.Tensor)
)

// GroupNorms are the operators that a norm of groups is made of.
type GroupNorms struct {
	GroupNormParts, GroupNormAffine groupParts
	GroupNormAffineGrad             groupBackward
	Add                             product
	Clone                           ofOne
}

var groupNormOp = ir.Op{
	Name: "group_norm_images", Kind: ir.Composition, Switch: -1, DTypes: ir.ClassFloat,
	In:  []ir.Operand{{Name: "x"}, {Name: "weight"}, {Name: "bias"}},
	Out: []ir.Result{{Name: "out"}, {Name: "average"}, {Name: "rstd"}},
}

// GroupNorm returns x, images, normalized by groups of channels, times weight plus bias. All
// gradients are computed together; those that are recorded are of the parts.
func GroupNorm(o GroupNorms, x, weight, bias *core.Tensor, groups int, eps float64) *core.Tensor {
	outs := core.Custom(core.Apply{
		Op: &groupNormOp, In: []*core.Tensor{x, weight, bias},
		Save: core.SaveIn(0) | core.SaveIn(1) | core.SaveIn(2) | core.SaveOut(1) | core.SaveOut(2),
		Backward: func(g *core.Grad) {
			if g.Recording() {
				again(g, &groupNormOp, &core.Operators{Add: o.Add, Clone: o.Clone}, func(in []*core.Tensor) []*core.Tensor {
					return list(o.GroupNormParts(in[0], in[1], in[2], groups, eps))
				})
				return
			}
			setRows(g, list(o.GroupNormAffineGrad(g.Dy(0), g.In(0), g.In(1), g.Out(1), g.Out(2), groups)))
		},
	}, func() []*core.Tensor { return list(o.GroupNormAffine(x, weight, bias, groups, eps)) })
	return outs[0]
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

// The types of the operators that normalizations of rows are handed.
type (
	normRows     = func(x, weight, bias *core.Tensor, axes int, eps float64) (out, mean, rstd *core.Tensor)
	normRowsPull = func(dy, x, weight, mean, rstd *core.Tensor, axes int, affine bool) (dX, dWeight, dBias *core.Tensor)
	rmsRows      = func(x, weight *core.Tensor, axes int, eps float64) (out, rstd *core.Tensor)
	rmsRowsPull  = func(dy, x, weight, rstd *core.Tensor, axes int, affine bool) (dX, dWeight *core.Tensor)
)

// LayerNorms are the operators that a layer norm is made of.
type LayerNorms struct {
	LayerNormAffine normRows
	LayerNormPull   normRowsPull
	Add             product
	Clone           ofOne
}

var layerNormOp = ir.Op{
	Name: "layer_norm_rows", Kind: ir.Composition, Switch: -1, DTypes: ir.ClassFloat,
	In:  []ir.Operand{{Name: "x"}, {Name: "weight"}, {Name: "bias"}},
	Out: []ir.Result{{Name: "out"}, {Name: "mean"}, {Name: "rstd"}},
}

// LayerNorm returns x normalized over its last axes to mean 0 and variance 1, times weight plus
// bias. All gradients are computed together; those that are recorded are of LayerNormAffine.
func LayerNorm(o LayerNorms, x, weight, bias *core.Tensor, axes int, eps float64) *core.Tensor {
	outs := core.Custom(core.Apply{
		Op: &layerNormOp, In: []*core.Tensor{x, weight, bias},
		Save: core.SaveIn(0) | core.SaveIn(1) | core.SaveIn(2) | core.SaveOut(1) | core.SaveOut(2),
		Backward: func(g *core.Grad) {
			if g.Recording() {
				again(g, &layerNormOp, &core.Operators{Add: o.Add, Clone: o.Clone}, func(in []*core.Tensor) []*core.Tensor {
					return list(o.LayerNormAffine(in[0], in[1], in[2], axes, eps))
				})
				return
			}
			mean, rstd := core.As(g.Out(1), ir.Float64), core.As(g.Out(2), ir.Float64)
			setRows(g, list(o.LayerNormPull(g.Dy(0), g.In(0), g.In(1), mean, rstd, axes, g.Needs(1) || g.Needs(2))))
		},
	}, func() []*core.Tensor { return list(o.LayerNormAffine(x, weight, bias, axes, eps)) })
	return outs[0]
}

// RMSNorms are the operators that an RMS norm is made of.
type RMSNorms struct {
	RMSNormAffine                 rmsRows
	RMSNormPull, RMSNormPullParts rmsRowsPull
	Add                           product
	Clone                         ofOne
}

var rmsNormOp = ir.Op{
	Name: "rms_norm_rows", Kind: ir.Composition, Switch: -1, DTypes: ir.ClassFloat,
	In:  []ir.Operand{{Name: "x"}, {Name: "weight"}},
	Out: []ir.Result{{Name: "out"}, {Name: "rstd"}},
}

// RMSNorm returns x divided by the root of its mean square over its last axes, times weight, as
// LayerNorm does. In programs that fold rows its gradients are those of its parts, which become
// steps with what is around.
func RMSNorm(o RMSNorms, x, weight *core.Tensor, axes int, eps float64) *core.Tensor {
	outs := core.Custom(core.Apply{
		Op: &rmsNormOp, In: []*core.Tensor{x, weight},
		Save: core.SaveIn(0) | core.SaveIn(1) | core.SaveOut(1),
		Backward: func(g *core.Grad) {
			if g.Recording() {
				again(g, &rmsNormOp, &core.Operators{Add: o.Add, Clone: o.Clone}, func(in []*core.Tensor) []*core.Tensor {
					return pair(o.RMSNormAffine(in[0], in[1], axes, eps))
				})
				return
			}
			pull := o.RMSNormPull
			if core.FoldsRows(-axes, g.Dy(0), g.In(0)) {
				pull = o.RMSNormPullParts
			}
			setRows(g, pair(pull(g.Dy(0), g.In(0), g.In(1), core.As(g.Out(1), ir.Float64), axes, g.Needs(1))))
		},
	}, func() []*core.Tensor { return pair(o.RMSNormAffine(x, weight, axes, eps)) })
	return outs[0]
}

func pair(a, b *core.Tensor) []*core.Tensor { return []*core.Tensor{a, b} }

// setRows sets the gradients that are wanted, and releases the others.
func setRows(g *core.Grad, grads []*core.Tensor) {
	for i, d := range grads {
		if g.Needs(i) {
			g.Set(i, d)
		} else {
			d.Release()
		}
	}
}
