package composite

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// Float8Encode returns the codes of x in a format. What is too large becomes the largest
// number or, unless saturate, infinity, or NaN where there is none.
func Float8Encode[E ~uint8](code func(x *core.Tensor, unit, steps, top, over, nan, least float64) *core.Tensor, x *core.Tensor, format E, saturate bool) *core.Tensor {
	if t := core.FirstError(x); t != nil {
		return t
	}
	if int(format) >= len(ir.Float8s) {
		return core.Fail(op("float8_encode"), fmt.Errorf("format %d, want one of %d", format, len(ir.Float8s)))
	}
	f := ir.Float8s[format]
	over, least := f.NaN, 0
	switch {
	case saturate:
		over = f.Top
	case f.Infinite:
		over = f.Top + 1
	}
	if f.OneZero {
		least = 1
	}
	return code(x, math.Ldexp(1, f.Bias-1), math.Ldexp(1, f.Fraction), float64(f.Top), float64(over), float64(f.NaN), float64(least))
}

// Float8Table looks the numbers of codes in a format up.
func Float8Table[E ~uint8](take pick, reshape withInts, to castTo, x *core.Tensor, format E) *core.Tensor {
	if t := core.FirstError(x); t != nil {
		return t
	}
	if int(format) >= len(ir.Float8s) {
		return core.Fail(op("float8_numbers"), fmt.Errorf("format %d, want one of %d", format, len(ir.Float8s)))
	}
	values := make([]float32, 256)
	for code := range values {
		values[code] = ir.Float8s[format].Value(uint8(code))
	}
	table, shape := core.From(values, nil, core.Placement{Device: look(x).Device()}), look(x).Shape()
	return reshape(take(table, 0, reshape(to(x, ir.Int64), []int{ir.NumElements(shape)})), shape)
}
