package composite

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// Float8s are the operators that conversions to floats of 8 bits are made of.
type Float8s struct {
	Searchsorted func(sorted, values *core.Tensor, right bool) *core.Tensor
	IndexSelect  pick
	Where        choose
	Add          product
	Abs          copyOf
	IsNaN        copyOf
	Signbit      copyOf
	Reshape      withInts
	ToType       castTo
}

// A float8 is a format of floats of 8 bits: a sign, exponent bits and the rest for the
// fraction.
type float8 struct {
	fraction, bias int
	top            int // the code of the largest number
	nan            int
	infinite       bool // the code above the largest is infinity
	oneZero        bool // minus zero is NaN
}

// float8s are the formats, in the order of their enum: e4m3fn, e4m3fnuz, e5m2, e5m2fnuz.
var float8s = [...]float8{
	{fraction: 3, bias: 7, top: 0x7e, nan: 0x7f},
	{fraction: 3, bias: 8, top: 0x7f, nan: 0x80, oneZero: true},
	{fraction: 2, bias: 15, top: 0x7b, nan: 0x7f, infinite: true},
	{fraction: 2, bias: 16, top: 0x7f, nan: 0x80, oneZero: true},
}

// value returns the number of a code from 0 to 0x7f.
func (f float8) value(code int) float64 {
	switch exponent, fraction := code>>f.fraction, code&(1<<f.fraction-1); {
	case code == f.top+1 && f.infinite:
		return math.Inf(1)
	case code > f.top:
		return math.NaN()
	case exponent == 0:
		return math.Ldexp(float64(fraction), 1-f.bias-f.fraction)
	default:
		return math.Ldexp(float64(fraction|1<<f.fraction), exponent-f.bias-f.fraction)
	}
}

// bounds returns what a number must be above to have the codes from 1 on, and at last to
// be too large. Half way between two codes it gets the even one.
func (f float8) bounds(next func(float64) float64) []float64 {
	list := make([]float64, f.top+1)
	for k := range list {
		above := f.value(min(k+1, f.top))
		if k == f.top {
			above = 2*f.value(k) - f.value(k-1)
		}
		list[k] = (f.value(k) + above) / 2
		if k%2 != 0 {
			list[k] = next(list[k])
		}
	}
	return list
}

// Float8Encode returns the codes of x in a format. What is too large becomes the largest
// number or, unless saturate, infinity, or NaN where there is none.
func Float8Encode[E ~uint8](o Float8s, x *core.Tensor, format E, saturate bool) *core.Tensor {
	if t := core.FirstError(x); t != nil {
		return t
	}
	if int(format) >= len(float8s) {
		return core.Fail(op("float8_encode"), fmt.Errorf("format %d, want one of %d", format, len(float8s)))
	}
	if look(x).DType().Size() < 4 { // bounds have more digits
		x = o.ToType(x, ir.Float32)
	}
	f, dt, place := float8s[format], look(x).DType(), core.Placement{Device: look(x).Device()}
	next := func(v float64) float64 { return math.Nextafter(v, 0) }
	if dt == ir.Float32 {
		next = func(v float64) float64 { return float64(math.Nextafter32(float32(v), 0)) }
	}
	// From a number's place among the bounds to its code, then the same below zero.
	codes := make([]uint8, 2*(f.top+2))
	for k := range f.top + 2 {
		code := k
		switch {
		case k <= f.top:
		case saturate:
			code = f.top
		case !f.infinite:
			code = f.nan
		}
		codes[k], codes[f.top+2+k] = uint8(code), uint8(code|0x80)
		if f.oneZero && code == 0 {
			codes[f.top+2+k] = 0
		}
	}
	scalar := func(v int64) *core.Tensor { return core.From([]int64{v}, []int{}, place) }
	bounds := o.ToType(core.From(f.bounds(next), nil, place), dt)
	at := o.Searchsorted(bounds, o.Abs(x), false)
	at = o.Add(at, o.Where(o.Signbit(x), scalar(int64(f.top+2)), scalar(0)))
	nan := o.IsNaN(x)
	at = o.Where(nan, scalar(0), at)
	out := o.take(core.From(codes, nil, place), at)
	return o.Where(nan, core.From([]uint8{uint8(f.nan)}, []int{}, place), out)
}

// Float8Decode returns the numbers of codes in a format, as float32.
func Float8Decode[E ~uint8](o Float8s, x *core.Tensor, format E) *core.Tensor {
	if t := core.FirstError(x); t != nil {
		return t
	}
	if int(format) >= len(float8s) {
		return core.Fail(op("float8_decode"), fmt.Errorf("format %d, want one of %d", format, len(float8s)))
	}
	f, values := float8s[format], make([]float32, 256)
	for code := range 128 {
		v := f.value(code)
		values[code], values[code|0x80] = float32(v), float32(-v)
	}
	if f.oneZero {
		values[0x80] = float32(math.NaN())
	}
	table := core.From(values, nil, core.Placement{Device: look(x).Device()})
	return o.take(table, o.ToType(x, ir.Int64))
}

// take returns the elements of a table at places, with their shape.
func (o Float8s) take(table, at *core.Tensor) *core.Tensor {
	shape := look(at).Shape()
	return o.Reshape(o.IndexSelect(table, 0, o.Reshape(at, []int{ir.NumElements(shape)})), shape)
}
