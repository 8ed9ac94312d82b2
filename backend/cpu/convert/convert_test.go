package convert

import (
	"fmt"
	"math"
	"math/big"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// ranges holds the integer dtypes' ends.
var ranges = map[ir.DType][2]int64{
	ir.Uint8: {0, 255}, ir.Int8: {-128, 127}, ir.Int16: {-32768, 32767},
	ir.Int32: {math.MinInt32, math.MaxInt32}, ir.Int64: {math.MinInt64, math.MaxInt64},
}

var samples = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.99, -2.99, 100, 127, 128, 255, 256, -128, -129, 1000, 32767.5, 65504, 65519.9, 65520,
	1e-8, 6e-8, 1e10, -1e10, 1e19, -1e19, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN(),
	1 + 1.0/2048 + 1e-12, 1 + 1.0/2048, 1 + 1.0/256 + 1e-13, 1 + 3.0/256 - 1e-13, 1<<53 + 2,
}

// exact returns v rounded once to a float dtype with the given precision, by
// big.Float; only for values inside its normal range.
func exact(v *big.Float, precision uint) float64 {
	f, _ := new(big.Float).SetPrec(precision).SetMode(big.ToNearestEven).Set(v).Float64()
	return f
}

// want converts one number as the package's comment says.
func want(to, from ir.DType, x complex128) complex128 {
	re := real(x)
	switch {
	case to == ir.Bool:
		if x != 0 {
			return 1
		}
		return 0
	case to.IsInt() && from.Category() >= ir.CategoryFloat:
		lim := ranges[to]
		switch {
		case re != re:
			return 0
		case re <= float64(lim[0]):
			return complex(float64(lim[0]), 0)
		case re >= float64(lim[1]):
			return complex(float64(lim[1]), 0)
		}
		return complex(math.Trunc(re), 0)
	case to.IsInt():
		b := new(big.Int)
		new(big.Float).SetFloat64(re).Int(b)
		size := uint(8 * to.Size())
		b.Mod(b, new(big.Int).Lsh(big.NewInt(1), size))
		if lim := ranges[to]; b.Cmp(big.NewInt(lim[1])) > 0 {
			b.Sub(b, new(big.Int).Lsh(big.NewInt(1), size))
		}
		f, _ := new(big.Float).SetInt(b).Float64()
		return complex(f, 0)
	case to.IsComplex() && from.IsComplex() && to == ir.Complex64:
		return complex(float64(float32(re)), float64(float32(imag(x))))
	case to.IsComplex() && from.IsComplex():
		return x
	case to == ir.Complex64 || to == ir.Float32:
		return complex(float64(float32(re)), 0)
	case to == ir.Complex128 || to == ir.Float64:
		return complex(re, 0)
	}
	return complex(sixteen(to, re), 0)
}

// sixteen rounds x to a 16-bit float once.
func sixteen(to ir.DType, x float64) float64 {
	a := math.Abs(x)
	precision, least, most := uint(11), 0x1p-14, 65520.0
	if to == ir.BFloat16 {
		precision, least, most = 8, 0x1p-126, 0x1.ffp127
	}
	switch {
	case x != x || x == 0:
		return x
	case a >= most:
		return math.Copysign(math.Inf(1), x)
	case a < least:
		unit := least * math.Ldexp(1, 1-int(precision))
		return math.Copysign(math.RoundToEven(a/unit)*unit, x)
	}
	return exact(big.NewFloat(x), precision)
}

func same(a, b complex128) bool {
	eq := func(a, b float64) bool { return a == b || a != a && b != b }
	return eq(real(a), real(b)) && eq(imag(a), imag(b))
}

func TestBetween(t *testing.T) {
	for _, from := range ir.ClassAll.List() {
		src := cputest.NewView(from, "contiguous", len(samples))
		for i, x := range samples {
			c := complex(x, 0)
			switch {
			case from.IsComplex():
				c = complex(x, samples[(i+1)%len(samples)])
			case from.IsInt():
				lim := ranges[from]
				c = complex(math.Trunc(min(max(x, float64(lim[0])), float64(lim[1])/2)), 0)
				if x != x {
					c = 0
				}
			}
			cputest.Set(src, i, c)
		}
		for _, to := range ir.ClassAll.List() {
			for _, steps := range [][2]int{{1, 1}, {2, 1}, {1, 2}, {1, 3}, {3, 2}, {1, 0}} {
				n := (len(samples)-1)/max(steps[1], 1) + 1
				dst := cputest.NewView(to, "contiguous", n*steps[0])
				before := cputest.Values(dst)
				Between(to, from)(n, dst.Ptr, steps[0], src.Ptr, steps[1])
				for i := range n * steps[0] {
					got := cputest.Get(dst, i)
					if i%steps[0] != 0 {
						if !same(got, before[i]) {
							t.Fatalf("%s to %s: wrote between the elements", from, to)
						}
						continue
					}
					x := cputest.Get(src, i/steps[0]*steps[1])
					if w := want(to, from, x); !same(got, w) {
						t.Errorf("%s to %s, steps %v: %v gives %v, want %v", from, to, steps, x, got, w)
					}
				}
			}
		}
	}
}

func TestRoundsOnce(t *testing.T) {
	half, bf := Between(ir.Float16, ir.Float64), Between(ir.BFloat16, ir.Int64)
	x := 1 + 1.0/2048 + 0x1p-40 // just above the middle: float32 loses that
	var h ir.Half
	half(1, ptr(&h), 1, ptr(&x), 1)
	if got := h.Float32(); got != 1+1.0/1024 {
		t.Errorf("%v as float16 gives %v", x, got)
	}
	for _, i := range []int64{1<<60 + 1<<52 + 1, 1<<60 + 1<<52, -(1<<60 + 1<<52 + 1), 3<<60 + 1<<53 - 1, math.MaxInt64, math.MinInt64} {
		var b ir.BF16
		bf(1, ptr(&b), 1, ptr(&i), 1)
		w := exact(new(big.Float).SetPrec(64).SetInt64(i), 8)
		if got := float64(b.Float32()); got != w {
			t.Errorf("%d as bfloat16 gives %v, want %v", i, got, w)
		}
	}
}

func ptr[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }

func BenchmarkBetween(b *testing.B) {
	const n = 1024
	for _, pair := range [][2]ir.DType{{ir.Float32, ir.Float16}, {ir.Float16, ir.Float32}, {ir.BFloat16, ir.Float32}, {ir.Float32, ir.Int64}, {ir.Int32, ir.Float32}} {
		src, dst := make([]uint64, n), make([]uint64, n)
		f := Between(pair[0], pair[1])
		b.Run(fmt.Sprintf("%s from %s", pair[0], pair[1]), func(b *testing.B) {
			for b.Loop() {
				f(n, ptr(&dst[0]), 1, ptr(&src[0]), 1)
			}
		})
	}
}
