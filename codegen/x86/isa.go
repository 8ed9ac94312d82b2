// Package x86 compiles lane programs to Go assembly for AVX2 and AVX-512:
// subroutines over one vector, element-wise loops, and folds. It selects
// instructions, allocates the vector registers of straight-line code itself, and
// prints. It knows nothing of operators or schemas.
//
// A back end for NEON stands beside this package. What it has to give is what package
// loops asks for: Loop, Stream, Subroutine and ComplexProduct, which return a Func, with a
// package in amd64's place behind it that has instructions as values, prints and encodes
// them. The allocator (alloc.go, tied.go) knows x86 by the number of registers, by those
// that calls preserve, by operands in memory, and by instructions that destroy an operand:
// on arm64 these are 32 and 8, none, and FMLA and BSL. Selection (select.go, load.go,
// masks.go, ints.go, fuse.go) and the shape of loops (loop.go, whose tails are masked where
// NEON takes single elements) are x86's own. Package loops names an ISA and a mathlib.Set
// for each level; package jit has a trampoline and a way to map memory for each platform,
// and on arm64 clears the instruction cache.
package x86

import (
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/codegen/lane"
)

// An ISA is an instruction set to compile for.
type ISA uint8

// The instruction sets. AVX2 has FMA, F16C, BMI1 and BMI2 beside it; AVX512 is F,
// CD, BW, DQ and VL.
const (
	AVX2 ISA = iota
	AVX512
)

// ISAs are all of them.
var ISAs = []ISA{AVX2, AVX512}

// String is the suffix of the functions' names.
func (i ISA) String() string { return [...]string{"AVX2", "AVX512"}[i] }

// vectorBytes is the size of a register.
func (i ISA) vectorBytes() int { return 32 << i }

// registers is how many vector registers there are.
func (i ISA) registers() int { return 16 << i }

// preserved is the first vector register that subroutines leave alone; they leave
// alone all above it.
func (i ISA) preserved() int { return [...]int{10, 16}[i] }

// The mask registers: K0 cannot be one, tails keep theirs in K7.
const (
	firstMask     = 1
	preservedMask = 5
	tailMask      = 7
)

// ErrUnsupported is wrapped by errors about programs that an instruction set
// cannot compute.
var ErrUnsupported = errors.New("unsupported by the instruction set")

func unsupported(isa ISA, n lane.Node) error {
	return fmt.Errorf("x86: %v: %v of %v: %w", isa, n.Op, n.Type, ErrUnsupported)
}

// Symbol is the assembler's name of a subroutine: the function's name, the type
// and the instruction set. It lies in no package's name space, since the assembler
// cannot spell import paths with a dash.
func Symbol(name string, t lane.Type, isa ISA) string {
	return fmt.Sprintf("sinter∕vmath·%s%s%v(SB)", name, map[lane.Type]string{lane.F32: "F32", lane.F64: "F64"}[t], isa)
}
