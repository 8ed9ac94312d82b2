package opaque

import (
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// convolutionAttrs are those of one spatial axis.
func convolutionAttrs() []ir.Value {
	return []ir.Value{{Ints: []int{1}}, {Ints: []int{0}}, {Ints: []int{1}}, {Int: 1}}
}

// A sum is rounded once, after the bias of its channel.
func TestConvolutionBiasRounding(t *testing.T) {
	for dtype, ulp := range map[ir.DType]float64{ir.Float16: 0x1p-10, ir.BFloat16: 0x1p-7} {
		x := cputest.From(dtype, []int{1, 1, 3}, 1, 1, 1)
		weight := cputest.From(dtype, []int{2, 1, 2}, 1, ulp/4, 1, ulp/4)
		bias := cputest.From(dtype, []int{2}, ulp/2, -1)
		z := cputest.NewView(dtype, "contiguous", 1, 2, 2)
		must(t, ConvolutionBias, call(dtype, convolutionAttrs(), []ir.View{z}, x, weight, bias))
		for i, want := range []float64{1 + ulp, 1 + ulp, ulp / 4, ulp / 4} {
			if got := real(cputest.Get(z, i/2*2+i%2)); math.Abs(got-want) > 0 {
				t.Errorf("%s: element %d is %v, want %v", dtype, i, got, want)
			}
		}
	}
}

func TestConvolutionBiasShape(t *testing.T) {
	x := cputest.From(ir.Float32, []int{1, 1, 1}, 1)
	z := cputest.NewView(ir.Float32, "contiguous", 1, 1, 1)
	err := ConvolutionBias(call(ir.Float32, convolutionAttrs(), []ir.View{z}, x, x, cputest.From(ir.Float32, []int{2}, 1, 2)))
	if err == nil || !strings.Contains(err.Error(), "bias [2] must have one axis") {
		t.Errorf("got %v", err)
	}
}
