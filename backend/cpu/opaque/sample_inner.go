package opaque

import (
	"math"

	"github.com/sinter-go/sinter/backend/cpu/lines"
)

// Most points lie so far inside of x that all their taps do. Those of samplings over two
// axes that are not differentiated are found here without what the others need, with the
// same numbers, and computed many at a time.

// An inner is such a point: its first tap's places along width and height, how far it lies
// beyond the second of four or the first of two taps, and the derivatives of its place by
// its coordinates.
type inner[T float] struct {
	at       [2]int
	fraction [2]T
	slope    [2]T
}

// pointsTogether is how many points are found before their lines are computed.
const pointsTogether = 64

// quick reports whether inner points of s can be found so: the numbers of x's elements along
// an axis, and their halves, are float32.
func (s *sampling) quick() bool {
	return s.axes == 2 && s.order == [3]int{} && max(s.in[0], s.in[1]) < 1<<22
}

// tapsOf returns how many taps an inner point has.
func (s *sampling) tapsOf() int {
	switch s.mode {
	case sampleNearest:
		return 1
	case sampleBilinear:
		return 4
	}
	return 16
}

// findInner sets r to the point whose coordinates are p, if it is an inner one.
func findInner[T float](s *sampling, p []T, r *inner[T]) bool {
	before, behind := 0, 1 // taps on either side of the place
	if s.mode == sampleBicubic {
		before, behind = 1, 2
	}
	for i := range 2 {
		size := s.in[i]
		at, slope := unnormalized(s, p[i], size)
		if s.mode != sampleBicubic && s.outside != outsideZeros {
			var turn T
			at, turn = settled(s, at, size)
			slope *= turn
		}
		if s.mode == sampleNearest {
			if !(at >= 0 && at <= T(size-1)) {
				return false
			}
			r.at[i] = int(math.RoundToEven(float64(at)))
			continue
		}
		if !(at >= T(before) && at < T(size-behind)) {
			return false
		}
		first := int(at)
		r.at[i], r.fraction[i], r.slope[i] = first-before, at-T(first-before), slope
	}
	return true
}

// taps appends the point's taps in an image whose places are pitch elements apart.
func (r *inner[T]) taps(s *sampling, pitch int, list []lines.Tap[T]) []lines.Tap[T] {
	width := s.in[0] * pitch
	first := r.at[1]*width + r.at[0]*pitch
	switch s.mode {
	case sampleNearest:
		return append(list, lines.Tap[T]{At: first, Weight: 1})
	case sampleBilinear:
		x1, y1 := r.fraction[0], r.fraction[1]
		x0, y0 := 1-x1, 1-y1
		return append(list, lines.Tap[T]{At: first, Weight: x0 * y0}, lines.Tap[T]{At: first + pitch, Weight: x1 * y0},
			lines.Tap[T]{At: first + width, Weight: x0 * y1}, lines.Tap[T]{At: first + width + pitch, Weight: x1 * y1})
	}
	wx, wy := cubics(r.fraction[0], 0), cubics(r.fraction[1], 0)
	for y, w := range wy {
		for x, v := range wx {
			list = append(list, lines.Tap[T]{At: first + y*width + x*pitch, Weight: v * w})
		}
	}
	return list
}

// cubics returns the weights of four taps, or their derivatives by the fraction.
func cubics[T float](fraction T, order int) (w [4]T) {
	for k := range w {
		w[k] = tapWeight(sampleBicubic, k, fraction, order)
	}
	return w
}

// gradient returns the derivatives of the point, which is none of nearest elements, by its
// coordinates, from the products of its gradient with its taps.
func (r *inner[T]) gradient(s *sampling, dots []T) (sums [2]T) {
	if s.mode == sampleBilinear {
		x1, y1 := r.fraction[0], r.fraction[1]
		x0, y0 := 1-x1, 1-y1
		return [2]T{
			r.slope[0] * (T((dots[1]-dots[0])*y0) + T((dots[3]-dots[2])*y1)),
			r.slope[1] * (T((dots[2]-dots[0])*x0) + T((dots[3]-dots[1])*x1)),
		}
	}
	wx, wy := cubics(r.fraction[0], 0), cubics(r.fraction[1], 0)
	dx, dy := cubics(r.fraction[0], 1), cubics(r.fraction[1], 1)
	for y := range wy {
		for x, v := range dots[4*y : 4*y+4] {
			sums[0] += T(v * T(dx[x]*wy[y]))
			sums[1] += T(v * T(wx[x]*dy[y]))
		}
	}
	return [2]T{sums[0] * r.slope[0], sums[1] * r.slope[1]}
}

