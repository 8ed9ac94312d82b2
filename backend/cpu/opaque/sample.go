package opaque

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// The interpolations of a sampling and what lies outside of x, numbered as their
// enums.
const (
	sampleBilinear = iota
	sampleNearest
	sampleBicubic

	outsideZeros = iota - 3
	outsideBorder
	outsideReflection
)

// Samples are found in several ways, by loops of Go and of assembly, with the same bits on
// every processor. So each product here is rounded by a conversion: Go would fuse it
// with the sum that it is part of, where the processor can.

// maxTaps is how many elements along an axis a sample is made of.
const maxTaps = 4

// sampleWork is how many samples of one channel are worth another processor.
const sampleWork = 2048

// A sampling is how places in x are found. Coordinate 0 is along x's last axis.
type sampling struct {
	images, channels int
	points           int    // samples of an image
	in               [3]int // extents of x along each coordinate, 1 where there is none
	inSize           int    // elements of a channel of x
	axes             int    // 2 or 3
	order            [3]int // derivatives by each coordinate
	mode, outside    int64
	corners          bool
}

// newSampling reads shapes of x and grid, and attributes order, mode,
// padding_mode and align_corners from attribute first on.
func newSampling(c *ir.Call, x, grid []int, first int) (*sampling, error) {
	a := c.Attrs[first:]
	s := &sampling{
		images: x[0], channels: x[1], points: ir.NumElements(grid[1 : len(grid)-1]),
		in: [3]int{1, 1, 1}, inSize: ir.NumElements(x[2:]), axes: len(x) - 2,
		mode: a[1].Int, outside: a[2].Int, corners: a[3].Int != 0,
	}
	for i := range s.axes {
		s.in[i], s.order[i] = x[len(x)-1-i], a[0].Ints[i]
	}
	if s.mode == sampleBicubic && s.axes != 2 {
		return nil, fmt.Errorf("bicubic sampling takes two spatial axes, x %v has %d", x, s.axes)
	}
	return s, nil
}

// A tapSet is the elements along each coordinate that a sample is made of.
type tapSet[T float] struct {
	n      [3]int
	at     [3][maxTaps]int // distance from the channel's first element, -1 outside
	weight [3][maxTaps]T
	slope  [3][maxTaps]T // the weight's derivative by the coordinate
}

// farAway is how many elements from x's first one a place is no place any more: it lies
// outside with zeros and at the border with that, and is the first element with reflection.
const farAway = 1 << 30

// place sets t to the taps of the point whose coordinates are p: one of the weight NaN
// where one of these is not finite and nothing says what element stands for it.
func place[T float](s *sampling, p []T, t *tapSet[T]) {
	step := 1
	for i := range s.in {
		if i >= s.axes {
			t.n[i], t.at[i][0], t.weight[i][0], t.slope[i][0] = 1, 0, 1, 0
			continue
		}
		if !placeAxis(s, i, p[i], step, t) {
			nan := T(math.NaN())
			for k := range s.in {
				t.n[k], t.at[k][0], t.weight[k][0], t.slope[k][0] = 1, 0, nan, nan
			}
			return
		}
		step *= s.in[i]
	}
}

// nowhere reports whether taps are those of a point whose coordinates are not finite.
func nowhere[T float](list []tap[T]) bool { return len(list) == 1 && list[0].weight != list[0].weight }

// placeAxis sets the taps along axis i, and reports whether there are such.
func placeAxis[T float](s *sampling, i int, coordinate T, step int, t *tapSet[T]) bool {
	size := s.in[i]
	at, slope := unnormalized(s, coordinate, size)
	if s.mode != sampleBicubic {
		var turn T
		at, turn = settled(s, at, size)
		slope *= turn
	}
	if !(at > -farAway && at < farAway) {
		switch {
		case s.mode != sampleNearest && coordinate-coordinate != 0:
			return false
		case s.outside == outsideZeros:
			at = -100
		default:
			at, _ = settled(s, at, size)
			slope = 0
		}
	}
	var first int
	switch s.mode {
	case sampleNearest:
		first = int(math.RoundToEven(float64(at)))
		t.n[i] = 1
	case sampleBilinear:
		first = int(math.Floor(float64(at)))
		t.n[i] = 2
	default:
		first = int(math.Floor(float64(at))) - 1
		t.n[i] = 4
	}
	if s.mode == sampleNearest && s.order[i] == 0 { // its weight is one, wherever it lies
		t.at[i][0], t.weight[i][0], t.slope[i][0] = s.inside(first, size, step), 1, 0
		return true
	}
	fraction := at - T(first)
	if s.mode == sampleBilinear && s.order[i] == 0 { // the usual, without what it multiplies by one
		t.at[i][0], t.at[i][1] = s.inside(first, size, step), s.inside(first+1, size, step)
		t.weight[i][0], t.weight[i][1] = 1-fraction, fraction
		t.slope[i][0], t.slope[i][1] = -slope, slope
		return true
	}
	factor := T(1)
	for range s.order[i] {
		factor *= slope
	}
	for k := range t.n[i] {
		t.at[i][k] = s.inside(first+k, size, step)
		t.weight[i][k] = factor * tapWeight(s.mode, k, fraction, s.order[i])
		t.slope[i][k] = factor * slope * tapWeight(s.mode, k, fraction, s.order[i]+1)
	}
	return true
}

