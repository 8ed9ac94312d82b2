package loop_test

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/loop"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// sum is a loop: the sum of two operands and of two scalars.
func sum[T loop.Float](n int, p []unsafe.Pointer, s *uint64, _ int64) {
	out, x, y := unsafe.Slice((*T)(p[0]), n), unsafe.Slice((*T)(p[1]), n), unsafe.Slice((*T)(p[2]), n)
	scalars := unsafe.Slice(s, 2)
	for i := range out {
		out[i] = x[i] + y[i] + number[T](scalars[0]) + number[T](scalars[1])
	}
}

func number[T loop.Float](bits uint64) T {
	if unsafe.Sizeof(T(0)) == 4 {
		return T(math.Float32frombits(uint32(bits)))
	}
	return T(math.Float64frombits(bits))
}

// TestCaller: what is worth it is handed over to the loop of the type and the level, and nothing else.
func TestCaller(t *testing.T) {
	for _, level := range simd.Levels() {
		testCaller[float32](t, level)
		testCaller[float64](t, level)
	}
}

func testCaller[T loop.Float](t *testing.T, level simd.Level) {
	t.Helper()
	sums := loop.Pair{Single: sum[float32], Double: sum[float64]}
	code := loop.At[T](loop.By{AVX2: sums, AVX512: sums}, level)
	c := &loop.Caller[T]{Scalars: [2]uint64{loop.Bits(T(1.5)), loop.Bits(T(-0.25))}}
	for n := range 3 * loop.Fewest {
		out, x, y := make([]T, n), make([]T, n+1), make([]T, n)
		want := make([]T, n)
		runs := level != simd.Portable && n >= loop.Fewest
		for i := range out {
			x[i], y[i] = T(i), T(2*i)
			if runs {
				want[i] = T(3*i) + 1.25
			}
		}
		if got := c.Call(code, out, x, y); got != runs || !slices.Equal(out, want) {
			t.Fatalf("%v, %d elements of %T: called: %v, %v; want %v, %v", level, n, T(0), got, out, runs, want)
		}
		if a := testing.AllocsPerRun(5, func() { c.Call(code, out, x, y) }); a > 0 {
			t.Fatalf("%v, %d elements of %T: %v allocations", level, n, T(0), a)
		}
	}
}
