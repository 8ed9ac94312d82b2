package fold

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// truthLoops returns the loops of any and all over elements of a dtype: their
// accumulators are bools.
func truthLoops(kind Kind, x ir.DType) *vector.FoldFuncs {
	const sign32, sign64 = 1 << 31, 1 << 63 // that of a zero does not count
	switch x {
	case ir.Bool, ir.Uint8, ir.Int8:
		l := truth[uint8](kind, 1, ^uint8(0))
		l.Rows = func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) { truthBytes(kind, n, acc, x) }
		return l
	case ir.Int16:
		return truth(kind, 1, ^uint16(0))
	case ir.Int32:
		return truth(kind, 1, ^uint32(0))
	case ir.Int64:
		return truth(kind, 1, ^uint64(0))
	case ir.Float32:
		return truth(kind, 1, ^uint32(sign32))
	case ir.Float64:
		return truth(kind, 1, ^uint64(sign64))
	case ir.Complex64:
		return truth(kind, 1, ^uint64(sign32<<32|sign32))
	case ir.Complex128:
		return truth(kind, 2, ^uint64(sign64))
	}
	return nil
}

// bits are the integers that elements are read as.
type bits interface {
	uint8 | uint16 | uint32 | uint64
}

// truth returns the loops over elements of so many integers, one or two, that are zero
// where all bits under the mask are.
func truth[T bits](kind Kind, per int, mask T) *vector.FoldFuncs {
	is := func(n int, x unsafe.Pointer) bool { return anyOf(elements[T](n*per, x), mask) }
	if kind == All {
		is = func(n int, x unsafe.Pointer) bool { return allOf(elements[T](n*per, x), per, mask) }
	}
	l := &vector.FoldFuncs{Acc: ir.Bool, Out: ir.Bool}
	l.Init = func(n int, acc unsafe.Pointer, _ []ir.Scalar) {
		for i, a := 0, elements[bool](n, acc); i < n; i++ {
			a[i] = kind == All
		}
	}
	l.Fold = func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) {
		if a := (*bool)(acc); *a != (kind == Any) { // otherwise it is decided
			*a = is(n, x)
		}
	}
	l.Blocks = func(count int, acc, x unsafe.Pointer, _ []ir.Scalar) { *(*bool)(acc) = is(count*Block, x) }
	l.Rows = func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) {
		truthRow(kind, elements[uint8](n, acc), elements[T](n*per, x), per, mask)
	}
	l.Merge = func(n int, acc, b unsafe.Pointer, _ []ir.Scalar) { truthBytes(kind, n, acc, b) }
	l.Finish = func(n int, out, acc unsafe.Pointer, _ []ir.Scalar, _ int64) {
		copy(elements[bool](n, out), elements[bool](n, acc))
	}
	return l
}

// anyOf reports whether an integer has a bit under the mask.
func anyOf[T bits](x []T, mask T) bool {
	for ; len(x) >= 8; x = x[8:] {
		if w := x[:8]; (w[0]|w[1]|w[2]|w[3]|w[4]|w[5]|w[6]|w[7])&mask != 0 {
			return true
		}
	}
	rest := T(0)
	for _, v := range x {
		rest |= v
	}
	return rest&mask != 0
}

// allOf reports whether every element, of so many integers, has a bit under the mask.
func allOf[T bits](x []T, per int, mask T) bool {
	if per == 2 {
		for i := 1; i < len(x); i += 2 {
			if (x[i-1]|x[i])&mask == 0 {
				return false
			}
		}
		return true
	}
	if size := unsafe.Sizeof(mask); size == 1 && len(x) >= 8 {
		words := len(x) / 8
		if !allBytes(elements[uint64](words, unsafe.Pointer(&x[0]))) {
			return false
		}
		x = x[8*words:]
	}
	for _, v := range x {
		if v&mask == 0 {
			return false
		}
	}
	return true
}

// The lowest and the highest bit of each byte of a word.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// allBytes reports whether no byte of the words is zero: the lowest byte that is borrows
// from its highest bit.
func allBytes(x []uint64) bool {
	for ; len(x) >= 4; x = x[4:] {
		w := x[:4]
		if ((w[0]-ones)&^w[0]|(w[1]-ones)&^w[1]|(w[2]-ones)&^w[2]|(w[3]-ones)&^w[3])&highs != 0 {
			return false
		}
	}
	for _, w := range x {
		if (w-ones)&^w&highs != 0 {
			return false
		}
	}
	return true
}

// truthRow folds a row of elements, of so many integers each, into accumulators of 0 and 1.
func truthRow[T bits](kind Kind, acc []uint8, x []T, per int, mask T) {
	for i := range acc {
		v := x[i*per]
		if per == 2 {
			v |= x[2*i+1]
		}
		some := uint8(0)
		if v&mask != 0 {
			some = 1
		}
		if kind == Any {
			acc[i] |= some
		} else {
			acc[i] &= some
		}
	}
}

// truthBytes folds n bytes into as many accumulators of 0 and 1.
func truthBytes(kind Kind, n int, acc, x unsafe.Pointer) {
	done := n &^ 7
	if done > 0 {
		a, words := elements[uint64](n/8, acc), elements[uint64](n/8, x)
		for i, w := range words {
			some := ((w&^highs + ^uint64(highs)) | w) & highs >> 7 // 1 in each byte that is not zero
			if kind == Any {
				a[i] |= some
			} else {
				a[i] &= some
			}
		}
	}
	if done == n {
		return
	}
	truthRow(kind, elements[uint8](n-done, unsafe.Add(acc, done)), elements[uint8](n-done, unsafe.Add(x, done)), 1, 0xff)
}
