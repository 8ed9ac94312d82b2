package opaque

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// The interpolations of a sampling and what lies outside of x, numbered as their
// enums.
const (
	interpolateBilinear = iota
	interpolateNearest
	interpolateBicubic
)

const (
	beyondZeros = iota
	beyondBorder
	beyondReflection
)

// A sampler finds the places in x that coordinates name. The coordinates of a
// point go from x's last axis to its first spatial one.
type sampler[T any] struct {
	f            field[T]
	x            []int // the shape sampled
	order        []int // derivatives by each coordinate
	mode, beyond int
	corners      bool
}

// newSampler reads the attributes order, interpolation, padding_mode and align_corners from
// the one at index first.
func newSampler[T any](f field[T], c *ir.Call, first int, x []int) (sampler[T], error) {
	a := c.Attrs[first:]
	s := sampler[T]{f, x, a[0].Ints, int(a[1].Int), int(a[2].Int), a[3].Int != 0}
	if s.mode == interpolateBicubic && len(x) != 4 {
		return s, fmt.Errorf("bicubic sampling of %v, which has not two spatial axes", x)
	}
	return s, nil
}

// half returns n/2.
func (s sampler[T]) half(n int) T { return s.f.quo(s.f.number(n), s.f.number(2)) }

func (s sampler[T]) floor(x T) int { return int(math.Floor(s.f.to(x).Float())) }

// A sampled is an element along one axis that a sample reads, and its weight.
type sampled[T any] struct {
	at     int
	weight T
}

// along returns what a sample reads along an axis with n elements at a coordinate,
// differentiated so many times by that. Elements outside of x are left out.
func (s sampler[T]) along(n int, coordinate T, order int) []sampled[T] {
	f := s.f
	// place = (coordinate+1)*scale - shift
	scale, shift := s.half(n), s.half(1)
	if s.corners {
		scale, shift = s.half(n-1), f.number(0)
	}
	place, slope := f.sub(f.mul(f.add(coordinate, f.number(1)), scale), shift), scale
	if v := f.to(place).Float(); !(math.Abs(v) < 1<<30) {
		return s.far(n, f.to(coordinate).Float(), order)
	}
	if s.mode != interpolateBicubic {
		var turn T
		place, turn = s.brought(place, n)
		slope = f.mul(slope, turn)
	}
	factor := f.number(1)
	for range order {
		factor = f.mul(factor, slope)
	}
	var list []sampled[T]
	add := func(k int, weight T) {
		if s.mode == interpolateBicubic {
			at, _ := s.brought(f.number(k), n)
			k = s.floor(at)
		}
		if k >= 0 && k < n {
			list = append(list, sampled[T]{k, f.mul(factor, weight)})
		}
	}
	low := s.floor(place)
	switch s.mode {
	case interpolateNearest:
		if order == 0 {
			add(int(math.RoundToEven(f.to(place).Float())), f.number(1))
		}
	case interpolateBilinear:
		part := f.sub(place, f.number(low))
		switch order {
		case 0:
			add(low, f.sub(f.number(1), part))
			add(low+1, part)
		case 1:
			add(low, f.number(-1))
			add(low+1, f.number(1))
		}
	default:
		for k := low - 1; k <= low+2; k++ {
			add(k, s.cubic(f.sub(place, f.number(k)), order))
		}
	}
	return list
}

// far returns what a sample reads at a coordinate that is far outside of an axis with n
// elements, or no number: the last element or the first one, or an element times NaN
// where the coordinate is not finite and nothing says what stands for it.
func (s sampler[T]) far(n int, coordinate float64, order int) []sampled[T] {
	finite := !math.IsNaN(coordinate) && !math.IsInf(coordinate, 0)
	switch {
	case !finite && (s.mode == interpolateBicubic || s.mode == interpolateBilinear && s.beyond == beyondZeros):
		return []sampled[T]{{0, s.f.from(ir.FloatScalar(math.NaN()))}}
	case s.beyond == beyondZeros || order > 0:
		return nil
	case s.beyond == beyondBorder && coordinate > 0:
		return []sampled[T]{{n - 1, s.f.number(1)}}
	}
	return []sampled[T]{{0, s.f.number(1)}}
}

// brought returns the place within the axis that stands for one outside, and the
// derivative of the one by the other.
func (s sampler[T]) brought(place T, n int) (T, T) {
	f, slope := s.f, s.f.number(1)
	if s.beyond == beyondZeros {
		return place, slope
	}
	if s.beyond == beyondReflection {
		low, span := f.sub(f.number(0), s.half(1)), f.number(n)
		if s.corners {
			low, span = f.number(0), f.number(n-1)
		}
		if !f.larger(span, f.number(0)) {
			return f.number(0), f.number(0)
		}
		if place = f.sub(place, low); f.larger(f.number(0), place) {
			place, slope = f.sub(f.number(0), place), f.number(-1)
		}
		turns := s.floor(f.quo(place, span))
		place = f.sub(place, f.mul(f.number(turns), span))
		if turns%2 != 0 {
			place, slope = f.sub(span, place), f.sub(f.number(0), slope)
		}
		place = f.add(place, low)
	}
	if !f.larger(place, f.number(0)) {
		return f.number(0), f.number(0)
	}
	if !f.larger(f.number(n-1), place) {
		return f.number(n - 1), f.number(0)
	}
	return place, slope
}