// unnormalized returns the place in elements that a coordinate from -1 to 1 names,
// and its derivative.
func unnormalized[T float](s *sampling, coordinate T, size int) (at, slope T) {
	if s.corners {
		return T((coordinate + 1) / 2 * T(size-1)), T(size-1) / 2
	}
	return (T((coordinate+1)*T(size)) - 1) / 2, T(size) / 2
}

// settled returns the place that stands for at by what lies outside, and the
// derivative of the one by the other.
func settled[T float](s *sampling, at T, size int) (T, T) {
	slope := T(1)
	switch s.outside {
	case outsideZeros:
		return at, 1
	case outsideReflection:
		if !(at > -farAway && at < farAway) {
			return 0, 0
		}
		if s.corners {
			at, slope = reflected(at, 0, 2*(size-1))
		} else {
			at, slope = reflected(at, -1, 2*size-1)
		}
	}
	last := T(size - 1)
	switch {
	case !(at > 0):
		return 0, 0
	case at >= last:
		return last, 0
	}
	return at, slope
}

// reflected returns at mirrored at the ends of [low/2, high/2] until it lies
// between them, and the derivative of this.
func reflected[T float](at T, low, high int) (T, T) {
	if low == high {
		return 0, 0
	}
	from, span := T(low)/2, T(high-low)/2
	slope := T(1)
	if at -= from; at < 0 {
		at, slope = -at, -1
	}
	rest := T(math.Mod(float64(at), float64(span)))
	if int64(math.Floor(float64(at/span)))%2 == 0 {
		return rest + from, slope
	}
	return span - rest + from, -slope
}

// inside returns where along an axis of an extent and a step the element lies that
// place k reads, or -1.
func (s *sampling) inside(k, size, step int) int {
	if s.mode == sampleBicubic && s.outside != outsideZeros {
		at, _ := settled(s, float64(k), size)
		k = int(at)
	}
	if k < 0 || k >= size {
		return -1
	}
	return k * step
}

// tapWeight returns the derivative of an order of tap k's weight by the fraction
// that the sample lies beyond the first of two, or the second of four, taps.
func tapWeight[T float](mode int64, k int, fraction T, order int) T {
	switch mode {
	case sampleNearest:
		if order == 0 {
			return 1
		}
		return 0
	case sampleBilinear:
		switch {
		case order == 0 && k == 0:
			return 1 - fraction
		case order == 0:
			return fraction
		case order > 1:
			return 0
		}
		return T(2*k - 1)
	}
	distance, side := fraction-T(k), T(1) // the fraction counts from the tap before
	if distance < 0 {
		distance, side = -distance, -1
	}
	w := cubic(distance, order)
	if order%2 == 1 {
		w *= side
	}
	return w
}

// cubic returns a derivative of the cubic convolution kernel with a = -0.75 at a
// distance from 0 to 2.
func cubic[T float](x T, order int) T {
	const a = -0.75
	near := x <= 1
	switch order {
	case 0:
		if near {
			return T((T((a+2)*x)-(a+3))*x*x) + 1
		}
		return T((T((T(a*x)-5*a)*x)+8*a)*x) - 4*a
	case 1:
		if near {
			return (T(3*(a+2)*x) - 2*(a+3)) * x
		}
		return T((T(3*a*x)-10*a)*x) + 8*a
	case 2:
		if near {
			return T(6*(a+2)*x) - 2*(a+3)
		}
		return T(6*a*x) - 10*a
	case 3:
		if near {
			return 6 * (a + 2)
		}
		return 6 * a
	}
	return 0
}

