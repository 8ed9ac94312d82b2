package vmath

import (
	"bufio"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/num/numtest"
)

// outside reports whether x is no argument of a function.
func outside(name string, x float64) bool { return name == "expneg" && x > 0 }

// edges32 are values about which arguments are tested one by one.
var edges32 = []float32{0, 0x1p-126, 0x1p-25, 0x1p-12, 0.25, 0.5, 2. / 3, 0.75, 0.875, 31. / 32, 1, 33. / 32, 4. / 3, 1.4375, 1.5, 2, 2.5, 3, math.Pi,
	3.95, 4, 8, 9, 9.01, 10, 10.06, 13, 14.35, 16, 18, 64, 87.33, 88.72, 89.4, 103.97, 127, 128, 126, 149, 150, 0x1p15, 0x1p16, 0x1p23, 0x1p24, 0x1p31, 0x1p52, 0x1p63, 1e30,
	math.MaxFloat32, float32(math.Inf(1)), float32(math.NaN())}

// arguments32 are the edges' neighbours, and every stride-th bit pattern.
func arguments32(stride int) []float32 {
	var x []float32
	for _, e := range edges32 {
		at := int64(math.Float32bits(e))
		for b := max(0, at-200); b < min(1<<31, at+200); b++ {
			x = append(x, math.Float32frombits(uint32(b)), math.Float32frombits(uint32(b)|1<<31))
		}
	}
	for b := uint64(0); b < 1<<32; b += uint64(stride) {
		x = append(x, math.Float32frombits(uint32(b)))
	}
	return x
}

// apply runs a loop in pieces as long as callers of assembly may.
func apply[T float32 | float64](f vector.Func, y []T, x ...[]T) {
	const piece = 1 << 14
	for i := 0; i < len(y); i += piece {
		n := min(piece, len(y)-i)
		p := []unsafe.Pointer{unsafe.Pointer(&y[i])}
		for _, a := range x {
			p = append(p, unsafe.Pointer(&a[i]))
		}
		f(n, p, nil, 0)
	}
}

// TestFloat32 sweeps the domain of the functions of one argument.
func TestFloat32(t *testing.T) {
	stride := 1021
	if testing.Short() {
		stride = 65537
	}
	x := arguments32(stride)
	y := make([]float32, len(x))
	for _, f := range Functions() {
		if f.DType != ir.Float32 || f.Arity != 1 {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			want := make([]float64, len(x))
			for i, v := range x {
				want[i] = numtest.Exact1[f.Name](float64(v))
			}
			for _, l := range simd.UsableVectors()[1:] {
				apply(Loop(f.Name, ir.Float32, l), y, x)
				worst, at := 0.0, 0
				for i := range x {
					if u := numtest.ULPs(float64(y[i]), want[i], 24, -149); u > worst && !outside(f.Name, float64(x[i])) {
						worst, at = u, i
					}
				}
				t.Logf("%s: %.3f units at %g", l, worst, x[at])
				if worst > f.ULP {
					t.Errorf("%s: %s(%x) = %x, want %x: off by %.3g units, %g are allowed", l, f.Name, x[at], y[at], want[at], worst, f.ULP)
				}
			}
		})
	}
}

