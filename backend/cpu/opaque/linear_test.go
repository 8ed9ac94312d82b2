package opaque

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

func TestMatMulBias(t *testing.T) {
	rng := newRand()
	for d, dtype := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float32, ir.Float64, ir.Complex64, ir.Complex128} {
		for i, c := range []struct{ x, y, z []int }{
			{[]int{3}, []int{3, 4}, []int{4}}, {[]int{2, 3}, []int{3, 4}, []int{2, 4}}, {[]int{5, 2, 3}, []int{3, 4}, []int{5, 2, 4}},
			{[]int{2, 0}, []int{0, 3}, []int{2, 3}}, {[]int{0, 3}, []int{3, 2}, []int{0, 2}}, {[]int{33, 65}, []int{65, 47}, []int{33, 47}},
			{[]int{1, 200}, []int{200, 20}, []int{1, 20}}, {[]int{50, 40}, []int{40, 1}, []int{50, 1}}, {[]int{7, 90}, []int{90, 130}, []int{7, 130}},
		} {
			if brief.Skip(d, i) {
				continue
			}
			for _, layout := range someLayouts(rng) {
				x := cputest.Fill(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.x...), rng, 0, 1)
				y := cputest.Fill(cputest.NewView(dtype, layout, c.y...), rng, 0, 1)
				bias := cputest.Fill(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.y[1]), rng, 0, 3)
				z := cputest.NewView(dtype, anyOf(rng, resultLayouts), c.z...)
				must(t, MatMulBias, call(dtype, nil, []ir.View{z}, x, y, bias))
				want := product(x, y, z)
				for i := range want {
					want[i] += cputest.Get(bias, i%c.y[1])
				}
				checkExact(t, fmt.Sprint(dtype, layout, c.x, c.y), z, want)
			}
		}
	}
}

// A sum is rounded once, after the bias.
func TestMatMulBiasRounding(t *testing.T) {
	for dtype, ulp := range map[ir.DType]float64{ir.Float16: 0x1p-10, ir.BFloat16: 0x1p-7} {
		x := cputest.From(dtype, []int{2, 2}, 1, 1, 1, 1)
		y := cputest.From(dtype, []int{2, 1}, 1, ulp/4)
		bias := cputest.From(dtype, []int{1}, ulp/2)
		z := cputest.NewView(dtype, "contiguous", 2, 1)
		must(t, MatMulBias, call(dtype, nil, []ir.View{z}, x, y, bias))
		for i := range 2 {
			if got := real(cputest.Get(z, i)); math.Abs(got-1-ulp) > 0 {
				t.Errorf("%s: 1 + ulp/4 + ulp/2 is %v, want %v", dtype, got, 1+ulp)
			}
		}
	}
}

func TestMatMulBiasShape(t *testing.T) {
	x := cputest.From(ir.Float32, []int{1, 1}, 1)
	z := cputest.NewView(ir.Float32, "contiguous", 1, 1)
	err := MatMulBias(call(ir.Float32, nil, []ir.View{z}, x, x, cputest.From(ir.Float32, []int{2}, 1, 2)))
	if err == nil || !strings.Contains(err.Error(), "bias [2] must have one axis") {
		t.Errorf("got %v", err)
	}
}

// Matrices in x whose rows are equally far apart are one of many rows, in whatever order axes are.
func TestEvenRows(t *testing.T) {
	for _, c := range []struct {
		shape, strides []int
		row            int
		even           bool
	}{
		{[]int{4, 5, 3}, []int{15, 3, 1}, 3, true}, {[]int{4, 5, 3}, []int{3, 12, 1}, 0, false}, {[]int{20, 1, 3}, []int{1, 60, 20}, 1, true},
		{[]int{1, 20, 3}, []int{7, 1, 20}, 1, true}, {[]int{1, 1, 3}, []int{7, 9, 1}, 0, true}, {[]int{2, 4, 3}, []int{0, 0, 1}, 0, true},
		{[]int{2, 4, 3}, []int{0, 3, 1}, 0, false}, {[]int{2, 4, 3}, []int{3, 0, 1}, 0, false}, {[]int{2, 1, 4, 3}, []int{-12, 5, -3, 1}, -3, true},
	} {
		row, even := evenRows(ir.View{Shape: c.shape, Strides: c.strides})
		if row != c.row || even != c.even {
			t.Errorf("%v with strides %v: %d, %v", c.shape, c.strides, row, even)
		}
	}
}