// A tap is an element of a channel with its weight.
type tap[T float] struct {
	at     int
	weight T
}

// taps appends the elements that t names to list.
func (t *tapSet[T]) taps(list []tap[T]) []tap[T] {
	for z := range t.n[2] {
		for y := range t.n[1] {
			row, weight := t.at[1][y]+t.at[2][z], t.weight[1][y]
			if t.at[1][y] < 0 || t.at[2][z] < 0 {
				continue
			}
			for x := range t.n[0] {
				if at := t.at[0][x]; at >= 0 {
					list = append(list, tap[T]{at + row, t.weight[0][x] * weight * t.weight[2][z]})
				}
			}
		}
	}
	return list
}

// slopes appends the derivatives of the weights of taps by each coordinate.
func (t *tapSet[T]) slopes(list [][3]T) [][3]T {
	for z := range t.n[2] {
		for y := range t.n[1] {
			for x := range t.n[0] {
				if t.at[0][x] < 0 || t.at[1][y] < 0 || t.at[2][z] < 0 {
					continue
				}
				wx, wy, wz := t.weight[0][x], t.weight[1][y], t.weight[2][z]
				list = append(list, [3]T{t.slope[0][x] * wy * wz, wx * t.slope[1][y] * wz, wx * wy * t.slope[2][z]})
			}
		}
	}
	return list
}

// A sampleFunc computes a sampling or a gradient of one from contiguous operands.
type sampleFunc func(s *sampling, in []ir.View, out ir.View)

// sample runs a function on c's operands in the compute dtype.
func sample(c *ir.Call, t *table[sampleFunc], s *sampling) error {
	f, err := t.of(c.Compute)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	in := make([]ir.View, len(c.In))
	for i, v := range c.In {
		in[i] = tile.Dense(v, c.Compute)
	}
	d := tile.TargetOf(c.Out[0], c.Compute)
	f(s, in, d)
	tile.Finish(c.Out[0], d)
	return nil
}

var gridSamples = table[sampleFunc]{ir.Float32: gridSample[float32], ir.Float64: gridSample[float64]}

// GridSample returns x [n, channels, spatial...] at the places that grid
// [n, out..., axes] names, or a derivative of that by the coordinates. Attributes:
// order, interpolation, padding_mode and align_corners.
func GridSample(c *ir.Call) error {
	s, err := newSampling(c, c.In[0].Shape, c.In[1].Shape, 0)
	if err != nil {
		return err
	}
	return sample(c, &gridSamples, s)
}

func gridSample[T float](s *sampling, in []ir.View, out ir.View) {
	switch {
	case s.picks():
		sampleNearestPoints[T](s, in, out)
	case s.lined():
		sampleLines[T](s, in, out)
	default:
		samplePoints[T](s, in, out)
	}
}

func samplePoints[T float](s *sampling, in []ir.View, out ir.View) {
	x, grid, dst := tile.Elements[T](in[0]), tile.Elements[T](in[1]), tile.Elements[T](out)
	pool.For(s.images*s.points, max(1, sampleWork/max(1, s.channels)), func(lo, hi int) {
		var set tapSet[T]
		list := make([]tap[T], 0, maxTaps*maxTaps)
		four := make([]fourTaps[T], 0, fourBlock)
		for lo < hi {
			n, p := lo/s.points, lo%s.points
			planes, to := x[n*s.channels*s.inSize:], dst[n*s.channels*s.points:]
			last := min(p+fourBlock, s.points, p+hi-lo)
			lo += last - p
			for four = four[:0]; p < last; p++ {
				place(s, grid[(n*s.points+p)*s.axes:], &set)
				list = set.taps(list[:0])
				if len(list) == 4 {
					four = append(four, fourTaps[T]{p, [4]tap[T](list)})
					continue
				}
				for ch := range s.channels {
					plane, sum := planes[ch*s.inSize:], T(0)
					for i := range list {
						sum += T(plane[list[i].at] * list[i].weight)
					}
					to[ch*s.points+p] = sum
				}
			}
			for ch := range s.channels {
				sampleFours(to[ch*s.points:][:s.points], planes[ch*s.inSize:][:s.inSize], four)
			}
		}
	})
}

// A fourTaps is a point of four taps, as most bilinear ones have.
type fourTaps[T float] struct {
	point int
	taps  [4]tap[T]
}

// fourBlock is how many points are found before a channel of them is computed.
const fourBlock = 64

