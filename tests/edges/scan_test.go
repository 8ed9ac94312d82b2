package edges_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/sinter-go/sinter/generated/tensor"
)

// TestLongScans bounds the error of scans by their own rounding, whatever the length:
// cumsum and cumprod carry more digits than they write, logcumsumexp folds runs as a
// pairwise sum does. Witnesses are sums in big.Float and logarithms of counts.
func TestLongScans(t *testing.T) {
	sizes := []int{1, 31, 33, 1000, 5000, 100_003, 1 << 24}
	if testing.Short() {
		sizes = sizes[:len(sizes)-1]
	}
	for _, n := range sizes {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		addends, factors := make([]float32, n), make([]float32, n)
		for i := range addends {
			addends[i] = rng.Float32()
			factors[i] = 1 + (rng.Float32()-0.5)/1024
		}
		scans(t, "cumsum", n, addends, func(x Tensor) Tensor { return x.Cumsum(0) }, func(a, x *big.Float) { a.Add(a, x) }, 0)
		scans(t, "cumprod", n, factors, func(x Tensor) Tensor { return x.Cumprod(0) }, func(a, x *big.Float) { a.Mul(a, x) }, 1)
	}
}

// scans compares a scan of x, at some places, with one in wide arithmetic: of float32
// and of float64, along a line and down columns.
func scans(t *testing.T, name string, n int, x []float32, scan func(Tensor) Tensor, step func(a, x *big.Float), start float64) {
	t.Helper()
	a, v := big.NewFloat(start).SetPrec(120), new(big.Float)
	want := make([]float64, n)
	for i, f := range x {
		step(a, v.SetFloat64(float64(f)))
		want[i], _ = a.Float64()
	}
	line := From(x, n)
	columns := line.Reshape(n, 1).Expand(n, 3).Contiguous()
	got32, err := Data[float32](scan(line))
	if err != nil {
		t.Fatal(err)
	}
	got64, err := Data[float64](scan(line.ToType(Float64)))
	if err != nil {
		t.Fatal(err)
	}
	down, err := Data[float32](scan(columns))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < n; i += 1 + n/999 {
		exact := float32(want[i])
		for _, got := range []float32{got32[i], down[3*i+1]} {
			if d := math.Abs(float64(got)-float64(exact)) / math.Abs(float64(exact)); d > 0x1p-23 {
				t.Fatalf("%s of %d float32: result %d is %v, want %v", name, n, i, got, exact)
			}
		}
		if d := math.Abs(got64[i]-want[i]) / math.Abs(want[i]); d > 0x1p-51 {
			t.Fatalf("%s of %d float64: result %d is %v, want %v", name, n, i, got64[i], want[i])
		}
	}
}

// TestLongLogcumsumexp: of zeros result i is the logarithm of i+1.
func TestLongLogcumsumexp(t *testing.T) {
	sizes := []int{1, 33, 5000, 1 << 17, 1 << 25}
	if testing.Short() {
		sizes = sizes[:len(sizes)-1]
	}
	for _, n := range sizes {
		for _, c := range []struct {
			name string
			out  Tensor
			each int
			unit float64
		}{
			{"float32", Zeros([]int{n}).Logcumsumexp(0), 1, 0x1p-23},
			{"float64", Zeros([]int{min(n, 1<<17)}, OfType(Float64)).Logcumsumexp(0), 1, 0x1p-52},
			{"columns", Zeros([]int{min(n, 1<<17), 3}).Logcumsumexp(0), 3, 0x1p-23},
		} {
			got, err := Data[float64](c.out.ToType(Float64))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(got); i += c.each * (1 + n/999) {
				want := math.Log(float64(i/c.each + 1))
				if d := math.Abs(got[i] - want); d > 8*c.unit*math.Max(want, 1) {
					t.Fatalf("%s of %d: result %d is %v, want %v", c.name, n, i, got[i], want)
				}
			}
		}
	}
}

// TestScansAtTheEdges: no order of a scan may meet an infinity that the elements,
// one after the other, do not.
func TestScansAtTheEdges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	most := math.MaxFloat32
	big := []float32{0, 1e30, 1e30, 1e30, 1e30, 1e30, 1e30, 1e30, 1e30, 1e30}
	for _, c := range []struct {
		name string
		out  Tensor
		want []float64
	}{
		{"cumprod behind zero", From(big).Cumprod(0), make([]float64, 10)},
		{"cumprod behind zero, float64", From([]float64{0, 1e300, 1e300, 1e300}).Cumprod(0), make([]float64, 4)},
		{"cumprod that overflows", From([]float64{1e300, 1e300, 2, 0}).Cumprod(0), []float64{1e300, inf, inf, nan}},
		{"cumsum near the largest", From([]float32{-math.MaxFloat32, math.MaxFloat32, math.MaxFloat32, -1}).Cumsum(0), []float64{-most, 0, most, most}},
		{"cumsum that overflows", From([]float64{math.MaxFloat64, math.MaxFloat64, -1, -inf}).Cumsum(0), []float64{math.MaxFloat64, inf, inf, nan}},
		{"logcumsumexp of infinities", From([]float64{-inf, -inf, 0, inf, 0}).Logcumsumexp(0), []float64{-inf, -inf, 0, inf, inf}},
		{"cumsum of NaN", From([]float64{1, nan, 1}).Cumsum(0), []float64{1, nan, nan}},
	} {
		got, err := Data[float64](c.out.ToType(Float64))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(fmt.Sprint(c.want), fmt.Sprint(got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}
