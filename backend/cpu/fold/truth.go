package fold

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// truthLoops returns the loops of any and all over elements of a dtype: their
// accumulators are bools.
func truthLoops(kind Kind, x ir.DType) *ir.ReduceLoops {
	switch x {
	case ir.Bool, ir.Uint8, ir.Int8:
		return truth[uint8](kind, ^uint64(0))
	case ir.Int16:
		return truth[uint16](kind, ^uint64(0))
	case ir.Int32:
		return truth[uint32](kind, ^uint64(0))
	case ir.Int64:
		return truth[uint64](kind, ^uint64(0))
	case ir.Float32:
		return truth[uint32](kind, 0x7fffffff_7fffffff)
	case ir.Float64, ir.Complex64:
		mask := ^uint64(1 << 63)
		if x == ir.Complex64 {
			mask = 0x7fffffff_7fffffff
		}
		return truth[uint64](kind, mask)
	case ir.Complex128:
		return truth[[2]uint64](kind, ^uint64(1<<63))
	}
	return nil
}

// truth returns the loops over elements that are zero where all bits under the
// mask, which repeats every 8 bytes, are: the sign of a zero does not count.
func truth[T comparable](kind Kind, mask uint64) *ir.ReduceLoops {
	var zero T
	size := int(unsafe.Sizeof(zero))
	is := func(n int, x unsafe.Pointer) bool { return anyBits(n*size, x, mask) }
	one := func(x *T) bool { return anyBits(size, unsafe.Pointer(x), mask) }
	if kind == All {
		is = func(n int, x unsafe.Pointer) bool { return allOf[T](n, x, one, mask) }
	}
	l := &ir.ReduceLoops{Acc: ir.Bool, Out: ir.Bool}
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
		for i, a := 0, elements[bool](n, acc); i < n; i++ {
			if a[i] != (kind == Any) {
				a[i] = one((*T)(unsafe.Add(x, i*size)))
			}
		}
	}
	l.Merge = func(n int, acc, b unsafe.Pointer, _ []ir.Scalar) {
		other := elements[bool](n, b)
		for i, a := 0, elements[bool](n, acc); i < n; i++ {
			if a[i] != (kind == Any) {
				a[i] = other[i]
			}
		}
	}
	l.Finish = func(n int, out, acc unsafe.Pointer, _ []ir.Scalar, _ int64) {
		copy(elements[bool](n, out), elements[bool](n, acc))
	}
	return l
}

// anyBits reports whether a bit under the mask is set in n bytes.
func anyBits(n int, x unsafe.Pointer, mask uint64) bool {
	words := elements[uint64](n/8, x)
	for ; len(words) >= 8; words = words[8:] {
		w := words[:8]
		if (w[0]|w[1]|w[2]|w[3]|w[4]|w[5]|w[6]|w[7])&mask != 0 {
			return true
		}
	}
	rest := uint64(0)
	for _, w := range words {
		rest |= w
	}
	for i := n &^ 7; i < n; i++ {
		rest |= uint64(*(*byte)(unsafe.Add(x, i))) << (i % 8 * 8)
	}
	return rest&mask != 0
}

// allOf reports whether every one of n elements is not zero.
func allOf[T comparable](n int, x unsafe.Pointer, one func(*T) bool, mask uint64) bool {
	switch x := any((*T)(x)).(type) {
	case *uint32:
		for _, v := range unsafe.Slice(x, n) {
			if v&uint32(mask) == 0 {
				return false
			}
		}
		return true
	case *uint64:
		for _, v := range unsafe.Slice(x, n) {
			if v&mask == 0 {
				return false
			}
		}
		return true
	}
	all := elements[T](n, x)
	for i := range all {
		if !one(&all[i]) {
			return false
		}
	}
	return true
}
