package conv

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// maxima runs an even number of pieces of m.
func maxima(m *Maxima, values, indices, data unsafe.Pointer, pieces []int, n int) (lowest bool) {
	offsets, places, count := &m.offsets[0], &m.places[0], len(m.offsets)
	if m.elem == 8 {
		return maximaF64AVX2((*byte)(values), (*int)(indices), (*byte)(data), &pieces[0], n, offsets, places, count, &m.steps[0], &low64[0]) != 0
	}
	return maximaF32AVX2((*byte)(values), (*int)(indices), (*byte)(data), &pieces[0], n, offsets, places, count, &m.steps[0], &low32[0]) != 0
}

// quads runs rows of planes of q, whose first element is such a one of its plane.
func quads(q *Quads, planes, rows, first int, values, indices, x unsafe.Pointer) {
	if q.elem == 8 {
		quadsF64AVX2(planes, rows, q.n, q.width, q.size, first, (*byte)(values), (*int)(indices), (*byte)(x))
		return
	}
	quadsF32AVX2(planes, rows, q.n, q.width, q.size, first, (*byte)(values), (*int)(indices), (*byte)(x))
}

// divide sets n elements of to to x/y, at a level that has vectors.
func divide(level simd.Level, elem, n int, x, y, to unsafe.Pointer) {
	f := divideF32AVX2
	switch {
	case level >= simd.AVX512 && elem == 8:
		f = divideF64AVX512
	case level >= simd.AVX512:
		f = divideF32AVX512
	case elem == 8:
		f = divideF64AVX2
	}
	f(n, (*byte)(x), (*byte)(y), (*byte)(to))
}

// add adds n elements of x to those of to, at a level that has vectors.
func add(level simd.Level, elem, n int, x, to unsafe.Pointer) {
	f := addF32AVX2
	switch {
	case level >= simd.AVX512 && elem == 8:
		f = addF64AVX512
	case level >= simd.AVX512:
		f = addF32AVX512
	case elem == 8:
		f = addF64AVX2
	}
	f(n, (*byte)(x), (*byte)(to))
}

// splits reports whether split takes rows of n elements.
func splits(n, elem int) bool { return simd.Active() >= simd.AVX2 && n&^1*elem >= 32 }

// split copies rows of n elements, an even number: those at odd places to odd, then
// the others to even.
func split(elem int, even, odd unsafe.Pointer, to int, src unsafe.Pointer, from, rows, n int) {
	if elem == 8 {
		splitF64AVX2((*byte)(even), (*byte)(odd), to, (*byte)(src), from, rows, n)
		return
	}
	splitF32AVX2((*byte)(even), (*byte)(odd), to, (*byte)(src), from, rows, n)
}

// merges reports whether merge takes n elements.
func merges(n, elem int) bool { return simd.Active() >= simd.AVX2 && n*elem >= 32 }

// merge copies n elements of even and n of odd in turns.
func merge(elem int, dst, even, odd unsafe.Pointer, n int) {
	if elem == 8 {
		mergeF64AVX2((*byte)(dst), (*byte)(even), (*byte)(odd), n)
		return
	}
	mergeF32AVX2((*byte)(dst), (*byte)(even), (*byte)(odd), n)
}

// copyPlanes copies planes of rows of so many bytes, a multiple of 4; up to 28 bytes
// behind a row become zero, but not where a later row lies.
func copyPlanes(dst unsafe.Pointer, toPlane, to int, src unsafe.Pointer, fromPlane, from, planes, rows, bytes int) {
	if simd.Active() == simd.Portable {
		copyPlanesPortable(dst, toPlane, to, src, fromPlane, from, planes, rows, bytes)
		return
	}
	fillAVX2((*byte)(dst), toPlane, to, (*byte)(src), fromPlane, from, planes, rows, bytes/4)
}

