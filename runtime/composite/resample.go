package composite

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// The types of the operators that resampling is handed.
type (
	sumRows = func(x, index, weight *core.Tensor) *core.Tensor
	pick    = func(x *core.Tensor, dim int, index *core.Tensor) *core.Tensor
	choose  = func(cond, x, y *core.Tensor) *core.Tensor
	copyOf  = func(x *core.Tensor) *core.Tensor
	divide  = func(x, by *core.Tensor) *core.Tensor
)

// Resampling are the operators that resampling is made of.
type Resampling struct {
	WeightedRows sumRows
	IndexSelect  pick
	Where        choose
	Reshape      withInts
	ToType       castTo
	Clone        copyOf
	Expand       withInts
	Sum          sumOver
	TapRows      func(shape []int, n, taps int, from, shift, a, b, c, back, reach float64, excluded bool, place *core.Placement) *core.Tensor
	TapWeights   func(shape []int, n, taps int, from, shift, a, b, c, back, reach float64, excluded bool, stretch float64, cubic bool, sharp float64,
		place *core.Placement) *core.Tensor
	TapShares   divide
	NearestRows func(shape []int, n int, from, shift, a, b, c, back float64, rounding int, place *core.Placement) *core.Tensor
	RowsOutside func(shape []int, n int, from, shift, a, b, c, back float64, place *core.Placement) *core.Tensor
}

// The ways to compute what lies between elements, as the enum resize_mode has them.
const (
	nearestElement = iota
	nearestExact
	linear
	cubic
)

// The coordinates of a resampling, as their enum has them.
const (
	halfPixel = iota
	halfPixelSymmetric
	pytorchHalfPixel
	alignCorners
	asymmetric
	tfHalfPixelForNN
	crop
)

// What a place between two elements is nearest to, as its enum has them.
const (
	preferFloor = iota
	preferCeil
	roundFloor
	roundCeil
)

// An axisPlan is how an axis of n elements goes to another size. The scale is the size
// over n, unless it is given: zero is not given.
type axisPlan struct {
	n, size                     int
	mode, coordinates, rounding int
	scale, a                    float64
	antialias, excluded         bool
	start, end, extrapolation   float64
}

// Resample returns x with size elements along dim instead of those it has. Each is a
// weighted sum of elements around a place, which the coordinates say.
func Resample[M, C, R ~uint8](o Resampling, x *core.Tensor, dim, size int, mode M, coordinates C, rounding R,
	scale float64, antialias, excludeOutside bool, a, start, end, extrapolation float64) *core.Tensor {
	if t := core.FirstError(x); t != nil {
		return t
	}
	shape := look(x).Shape()
	axis, err := ir.Axis(dim, len(shape))
	if err == nil && len(shape) == 0 {
		err = fmt.Errorf("%w: x must have an axis", ir.ErrShape)
	}
	if err != nil {
		return core.Fail(op("resample"), err)
	}
	p := axisPlan{
		n: shape[axis], size: size, mode: int(mode), coordinates: int(coordinates), rounding: int(rounding), scale: scale, a: a,
		antialias: antialias, excluded: excludeOutside, start: start, end: end, extrapolation: extrapolation,
	}
	return p.along(o, "resample", x, axis, &axisTaps{})
}

// Interpolate returns x [n, channels, spatial...] with other extents of the spatial axes,
// as PyTorch's function of that name has them.
func Interpolate[M ~uint8](o Resampling, x *core.Tensor, size []int, mode M, corners, antialias bool) *core.Tensor {
	if t := core.FirstError(x); t != nil {
		return t
	}
	shape := look(x).Shape()
	if len(size) == 1 && len(shape) > 2 {
		size = slices.Repeat(size, len(shape)-2)
	}
	if len(shape) < 3 || len(size) != len(shape)-2 {
		return core.Fail(op("interpolate"), fmt.Errorf("%w: x [n, channels, spatial...] of shape %v takes an extent for each spatial axis, or one for all, have %v",
			ir.ErrShape, shape, size))
	}
	if mode <= nearestExact && !antialias && wholeFactors(shape[2:], size) {
		return o.repeated(x, size)
	}
	out, taps := x, axisTaps{}
	for i := len(size) - 1; i >= 0; i-- {
		if n := shape[2+i]; n != size[i] {
			out = pytorch(n, size[i], int(mode), corners, antialias).along(o, "interpolate", out, 2+i, &taps)
		}
	}
	if out == x {
		return o.Clone(x)
	}
	return out
}

