package tile

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// A block is how much of two axes is copied at a time where one side runs along
// the first and the other along the second, so that the cache lines of a block
// are used up before they are evicted: few along the axis where src jumps, since
// lines a power of two apart share a place in the cache, but a line of dst.
const (
	blockJump = 16 // along the axis dst runs along
	blockRun  = 64 // along the axis src runs along
	turnRows  = 32 // blockJump where blocks are transposed in registers
	leastSide = 8  // of either axis for blocks to be worth it
)

// A pairing is the iteration space of a copy with both sides' strides.
type pairing struct {
	shape, dst, src []int
}

// pair returns the joint axes of two views, neighbours joined where both allow.
func pair(dst, src ir.View) pairing {
	var p pairing
	for i, d := range dst.Shape {
		if d == 1 {
			continue
		}
		if l := len(p.shape) - 1; l >= 0 && p.dst[l] == dst.Strides[i]*d && p.src[l] == src.Strides[i]*d {
			p.shape[l] *= d
			p.dst[l], p.src[l] = dst.Strides[i], src.Strides[i]
			continue
		}
		p.shape, p.dst, p.src = append(p.shape, d), append(p.dst, dst.Strides[i]), append(p.src, src.Strides[i])
	}
	return p
}

// take removes axis a and returns its extent and strides.
func (p *pairing) take(a int) (extent, dst, src int) {
	extent, dst, src = p.shape[a], p.dst[a], p.src[a]
	drop := func(list []int) []int { return append(append([]int(nil), list[:a]...), list[a+1:]...) }
	p.shape, p.dst, p.src = drop(p.shape), drop(p.dst), drop(p.src)
	return extent, dst, src
}

// nearest returns the axis with the smallest stride.
func nearest(strides []int) int {
	best := 0
	for a, s := range strides {
		if max(s, -s) <= max(strides[best], -strides[best]) {
			best = a
		}
	}
	return best
}

// A crossing is a copy whose two sides run along different axes, as in a
// transposition: dst along jump, src along run.
type crossing struct {
	pairing          // the other axes
	dst, src         ir.View
	width            int // extent of jump
	dstJump, srcJump int
	length           int // extent of run
	dstRun, srcRun   int
	dstSize, srcSize int
	conv             convert.Func
}

// cross returns the crossing of a copy, or reports that it is none.
func cross(dst, src ir.View) (x crossing, ok bool) {
	p := pair(dst, src)
	if len(p.shape) < 2 {
		return x, false
	}
	jump, run := nearest(p.dst), nearest(p.src)
	if jump == run || p.shape[jump] < leastSide || p.shape[run] < leastSide || p.src[run] == 0 {
		return x, false
	}
	x = crossing{dst: dst, src: src, dstSize: dst.DType.Size(), srcSize: src.DType.Size(), conv: convert.Between(dst.DType, src.DType)}
	x.width, x.dstJump, x.srcJump = p.take(jump)
	if run > jump {
		run--
	}
	x.length, x.dstRun, x.srcRun = p.take(run)
	x.pairing = p
	return x, true
}

// copyBlocks copies where the two sides run along different axes. It reports false,
// and does nothing, where they do not.
func copyBlocks(dst, src ir.View) bool {
	x, ok := cross(dst, src)
	if !ok {
		return false
	}
	block := x.strided
	if x.dstJump == 1 && x.srcRun == 1 {
		block = x.turned()
	}
	blocks := (x.length + blockRun - 1) / blockRun
	pool.For(ir.NumElements(x.shape)*blocks, max(1, grain/(x.width*min(x.length, blockRun))), func(lo, hi int) {
		for u := lo; u < hi; u++ {
			to, from, r := 0, 0, u/blocks
			for a := len(x.shape) - 1; a >= 0; a-- {
				at := r % x.shape[a]
				r /= x.shape[a]
				to, from = to+at*x.pairing.dst[a], from+at*x.pairing.src[a]
			}
			first := u % blocks * blockRun
			block(to+first*x.dstRun, from+first*x.srcRun, min(blockRun, x.length-first))
		}
	})
	return true
}

// strided copies n elements along run, and all along jump, from element offset from
// to element offset to.
func (x *crossing) strided(to, from, n int) {
	for j := 0; j < x.width; j += blockJump {
		for i := range n {
			x.conv(min(blockJump, x.width-j), unsafe.Add(x.dst.Ptr, (to+i*x.dstRun+j*x.dstJump)*x.dstSize), x.dstJump,
				unsafe.Add(x.src.Ptr, (from+i*x.srcRun+j*x.srcJump)*x.srcSize), x.srcJump)
		}
	}
}

// turned returns what strided does, by transposing blocks, for sides whose elements
// follow each other.
func (x *crossing) turned() func(to, from, n int) {
	turn := move.Transpose(simd.Active(), x.srcSize)
	if x.dst.DType == x.src.DType {
		return func(to, from, n int) {
			for j := 0; j < x.width; j += turnRows {
				turn(unsafe.Add(x.dst.Ptr, (to+j)*x.dstSize), unsafe.Add(x.src.Ptr, (from+j*x.srcJump)*x.srcSize),
					x.dstRun*x.dstSize, x.srcJump*x.srcSize, min(turnRows, x.width-j), n)
			}
		}
	}
	return func(to, from, n int) {
		room := scratch.Get(turnRows * blockRun * x.srcSize)
		defer room.Put()
		for j := 0; j < x.width; j += turnRows {
			rows := min(turnRows, x.width-j)
			turn(room.Ptr(), unsafe.Add(x.src.Ptr, (from+j*x.srcJump)*x.srcSize), rows*x.srcSize, x.srcJump*x.srcSize, rows, n)
			for i := range n {
				x.conv(rows, unsafe.Add(x.dst.Ptr, (to+j+i*x.dstRun)*x.dstSize), 1, unsafe.Add(room.Ptr(), i*rows*x.srcSize), 1)
			}
		}
	}
}
