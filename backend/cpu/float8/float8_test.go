package float8

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// nearest is the oracle: it looks through all numbers of a format, of which the one above
// the largest rounds to over.
func nearest(f ir.Float8, over, least int, x float64) uint8 {
	if x != x {
		return uint8(f.NaN)
	}
	value := func(code int) float64 {
		exponent, part := code>>f.Fraction, float64(code&(1<<f.Fraction-1))
		if exponent == 0 {
			return math.Ldexp(part, 1-f.Bias-f.Fraction)
		}
		return math.Ldexp(part+float64(int(1)<<f.Fraction), exponent-f.Bias-f.Fraction)
	}
	best, size := 0, min(math.Abs(x), 2*value(f.Top+1)) // distances from larger ones are rounded to the same
	for code := 1; code <= f.Top+1; code++ {
		d, least := math.Abs(value(code)-size), math.Abs(value(best)-size)
		if d < least || d == least && code%2 == 0 {
			best = code
		}
	}
	if best > f.Top {
		best = over
	}
	if math.Signbit(x) && best >= least {
		best |= 0x80
	}
	return uint8(best)
}

// numbers are all numbers of a format, the middles between them, and what is next to these
// in floats of a size, with either sign; and special ones.
func numbers(f ir.Float8, size int) []float64 {
	next := func(x, to float64) float64 { return float64(math.Nextafter32(float32(x), float32(to))) }
	if size == 8 {
		next = math.Nextafter
	}
	var all []float64
	add := func(x float64) {
		for _, v := range []float64{next(x, -1), x, next(x, math.Inf(1))} {
			all = append(all, v, -v)
		}
	}
	for code := range f.Top {
		a, b := float64(f.Value(uint8(code))), float64(f.Value(uint8(code+1)))
		add(a)
		add((a + b) / 2)
	}
	largest := float64(f.Value(uint8(f.Top)))
	for _, x := range []float64{largest, largest + math.Ldexp(largest, -f.Fraction-3), largest * 1.0625, largest * 1.125, largest * 2, 1e30, math.MaxFloat32, math.SmallestNonzeroFloat32} {
		add(x)
	}
	return append(all, math.Inf(1), math.Inf(-1), math.NaN(), 0, math.Copysign(0, -1))
}

// TestEncode compares every level with the oracle, at every length up to some vectors.
func TestEncode(t *testing.T) {
	for k, f := range ir.Float8s {
		unit, steps := 1<<(f.Bias-1), 1<<f.Fraction
		for _, over := range []int{f.Top, f.NaN, f.Top + 1} {
			least := 0
			if f.OneZero {
				least = 1
			}
			format := Format{Unit: unit, Steps: steps, Top: f.Top, Over: over, NaN: f.NaN, Least: least}
			for _, size := range []int{4, 8} {
				x := numbers(f, size)
				var want []uint8
				for _, v := range x {
					want = append(want, nearest(f, over, least, v))
				}
				for level := simd.Portable; level <= simd.Available().Vectors(); level++ {
					t.Run(fmt.Sprintf("%d/%d/%d/%v", k, over, size, level), func(t *testing.T) { check(t, New(format, size, level), size, x, want) })
				}
			}
		}
	}
}

func check(t *testing.T, e *Encoder, size int, x []float64, want []uint8) {
	narrow := make([]float32, len(x))
	for i, v := range x {
		narrow[i] = float32(v)
	}
	at := func(i int) unsafe.Pointer {
		if size == 4 {
			return unsafe.Pointer(&narrow[i])
		}
		return unsafe.Pointer(&x[i])
	}
	got := make([]uint8, len(x))
	e.Encode(len(x), unsafe.Pointer(&got[0]), at(0))
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("%g is %#x, want %#x", x[i], got[i], want[i])
		}
	}
	for n := range 70 {
		clear(got)
		e.Encode(n, unsafe.Pointer(&got[0]), at(1))
		if !slices.Equal(got[:n], want[1:n+1]) || got[n] != 0 {
			t.Fatalf("%d floats: %v, want %v", n, got[:n+1], want[1:n+1])
		}
	}
}
