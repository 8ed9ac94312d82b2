// Package move moves numbers by vectors: conversions between element types,
// transposing copies of blocks, and copies past the caches, for arrays that none holds. Each
// function exists for every level of package simd that has instructions for it;
// where none has, callers have plain Go. The package knows nothing of shapes.
//
// Functions take memory by its first byte, hold no Go pointer, and do at most Chunk
// elements' work, since assembly cannot be preempted.
package move

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

const (
	// Step is the least number of elements that a Converter takes.
	Step = 16
	// Chunk is how many elements one call of a function may have, at most.
	Chunk = 64 * 1024
)

// A Converter converts n elements without gaps, Step or more, from src to dst. The
// two must not overlap.
type Converter func(dst, src *byte, n int)

// Converters holds a Converter, or nil, by destination and source.
type Converters [ir.NumDTypes][ir.NumDTypes]Converter

// A pair is an entry of Converters.
type pair struct {
	to, from ir.DType
	convert  Converter
}

var tables = [...]*Converters{
	simd.Portable: {}, simd.AVX2: table(convertersAVX2), simd.AVX512: table(convertersAVX512),
}

// A Partial is a Converter that stops at the first group of elements, within which
// there is one that vectors cannot convert. It returns how many elements it has left.
type Partial func(dst, src *byte, n int) (left int)

// Partials holds a Partial, or nil, by destination and source.
type Partials [ir.NumDTypes][ir.NumDTypes]Partial

// A partial is an entry of Partials.
type partial struct {
	to, from ir.DType
	convert  Partial
}

// PartialsAt returns the conversions of a level that may stop. There are none where At
// has a Converter.
func PartialsAt(level simd.Level) *Partials {
	var t Partials
	if level == simd.AVX2 {
		for _, p := range partialsAVX2 {
			t[p.to][p.from] = p.convert
		}
	}
	return &t
}

// At returns the conversions of a level.
func At(level simd.Level) *Converters { return tables[level.Vectors()] }

func table(pairs []pair) *Converters {
	var t Converters
	for _, p := range pairs {
		t[p.to][p.from] = p.convert
	}
	return &t
}

// Bytes returns p as a pointer to the first byte of what it points to.
func Bytes(p unsafe.Pointer) *byte { return (*byte)(p) }
