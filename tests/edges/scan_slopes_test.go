package edges_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/tests/brief"
)

// TestScanSlopesOfSpecials: the gradients of scans are those that their compositions give, which
// float64 is computed by, for infinities, NaN and zeros at any place of a line of numbers, too.
func TestScanSlopesOfSpecials(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	specials := []float64{0, math.Copysign(0, -1), inf, -inf, nan, 3}
	scans := map[string]func(Tensor) Tensor{
		"cumprod":      func(x Tensor) Tensor { return x.Cumprod(0) },
		"logcumsumexp": func(x Tensor) Tensor { return x.Logcumsumexp(0) },
	}
	for name, scan := range scans {
		for _, n := range []int{1, 2, 9} {
			for i := range n {
				for j := range n {
					for l, a := range specials {
						for m, b := range specials {
							if n > 2 && brief.Skip(i, j, l, m) {
								continue
							}
							x := make([]float64, n)
							for k := range x {
								x[k] = 1 + float64(k%4)/4
							}
							x[i], x[j] = a, b
							compareSlopes(t, name, scan, x)
						}
					}
				}
			}
		}
	}
}

// compareSlopes compares the gradients of a line as float32 and as float64.
func compareSlopes(t *testing.T, name string, scan func(Tensor) Tensor, x []float64) {
	t.Helper()
	slope := func(d DType) []float64 {
		y := From(slices.Clone(x), len(x)).ToType(d).Detach().RequireGrad()
		must(t, scan(y).Mul(Linspace(1, 2, len(x)).ToType(d)).Sum().Backward())
		g, _ := y.Grad()
		return numbers(t, g)
	}
	want := slope(Float64)
	for i, v := range slope(Float32) {
		same := v == want[i] || v != v && want[i] != want[i]
		if !same && !(math.Abs(v-want[i]) <= 1e-5*math.Abs(want[i])) {
			t.Fatalf("%s of %v: element %d of the gradient is %v, of float64 %v", name, x, i, v, want[i])
		}
	}
}

// TestScanSlopesAgain differentiates gradients of scans, which are compositions then, of float32 and
// float64.
func TestScanSlopesAgain(t *testing.T) {
	for name, scan := range map[string]func(Tensor) Tensor{
		"cumprod":      func(x Tensor) Tensor { return x.Cumprod(0) },
		"logcumsumexp": func(x Tensor) Tensor { return x.Logcumsumexp(0) },
	} {
		second := func(d DType) []float64 {
			x := Linspace(0.5, 2, 7).ToType(d).Detach().RequireGrad()
			g, err := Gradients([]Tensor{scan(x).Square().Sum()}, []Tensor{x}, CreateGraph())
			must(t, err)
			must(t, g[0].Square().Sum().Backward())
			gg, _ := x.Grad()
			return numbers(t, gg)
		}
		want := second(Float64)
		for i, v := range second(Float32) {
			if math.Abs(v-want[i]) > 1e-4*math.Abs(want[i]) {
				t.Errorf("%s: element %d of the second gradient is %v, of float64 %v", name, i, v, want[i])
			}
		}
	}
}
