//go:build !amd64

package move

import (
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// There is no assembly for this architecture.
var (
	convertersAVX2, convertersAVX512 []pair
	partialsAVX2                     []partial
)

func squares(simd.Level, int) []square { return nil }

func uncachedAt(simd.Level) func(dst, src *byte, n int, first, second *byte, ahead int) { return nil }

func rowCopier(simd.Level) func(dst, src *byte, rows, n, to, from, aheadTo, aheadFrom int) {
	return nil
}

func filler(simd.Level) func(dst *byte, bits uint64, n int) { return nil }

func spreader(level simd.Level, size, bytes int) func(dst, src *byte, step, rows, n int) { return nil }

func shortSpreader(simd.Level, int) func(dst, src *byte, step, rows, bytes int) { return nil }

func reverser(simd.Level, int) func(dst, src *byte, n int) { return nil }

func evener(simd.Level, int) func(dst, src *byte, n int) { return nil }

func taker(simd.Level, int) func(dst, src *byte, index *int64, n int) { return nil }

func rowTaker(simd.Level) func(dst, src *byte, index *int64, n, size int) { return nil }

func rowAdder(simd.Level, ir.DType) func(dst, src *byte, index *int64, n, size int) { return nil }

func prefetchAVX2(*byte, int, int) {}

func fenceAVX2() {}
