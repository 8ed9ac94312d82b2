package opaque

import (
	"strconv"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/ir"
)

// blockThreads is how many threads a block has unless its kernel says otherwise.
const blockThreads = 256

// vectorBytes is the most that a thread loads or stores at once.
const vectorBytes = 16

// ceil returns n/d rounded up.
func ceil(n, d int64) int64 { return (n + d - 1) / d }

// grid returns the blocks, of which each takes per of n, in one dimension.
func grid(n, per int64) [3]int { return [3]int{int(min(max(ceil(n, per), 1), space.Limit-1)), 1, 1} }

// block returns a block of one dimension.
func block(threads int) [3]int { return [3]int{threads, 1, 1} }

// ofUnit names the kernel that moves units of so many bytes.
func ofUnit(kernel string, bytes int) string { return kernel + "_b" + strconv.Itoa(bytes) }

// ofType names the kernel for a dtype.
func ofType(kernel string, dt ir.DType) string { return kernel + "_" + dt.String() }

// onDevice returns v, in whatever layout it has, where it is device memory of
// dtype dt, and otherwise such a copy.
func onDevice(g code.GPU, v ir.View, dt ir.DType) (ir.View, error) {
	if v.Ptr == nil && v.DType == dt {
		return v, nil
	}
	return g.Dense(v, dt)
}

// scratchView returns a contiguous view of scratch memory.
func scratchView(g code.GPU, shape []int, dt ir.DType) (ir.View, error) {
	addr, err := g.Scratch(int64(ir.NumElements(shape)) * int64(dt.Size()))
	return ir.View{Addr: addr, DType: dt, Shape: shape, Strides: ir.ContiguousStrides(shape)}, err
}

// A target is where kernels write a result: the result itself, or scratch that
// finish copies to it.
type target struct {
	ir.View
	result ir.View
	copied bool
}

// strided returns a target of dtype dt in any layout.
func strided(g code.GPU, out ir.View, dt ir.DType) (target, error) {
	if out.DType == dt {
		return target{View: out}, nil
	}
	return copied(g, out, dt)
}

// contiguous returns a target of dtype dt without gaps.
func contiguous(g code.GPU, out ir.View, dt ir.DType) (target, error) {
	if out.DType == dt && out.IsContiguous() {
		return target{View: out}, nil
	}
	return copied(g, out, dt)
}

func copied(g code.GPU, out ir.View, dt ir.DType) (target, error) {
	v, err := scratchView(g, out.Shape, dt)
	return target{View: v, result: out, copied: true}, err
}

// finish makes the result of what kernels wrote.
func (t *target) finish(g code.GPU) error {
	if !t.copied {
		return nil
	}
	return g.Store(t.result, t.View)
}

// A place is the memory of an operand that a space's strides go over, in elements
// or units of size bytes.
type place struct {
	addr uint64
	size int
}

// over launches a kernel for the pieces of a space, one after the other. Its
// parameters are the piece, a pointer for each place and what rest, unless it is
// nil, adds. Blocks have blockThreads threads, each of which takes each positions.
func over(g code.GPU, module, kernel string, s *space.Space, places []place, each int64, rest func(*driver.Params)) error {
	var p driver.Params
	return s.Each(func(piece *space.Space, offsets []int64) error {
		p.Reset()
		piece.Append(&p)
		for k, at := range places {
			p.Uint64(at.addr + uint64(offsets[k]*int64(at.size)))
		}
		if rest != nil {
			rest(&p)
		}
		return g.Launch(module, kernel, grid(piece.Count(), blockThreads*each), block(blockThreads), 0, p.Bytes())
	})
}

// unitLimit returns how many elements of so many bytes a unit of at most 16 may
// have, a power of two, that all addresses are a multiple of.
func unitLimit(size int, addrs ...uint64) int {
	all := uint64(16)
	for _, a := range addrs {
		all |= a
	}
	return max(1, int(all&-all)/size)
}

// around splits a shape at an axis: how many elements come before, along and
// after it. A scalar has one element along its axis 0.
func around(shape []int, axis int) (outer, along, inner int) {
	if len(shape) == 0 {
		return 1, 1, 1
	}
	return ir.NumElements(shape[:axis]), shape[axis], ir.NumElements(shape[axis+1:])
}

// axisOf returns attribute i, an axis of shape, counted from the front.
func axisOf(c *ir.Call, i int, shape []int) (int, error) {
	return ir.Axis(int(c.Attrs[i].Int), len(shape))
}
