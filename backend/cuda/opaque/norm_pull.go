package opaque

import (
	"math/bits"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// NormPull returns the gradients of LayerNorm's result by x, weight and bias, or of RMSNorm's
// by x and weight. Operands: the gradient of the result, x, weight, the mean where it is
// LayerNorm's, and rstd. Attributes: axes, and whether the gradients of weight and bias are
// wanted, which have no elements otherwise.
func NormPull(g code.GPU, c *ir.Call) error {
	dt := c.Out[0].DType
	n := normPull{dtype: dt}
	for i, v := range c.In {
		as := dt
		if i > 2 {
			as = ir.Float64
		}
		v, err := g.Dense(v, as)
		if err != nil {
			return err
		}
		n.in = append(n.in, v.Addr)
	}
	if len(n.in) < 5 {
		n.in = append(n.in[:3:3], 0, n.in[3])
	}
	shape := c.Out[0].Shape
	lead := len(shape) - int(c.Attrs[0].Int)
	n.rows, n.along = ir.NumElements(shape[:lead]), ir.NumElements(shape[lead:])
	var out [3]target
	for i, v := range c.Out {
		var err error
		if out[i], err = contiguous(g, v, dt); err != nil {
			return err
		}
	}
	if c.Attrs[1].Int != 0 { // first: it asks for scratch
		if err := n.columns(g, out[1].Addr, out[2].Addr); err != nil {
			return err
		}
	}
	if err := n.operand(g, out[0].Addr); err != nil {
		return err
	}
	for i := range c.Out {
		if err := out[i].finish(g); err != nil {
			return err
		}
	}
	return nil
}

// A normPull is a launch of the kernels of norm_pull.cu.
type normPull struct {
	dtype       ir.DType
	in          []uint64 // g, x, weight, mean or 0, rstd
	rows, along int
}

// vectors returns 1 where rows at these addresses can be read by vectors, which kernels of
// float64 do not.
func (n *normPull) vectors(addrs ...uint64) int32 {
	together := uint64(n.along * n.dtype.Size())
	for _, a := range addrs {
		together |= a
	}
	if together%vectorBytes == 0 && n.dtype != ir.Float64 {
		return 1
	}
	return 0
}

// operand launches the kernel of x's gradient: some lanes of a warp for each row, or a block.
func (n *normPull) operand(g code.GPU, dx uint64) error {
	if n.rows*n.along == 0 {
		return nil
	}
	var p driver.Params
	p.Uint64(dx)
	for _, a := range n.in {
		p.Uint64(a)
	}
	p.Int64(int64(n.rows))
	p.Int64(int64(n.along))
	p.Int32(n.vectors(dx, n.in[0], n.in[1], n.in[2]))
	p.Align(8)
	kernel := ofType("norm_pull", n.dtype)
	if n.along > manyKept*warp {
		threads := min(largestBlock, int(ceil(int64(n.along), fewKept*warp))*warp)
		return g.Launch("norm_pull", kernel+"_block", [3]int{n.rows, 1, 1}, block(threads), 0, p.Bytes())
	}
	lanes := min(warp, 1<<bits.Len(uint((n.along-1)/fewKept)))
	p.Int32(int32(lanes))
	return g.Launch("norm_pull", kernel+"_warp", grid(int64(n.rows), int64(rowWarps/lanes)), block(rowWarps), 0, p.Bytes())
}

// columnRows is how many rows a thread of the kernel of columns adds up at least, where there
// are as many.
const columnRows = 4

// columns launches the kernels of the gradients of weight and, unless its address is 0, bias.
func (n *normPull) columns(g code.GPU, dWeight, dBias uint64) error {
	if n.along == 0 {
		return nil
	}
	vectors, vec := n.vectors(n.in[0], n.in[1]), int64(1)
	if vectors != 0 {
		vec = int64(vectorBytes / n.dtype.Size())
	}
	lanes := int64(min(warp, 1<<bits.Len(uint(ceil(int64(n.along), vec)-1))))
	across := ceil(int64(n.along), lanes*vec)
	parts := min(ceil(channelBlocks/2*int64(g.Multiprocessors()), across), ceil(int64(n.rows), columnRows*blockThreads/lanes))
	each := max(1, ceil(int64(n.rows), max(1, parts)))
	parts = max(1, ceil(int64(n.rows), each))
	sums, err := g.Scratch(parts * int64(n.along) * 2 * int64(n.dtype.Compute().Size()))
	if err != nil {
		return err
	}
	var p driver.Params
	for _, a := range []uint64{dWeight, dBias, n.in[0], n.in[1], n.in[3], n.in[4], sums} {
		p.Uint64(a)
	}
	for _, k := range []int64{int64(n.rows), int64(n.along), each, parts} {
		p.Int64(k)
	}
	p.Int32(int32(lanes))
	p.Int32(vectors)
	err = g.Launch("norm_pull", ofType("norm_columns", n.dtype), [3]int{int(across), int(parts), 1}, block(blockThreads), 0, p.Bytes())
	if err != nil {
		return err
	}
	return g.Launch("norm_pull", ofType("norm_columns_end", n.dtype), grid(int64(n.along), warp), block(blockThreads), 0, p.Bytes())
}
