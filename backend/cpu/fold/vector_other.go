//go:build !amd64

package fold

import (
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// vectors has nothing to put in place of plain Go.
func vectors(simd.Level, Kind, ir.DType, *vector.FoldFuncs) {}

// sumLine returns the scan of a line of float32 in float64.
func sumLine(simd.Level) func(out, x []float32, acc *float64) { return sumWide }

// wideNext returns the scan of columns by vectors, of which there are none.
func wideNext(simd.Level, Kind) columns { return nil }
