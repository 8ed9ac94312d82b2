// Package vector puts the assembly loops of element-wise operators into the
// operators' tables, for the level of instructions that package simd chose. It
// keeps the portable loops, so that tests can run every level beside them. It
// knows nothing of what the loops compute.
package vector

import (
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// A Table is an operator's loops by variant and compute dtype.
type Table = []*[ir.NumDTypes]ir.Loop

// A Loop is the assembly of one entry of a table.
type Loop struct {
	Op      string // as in the schema
	Table   *Table
	Variant int
	DType   ir.DType // the compute dtype
	AVX2    ir.Loop
	AVX512  ir.Loop

	portable ir.Loop
}

// Install enters the loops of the active level into their tables. It is to be
// called once for each list, before any operator runs.
func Install(list []Loop) {
	level := simd.Active()
	for i := range list {
		l := &list[i]
		entry := &(*l.Table)[l.Variant][l.DType]
		l.portable = *entry
		*entry = l.At(level)
	}
}

// At returns the loop that runs at a level, which may be one of a lower level. The
// list must be installed.
func (l *Loop) At(level simd.Level) ir.Loop {
	switch {
	case level >= simd.AVX512 && l.AVX512 != nil:
		return l.AVX512
	case level >= simd.AVX2 && l.AVX2 != nil:
		return l.AVX2
	}
	return l.portable
}
