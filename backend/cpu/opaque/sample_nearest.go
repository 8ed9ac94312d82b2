package opaque

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// Samples of nearest elements are these elements: their places are found for some points at
// once, and channel by channel words are taken from there. Points inside and outside of x
// follow one another at random, so that neither loop has a branch on that.

// nearestBlock is how many points are found before a channel of them is read.
const nearestBlock = 256

// A nearestWord is what holds a float, with the bits of its sign cleared if it is zero: a
// sample is a sum that begins with 0.
type nearestWord interface{ uint32 | uint64 }

// picks reports whether samples are elements of x as they are.
func (s *sampling) picks() bool {
	return s.mode == sampleNearest && s.order == [3]int{} && s.inSize > 0
}

// sampleNearestPoints is samplePoints of samplings that pick elements; W is as large as T.
func sampleNearestPoints[T float, W nearestWord](s *sampling, in []ir.View, out ir.View) {
	x, grid, dst := tile.Elements[W](in[0]), tile.Elements[T](in[1]), tile.Elements[W](out)
	pool.For(s.images*s.points, max(1, sampleWork/max(1, s.channels)), func(lo, hi int) {
		var at [nearestBlock]int
		var kept [nearestBlock]W
		for lo < hi {
			n, p := lo/s.points, lo%s.points
			count := min(nearestBlock, s.points-p, hi-lo)
			nearestPlaces(s, grid[lo*s.axes:(lo+count)*s.axes], at[:count], kept[:count])
			for ch := n * s.channels; ch < (n+1)*s.channels; ch++ {
				pickWords(dst[ch*s.points+p:][:count], x[ch*s.inSize:][:s.inSize], at[:count], kept[:count])
			}
			lo += count
		}
	})
}

// nearestPlaces sets at to where the elements of a channel lie that points are nearest to,
// and kept to all bits, or both to 0 for points outside.
func nearestPlaces[T float, W nearestWord](s *sampling, grid []T, at []int, kept []W) {
	if s.outside != outsideZeros || s.axes != 2 {
		var t tapSet[T]
		for i := range at {
			place, outside, step := 0, 0, 1
			for k := range s.axes {
				placeAxis(s, k, grid[i*s.axes+k], step, &t)
				place, outside, step = place+t.at[k][0], outside|t.at[k][0], step*s.in[k]
			}
			in := ^(outside >> (bitsOfInt - 1)) // of a place -1 along an axis
			at[i], kept[i] = place&in, W(in)
		}
		return
	}
	w, h := s.in[0], s.in[1]
	for i := range at {
		x, _ := unnormalized(s, grid[2*i], w)
		y, _ := unnormalized(s, grid[2*i+1], h)
		column, row := nearestInt(x), nearestInt(y)
		in := ^((column | (w - 1 - column) | row | (h - 1 - row)) >> (bitsOfInt - 1))
		at[i], kept[i] = (row*w+column)&in, W(in)
	}
}

// bitsOfInt is the size of an int.
const bitsOfInt = 8 * int(unsafe.Sizeof(0))

// nearestInt returns the whole number next to x, the even one of two; -1 for what is far
// away or no number.
func nearestInt[T float](x T) int {
	if !(x > -farAway && x < farAway) {
		return -1
	}
	return int(math.RoundToEven(float64(x)))
}

// pickWords sets to to the words of a channel at places, to 0 where none is kept and for -0.
func pickWords[W nearestWord](to, channel []W, at []int, kept []W) {
	top := 8*unsafe.Sizeof(to[0]) - 1
	at, kept = at[:len(to)], kept[:len(to)]
	for i := range to {
		w := channel[at[i]] & kept[i]
		size := w << 1
		to[i] = w & -((size | -size) >> top)
	}
}
