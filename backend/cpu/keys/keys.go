// Package keys makes of the elements of tensors numbers that order as they do: NaN
// is larger than any number, and the zeros are equal. It knows nothing of sorting.
package keys

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// A Word is a key in its upper 32 bits and the place of the element in its lower.
type Word = uint64

// A Code makes keys of the elements of one dtype. Elements are those of a line that
// begins at a pointer and whose elements are step elements apart.
type Code struct {
	// Long: keys have 64 bits, and stand where there are words else.
	Long bool
	// Load writes the words of the elements from first on, with the bits of flip
	// inverted in the keys.
	Load func(out []Word, line unsafe.Pointer, first, step int, flip uint64)
	// Store writes, from element first on of the lines to and index, the elements of
	// the line from that words stand for, and their places.
	Store func(to unsafe.Pointer, index []int64, from unsafe.Pointer, words []Word, first, step int, flip uint64)
	// Find passes over elements of a line, whose step is 1, from lo on, that have no
	// key below that of limit, and returns the first that it did not pass over, which
	// may have none either. It is nil where looking at keys is as fast.
	Find func(line unsafe.Pointer, lo, hi int, limit Word, flip uint64) int
}

var codes = [ir.NumDTypes]*Code{
	ir.Bool:    {Load: loadInts[uint8], Store: storeInts[uint8]},
	ir.Uint8:   {Load: loadInts[uint8], Store: storeInts[uint8]},
	ir.Int8:    {Load: loadInts[int8], Store: storeInts[int8]},
	ir.Int16:   {Load: loadInts[int16], Store: storeInts[int16]},
	ir.Int32:   {Load: loadInts[int32], Store: storeInts[int32]},
	ir.Float32: {Load: loadFloats, Store: storeFloats},
	ir.Int64:   {Long: true, Load: loadLongInts, Store: storeLong},
	ir.Float64: {Long: true, Load: loadLongFloats, Store: storeLong},
}

// Of returns the code of a dtype, or nil.
func Of(dtype ir.DType) *Code {
	if int(dtype) >= len(codes) {
		return nil
	}
	if c := vectorCode(dtype); c != nil {
		return c
	}
	return codes[dtype]
}

const sign32, sign64 = 1 << 31, 1 << 63

func loadInts[T uint8 | int8 | int16 | int32](out []Word, line unsafe.Pointer, first, step int, flip uint64) {
	size := int(unsafe.Sizeof(*new(T)))
	p, f := unsafe.Add(line, first*step*size), uint32(flip)
	for i := range out {
		v := *(*T)(unsafe.Add(p, i*step*size))
		out[i] = Word(uint32(int32(v))^sign32^f)<<32 | Word(first+i)
	}
}

func storeInts[T uint8 | int8 | int16 | int32](to unsafe.Pointer, index []int64, _ unsafe.Pointer, words []Word, first, step int, flip uint64) {
	size := int(unsafe.Sizeof(*new(T)))
	to, f := unsafe.Add(to, first*step*size), uint32(flip)
	for i, w := range words {
		*(*T)(unsafe.Add(to, i*step*size)) = T(int32(uint32(w>>32) ^ f ^ sign32))
	}
	StorePlaces(index, words, first, step)
}

// StorePlaces writes the places of words to index, from element first on of a line whose elements are
// step elements apart.
func StorePlaces(index []int64, words []Word, first, step int) {
	if len(words) == 0 {
		return
	}
	index = index[first*step:]
	for i, w := range words {
		index[i*step] = int64(uint32(w))
	}
}

// floatKey returns the key of a float32.
func floatKey(b uint32) uint32 {
	if b<<1 > 0xff000000 { // NaN
		return math.MaxUint32
	}
	if b == sign32 { // -0
		b = 0
	}
	return b ^ (uint32(int32(b)>>31) | sign32)
}

func loadFloats(out []Word, line unsafe.Pointer, first, step int, flip uint64) {
	p, f := unsafe.Add(line, first*step*4), uint32(flip)
	for i := range out {
		out[i] = Word(floatKey(*(*uint32)(unsafe.Add(p, i*step*4)))^f)<<32 | Word(first+i)
	}
}

func storeFloats(to unsafe.Pointer, index []int64, from unsafe.Pointer, words []Word, first, step int, flip uint64) {
	f := uint32(flip)
	dst := unsafe.Add(to, first*step*4)
	for i, w := range words {
		k := uint32(w>>32) ^ f
		*(*uint32)(unsafe.Add(dst, i*step*4)) = k ^ (^uint32(int32(k)>>31) | sign32)
	}
	storeSpecials(to, from, words, first, step, f)
	StorePlaces(index, words, first, step)
}

// storeSpecials writes those elements that are zero or NaN: which one, only the
// element knows.
func storeSpecials(to, from unsafe.Pointer, words []Word, first, step int, f uint32) {
	to = unsafe.Add(to, first*step*4)
	for i, w := range words {
		if k := uint32(w>>32) ^ f; k == sign32 || k == math.MaxUint32 {
			*(*uint32)(unsafe.Add(to, i*step*4)) = *(*uint32)(unsafe.Add(from, int(uint32(w))*step*4))
		}
	}
}

func loadLongInts(out []Word, line unsafe.Pointer, first, step int, flip uint64) {
	p := unsafe.Add(line, first*step*8)
	for i := range out {
		out[i] = *(*uint64)(unsafe.Add(p, i*step*8)) ^ sign64 ^ flip
	}
}

// longFloatKey returns the key of a float64.
func longFloatKey(b uint64) uint64 {
	if b<<1 > 0xffe0000000000000 { // NaN
		return math.MaxUint64
	}
	if b == sign64 { // -0
		b = 0
	}
	return b ^ (uint64(int64(b)>>63) | sign64)
}

func loadLongFloats(out []Word, line unsafe.Pointer, first, step int, flip uint64) {
	p := unsafe.Add(line, first*step*8)
	for i := range out {
		out[i] = longFloatKey(*(*uint64)(unsafe.Add(p, i*step*8))) ^ flip
	}
}

func storeLong(to unsafe.Pointer, index []int64, from unsafe.Pointer, words []Word, first, step int, _ uint64) {
	to = unsafe.Add(to, first*step*8)
	for i, w := range words {
		*(*uint64)(unsafe.Add(to, i*step*8)) = *(*uint64)(unsafe.Add(from, int(uint32(w))*step*8))
	}
	StorePlaces(index, words, first, step)
}
