package gpu_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// corners are numbers whose parts are zeros of both signs, infinities, NaN and a few more,
// in every combination.
func corners() (out []complex128) {
	parts := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -2, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, re := range parts {
		for _, im := range parts {
			out = append(out, complex(re, im))
		}
	}
	return out
}

// TestComplexCorners: functions of complex numbers have the limits on a GPU that they have
// on the CPU, which other tests hold against PyTorch's. The sign of a zero is open.
func TestComplexCorners(t *testing.T) {
	need(t)
	for _, o := range opcases.Cases {
		if o.Op.Kind != ir.Elementwise || !o.Op.DTypes.Has(ir.Complex128) || len(o.Op.In) > 2 || len(o.Op.Attrs) > 0 {
			continue
		}
		for _, d := range []ir.DType{ir.Complex64, ir.Complex128} {
			got, want := atCorners(t, o, d, gpu), atCorners(t, o, d, device.CPU)
			for r := range want {
				misses := 0
				for i := range want[r] {
					if a, b := got[r][i], want[r][i]; !sameParts(a, b, d) {
						if misses++; misses <= 8 {
							t.Errorf("%s of %s, result %d, element %d: %v, on the CPU %v", o.Op.Name, d, r, i, a, b)
						}
					}
				}
			}
		}
	}
}

// atCorners applies an operator to all corners, one of two operands to all pairs of them.
func atCorners(t *testing.T, o optest.Operator, d ir.DType, dev device.Device) (out [][]complex128) {
	t.Helper()
	list := corners()
	in := [][]complex128{list}
	if len(o.Op.In) == 2 {
		in = make([][]complex128, 2)
		for _, x := range list {
			for _, y := range list {
				in[0], in[1] = append(in[0], x), append(in[1], y)
			}
		}
	}
	var tensors []*core.Tensor
	for _, x := range in {
		tensors = append(tensors, core.Cast(core.From(x, []int{len(x)}, core.Placement{Device: dev}), d))
	}
	for _, r := range o.Call(optest.Args{In: tensors, Attrs: o.Defaults}) {
		must(t, r.Err())
		scalars, err := core.Scalars(r)
		must(t, err)
		var values []complex128
		for _, s := range scalars {
			values = append(values, s.Complex())
		}
		out = append(out, values)
	}
	return out
}

func sameParts(a, b complex128, d ir.DType) bool {
	close := 1e-12
	if d == ir.Complex64 {
		close = 1e-5
	}
	same := func(x, y float64) bool {
		return x == y || x != x && y != y || math.Abs(x-y) <= close*math.Max(1e-6, math.Abs(y))
	}
	return same(real(a), real(b)) && same(imag(a), imag(b))
}
