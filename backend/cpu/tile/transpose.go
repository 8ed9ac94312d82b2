package tile

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/ir"
)

// A block is how much of two axes is copied at a time where one side runs along
// the first and the other along the second, so that the cache lines of a block
// are used up before they are evicted: few along the axis where src jumps, since
// lines a power of two apart share a place in the cache, but a line of dst.
const (
	blockJump = 16 // along the axis dst runs along
	blockRun  = 64 // along the axis src runs along
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

// copyBlocks copies where the two sides run along different axes, as a
// transposition does. It reports false, and does nothing, where they do not.
func copyBlocks(dst, src ir.View) bool {
	p := pair(dst, src)
	if len(p.shape) < 2 {
		return false
	}
	jump, run := nearest(p.dst), nearest(p.src)
	if jump == run || p.shape[jump] < blockJump || p.shape[run] < blockJump || p.src[run] == 0 {
		return false
	}
	width, dstJump, srcJump := p.take(jump)
	if run > jump {
		run--
	}
	length, dstRun, srcRun := p.take(run)
	conv := convert.Between(dst.DType, src.DType)
	dstSize, srcSize := dst.DType.Size(), src.DType.Size()
	blocks := (length + blockRun - 1) / blockRun
	pool.For(ir.NumElements(p.shape)*blocks, max(1, grain/(width*min(length, blockRun))), func(lo, hi int) {
		for u := lo; u < hi; u++ {
			to, from, r := 0, 0, u/blocks
			for a := len(p.shape) - 1; a >= 0; a-- {
				at := r % p.shape[a]
				r /= p.shape[a]
				to, from = to+at*p.dst[a], from+at*p.src[a]
			}
			first := u % blocks * blockRun
			for j := 0; j < width; j += blockJump {
				for i := first; i < min(first+blockRun, length); i++ {
					conv(min(blockJump, width-j), unsafe.Add(dst.Ptr, (to+i*dstRun+j*dstJump)*dstSize), dstJump,
						unsafe.Add(src.Ptr, (from+i*srcRun+j*srcJump)*srcSize), srcJump)
				}
			}
		}
	})
	return true
}
