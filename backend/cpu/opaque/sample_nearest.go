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
			ch := 0
			for ; ch+2 <= s.channels; ch += 2 {
				pickTwo(to(ch), to(ch+1), from(ch), from(ch+1), &r)
			}
			if ch < s.channels {
				pickTwo(to(ch), to(ch), from(ch), from(ch), &r)
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

// pickTwo sets to and more to the elements of two channels that lie at the places of r, to 0
// where there is none. A sample is a sum that begins with 0, so that none is -0.
func pickTwo[T float](to, more, a, b []T, r *nearest) {
	more, b = more[:len(to)], b[:len(a)]
	for i, k := range r.at[:len(to)] {
		to[i], more[i] = T(0)+a[k], T(0)+b[k]
	}
	for _, i := range r.outside[:r.lost] {
		to[i], more[i] = 0, 0
	}
}
