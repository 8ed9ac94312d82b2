package optest

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
)

// agreement is how far results may be from those of another library that computes
// in the same dtype: relative to the element, and to the largest element.
var agreement = map[ir.DType]struct{ rel, abs float64 }{
	ir.Float16:  {4e-3, 2e-3},
	ir.BFloat16: {3e-2, 2e-2},
	ir.Float32:  {2e-5, 4e-6},
	ir.Float64:  {1e-9, 1e-12},
}

// Agree reports how results of dtype d miss those of another library that computed
// in the same dtype, or nil. NaN equals NaN; integers and bools are exact.
func Agree(got, want []ir.Scalar, d ir.DType) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d elements, want %d", len(got), len(want))
	}
	allowed := agreement[d.Real()]
	largest := 0.0
	for _, w := range want {
		if size := math.Hypot(w.Float(), imag(w.Complex())); !math.IsInf(size, 0) && !math.IsNaN(size) {
			largest = max(largest, size)
		}
	}
	for i, w := range want {
		g := got[i]
		if !d.Differentiable() {
			if g.Int() != w.Int() || g.Bool() != w.Bool() {
				return fmt.Errorf("element %d is %v, want %v", i, g, w)
			}
			continue
		}
		size := math.Hypot(w.Float(), imag(w.Complex()))
		slack := allowed.rel*size + allowed.abs*max(largest, 1)
		if !close(g.Float(), w.Float(), slack) || !close(imag(g.Complex()), imag(w.Complex()), slack) {
			return fmt.Errorf("element %d is %v, want %v", i, g, w)
		}
	}
	return nil
}

// close reports whether two numbers are the same or within slack.
func close(got, want, slack float64) bool {
	if math.IsNaN(got) || math.IsNaN(want) {
		return math.IsNaN(got) && math.IsNaN(want)
	}
	return got == want || math.Abs(got-want) <= slack
}
