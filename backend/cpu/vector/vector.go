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

	// What some have beside these: Past does the same with results that no cache holds,
	// Float16 and BFloat16 with operands and results of that dtype, where the others'
	// are of the compute dtype.
	Past, Float16, BFloat16 Loops

	portable ir.Loop
}

// Loops are those of a kind by level, nil where there is none.
type Loops struct{ AVX2, AVX512 ir.Loop }

// At returns the loop that runs at a level, or nil.
func (l Loops) At(level simd.Level) ir.Loop {
	switch {
	case level >= simd.AVX512:
		return l.AVX512
	case level >= simd.AVX2:
		return l.AVX2
	}
	return nil
}

// Group is the bytes of every operand and of the result that a loop past the caches
// takes at a time: its number of elements is a multiple of theirs. The result must
// begin with a cache line.
const Group = 16 << 10

// beside are the loops of the active level beside those of tables, by the entry.
var beside = map[*ir.Loop]Beside{}

// Beside is what gives the loops of the active level that stand beside an entry of a
// table: functions, for a loop may be made when it is first asked for. Each may be nil,
// and give nil.
type Beside struct{ Past, Float16, BFloat16 func() ir.Loop }

// Enter says what stands beside an entry of a table. It is to be called once for each,
// before any operator runs.
func Enter(entry *ir.Loop, b Beside) {
	if b.Past != nil || b.Float16 != nil || b.BFloat16 != nil {
		beside[entry] = b
	}
}

// Past returns the loop past the caches that does what a table's entry does, or nil.
func Past(entry *ir.Loop) ir.Loop { return given(beside[entry].Past) }

// Stored returns the loop that does what a table's entry for float32 does with operands
// and results that are of a 16-bit float dtype in memory, or nil.
func Stored(entry *ir.Loop, d ir.DType) ir.Loop {
	switch d {
	case ir.Float16:
		return given(beside[entry].Float16)
	case ir.BFloat16:
		return given(beside[entry].BFloat16)
	}
	return nil
}

func given(f func() ir.Loop) ir.Loop {
	if f == nil {
		return nil
	}
	return f()
}

// linked is the function that gives a loop, nil for none.
func linked(loop ir.Loop) func() ir.Loop {
	if loop == nil {
		return nil
	}
	return func() ir.Loop { return loop }
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
		Enter(entry, Beside{linked(l.Past.At(level)), linked(l.Float16.At(level)), linked(l.BFloat16.At(level))})
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
