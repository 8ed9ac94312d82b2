// Package vector is what the CPU runs of an operator, as descriptors hold it: portable
// loops, the assembly of some of them by level of instructions, or what makes such loops
// at run time. Which of them run is decided when a kernel's are looked up. It knows
// nothing of what the loops compute.
package vector

import (
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// Kind is the kind of device that descriptors name a Code for.
const Kind = "cpu"

// A Code is what the CPU runs of an operator that is no opaque one; what stands for those
// is an ir.KernelFunc. Loops and Folds are indexed by variant, then by compute dtype; a
// nil entry means the pair is not supported.
type Code struct {
	Loops       Table                       // Elementwise and Joint
	Folds       []*[ir.NumDTypes]*FoldFuncs // Reduction and Scan
	Parts       *Parts                      // Reduction with States, instead of Folds
	Vectors     []Loop                      // assembly for entries of Loops
	FoldVectors []Fold                      // and of Folds

	// Make and MakeFold make loops where there is no assembly, of a kernel that computes
	// in its own dtype and what is portable; nil where nothing is made.
	Make     func(k *ir.Kernel, portable Func) Set
	MakeFold func(k *ir.Kernel, portable *FoldFuncs) *FoldFuncs

	// Rows returns the code over rows of an element-wise operator of one kernel, for operands
	// that have one element for each row, by bit; it is nil, or returns nil, where there is none.
	Rows func(single uint64) *Rows
}

// Parts compute a reduction with States, whose accumulators are an array for each
// state; each is a Code with Loops. Start makes n of them the identity and has no
// operands. First, nil where there is none, makes what the body has of first elements, its
// operands. Step is of the states, folding an element of each operand into n accumulators:
// its operands are the states, what First made, then the reduction's own. Merge is of the
// states, its operands two parts'. Finish is of the results, its operands the states, then what First
// made; its last scalar, behind the operator's, is how many elements were folded into each.
//
// Alone, where each state folds the elements of the one operand by itself and as a usual
// reduction, is what folds so: a table for each state, by compute dtype.
type Parts struct {
	Start, First, Step, Merge, Finish *Code

	Alone []*[ir.NumDTypes]*FoldFuncs
}

// A Loop is the assembly for one entry of Code.Loops, by level; nil where there is none.
type Loop struct {
	Variant int
	DType   ir.DType // the compute dtype
	AVX2    Func
	AVX512  Func

	// What some have beside these: Past does the same with results that no cache holds,
	// Float16 and BFloat16 with operands and results of that dtype, where the others'
	// are of the compute dtype, and Float32 with the elements that a fold takes in. Shared reads one
	// element of the operands behind the first, for all.
	Past, Float16, BFloat16, Float32, Shared Loops
}

// Loops are those of a kind by level, nil where there is none.
type Loops = simd.By[Func]

// At returns the loop that runs at a level, which may be one of a lower level, or portable.
func (l *Loop) At(level simd.Level, portable Func) Func {
	switch {
	case level >= simd.AVX512 && l.AVX512 != nil:
		return l.AVX512
	case level >= simd.AVX2 && l.AVX2 != nil:
		return l.AVX2
	}
	return portable
}

// Group is the bytes of every operand and of the result that a loop past the caches
// takes at a time: its number of elements is a multiple of theirs. The result must
// begin with a cache line.
const Group = 16 << 10

// A Set is the loops of one body for one compute dtype at one level: Main, nil where the
// body is not supported, and what gives those that do the same otherwise. These are
// functions, for a loop may be made when it is first asked for; each may be nil, and give
// nil.
type Set struct {
	Main                             Func
	Past, Float16, BFloat16, Float32 func() Func
	Shared                           Func        // nil where there is none
	Ports                            func() Func // of a kernel with operands and results of 16 bits and others: all as they are stored
}

// Stored returns the loop over operands and results that are of a 16-bit float dtype in
// memory, or that of a fold in float64 over elements of float32; nil where there is none.
func (s *Set) Stored(d ir.DType) Func {
	switch d {
	case ir.Float16:
		return given(s.Float16)
	case ir.BFloat16:
		return given(s.BFloat16)
	case ir.Float32:
		return given(s.Float32)
	}
	return nil
}

// PastCaches returns the loop with results past the caches, or nil.
func (s *Set) PastCaches() Func { return given(s.Past) }

// OfPorts returns the loop over the dtypes of the kernel's ports, or nil.
func (s *Set) OfPorts() Func { return given(s.Ports) }

func given(f func() Func) Func {
	if f == nil {
		return nil
	}
	return f()
}

// linked is the function that gives a loop, nil for none.
func linked(loop Func) func() Func {
	if loop == nil {
		return nil
	}
	return func() Func { return loop }
}

// Set returns the loops of an element-wise or joint kernel at a level, in its compute dtype.
func (c *Code) Set(k *ir.Kernel, level simd.Level) Set {
	portable := entry(c.Loops, k)
	if portable == nil {
		return Set{}
	}
	if c.Make != nil && level > simd.Portable {
		return c.Make(k.Op.Kernel(k.Variant, k.Compute), portable)
	}
	for i := range c.Vectors {
		if l := &c.Vectors[i]; l.Variant == k.Variant && l.DType == k.Compute {
			return Set{Main: l.At(level, portable), Past: linked(l.Past.At(level)), Float16: linked(l.Float16.At(level)), BFloat16: linked(l.BFloat16.At(level)), Float32: linked(l.Float32.At(level)), Shared: l.Shared.At(level)}
		}
	}
	return Set{Main: portable}
}

// entry returns a kernel's entry of a table, nil where it has none.
func entry[L any](table []*[ir.NumDTypes]L, k *ir.Kernel) (l L) {
	if k.Variant >= 0 && k.Variant < len(table) && table[k.Variant] != nil && int(k.Compute) < ir.NumDTypes {
		return table[k.Variant][k.Compute]
	}
	return l
}
