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

// bounds returns what a number must be above to have the codes of a format from 1 on, and
// at last to be too large. Half way between two codes it gets the even one.
func bounds(f ir.Float8, next func(float64) float64) []float64 {
	value := func(code int) float64 { return float64(f.Value(uint8(code))) }
	list := make([]float64, f.Top+1)
	for k := range list {
		above := value(min(k+1, f.Top))
		if k == f.Top {
			above = 2*value(k) - value(k-1)
		}
		list[k] = (value(k) + above) / 2
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
	if int(format) >= len(ir.Float8s) {
		return core.Fail(op("float8_encode"), fmt.Errorf("format %d, want one of %d", format, len(ir.Float8s)))
	}
	if look(x).DType().Size() < 4 { // bounds have more digits
		x = o.ToType(x, ir.Float32)
	}
	f, dt, place := ir.Float8s[format], look(x).DType(), core.Placement{Device: look(x).Device()}
	next := func(v float64) float64 { return math.Nextafter(v, 0) }
	if dt == ir.Float32 {
		next = func(v float64) float64 { return float64(math.Nextafter32(float32(v), 0)) }
	}
	// From a number's place among the bounds to its code, then the same below zero.
	codes := make([]uint8, 2*(f.Top+2))
	for k := range f.Top + 2 {
		code := k
		switch {
		case k <= f.Top:
		case saturate:
			code = f.Top
		case !f.Infinite:
			code = f.NaN
		}
		codes[k], codes[f.Top+2+k] = uint8(code), uint8(code|0x80)
		if f.OneZero && code == 0 {
			codes[f.Top+2+k] = 0
		}
	}
	scalar := func(v int64) *core.Tensor { return core.From([]int64{v}, []int{}, place) }
	bounds := o.ToType(core.From(bounds(f, next), nil, place), dt)
	at := o.Searchsorted(bounds, o.Abs(x), false)
	at = o.Add(at, o.Where(o.Signbit(x), scalar(int64(f.Top+2)), scalar(0)))
	nan := o.IsNaN(x)
	at = o.Where(nan, scalar(0), at)
	out := o.take(core.From(codes, nil, place), at)
	return o.Where(nan, core.From([]uint8{uint8(f.NaN)}, []int{}, place), out)
}

// Float8Decode returns the numbers of codes in a format, as float32.
func Float8Decode[E ~uint8](o Float8s, x *core.Tensor, format E) *core.Tensor {
	if t := core.FirstError(x); t != nil {
		return t
	}
	if int(format) >= len(ir.Float8s) {
		return core.Fail(op("float8_decode"), fmt.Errorf("format %d, want one of %d", format, len(ir.Float8s)))
	}
	values := make([]float32, 256)
	for code := range values {
		values[code] = ir.Float8s[format].Value(uint8(code))
	}
	table := core.From(values, nil, core.Placement{Device: look(x).Device()})
	return o.take(table, o.ToType(x, ir.Int64))
}

// take returns the elements of a table at places, with their shape.
func (o Float8s) take(table, at *core.Tensor) *core.Tensor {
	shape := look(at).Shape()
	return o.Reshape(o.IndexSelect(table, 0, o.Reshape(at, []int{ir.NumElements(shape)})), shape)
}