// wholeFactors reports whether every extent becomes a multiple of what it is, another one
// in some axis.
func wholeFactors(from, to []int) bool {
	for i, n := range from {
		if n == 0 || to[i] < n || to[i]%n != 0 || to[i] > mostElements {
			return false
		}
	}
	return !slices.Equal(from, to)
}

// repeated returns x [n, channels, spatial...] with every element size/extent times along
// the spatial axes: in one pass, where taking the places of an axis is one for each.
func (o Resampling) repeated(x *core.Tensor, size []int) *core.Tensor {
	shape := look(x).Shape()
	apart, wide := slices.Clone(shape[:2]), slices.Clone(shape[:2])
	for i, n := range shape[2:] {
		apart, wide = append(apart, n, 1), append(wide, n, size[i]/n)
	}
	out := o.Reshape(o.Expand(o.Reshape(x, apart), wide), slices.Concat(shape[:2], size))
	if core.FirstError(out) == nil && look(out).SharesStorage(look(x)) { // of extents of 1: places of x
		return o.Clone(out)
	}
	return out
}

// pytorch returns how PyTorch resizes an axis.
func pytorch(n, size, mode int, corners, antialias bool) axisPlan {
	p := axisPlan{n: n, size: size, mode: mode, a: -0.75, antialias: antialias}
	switch {
	case mode == nearestElement:
		p.coordinates, p.rounding = asymmetric, roundFloor
	case mode == nearestExact:
		p.mode, p.rounding = nearestElement, preferCeil
	case corners && antialias && size > 1: // the scale is that of the corners, the places are not
		p.scale = float64(size-1) / float64(max(n-1, 1))
	case corners && !antialias:
		p.coordinates = alignCorners
	}
	if antialias {
		p.a, p.excluded = -0.5, true
	}
	return p
}

// axisTaps are what the elements of an axis that was resampled are made of: another axis of
// the same plan takes them as they are.
type axisTaps struct {
	plan          axisPlan
	index, weight *core.Tensor
}

// along resamples axis of x. What each element is made of is computed where x lies, or is
// that of the last axis.
func (p axisPlan) along(o Resampling, name string, x *core.Tensor, axis int, last *axisTaps) *core.Tensor {
	shape, dt := look(x).Shape(), look(x).DType()
	if err := p.check(dt, axis, shape); err != nil {
		return core.Fail(op(name), err)
	}
	place, l := core.Placement{Device: look(x).Device()}, p.line()
	var out *core.Tensor
	to := slices.Clone(shape)
	to[axis] = p.size
	if p.mode < linear {
		rounding := p.rounding
		if p.mode == nearestExact {
			rounding = preferCeil
		}
		out = o.IndexSelect(x, axis, o.NearestRows([]int{p.size}, p.n, l.from, l.shift, l.a, l.b, l.c, l.back, rounding, &place))
	} else {
		rows := o.Reshape(x, []int{ir.NumElements(shape[:axis]), p.n, ir.NumElements(shape[axis+1:])})
		if last.index == nil || last.plan != p {
			*last = axisTaps{plan: p}
			last.index, last.weight = p.taps(o, l, core.PlacementLike(x))
		}
		out = o.Reshape(o.WeightedRows(rows, last.index, last.weight), to)
	}
	if p.coordinates != crop {
		return out
	}
	along := slices.Repeat([]int{1}, len(shape))
	along[axis] = p.size
	fill := o.ToType(core.From([]float64{p.extrapolation}, []int{}, place), dt)
	return o.Where(o.RowsOutside(along, p.n, l.from, l.shift, l.a, l.b, l.c, l.back, &place), fill, out)
}

// taps returns the elements that each of the resampled axis is made of, and their weights.
func (p axisPlan) taps(o Resampling, l line, place *core.Placement) (index, weight *core.Tensor) {
	reach, stretch := 1.0, 1.0
	if p.mode == cubic {
		reach = 2
	}
	if p.antialias && p.factor() < 1 {
		stretch = p.factor()
		reach /= stretch
	}
	taps := int(math.Ceil(2 * reach)) // whole numbers less than reach from a place
	if p.excluded {
		taps = min(taps, max(p.n, 1))
	}
	list := []int{1, p.size, taps}
	index = o.TapRows(list, p.n, taps, l.from, l.shift, l.a, l.b, l.c, l.back, reach, p.excluded, &core.Placement{Device: place.Device})
	weight = o.TapWeights(list, p.n, taps, l.from, l.shift, l.a, l.b, l.c, l.back, reach, p.excluded, stretch, p.mode == cubic, p.a, place)
	if p.excluded || stretch != 1 {
		weight = o.TapShares(weight, o.Sum(weight, []int{2}, true, ir.Invalid))
	}
	return index, weight
}

