package convert

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Copy returns the conversion between equal dtypes of the given size in bytes.
func Copy(size int) Func {
	switch size {
	case 1:
		return plain[uint8]
	case 2:
		return plain[uint16]
	case 4:
		return plain[uint32]
	case 8:
		return plain[uint64]
	}
	return plain[[2]uint64]
}

// at returns the i-th T after p.
func at[T any](p unsafe.Pointer, i int) *T {
	return (*T)(unsafe.Add(p, i*int(unsafe.Sizeof(*new(T)))))
}

// fills, reverses and evens are by bytes of an element. There is an Evener for some.
var (
	fills    = bySize(move.Fill)
	reverses = bySize(move.Reverse)
	evens    = bySize(move.Evens)
)

func bySize[F any](of func(level simd.Level, size int) F) (list [17]F) {
	for _, size := range []int{1, 2, 4, 8, 16} {
		list[size] = of(simd.Active(), size)
	}
	return list
}

// plain copies elements of one dtype.
func plain[T any](n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	switch {
	case n <= 0:
	case dstStep == 1 && srcStep == 1:
		copy(unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(src), n))
	case dstStep == 1 && srcStep == 0:
		fills[unsafe.Sizeof(*new(T))](dst, src, n)
	case dstStep == 1 && srcStep == -1:
		reverses[unsafe.Sizeof(*new(T))](dst, unsafe.Pointer(at[T](src, 1-n)), n)
	case dstStep == 1 && srcStep == 2 && n >= move.Step && evens[unsafe.Sizeof(*new(T))] != nil:
		evens[unsafe.Sizeof(*new(T))](dst, src, n)
	case dstStep == 1:
		gather(unsafe.Slice((*T)(dst), n), src, srcStep)
	case srcStep == 1:
		scatter(dst, dstStep, unsafe.Slice((*T)(src), n))
	default:
		for i := range n {
			*at[T](dst, i*dstStep) = *at[T](src, i*srcStep)
		}
	}
}

// gather copies elements that are step apart, four at a time: the loads do not wait
// for one another's addresses.
func gather[T any](out []T, src unsafe.Pointer, step int) {
	i := 0
	for ; i+4 <= len(out); i += 4 {
		o := (*[4]T)(out[i:])
		p := unsafe.Pointer(at[T](src, i*step))
		o[0], o[1], o[2], o[3] = *(*T)(p), *at[T](p, step), *at[T](p, 2*step), *at[T](p, 3*step)
	}
	for ; i < len(out); i++ {
		out[i] = *at[T](src, i*step)
	}
}

// scatter is gather the other way round.
func scatter[T any](dst unsafe.Pointer, step int, in []T) {
	i := 0
	for ; i+4 <= len(in); i += 4 {
		v := (*[4]T)(in[i:])
		p := unsafe.Pointer(at[T](dst, i*step))
		*(*T)(p), *at[T](p, step), *at[T](p, 2*step), *at[T](p, 3*step) = v[0], v[1], v[2], v[3]
	}
	for ; i < len(in); i++ {
		*at[T](dst, i*step) = in[i]
	}
}