// The numbers of blocks are those of gen/simd/conv.
var (
	f32AVX2 = &vectors{
		bytes: 32, blocks: [Rows + 1]int{0, 4, 4, 3, 3, 2, 2}, dots: [2]dots{dots4F32AVX2, dots9F32AVX2}, ends: [2]dots{ends4F32AVX2, ends9F32AVX2},
		taps: [Rows + 1]taps{nil, taps1F32AVX2, taps2F32AVX2, taps3F32AVX2, taps4F32AVX2, taps5F32AVX2, taps6F32AVX2},
	}
	f64AVX2 = &vectors{
		bytes: 32, blocks: f32AVX2.blocks, dots: [2]dots{dots4F64AVX2, dots9F64AVX2}, ends: [2]dots{ends4F64AVX2, ends9F64AVX2},
		taps: [Rows + 1]taps{nil, taps1F64AVX2, taps2F64AVX2, taps3F64AVX2, taps4F64AVX2, taps5F64AVX2, taps6F64AVX2},
	}
	f32AVX512 = &vectors{
		bytes: 64, blocks: [Rows + 1]int{0, 4, 4, 4, 4, 4, 4}, dots: [2]dots{dots4F32AVX512, dots9F32AVX512}, ends: [2]dots{ends4F32AVX512, ends9F32AVX512},
		taps: [Rows + 1]taps{nil, taps1F32AVX512, taps2F32AVX512, taps3F32AVX512, taps4F32AVX512, taps5F32AVX512, taps6F32AVX512},
	}
	f64AVX512 = &vectors{
		bytes: 64, blocks: f32AVX512.blocks, dots: [2]dots{dots4F64AVX512, dots9F64AVX512}, ends: [2]dots{ends4F64AVX512, ends9F64AVX512},
		taps: [Rows + 1]taps{nil, taps1F64AVX512, taps2F64AVX512, taps3F64AVX512, taps4F64AVX512, taps5F64AVX512, taps6F64AVX512},
	}
)

// vectorsOf returns the vector functions of a level for rows of some width, nil
// where there are none. Rows that fill less than two thirds of the widest vectors
// use those half as wide.
func vectorsOf(level simd.Level, elem, width int) *vectors {
	lanes := 64 / elem
	fits := 3*width >= 2*((width+lanes-1)/lanes*lanes)
	switch {
	case level >= simd.AVX512 && fits && elem == 4:
		return f32AVX512
	case level >= simd.AVX512 && fits:
		return f64AVX512
	case level >= simd.AVX2 && elem == 4:
		return f32AVX2
	case level >= simd.AVX2:
		return f64AVX2
	}
	return nil
}