// pairs are arguments of functions of two: every pair of special values, and random
// numbers of all sizes, of like size, and small integers.
func pairs[T float32 | float64](n, scale int) (a, b []T) {
	special := []float64{0, 1, 2, 3, 0.5, 1.5, 7, 0.1, 64, 1e-3, 1e5, 0x1p-100, 0x1p100, 0x1p-130, 0x1p-149, 0x1p23, 0x1p24 - 1, 1<<24 + 2,
		0x1p-1030, 0x1p-1074, 0x1p600, 0x1p1023, math.MaxFloat32, math.MaxFloat64, math.Inf(1), math.NaN()}
	for _, x := range special {
		for _, y := range special {
			a = append(a, T(x), T(-x), T(x), T(-x))
			b = append(b, T(y), T(y), T(-y), T(-y))
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	sign := func() float64 { return float64(1 - 2*r.IntN(2)) }
	for range n {
		x := sign() * math.Ldexp(1+r.Float64(), r.IntN(2*scale)-scale)
		y := sign() * math.Ldexp(1+r.Float64(), r.IntN(2*scale)-scale)
		switch r.IntN(4) {
		case 0:
			y = x * math.Ldexp(1+r.Float64(), r.IntN(12)-6)
		case 1:
			x, y = sign()*math.Exp(8*r.Float64()-4), 40*r.Float64()-20
		case 2:
			y = float64(r.IntN(61) - 30)
		}
		a, b = append(a, T(x)), append(b, T(y))
	}
	return a, b
}

// TestFloat32Pairs holds the functions of two arguments to float64's.
func TestFloat32Pairs(t *testing.T) {
	n := 1 << 20
	if testing.Short() {
		n = 1 << 16
	}
	a, b := pairs[float32](n, 128)
	y := make([]float32, len(a))
	for _, f := range Functions() {
		if f.DType != ir.Float32 || f.Arity != 2 {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			for _, l := range simd.UsableVectors()[1:] {
				apply(Loop(f.Name, ir.Float32, l), y, a, b)
				worst, at := 0.0, 0
				for i := range a {
					if u := numtest.ULPs(float64(y[i]), numtest.Exact2[f.Name](float64(a[i]), float64(b[i])), 24, -149); u > worst {
						worst, at = u, i
					}
				}
				t.Logf("%s: %.3f units at %g, %g", l, worst, a[at], b[at])
				if worst > f.ULP {
					t.Errorf("%s: %s(%x, %x) = %x, want %x: off by %.3g units, %g are allowed", l, f.Name, a[at], b[at], y[at],
						numtest.Exact2[f.Name](float64(a[at]), float64(b[at])), worst, f.ULP)
				}
			}
		})
	}
}

// TestFloat64 holds the functions for float64 to values that mpmath computed.
func TestFloat64(t *testing.T) {
	f, err := os.Open("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := map[string][3][]float64{} // arguments and results
	for sc := bufio.NewScanner(f); sc.Scan(); {
		words := strings.Fields(sc.Text())
		c := cases[words[0]]
		for i, s := range words[1:] {
			x, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			if i == len(words)-2 {
				i = 2
			}
			c[i] = append(c[i], x)
		}
		cases[words[0]] = c
	}
	for _, f := range Functions() {
		if f.DType != ir.Float64 {
			continue
		}
		c := cases[f.Name]
		if len(c[2]) == 0 {
			t.Errorf("%s: no vectors", f.Name)
			continue
		}
		y := make([]float64, len(c[2]))
		for _, l := range simd.UsableVectors()[1:] {
			apply(Loop(f.Name, ir.Float64, l), y, c[:f.Arity]...)
			worst, at := 0.0, 0
			for i, want := range c[2] {
				if u := numtest.ULPs(y[i], want, 53, -1074); u > worst {
					worst, at = u, i
				}
			}
			t.Logf("%s, %s: %.3g units at %g", f.Name, l, worst, c[0][at])
			if worst > f.ULP+0.5 { // half of one is the rounding of the vectors
				t.Errorf("%s: %s(%x) = %x, want %x: off by %.3g units, %g are allowed", l, f.Name, c[0][at], y[at], c[2][at], worst, f.ULP)
			}
		}
	}
}

// inexact64 reports whether package math errs by more than a few units: of large angles
// and of arcs near a quarter of a circle it loses digits, and of its exponentials near the
// greatest number it makes infinity.
func inexact64(name string, x float64) bool {
	switch name {
	case "sin", "cos", "tan":
		return math.Abs(x) > 0x1p29 && x-x == 0
	case "asin", "acos":
		return math.Abs(x) > 0.9 && math.Abs(x) < 1
	case "exp", "sinh", "cosh", "expm1":
		return math.Abs(x) > 709 && math.Abs(x) < 710.5
	}
	return false
}

// TestFloat64Special holds them to package num where results are exact or none, and
// within a few units at random arguments.
func TestFloat64Special(t *testing.T) {
	var x []float64
	for _, v := range []float64{0, 1, 2, 0.5, 0.25, 0x1p-1074, 0x1p-1022, 0x1p-54, 709.7, 711, 746, 1024, 1076, 0x1p29, 1e15, 1e300, math.MaxFloat64,
		math.Inf(1), math.NaN()} {
		x = append(x, v, -v)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 1 << 16 {
		x = append(x, (2*r.Float64()-1)*math.Exp(14*r.Float64()-8))
	}
	y := make([]float64, len(x))
	for _, f := range Functions() {
		if f.DType != ir.Float64 || f.Arity != 1 {
			continue
		}
		for _, l := range simd.UsableVectors()[1:] {
			apply(Loop(f.Name, ir.Float64, l), y, x)
			for i, v := range x {
				if outside(f.Name, v) || inexact64(f.Name, v) {
					continue
				}
				if want := numtest.Exact1[f.Name](v); numtest.ULPs(y[i], want, 53, -1074) > f.ULP+2 {
					t.Fatalf("%s: %s(%x) = %x, want %x", l, f.Name, v, y[i], want)
				}
			}
		}
	}
}

// TestFloat64Pairs holds the functions of two arguments to package num.
func TestFloat64Pairs(t *testing.T) {
	a, b := pairs[float64](1<<15, 300)
	y := make([]float64, len(a))
	for _, f := range Functions() {
		if f.DType != ir.Float64 || f.Arity != 2 {
			continue
		}
		for _, l := range simd.UsableVectors()[1:] {
			apply(Loop(f.Name, ir.Float64, l), y, a, b)
			for i := range a {
				if want := numtest.Exact2[f.Name](a[i], b[i]); numtest.ULPs(y[i], want, 53, -1074) > f.ULP+2 {
					t.Errorf("%s: %s(%x, %x) = %x, want %x", l, f.Name, a[i], b[i], y[i], want)
					break
				}
			}
		}
	}
}
