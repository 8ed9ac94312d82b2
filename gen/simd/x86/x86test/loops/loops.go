//go:build amd64

// Package loops holds the assembly made of package x86test's programs, for the test
// that compares it with their interpretation.
package loops

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// loop is an assembled program.
type loop func(n int, p []unsafe.Pointer, s *[2]uint64, index int64)

// plain is a loop without scalars.
func plain(f ir.Loop) loop {
	return func(n int, p []unsafe.Pointer, _ *[2]uint64, index int64) { f(n, p, nil, index) }
}

// fold is an assembled Fold or Rows.
type fold func(n int, acc, x unsafe.Pointer, s *[1]uint64)

// foldPair is a reduction's Fold and Rows.
type foldPair struct{ fold, rows fold }

func plainFold(f func(n int, acc, x unsafe.Pointer, s []ir.Scalar)) fold {
	return func(n int, acc, x unsafe.Pointer, _ *[1]uint64) { f(n, acc, x, nil) }
}

// one is a fold of one scalar.
func one(f fold) fold { return f }
