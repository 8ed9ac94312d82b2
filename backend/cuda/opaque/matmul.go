package opaque

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/ir"
)

// A product is a batch of matrix products as kernels/matmul.cu sees it. Strides
// are in elements.
type product struct {
	dtype         ir.DType
	out, a, b     uint64
	m, n, k       int
	aRow, aColumn int
	bRow, bColumn int
	batch         space.Space // of strides in a and in b
}

const (
	// batchAxes is how many axes of a batch the kernels take, productLimit what
	// each of m, n and k stays below.
	batchAxes    = 6
	productLimit = math.MaxInt32 - 1024
	// gridLimit is how many blocks there can be along the second and third axis.
	gridLimit = 65535
	// sliceLeast is the least of k that a slice is worth, slicedMost how many bytes
	// of sums the slices may leave.
	sliceLeast = 256
	slicedMost = 64 << 20
)

// ownMatMul is MatMul by kernels of our own, for every dtype. No operand is copied
// for its layout.
func ownMatMul(g code.GPU, c *ir.Call) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	dt := c.Out[0].DType
	x, err := onDevice(g, c.In[0], dt)
	if err != nil {
		return err
	}
	y, err := onDevice(g, c.In[1], dt)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], dt)
	if err != nil {
		return err
	}
	p, err := newProduct(x, y, out.View)
	if err != nil {
		return err
	}
	if err := p.launch(g); err != nil {
		return err
	}
	return out.finish(g)
}

// newProduct reads matrices off the last two axes of x and y; an operand of one
// axis is a row on the left and a column on the right.
func newProduct(x, y, out ir.View) (*product, error) {
	p := &product{dtype: out.DType, out: out.Addr, a: x.Addr, b: y.Addr, m: 1, n: 1}
	batch := out.Shape
	last := len(x.Shape) - 1
	p.k, p.aColumn = x.Shape[last], x.Strides[last]
	if len(y.Shape) > 1 {
		end := len(y.Shape) - 1
		p.n, p.bRow, p.bColumn = y.Shape[end], y.Strides[end-1], y.Strides[end]
		batch = batch[:len(batch)-1]
		y.Shape, y.Strides = y.Shape[:end-1], y.Strides[:end-1]
	} else {
		p.bRow = y.Strides[0]
		y.Shape, y.Strides = nil, nil
	}
	if last > 0 {
		p.m, p.aRow = x.Shape[last-1], x.Strides[last-1]
		batch = batch[:len(batch)-1]
		x.Shape, x.Strides = x.Shape[:last-1], x.Strides[:last-1]
	} else {
		x.Shape, x.Strides = nil, nil
	}
	p.batch = space.New(batch, ir.ExpandStrides(x.Shape, x.Strides, batch), ir.ExpandStrides(y.Shape, y.Strides, batch))
	p.foldRows()
	if len(p.batch.Extents) > batchAxes {
		return nil, fmt.Errorf("a batch of %d axes on cuda, where at most %d are implemented", len(p.batch.Extents), batchAxes)
	}
	for _, e := range append([]int{p.m, p.n, p.k}, p.batch.Extents...) {
		if e >= productLimit {
			return nil, fmt.Errorf("matrices with extent %d on cuda, where extents are less than %d", e, productLimit)
		}
	}
	return p, nil
}

// foldRows makes one product of many where they have y in common and x goes on
// as more rows.
func (p *product) foldRows() {
	s := &p.batch
	if len(s.Extents) != 1 || s.Strides[1][0] != 0 || p.m > 1 && s.Strides[0][0] != p.m*p.aRow {
		return
	}
	if p.m == 1 {
		p.aRow = s.Strides[0][0]
	}
	p.m *= s.Extents[0]
	*s = space.New(nil, nil, nil)
}

// tile returns the side of the tiles to multiply by.
func (p *product) tile(sms int) int {
	tiles := func(side int64) int64 { return ceil(int64(p.m), side) * ceil(int64(p.n), side) * p.batch.Count() }
	switch {
	case min(p.m, p.n) <= 24 || p.m*p.n <= 48*48:
		return 16
	case p.dtype != ir.Complex128 && tiles(128) >= int64(sms):
		return 128
	}
	return 64
}

// slices returns in how many parts k is added up, more than one where there
// would be too few blocks for the device.
func (p *product) slices(sms int, blocks int64) int64 {
	results := p.batch.Count() * int64(p.m) * int64(p.n) * int64(accumulator(p.dtype))
	return max(1, min(2*int64(sms)/blocks, int64(p.k)/sliceLeast, slicedMost/results))
}

// accumulator returns the bytes of what products of a dtype are added up in.
func accumulator(dt ir.DType) int { return max(4, dt.Compute().Size()) }

func (p *product) launch(g code.GPU) error {
	side := p.tile(g.Multiprocessors())
	tiles := ceil(int64(p.m), int64(side)) * ceil(int64(p.n), int64(side))
	if tiles >= space.Limit {
		return fmt.Errorf("a product of %d x %d elements is too large for cuda", p.m, p.n)
	}
	count := p.batch.Count()
	slices := p.slices(g.Multiprocessors(), tiles*min(count, gridLimit))
	partial := uint64(0)
	if slices > 1 {
		var err error
		if partial, err = g.Scratch(slices * count * int64(p.m) * int64(p.n) * int64(accumulator(p.dtype))); err != nil {
			return err
		}
	}
	var params driver.Params
	p.append(&params, partial, slices)
	name := fmt.Sprintf("matmul_%s_%d", p.dtype, side)
	size := [3]int{int(tiles), int(slices), int(min(count, gridLimit))}
	if err := g.Launch("matmul", name, size, block(blockThreads), 0, params.Bytes()); err != nil || slices == 1 {
		return err
	}
	return merge(g, "matmul", ofType("matmul", p.dtype), p.out, partial, count*int64(p.m)*int64(p.n), slices)
}

func (p *product) append(params *driver.Params, partial uint64, slices int64) {
	for _, addr := range []uint64{p.out, p.a, p.b, partial} {
		params.Uint64(addr)
	}
	for _, n := range []int{p.m, p.n, p.k, int(slices)} {
		params.Int32(int32(n))
	}
	for _, stride := range []int{p.aRow, p.aColumn, p.bRow, p.bColumn} {
		params.Int64(int64(stride))
	}
	params.Int64(p.batch.Count())
	params.Int32(int32(len(p.batch.Extents)))
	at := func(list []int, i int) int64 {
		if i < len(list) {
			return int64(list[i])
		}
		return 0
	}
	for d := range batchAxes {
		params.Int32(int32(at(p.batch.Extents, d)))
	}
	for _, strides := range p.batch.Strides {
		for d := range batchAxes {
			params.Int64(at(strides, d))
		}
	}
}

// merge launches the kernel that adds up what slices left of count elements.
func merge(g code.GPU, module, kernel string, out, partial uint64, count, slices int64) error {
	var p driver.Params
	p.Uint64(out)
	p.Uint64(partial)
	p.Int64(count)
	p.Int32(int32(slices))
	return g.Launch(module, kernel+"_merge", grid(count, blockThreads), block(blockThreads), 0, p.Bytes())
}
