package opaque

import (
	"math"
	"math/bits"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// Samples of nearest elements are these elements: their places are found for some points at
// once, and elements are taken from there channel by channel. Points inside and outside of
// x may follow one another at random, so that no loop has a branch on that.

// nearestBlock is how many points are found before their elements are read.
const nearestBlock = 1024

// nearest is where the elements lie in a channel that points are nearest to, 0 for those
// outside, and which these are.
type nearest struct {
	at      [nearestBlock]uint32
	outside [nearestBlock]uint32
	lost    int // how many are outside
}

// picks reports whether samples are elements of x as they are.
func (s *sampling) picks() bool {
	return s.mode == sampleNearest && s.order == [3]int{} && s.inSize > 0 && s.inSize < math.MaxInt32
}

// sampleNearestPoints is samplePoints of samplings that pick elements.
func sampleNearestPoints[T float](s *sampling, in []ir.View, out ir.View) {
	x, grid, dst := tile.Elements[T](in[0]), tile.Elements[T](in[1]), tile.Elements[T](out)
	pool.For(s.images*s.points, max(1, sampleWork/max(1, s.channels)), func(lo, hi int) {
		var r nearest
		for lo < hi {
			n, p := lo/s.points, lo%s.points
			count := min(nearestBlock, s.points-p, hi-lo)
			findNearest(s, grid[lo*s.axes:(lo+count)*s.axes], &r, count)
			to := func(ch int) []T { return dst[(n*s.channels+ch)*s.points+p:][:count] }
			from := func(ch int) []T { return x[(n*s.channels+ch)*s.inSize:][:s.inSize] }
			for ch := 0; ch < s.channels; ch += 4 {
				second, third, last := min(ch+1, s.channels-1), min(ch+2, s.channels-1), min(ch+3, s.channels-1)
				pickFour(&r, to(ch), to(second), to(third), to(last), from(ch), from(second), from(third), from(last))
			}
			lo += count
		}
	})
}

// findNearest sets r to what count points are nearest to.
func findNearest[T float](s *sampling, grid []T, r *nearest, count int) {
	r.lost = 0
	if s.outside != outsideZeros || s.axes != 2 {
		var t tapSet[T]
		for i := range count {
			place, outside, step := 0, 0, 1
			for k := range s.axes {
				placeAxis(s, k, grid[i*s.axes+k], step, &t)
				place, outside, step = place+t.at[k][0], outside|t.at[k][0], step*s.in[k]
			}
			r.add(i, place, outside)
		}
		return
	}
	w, h := s.in[0], s.in[1]
	for i := range count {
		x, _ := unnormalized(s, grid[2*i], w)
		y, _ := unnormalized(s, grid[2*i+1], h)
		column, row := nearestInt(x), nearestInt(y)
		r.add(i, row*w+column, column|(w-1-column)|row|(h-1-row))
	}
}

// add sets the place of point i, which is outside if a number is negative.
func (r *nearest) add(i, place, outside int) {
	sign := int32(outside >> (bits.UintSize - 1)) // all bits are that of the sign
	r.at[i] = uint32(int32(place) &^ sign)
	r.outside[r.lost] = uint32(i)
	r.lost -= int(sign)
}

// nearestInt returns the whole number next to x, the even one of two; -1 for what is far
// away or no number.
func nearestInt[T float](x T) int {
	if !(x > -farAway && x < farAway) {
		return -1
	}
	return int(math.RoundToEven(float64(x)))
}

// pickFour sets results to the elements of four channels, of which the last may be the same
// ones, that lie at the places of r, to 0 where there is none. A sample is a sum that begins
// with 0, so that none is -0.
func pickFour[T float](r *nearest, to0, to1, to2, to3, x0, x1, x2, x3 []T) {
	to1, to2, to3 = to1[:len(to0)], to2[:len(to0)], to3[:len(to0)]
	x1, x2, x3 = x1[:len(x0)], x2[:len(x0)], x3[:len(x0)]
	for i, k := range r.at[:len(to0)] {
		to0[i], to1[i], to2[i], to3[i] = T(0)+x0[k], T(0)+x1[k], T(0)+x2[k], T(0)+x3[k]
	}
	for _, i := range r.outside[:r.lost] {
		to0[i], to1[i], to2[i], to3[i] = 0, 0, 0, 0
	}
}