// The functions of tiles, by vectors, less one, and rows: of a tile, or of each half.
var (
	tilesF32AVX2 = [2][]tileFunc{
		{nil, tiles1x1F32AVX2, tiles2x1F32AVX2, tiles3x1F32AVX2, tiles4x1F32AVX2, tiles5x1F32AVX2, tiles6x1F32AVX2},
		{nil, tiles1x2F32AVX2, tiles2x2F32AVX2, tiles3x2F32AVX2, tiles4x2F32AVX2, tiles5x2F32AVX2, tiles6x2F32AVX2},
	}
	pairsF32AVX2 = [2][]tileFunc{
		{nil, pairs1x1F32AVX2, pairs2x1F32AVX2, pairs3x1F32AVX2},
		{nil, pairs1x2F32AVX2, pairs2x2F32AVX2, pairs3x2F32AVX2},
	}
	tilesF64AVX2 = [2][]tileFunc{
		{nil, tiles1x1F64AVX2, tiles2x1F64AVX2, tiles3x1F64AVX2, tiles4x1F64AVX2, tiles5x1F64AVX2, tiles6x1F64AVX2},
		{nil, tiles1x2F64AVX2, tiles2x2F64AVX2, tiles3x2F64AVX2, tiles4x2F64AVX2, tiles5x2F64AVX2, tiles6x2F64AVX2},
	}
	pairsF64AVX2 = [2][]tileFunc{
		{nil, pairs1x1F64AVX2, pairs2x1F64AVX2, pairs3x1F64AVX2},
		{nil, pairs1x2F64AVX2, pairs2x2F64AVX2, pairs3x2F64AVX2},
	}
	tilesF32AVX512 = [2][]tileFunc{
		{nil, tiles1x1F32AVX512, tiles2x1F32AVX512, tiles3x1F32AVX512, tiles4x1F32AVX512, tiles5x1F32AVX512, tiles6x1F32AVX512, tiles7x1F32AVX512, tiles8x1F32AVX512, tiles9x1F32AVX512, tiles10x1F32AVX512, tiles11x1F32AVX512, tiles12x1F32AVX512, tiles13x1F32AVX512, tiles14x1F32AVX512},
		{nil, tiles1x2F32AVX512, tiles2x2F32AVX512, tiles3x2F32AVX512, tiles4x2F32AVX512, tiles5x2F32AVX512, tiles6x2F32AVX512, tiles7x2F32AVX512, tiles8x2F32AVX512, tiles9x2F32AVX512, tiles10x2F32AVX512, tiles11x2F32AVX512, tiles12x2F32AVX512, tiles13x2F32AVX512, tiles14x2F32AVX512},
	}
	pairsF32AVX512 = [2][]tileFunc{
		{nil, pairs1x1F32AVX512, pairs2x1F32AVX512, pairs3x1F32AVX512, pairs4x1F32AVX512, pairs5x1F32AVX512, pairs6x1F32AVX512, pairs7x1F32AVX512, pairs8x1F32AVX512},
		{nil, pairs1x2F32AVX512, pairs2x2F32AVX512, pairs3x2F32AVX512, pairs4x2F32AVX512, pairs5x2F32AVX512, pairs6x2F32AVX512, pairs7x2F32AVX512},
	}
	tilesF64AVX512 = [2][]tileFunc{
		{nil, tiles1x1F64AVX512, tiles2x1F64AVX512, tiles3x1F64AVX512, tiles4x1F64AVX512, tiles5x1F64AVX512, tiles6x1F64AVX512, tiles7x1F64AVX512, tiles8x1F64AVX512, tiles9x1F64AVX512, tiles10x1F64AVX512, tiles11x1F64AVX512, tiles12x1F64AVX512, tiles13x1F64AVX512, tiles14x1F64AVX512},
		{nil, tiles1x2F64AVX512, tiles2x2F64AVX512, tiles3x2F64AVX512, tiles4x2F64AVX512, tiles5x2F64AVX512, tiles6x2F64AVX512, tiles7x2F64AVX512, tiles8x2F64AVX512, tiles9x2F64AVX512, tiles10x2F64AVX512, tiles11x2F64AVX512, tiles12x2F64AVX512, tiles13x2F64AVX512, tiles14x2F64AVX512},
	}
	pairsF64AVX512 = [2][]tileFunc{
		{nil, pairs1x1F64AVX512, pairs2x1F64AVX512, pairs3x1F64AVX512, pairs4x1F64AVX512, pairs5x1F64AVX512, pairs6x1F64AVX512, pairs7x1F64AVX512, pairs8x1F64AVX512},
		{nil, pairs1x2F64AVX512, pairs2x2F64AVX512, pairs3x2F64AVX512, pairs4x2F64AVX512, pairs5x2F64AVX512, pairs6x2F64AVX512, pairs7x2F64AVX512},
	}
)

// tilesOf returns the functions of tiles of so many vectors, at a level that has some.
func tilesOf(level simd.Level, elem, vectors int) (tiles, pairs []tileFunc) {
	t, p := &tilesF64AVX2, &pairsF64AVX2
	switch {
	case level >= simd.AVX512 && elem == 4:
		t, p = &tilesF32AVX512, &pairsF32AVX512
	case level >= simd.AVX512:
		t, p = &tilesF64AVX512, &pairsF64AVX512
	case elem == 4:
		t, p = &tilesF32AVX2, &pairsF32AVX2
	}
	return t[vectors-1], p[vectors-1]
}

// Ask asks for rows of so many bytes that will be read, step bytes apart, at a level
// that has vectors.
func Ask(level simd.Level, src unsafe.Pointer, step, rows, bytes int) {
	if level != simd.Portable && rows > 0 && bytes > 0 {
		ask((*byte)(src), step, rows, (bytes+63)/64)
	}
}