func sampleFours[T float](to, plane []T, points []fourTaps[T]) {
	for i := range points {
		t := &points[i].taps
		to[points[i].point] = T(plane[t[0].at]*t[0].weight) + T(plane[t[1].at]*t[1].weight) + T(plane[t[2].at]*t[2].weight) + T(plane[t[3].at]*t[3].weight)
	}
}

var gridSampleGradInputs = table[sampleFunc]{ir.Float32: gridSampleGradInput[float32], ir.Float64: gridSampleGradInput[float64]}

// GridSampleGradInput returns the gradient of GridSample with respect to x, from
// the gradient g of its result and grid. Attributes: input, the shape of x, then
// those of GridSample.
func GridSampleGradInput(c *ir.Call) error {
	s, err := newSampling(c, c.Out[0].Shape, c.In[1].Shape, 1)
	if err != nil {
		return err
	}
	return sample(c, &gridSampleGradInputs, s)
}

// channelBlock is how many channels share the search for the taps.
const channelBlock = 8

func gridSampleGradInput[T float](s *sampling, in []ir.View, out ir.View) {
	if s.lined() {
		sampleLinesGradInput[T](s, in, out)
	} else {
		samplePointsGradInput[T](s, in, out)
	}
}

func samplePointsGradInput[T float](s *sampling, in []ir.View, out ir.View) {
	g, grid, dst := tile.Elements[T](in[0]), tile.Elements[T](in[1]), tile.Elements[T](out)
	clear(dst)
	blocks := (s.channels + channelBlock - 1) / channelBlock
	pool.For(s.images*blocks, max(1, sampleWork/max(1, s.points*channelBlock)), func(lo, hi int) {
		var set tapSet[T]
		list := make([]tap[T], 0, maxTaps*maxTaps)
		for ; lo < hi; lo++ {
			n, first := lo/blocks, lo%blocks*channelBlock
			last := min(first+channelBlock, s.channels)
			for p := range s.points {
				place(s, grid[(n*s.points+p)*s.axes:], &set)
				if list = set.taps(list[:0]); nowhere(list) {
					continue
				}
				for ch := n*s.channels + first; ch < n*s.channels+last; ch++ {
					plane, v := dst[ch*s.inSize:], g[ch*s.points+p]
					for i := range list {
						plane[list[i].at] += T(v * list[i].weight)
					}
				}
			}
		}
	})
}

var gridSampleGradGrids = table[sampleFunc]{ir.Float32: gridSampleGradGrid[float32], ir.Float64: gridSampleGradGrid[float64]}

// GridSampleGradGrid returns the gradient of GridSample with respect to grid, from
// the gradient g of its result, x and grid. Attributes: those of GridSample.
func GridSampleGradGrid(c *ir.Call) error {
	s, err := newSampling(c, c.In[1].Shape, c.In[2].Shape, 0)
	if err != nil {
		return err
	}
	return sample(c, &gridSampleGradGrids, s)
}

func gridSampleGradGrid[T float](s *sampling, in []ir.View, out ir.View) {
	if s.mode == sampleNearest { // a step function
		clear(tile.Elements[T](out))
		return
	}
	if s.lined() {
		sampleLinesGradGrid[T](s, in, out)
	} else {
		samplePointsGradGrid[T](s, in, out)
	}
}

func samplePointsGradGrid[T float](s *sampling, in []ir.View, out ir.View) {
	g, x, grid, dst := tile.Elements[T](in[0]), tile.Elements[T](in[1]), tile.Elements[T](in[2]), tile.Elements[T](out)
	pool.For(s.images*s.points, max(1, sampleWork/max(1, s.channels)), func(lo, hi int) {
		var set tapSet[T]
		list, slopes := make([]tap[T], 0, maxTaps*maxTaps), make([][3]T, 0, maxTaps*maxTaps)
		for ; lo < hi; lo++ {
			n, p := lo/s.points, lo%s.points
			place(s, grid[lo*s.axes:], &set)
			list, slopes = set.taps(list[:0]), set.slopes(slopes[:0])
			var sums [3]T
			for i := range list {
				dot := T(0)
				for ch := n * s.channels; ch < (n+1)*s.channels; ch++ {
					dot += T(g[ch*s.points+p] * x[ch*s.inSize+list[i].at])
				}
				for a := range s.axes {
					sums[a] += T(dot * slopes[i][a])
				}
			}
			copy(dst[lo*s.axes:(lo+1)*s.axes], sums[:])
		}
	})
}
