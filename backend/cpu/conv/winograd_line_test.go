package conv_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// TestWinogradLine: tiles become planes and planes windows, no element behind either is written, and units
// with a window that is not finite are told.
func TestWinogradLine(t *testing.T) {
	const guard = 99
	guarded := func(n int) []float32 {
		s := make([]float32, n+1)
		s[n] = guard
		return s
	}
	eachWinograd(t, func(t *testing.T, level simd.Level) {
		rng := rand.New(rand.NewPCG(9, 1))
		for _, units := range []int{1, 2, 3, 17, 64} {
			n := units * conv.WinogradUnit
			var d, v [4][]float32
			var from, to [4]unsafe.Pointer
			for i := range d {
				d[i], v[i] = whole(rng, n), guarded(n)
				from[i], to[i] = unsafe.Pointer(&d[i][0]), unsafe.Pointer(&v[i][0])
			}
			conv.SpreadLine(level, &to, &from, n)
			var want [4][]float32
			for p := range want {
				want[p] = guarded(n)
			}
			for i := range n {
				want[0][i], want[1][i] = d[0][i]-d[2][i], d[1][i]+d[2][i]
				want[2][i], want[3][i] = d[2][i]-d[1][i], d[3][i]-d[1][i]
			}
			if diff := cmp.Diff(want, v); diff != "" {
				t.Fatalf("planes of %d units (-want +got):\n%s", units, diff)
			}

			plane := n + 3
			src, dst, bad := whole(rng, 4*plane), guarded(2*n), uint64(0)
			if units > 1 {
				src[3*plane+n-1], src[conv.WinogradUnit] = float32(math.Inf(1)), float32(math.NaN()) // of the last and the second unit
				bad = 1<<(units-1) | 1<<1
			}
			if got := conv.GatherLine(level, unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), 4*plane, units); got != bad {
				t.Errorf("%d units: %b are told, want %b", units, got, bad)
			}
			windows := guarded(2 * n)
			for i := range n {
				m := [4]float32{src[i], src[plane+i], src[2*plane+i], src[3*plane+i]}
				windows[2*i], windows[2*i+1] = m[0]+m[1]+m[2], m[1]-m[2]+m[3]
			}
			equal := cmp.Comparer(func(a, b float32) bool { return a == b || a != a && b != b })
			if diff := cmp.Diff(windows, dst, equal); diff != "" {
				t.Fatalf("windows of %d units (-want +got):\n%s", units, diff)
			}
		}
	})
}