// cubic returns a derivative of the cubic convolution kernel with a = -3/4 at a
// signed distance: of (a+2)|d|³ - (a+3)|d|² + 1 up to 1, and of
// a|d|³ - 5a|d|² + 8a|d| - 4a up to 2.
func (s sampler[T]) cubic(d T, order int) T {
	f := s.f
	a := f.quo(f.number(-3), f.number(4))
	times := func(n int) T { return f.mul(f.number(n), a) }
	sign := f.number(1)
	if f.larger(f.number(0), d) {
		d, sign = f.sub(f.number(0), d), f.number(-1)
	}
	// Coefficients of 1, d, d², d³.
	p := []T{f.number(1), f.number(0), f.sub(f.number(-3), a), f.add(a, f.number(2))}
	if f.larger(d, f.number(1)) {
		p = []T{times(-4), times(8), times(-5), a}
	}
	for range order {
		for k := 1; k < len(p); k++ {
			p[k-1] = f.mul(f.mul(f.number(k), p[k]), sign)
		}
		p = p[:max(len(p)-1, 0)]
	}
	sum := f.number(0)
	for k := len(p) - 1; k >= 0; k-- {
		sum = f.add(f.mul(sum, d), p[k])
	}
	return sum
}

func (s sampler[T]) isNaN(x T) bool { return math.IsNaN(s.f.to(x).Float()) }

// products calls visit for every element that every result is a sum of: the places
// in out, in x, the sample's weight there, and in grid that of the first
// coordinate. extra adds to the orders of differentiation; nil adds nothing.
func (s sampler[T]) products(grid tensor[T], extra []int, visit func(out, x []int, weight T, point int)) {
	axes := len(s.x) - 2
	points := grid.shape[:len(grid.shape)-1]
	each(points, func(p []int) {
		point := position(points, p) * axes
		lists := make([][]sampled[T], axes) // by spatial axis of x
		extents := make([]int, axes)
		for i := range axes {
			order := s.order[i]
			if extra != nil {
				order += extra[i]
			}
			a := axes - 1 - i
			lists[a] = s.along(s.x[2+a], grid.v[point+i], order)
		}
		for _, list := range lists { // one coordinate that is nowhere is enough
			if len(list) == 1 && s.isNaN(list[0].weight) {
				lists = slices.Repeat([][]sampled[T]{list}, axes)
			}
		}
		for a := range lists {
			extents[a] = len(lists[a])
		}
		each(extents, func(k []int) {
			weight, place := s.f.number(1), make([]int, axes)
			for a := range k {
				weight, place[a] = s.f.mul(weight, lists[a][k[a]].weight), lists[a][k[a]].at
			}
			for ch := range s.x[1] {
				visit(append([]int{p[0], ch}, p[1:]...), append([]int{p[0], ch}, place...), weight, point)
			}
		})
	})
}

// GridSample returns x [n, channels, spatial...] at the places that grid
// [n, out..., axes] names by coordinates from -1 to 1, or a derivative of that by
// them. Attributes: order, interpolation, padding_mode and align_corners.
func GridSample(c *ir.Call) error { return inField(c, gridSample[float64], gridSample[wide.Float]) }

func gridSample[T any](c *ir.Call, f field[T]) error {
	x, grid := decode(c.In[0], c.Compute, f.ring), decode(c.In[1], c.Compute, f.ring)
	s, err := newSampler(f, c, 0, x.shape)
	if err != nil {
		return err
	}
	out := newTensor(c.Out[0].Shape, f.number(0))
	s.products(grid, nil, func(o, i []int, weight T, _ int) {
		*out.at(o) = f.add(*out.at(o), f.mul(*x.at(i), weight))
	})
	encode(c.Out[0], c.Compute, f.ring, out)
	return nil
}

// GridSampleGradInput returns the gradient of GridSample with respect to x, from
// the gradient g of its result and grid. Attributes: input, the shape of x, then
// those of GridSample.
func GridSampleGradInput(c *ir.Call) error {
	return inField(c, gridSampleGradInput[float64], gridSampleGradInput[wide.Float])
}

func gridSampleGradInput[T any](c *ir.Call, f field[T]) error {
	g, grid := decode(c.In[0], c.Compute, f.ring), decode(c.In[1], c.Compute, f.ring)
	dx := newTensor(c.Out[0].Shape, f.number(0))
	s, err := newSampler(f, c, 1, dx.shape)
	if err != nil {
		return err
	}
	s.products(grid, nil, func(o, i []int, weight T, _ int) {
		if s.isNaN(weight) { // a place that is nowhere
			return
		}
		*dx.at(i) = f.add(*dx.at(i), f.mul(*g.at(o), weight))
	})
	encode(c.Out[0], c.Compute, f.ring, dx)
	return nil
}

// GridSampleGradGrid returns the gradient of GridSample with respect to grid, from
// the gradient g of its result, x and grid. Attributes: those of GridSample.
func GridSampleGradGrid(c *ir.Call) error {
	return inField(c, gridSampleGradGrid[float64], gridSampleGradGrid[wide.Float])
}

func gridSampleGradGrid[T any](c *ir.Call, f field[T]) error {
	g, x, grid := decode(c.In[0], c.Compute, f.ring), decode(c.In[1], c.Compute, f.ring), decode(c.In[2], c.Compute, f.ring)
	s, err := newSampler(f, c, 0, x.shape)
	if err != nil {
		return err
	}
	out := newTensor(c.Out[0].Shape, f.number(0))
	for i := range s.order {
		extra := make([]int, len(s.order))
		extra[i] = 1
		s.products(grid, extra, func(o, at []int, weight T, point int) {
			sum := &out.v[point+i]
			*sum = f.add(*sum, f.mul(f.mul(*g.at(o), *x.at(at)), weight))
		})
	}
	encode(c.Out[0], c.Compute, f.ring, out)
	return nil
}
