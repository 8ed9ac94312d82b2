//go:build linux && amd64

package jit_test

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/codegen/x86/x86test"
)

// BenchmarkLoops times light and heavy loops within the caches.
func BenchmarkLoops(b *testing.B) {
	for _, isa := range x86.ISAs {
		if isa == x86.AVX512 && simd.Available() < simd.AVX512 {
			continue
		}
		block := functions(b, isa)
		for _, c := range x86test.Cases() {
			if !slices.Contains([]string{"sumF32", "expLikeF32", "callF32"}, c.Name) {
				continue
			}
			f := loopOf(b, block, c, "", isa)
			for _, n := range []int{16, 2048, 16384, 65536, 1 << 20} {
				x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
				for i := range x {
					x[i], y[i] = float32(i%37)*0.3-5, 1
				}
				p := []unsafe.Pointer{unsafe.Pointer(&z[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0])}
				b.Run(fmt.Sprintf("%s/%d/%v", c.Name, n, isa), func(b *testing.B) {
					for range b.N {
						f(n, p, nil, 0)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/elem")
				})
			}
		}
	}
}
