//go:build !amd64

package fold

import (
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// vectors has nothing to put in place of plain Go.
func vectors(simd.Level, Kind, ir.DType, *ir.ReduceLoops) {}
