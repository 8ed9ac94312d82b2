package keys

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

const (
	// lanes is how many elements the vector functions take at a time.
	lanes = 8
	// longRun bounds the elements of one call of a vector function: Go cannot
	// interrupt it for its collector.
	longRun = 1 << 16
)

// vectorCodes are those with vector functions.
var vectorCodes = [ir.NumDTypes]*Code{
	ir.Float32: vectors{wordsF32AVX2, findF32AVX2, valuesF32AVX2}.code(loadFloats, storeFloats),
	ir.Int32:   vectors{wordsI32AVX2, findI32AVX2, valuesI32AVX2}.code(loadInts[int32], storeInts[int32]),
	ir.Float64: {Long: true, Load: loadLongFloats, Store: storeLong, Find: find(findF64AVX2)},
	ir.Int64:   {Long: true, Load: loadLongInts, Store: storeLong, Find: find(findI64AVX2)},
}

// vectorCode returns the code of a dtype with the functions of the active level, or nil.
func vectorCode(dtype ir.DType) *Code {
	if simd.Active() < simd.AVX2 {
		return nil
	}
	return vectorCodes[dtype]
}

// vectors are the vector functions for one dtype of 32 bits.
type vectors struct {
	words  func(out *Word, p *uint32, n int, first, flip uint32)
	find   func(p *uint32, n int, limit, flip uint32) int
	values func(to *uint32, index *int64, words *Word, n int, flip uint32) bool
}

// code returns a Code that has load and store do what the vector functions do not:
// lines with steps, and what is left of a line.
func (v vectors) code(
	load func(out []Word, line unsafe.Pointer, first, step int, flip uint64),
	store func(to unsafe.Pointer, index []int64, from unsafe.Pointer, words []Word, first, step int, flip uint64),
) *Code {
	element := func(line unsafe.Pointer, i int) *uint32 { return (*uint32)(unsafe.Add(line, 4*i)) }
	return &Code{
		Load: func(out []Word, line unsafe.Pointer, first, step int, flip uint64) {
			for step == 1 && len(out) >= lanes {
				n := min(len(out)/lanes*lanes, longRun)
				v.words(&out[0], element(line, first), n, uint32(first), uint32(flip))
				out, first = out[n:], first+n
			}
			load(out, line, first, step, flip)
		},
		Store: func(to unsafe.Pointer, index []int64, from unsafe.Pointer, words []Word, first, step int, flip uint64) {
			for step == 1 && len(words) >= lanes {
				n := min(len(words)/lanes*lanes, longRun)
				if v.values(element(to, first), &index[first], &words[0], n, uint32(flip)) {
					storeSpecials(to, from, words[:n], first, step, uint32(flip))
				}
				words, first = words[n:], first+n
			}
			store(to, index, from, words, first, step, flip)
		},
		Find: find[uint32](func(p *uint32, n int, limit Word, flip uint64) int {
			return v.find(p, n, uint32(limit>>32), uint32(flip))
		}),
	}
}

// find returns a Code's Find by a vector function for n elements, a multiple of
// lanes, which returns n or before which multiple of lanes it stopped.
func find[T uint32 | uint64](f func(p *T, n int, limit Word, flip uint64) int) func(line unsafe.Pointer, lo, hi int, limit Word, flip uint64) int {
	return func(line unsafe.Pointer, lo, hi int, limit Word, flip uint64) int {
		for hi-lo >= lanes {
			n := min((hi-lo)/lanes*lanes, longRun)
			at := f((*T)(unsafe.Add(line, lo*int(unsafe.Sizeof(T(0))))), n, limit, flip)
			if lo += at; at < n {
				break
			}
		}
		return lo
	}
}
