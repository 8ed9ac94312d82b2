package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// ChannelNorm normalizes each channel, axis 1 of x, over the other axes to mean 0 and
// variance 1. Operands: x, and weight and bias of one element a channel. Attribute: eps.
// Results: out = (x - mean)/sqrt(variance + eps)*weight + bias, and mean and biased
// variance of one element a channel, rounded and in float64.
func ChannelNorm(g code.GPU, c *ir.Call) error {
	const momentsOf = 4 // numbers that the kernels keep of a part
	if lastChannels(c, 1) {
		return overLast(g, c, []string{"last_moments", "last_norm_end", "last_norm"}, 1, momentsOf, 3)
	}
	return overChannels(g, c, "channel_moments", "channel_norm", 1, momentsOf)
}

// ChannelNormGrad returns the gradients of ChannelNorm's result out by x, weight and bias.
// Operands: the gradient of out, x, weight, mean and variance, these in float64. Attribute: eps.
func ChannelNormGrad(g code.GPU, c *ir.Call) error {
	const sumsOf = 2
	if lastChannels(c, 2) {
		return overLast(g, c, []string{"last_sums", "last_grad_end", "last_grad"}, 2, sumsOf, 4)
	}
	return overChannels(g, c, "channel_sums", "channel_grad", 2, sumsOf)
}

const (
	// channelParts is the most parts that the kernels cut a channel into: one for each
	// thread of a block. channelUnits is how many units a part has at least.
	channelParts = blockThreads
	channelUnits = 4 * blockThreads
	// channelBlocks is how many blocks a multiprocessor is given, about.
	channelBlocks = 16
)

// overChannels launches the two kernels of channel_norm.cu: one finds numbers of each part
// of a channel, the other writes the results. The first result and so many operands are
// images; what is left has one element a channel.
func overChannels(g code.GPU, c *ir.Call, measure, write string, images int, numbers int64) error {
	shape, dt := c.Out[0].Shape, c.Out[0].DType
	channels, size := int64(shape[1]), int64(ir.NumElements(shape[2:]))
	if channels == 0 {
		return nil
	}
	results, addrs, together, err := channelViews(g, c, images)
	if err != nil {
		return err
	}
	suffix, vec := "", int64(1)
	if (uint64(size*int64(dt.Size()))|together)%vectorBytes == 0 && size > 0 {
		suffix, vec = "_vector", vectorBytes/int64(dt.Size())
	}
	size /= vec
	units := int64(shape[0]) * size
	parts := min(ceil(channelBlocks*int64(g.Multiprocessors()), channels), ceil(units, channelUnits), channelParts)
	each := max(1, ceil(units, max(1, parts)))
	parts = max(1, ceil(units, each))
	scratch, err := g.Scratch(channels * parts * numbers * int64(dt.Compute().Size()))
	if err != nil {
		return err
	}
	var p driver.Params
	for _, n := range []int64{units, max(1, size), channels * size, each, parts} {
		p.Int64(n)
	}
	for _, a := range channelOrder(addrs, len(c.Out)) {
		p.Uint64(a)
	}
	p.Uint64(scratch)
	p.Float64(c.Attrs[0].Scalar.Float())
	blocks := grid(channels*parts, 1)
	for _, kernel := range []string{measure, write} {
		if err := g.Launch("channel_norm", ofType(kernel, dt)+suffix, blocks, block(blockThreads), 0, p.Bytes()); err != nil {
			return err
		}
	}
	for i := range results {
		if err := results[i].finish(g); err != nil {
			return err
		}
	}
	return nil
}

// channelViews returns the results and the addresses of all, those of results first, without
// gaps; together has the bits of those of images.
func channelViews(g code.GPU, c *ir.Call, images int) (results []target, addrs []uint64, together uint64, err error) {
	for i, v := range c.Out {
		t, err := contiguous(g, v, channelType(c, v))
		if err != nil {
			return nil, nil, 0, err
		}
		if results, addrs = append(results, t), append(addrs, t.Addr); i == 0 {
			together = t.Addr
		}
	}
	for i, v := range c.In {
		v, err := g.Dense(v, channelType(c, v))
		if err != nil {
			return nil, nil, 0, err
		}
		if addrs = append(addrs, v.Addr); i < images {
			together |= v.Addr
		}
	}
	return results, addrs, together, nil
}

// channelType returns the dtype that kernels have of an operand or a result: float64 of
// statistics, and else that of images.
func channelType(c *ir.Call, v ir.View) ir.DType {
	if v.DType == ir.Float64 {
		return v.DType
	}
	return c.Out[0].DType
}

// channelOrder returns addresses, those of results first, in the order of the kernels'
// parameters: the first result, all operands, the other results.
func channelOrder(addrs []uint64, results int) []uint64 {
	list := append([]uint64{addrs[0]}, addrs[results:]...)
	return append(list, addrs[1:results]...)
}