// An innerRun is points that follow each other and are inner ones.
type innerRun[T float] struct {
	lines.Points[T]
	s     *sampling
	pitch int
	list  []inner[T]
}

// newInnerRun is for lines of n elements, in images and results whose lines are pitch
// elements apart. It finds none where these have to be found one by one.
func newInnerRun[T float](s *sampling, n, pitch int) *innerRun[T] {
	r := &innerRun[T]{Points: lines.Points[T]{N: n, Taps: s.tapsOf(), Step: pitch}, s: s, pitch: pitch}
	if s.quick() {
		r.list = make([]inner[T], 0, max(1, min(pointsTogether, lines.Longest/max(1, n*r.Taps))))
		r.List = make([]lines.Tap[T], 0, cap(r.list)*r.Taps)
	}
	return r
}

// find takes in points from lo on, and returns the first that it did not. With kept they
// are in list, too.
func (r *innerRun[T]) find(grid []T, lo, hi int, kept bool) int {
	r.list, r.List = r.list[:0], r.List[:0]
	grid = grid[2*lo : 2*min(hi, lo+cap(r.list))]
	switch {
	case r.s.mode == sampleNearest && r.s.outside == outsideZeros:
		return lo + r.findNearest(grid)
	case r.s.mode == sampleBilinear && r.s.outside == outsideZeros && !kept:
		return lo + r.findBilinear(grid)
	}
	var p inner[T]
	for i := 0; i < len(grid); i += 2 {
		if !findInner(r.s, grid[i:i+2], &p) {
			break
		}
		r.list, r.List = append(r.list, p), p.taps(r.s, r.pitch, r.List)
	}
	return lo + len(r.list)
}

// findNearest is find for the taps of nearest elements among zeros.
func (r *innerRun[T]) findNearest(grid []T) int {
	s, list := r.s, r.List[:len(grid)/2]
	w, h := s.in[0], s.in[1]
	right, below, width := T(w-1), T(h-1), w*r.pitch
	n := 0
	for ; n < len(list); n++ {
		x, _ := unnormalized(s, grid[2*n], w)
		y, _ := unnormalized(s, grid[2*n+1], h)
		if !(x >= 0 && x <= right && y >= 0 && y <= below) {
			break
		}
		column, row := int(math.RoundToEven(float64(x))), int(math.RoundToEven(float64(y)))
		list[n] = lines.Tap[T]{At: row*width + column*r.pitch, Weight: 1}
	}
	r.List, r.list = list[:n], r.list[:n]
	return n
}

// findBilinear is find for the taps of two by two elements among zeros.
func (r *innerRun[T]) findBilinear(grid []T) int {
	s, list := r.s, r.List[:2*len(grid)]
	w, h := s.in[0], s.in[1]
	right, below, pitch, width := T(w-1), T(h-1), r.pitch, w*r.pitch
	n := 0
	for ; n < len(grid)/2; n++ {
		x, _ := unnormalized(s, grid[2*n], w)
		y, _ := unnormalized(s, grid[2*n+1], h)
		if !(x >= 0 && x < right && y >= 0 && y < below) {
			break
		}
		column, row := int(x), int(y)
		x1, y1, first := x-T(column), y-T(row), row*width+column*pitch
		x0, y0 := 1-x1, 1-y1
		t := list[4*n : 4*n+4 : 4*n+4]
		t[0].At, t[0].Weight = first, x0*y0
		t[1].At, t[1].Weight = first+pitch, x1*y0
		t[2].At, t[2].Weight = first+width, x0*y1
		t[3].At, t[3].Weight = first+width+pitch, x1*y1
	}
	r.List, r.list = list[:4*n], r.list[:n]
	return n
}

// full reports whether the run ended for want of room.
func (r *innerRun[T]) full() bool { return len(r.list) > 0 && len(r.list) == cap(r.list) }