// mostElements is how many elements a resampled axis may get: each has rows of indices and
// weights on the device first.
const mostElements = 1 << 28

// mostCubic bounds the coefficient of cubic weights. They add up to 1 and are as large as it
// is: of 1e30 their sum would be roundings.
const mostCubic = 1024

func (p axisPlan) check(dt ir.DType, axis int, shape []int) error {
	switch {
	case p.size > mostElements:
		return fmt.Errorf("%w: axis %d of shape %v cannot get %d elements, more than %d", ir.ErrShape, axis, shape, p.size, mostElements)
	case p.size < 0 || p.size > 0 && p.n == 0:
		return fmt.Errorf("%w: axis %d of shape %v cannot get %d elements: sizes count from 0, and there must be an element to read", ir.ErrShape, axis, shape, p.size)
	case !(p.scale >= 0) || math.IsInf(p.scale, 1):
		return fmt.Errorf("scale_factor is %v, want a positive number, or 0 for the size over the number of elements", p.scale)
	case p.mode == cubic && !(math.Abs(p.a) <= mostCubic):
		return fmt.Errorf("cubic is %v, want a number from %d to %d: weights that are larger add up to 1 no more", p.a, -mostCubic, mostCubic)
	case p.mode >= linear && !dt.IsFloat():
		return fmt.Errorf("linear and cubic take floats, have %s; nearest takes every dtype", dt)
	case p.antialias && p.factor()*float64(p.n) < 0.5:
		return fmt.Errorf("scale_factor is %v, which leaves nothing of %d elements", p.scale, p.n)
	case p.mode < linear && p.antialias:
		return fmt.Errorf("antialias is for linear and cubic")
	}
	return nil
}

func (p axisPlan) factor() float64 {
	if p.scale == 0 {
		return float64(p.size) / float64(p.n)
	}
	return p.scale
}

// countsBack reports whether places of a crop are counted from its last element, which then
// lies where the crop ends, to the bit. An end at an edge of x is counted from, so that its
// element does not lie outside by a rounding, and else the nearer one: far ones are not exact.
func (p axisPlan) countsBack() bool {
	edge := func(at float64) bool { return at == 0 || at == 1 }
	if edge(p.start) != edge(p.end) {
		return edge(p.end)
	}
	return math.Abs(p.end) < math.Abs(p.start)
}

// A line says where the elements of a resampled axis lie: element o at
// from + (o + shift)*a*b/c - back.
type line struct{ from, shift, a, b, c, back float64 }

func (p axisPlan) line() line {
	last, fixed := float64(p.n-1), line{c: 1}
	l := line{a: float64(p.n), b: 1, c: float64(p.size), shift: 0.5, back: 0.5} // half_pixel
	if p.scale != 0 {
		l.a, l.c = 1, p.scale
	}
	switch p.coordinates {
	case alignCorners:
		span := float64(p.size) - 1
		if p.scale != 0 {
			span = p.scale*float64(p.n) - 1
		}
		if p.size == 1 || math.Abs(span) < 1e-9 {
			return fixed
		}
		return line{a: last, b: 1, c: span}
	case asymmetric:
		l.shift, l.back = 0, 0
	case pytorchHalfPixel:
		if p.size == 1 {
			return fixed
		}
	case tfHalfPixelForNN:
		l.back = 0
	case halfPixelSymmetric:
		if p.scale != 0 { // else the middles are the same; exact, for ties of nearest
			l.from = (float64(p.n) - float64(p.size)/p.scale) / 2
		}
	case crop:
		if p.size == 1 {
			fixed.from = 0.5 * (p.start + p.end) * last
			return fixed
		}
		cut := line{from: p.start * last, a: p.end - p.start, b: last, c: float64(p.size - 1)}
		if p.countsBack() {
			cut.from, cut.shift = p.end*last, 1-float64(p.size)
		}
		return cut
	}
	return l
}
