package opaque

import (
	"math/bits"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/cudnn"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// lastVector is how many channels a thread of the kernels of images whose channels are last has.
const lastVector = vectorBytes / 2

// takesLast reports whether there are kernels for images like v whose channels are last.
func takesLast(v ir.View) bool { return half(v) && len(v.Shape) == 4 && v.Shape[1]%lastVector == 0 }

// lastChannels reports whether a call of so many operands that are images is one for the kernels
// of images whose channels are last: all are of 16 bits, and so the result lies.
func lastChannels(c *ir.Call, images int) bool {
	if !takesLast(c.Out[0]) || !cudnn.IsLast(&c.Out[0]) || c.Out[0].Addr%vectorBytes != 0 {
		return false
	}
	for _, v := range c.In[:images] {
		if v.DType != c.Out[0].DType {
			return false
		}
	}
	return true
}

const (
	// lastBlocks is how many blocks of the kernels a multiprocessor has at once.
	lastBlocks = 4
	// lastRows is how many rows a thread reads at once.
	lastRows = 4
	// lastEnd is how many channels a block puts together.
	lastEnd = 8
)

// overLast launches the three kernels of channel_last.cu for images whose channels are last: the
// first finds so many numbers of each channel of each part, the second puts them together and
// leaves by numbers a channel for the third, which writes the first result.
func overLast(g code.GPU, c *ir.Call, kernels []string, images int, numbers, by int64) error {
	out := c.Out[0]
	channels, places := int64(out.Shape[1]), int64(out.NumElements())
	rows := places / channels
	addrs, results, err := lastViews(g, c, images)
	if err != nil {
		return err
	}
	lanes := int64(min(warp, 1<<bits.Len(uint(channels/lastVector-1))))
	across := ceil(channels, lanes*lastVector)
	parts, each := lastParts(g, rows, lanes, across)
	size := int64(out.DType.Compute().Size())
	sums, err := g.Scratch(parts * channels * numbers * size)
	if err != nil {
		return err
	}
	kept, err := g.Scratch(channels * by * size)
	if err != nil {
		return err
	}
	var p driver.Params
	for _, n := range []int64{rows, channels, each, parts} {
		p.Int64(n)
	}
	p.Int32(int32(lanes))
	p.Align(8)
	for _, a := range channelOrder(addrs, len(c.Out)) {
		p.Uint64(a)
	}
	p.Uint64(sums)
	p.Uint64(kept)
	p.Float64(c.Attrs[0].Scalar.Float())
	all := [3]int{int(across), int(parts), 1}
	for i, blocks := range [][3]int{all, grid(channels, lastEnd), all} {
		if err := g.Launch("channel_last", ofType(kernels[i], out.DType), blocks, block(blockThreads), 0, p.Bytes()); err != nil {
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

// lastParts cuts rows into parts of whole reads of a block, as many as there are blocks at once,
// each of which has across slices of channels.
func lastParts(g code.GPU, rows, lanes, across int64) (parts, each int64) {
	const most = 1<<16 - 1 // of a grid's second axis
	reads := lastRows * blockThreads / lanes
	wanted := min(most, ceil(lastBlocks*int64(g.Multiprocessors()), across))
	each = ceil(ceil(rows, reads), wanted) * reads
	return ceil(rows, each), each
}

// lastViews returns the addresses of all, those of results first, and the results: images with
// their channels last, and what is left without gaps.
func lastViews(g code.GPU, c *ir.Call, images int) (addrs []uint64, results []target, err error) {
	for i, v := range c.Out {
		t := target{View: v}
		if i > 0 {
			if t, err = contiguous(g, v, channelType(c, v)); err != nil {
				return nil, nil, err
			}
		}
		addrs, results = append(addrs, t.Addr), append(results, t)
	}
	for i, v := range c.In {
		if i >= images {
			v, err = g.Dense(v, channelType(c, v))
		} else {
			v, err = channelsLast(g, v)
		}
		if err != nil {
			return nil, nil, err
		}
		addrs = append(addrs, v.Addr)
	}
	return addrs, results, nil
}

// channelsLast returns an image whose channels are last in memory, at a multiple of 16 bytes: a
// copy, unless it lies so.
func channelsLast(g code.GPU, v ir.View) (ir.View, error) {
	if v.Ptr == nil && v.Addr%vectorBytes == 0 && cudnn.IsLast(&v) {
		return v, nil
	}
	to, err := g.Scratch(v.Bytes())
	if err != nil {
		return v, err
	}
	last := ir.View{Addr: to, DType: v.DType, Shape: v.Shape, Strides: ir.ChannelsLastStrides(v.Shape)}
	return last, g.Store(last, v)
}
