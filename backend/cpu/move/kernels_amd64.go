package move

import (
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// squares returns a level's functions for elements of a size, widest first.
func squares(level simd.Level, size int) (list []square) {
	if level >= simd.AVX512 {
		switch size {
		case 4:
			list = append(list, square{16, transpose4AVX512})
		case 8:
			list = append(list, square{8, transpose8AVX512})
		}
	}
	if level >= simd.AVX2 {
		switch size {
		case 1:
			list = append(list, square{16, transpose1AVX2})
		case 2:
			list = append(list, square{8, transpose2AVX2})
		case 4:
			list = append(list, square{8, transpose4AVX2})
		case 8:
			list = append(list, square{4, transpose8AVX2})
		}
	}
	return list
}

// uncachedAt returns a level's function for whole lines, or nil.
func uncachedAt(level simd.Level) func(dst, src *byte, n int, first, second *byte, ahead int) {
	switch {
	case level >= simd.AVX512:
		return uncachedAVX512
	case level >= simd.AVX2:
		return uncachedAVX2
	}
	return nil
}

// rowCopier returns a level's function that copies rows of leastCopy bytes or more, or nil.
func rowCopier(level simd.Level) func(dst, src *byte, rows, n, to, from, aheadTo, aheadFrom int) {
	switch {
	case level >= simd.AVX512:
		return copyRowsAVX512
	case level >= simd.AVX2:
		return copyRowsAVX2
	}
	return nil
}

// filler returns a level's function that repeats 8 bytes, or nil.
func filler(level simd.Level) func(dst *byte, bits uint64, n int) {
	switch {
	case level >= simd.AVX512:
		return fillAVX512
	case level >= simd.AVX2:
		return fillAVX2
	}
	return nil
}

// spreader returns a level's function that repeats an element of a size along each of
// several rows of so many bytes, or nil.
func spreader(level simd.Level, size, bytes int) func(dst, src *byte, step, rows, n int) {
	wide := level >= simd.AVX512 && bytes >= 64
	switch {
	case level < simd.AVX2 || bytes < shortSpread:
		return nil
	case wide && size == 4:
		return spread4AVX512
	case wide && size == 8:
		return spread8AVX512
	case size == 4:
		return spread4AVX2
	case size == 8:
		return spread8AVX2
	}
	return nil
}

// shortSpreader returns a level's function that does so for rows of less than shortSpread
// bytes, all but the last of them, or nil.
func shortSpreader(level simd.Level, size int) func(dst, src *byte, step, rows, bytes int) {
	if level < simd.AVX2 {
		return nil
	}
	return map[int]func(dst, src *byte, step, rows, bytes int){1: spreadShort1AVX2, 2: spreadShort2AVX2, 4: spreadShort4AVX2, 8: spreadShort8AVX2}[size]
}

// reverser returns a level's function for elements of a size, or nil.
func reverser(level simd.Level, size int) func(dst, src *byte, n int) {
	if level < simd.AVX2 {
		return nil
	}
	return map[int]func(dst, src *byte, n int){1: reverse1AVX2, 2: reverse2AVX2, 4: reverse4AVX2, 8: reverse8AVX2}[size]
}

// evener returns a level's function for elements of a size, or nil.
func evener(level simd.Level, size int) func(dst, src *byte, n int) {
	switch {
	case level >= simd.AVX512 && size == 4:
		return evens4AVX512
	case level >= simd.AVX512 && size == 8:
		return evens8AVX512
	case level >= simd.AVX2 && size == 4:
		return evens4AVX2
	case level >= simd.AVX2 && size == 8:
		return evens8AVX2
	}
	return nil
}

// taker returns a level's function that takes a multiple of 4 elements, or nil.
func taker(level simd.Level, size int) func(dst, src *byte, index *int64, n int) {
	switch {
	case level >= simd.AVX2 && size == 4:
		return take4AVX2
	case level >= simd.AVX2 && size == 8:
		return take8AVX2
	}
	return nil
}

// rowTaker returns a level's function that takes rows of leastRow bytes or more, or nil.
func rowTaker(level simd.Level) func(dst, src *byte, index *int64, n, size int) {
	if level < simd.AVX2 {
		return nil
	}
	return takeRowsAVX2
}

// rowAdder returns a level's function that adds rows, or nil.
func rowAdder(level simd.Level, dtype ir.DType) func(dst, src *byte, index *int64, n, size int) {
	switch {
	case level >= simd.AVX512 && dtype == ir.Float32:
		return addRowsF32AVX512
	case level >= simd.AVX512 && dtype == ir.Float64:
		return addRowsF64AVX512
	case level >= simd.AVX2 && dtype == ir.Float32:
		return addRowsF32AVX2
	case level >= simd.AVX2 && dtype == ir.Float64:
		return addRowsF64AVX2
	}
	return nil
}
