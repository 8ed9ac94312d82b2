package fold

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// assembly is that of one kind and type; what is nil is not there. A is an
// accumulator, which is one element or two.
type assembly[T, A any] struct {
	lines  func(rows, n, stride, ahead int, accs, x *T)
	grid   func(rows, n, stride, ahead int, acc, x *T)
	next   func(rows, n, outStride, stride int, out, acc, x *T)
	prefix func(vectors int, out, acc, x *T)
}

// vectors replaces loops by assembly where the level has it.
func vectors(level simd.Level, kind Kind, x ir.DType, l *vector.FoldFuncs) {
	if level < simd.AVX2 || kind >= kinds {
		return
	}
	useFill(move.Fill(level, l.Acc.Size()), l)
	wide := 0
	if level >= simd.AVX512 {
		wide = 1
	}
	switch x {
	case ir.Float32:
		use(f32[kind], wide, l, combine32[kind])
		if h := f16[kind][wide]; h[0] != nil {
			halves.Store(l, &[2]Halves{halvesOf(h[0], combine32[kind]), halvesOf(h[1], combine32[kind])})
		}
	case ir.Float64:
		use(f64[kind], wide, l, combine64[kind])
	case ir.Int64:
		if kind == Sum {
			use(i64, wide, l, func(a, b int64) int64 { return a + b })
			sums.Store(l, Bytes(sumBytes))
		}
	case ir.Complex64:
		if kind == Sum {
			use(c64, wide, l, func(a, b complex64) complex64 { return a + b })
		}
	case ir.Complex128:
		if kind == Sum {
			use(c128, wide, l, func(a, b complex128) complex128 { return a + b })
		}
	}
	useExtreme(wide, kind, x, l)
}

// sumBytes is the Bytes of vectors.
func sumBytes(n int, acc, x unsafe.Pointer) {
	const least = 128
	sum := (*int64)(acc)
	if whole := n &^ (least - 1); whole > 0 {
		byteSumF64AVX2(whole, sum, (*byte)(x))
	}
	for _, b := range elements[byte](n, x)[n&^(least-1):] {
		*sum += int64(b)
	}
}

// leastFilled is the least number of accumulators that vectors set to the identity.
const leastFilled = 16

// useFill lets vectors repeat the identity.
func useFill(fill move.Filler, l *vector.FoldFuncs) {
	each := l.Init
	l.Init = func(n int, acc unsafe.Pointer, s []ir.Scalar) {
		if n < leastFilled {
			each(n, acc, s)
			return
		}
		each(1, acc, s)
		fill(acc, acc, n)
	}
}

var (
	combine32 = combines[float32]()
	combine64 = combines[float64]()
)

func combines[T float32 | float64]() [kinds]func(a, b T) T {
	return [kinds]func(a, b T) T{
		Sum:  func(a, b T) T { return a + b },
		Prod: func(a, b T) T { return a * b },
		Max:  larger[T],
		Min:  smaller[T],
	}
}

// The assembly, of AVX2 and of AVX-512.
var (
	f32 = [kinds][2]assembly[float32, float32]{
		Sum:  {{lines: sumLinesF32AVX2, grid: sumGridF32AVX2}, {lines: sumLinesF32AVX512, grid: sumGridF32AVX512}},
		Prod: {{lines: prodLinesF32AVX2, grid: prodGridF32AVX2}, {lines: prodLinesF32AVX512, grid: prodGridF32AVX512}},
		Max:  {{lines: maxLinesF32AVX2, grid: maxGridF32AVX2}, {lines: maxLinesF32AVX512, grid: maxGridF32AVX512}},
		Min:  {{lines: minLinesF32AVX2, grid: minGridF32AVX2}, {lines: minLinesF32AVX512, grid: minGridF32AVX512}},
	}
	f64 = [kinds][2]assembly[float64, float64]{
		Sum:  {{lines: sumLinesF64AVX2, grid: sumGridF64AVX2}, {lines: sumLinesF64AVX512, grid: sumGridF64AVX512}},
		Prod: {{lines: prodLinesF64AVX2, grid: prodGridF64AVX2}, {lines: prodLinesF64AVX512, grid: prodGridF64AVX512}},
		Max:  {{lines: maxLinesF64AVX2, grid: maxGridF64AVX2}, {lines: maxLinesF64AVX512, grid: maxGridF64AVX512}},
		Min:  {{lines: minLinesF64AVX2, grid: minGridF64AVX2}, {lines: minLinesF64AVX512, grid: minGridF64AVX512}},
	}
	// of float16 and of bfloat16
	f16 = [kinds][2][2]func(rows, n, stride int, accs *float32, x *uint16){
		Sum: {{sumF16LinesF32AVX2, sumBF16LinesF32AVX2}, {sumF16LinesF32AVX512, sumBF16LinesF32AVX512}},
		Max: {{maxF16LinesF32AVX2, maxBF16LinesF32AVX2}, {maxF16LinesF32AVX512, maxBF16LinesF32AVX512}},
		Min: {{minF16LinesF32AVX2, minBF16LinesF32AVX2}, {minF16LinesF32AVX512, minBF16LinesF32AVX512}},
	}
	i64 = [2]assembly[int64, int64]{
		{intSumLinesF64AVX2, intSumGridF64AVX2, intSumNextF64AVX2, intSumPrefixF64AVX2},
		{intSumLinesF64AVX512, intSumGridF64AVX512, intSumNextF64AVX512, intSumPrefixF64AVX2},
	}
	c64  = [2]assembly[float32, complex64]{{lines: pairSumLinesF32AVX2, grid: sumGridF32AVX2}, {lines: pairSumLinesF32AVX512, grid: sumGridF32AVX512}}
	c128 = [2]assembly[float64, complex128]{{lines: pairSumLinesF64AVX2, grid: sumGridF64AVX2}, {lines: pairSumLinesF64AVX512, grid: sumGridF64AVX512}}
)

const (
	// fetchAhead is how many bytes before it is used memory is asked for with
	// AVX-512, by processors that do so of themselves only up to the end of a page.
	fetchAhead = 8192
	// farBytes is how much is folded at once by callers that have more, not all of
	// it in the nearest cache.
	farBytes = 32 << 10
)

// far returns which of a table's functions fold so many bytes at once, given those that
// fold few, and how far ahead of where it is folded memory is asked for.
func far(bytes, wide, ahead int) (which, fetched int) {
	switch {
	case bytes < farBytes:
		return wide, 0
	case simd.ReadsAhead():
		return 0, 0
	}
	return wide, ahead
}

// A room holds the results of blocks: what is given to assembly by way of a
// variable would be allocated otherwise.
type room [maxBlocks * 16]byte

var rooms = sync.Pool{New: func() any { return new(room) }}

// use puts the assembly of AVX2 and of AVX-512, if there is some, into l: that of index
// wide, the other at most in addition.
func use[T, A any](of [2]assembly[T, A], wide int, l *vector.FoldFuncs, combine func(a, b A) A) {
	v := of[wide]
	if v.lines == nil {
		return
	}
	var one T
	var whole A
	size := int(unsafe.Sizeof(one))
	per := int(unsafe.Sizeof(whole)) / size // elements an accumulator
	l.Fold = func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) {
		a := (*A)(acc)
		before := *a
		v.lines(1, n*per, 0, 0, (*T)(acc), (*T)(x))
		*a = combine(before, *a)
	}
	l.Lines = func(rows, n, stride int, accs, x unsafe.Pointer, _ []ir.Scalar) {
		which, ahead := far(rows*n*per*size, wide, fetchAhead)
		of[which].lines(rows, n*per, stride, ahead, (*T)(accs), (*T)(x))
	}
	l.Blocks = func(count int, acc, x unsafe.Pointer, _ []ir.Scalar) {
		r, stride := rooms.Get().(*room), Block*per*size
		which, ahead := far(count*stride, wide, fetchAhead)
		of[which].lines(count, Block*per, stride, ahead, (*T)(unsafe.Pointer(r)), (*T)(x))
		*(*A)(acc) = pairwise(elements[A](count, unsafe.Pointer(r)), combine)
		rooms.Put(r)
	}
	l.Grid = func(rows, n, stride int, acc, x unsafe.Pointer, _ []ir.Scalar) {
		which, ahead := far(rows*n*per*size, wide, rows*stride)
		of[which].grid(rows, n*per, stride, ahead, (*T)(acc), (*T)(x))
	}
	l.Rows = func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) { v.grid(1, n*per, 0, 0, (*T)(acc), (*T)(x)) }
	l.Merge = l.Rows
	if v.next != nil {
		l.Next = func(rows, n, outStride, stride int, out, acc, x unsafe.Pointer, _ []ir.Scalar) {
			v.next(rows, n*per, outStride, stride, (*T)(out), (*T)(acc), (*T)(x))
		}
	}
	if v.prefix != nil {
		rest := l.Prefix
		l.Prefix = func(n int, out, acc, x unsafe.Pointer, s []ir.Scalar) {
			vectors := n * size / 32
			v.prefix(vectors, (*T)(out), (*T)(acc), (*T)(x))
			if done := vectors * 32; done < n*size {
				rest(n-done/size, unsafe.Add(out, done), acc, unsafe.Add(x, done), s)
			}
		}
	}
}

func halvesOf(lines func(rows, n, stride int, accs *float32, x *uint16), combine func(a, b float32) float32) Halves {
	return Halves{
		Lines: func(rows, n, stride int, accs, x unsafe.Pointer) {
			lines(rows, n, stride, (*float32)(accs), (*uint16)(x))
		},
		Blocks: func(count int, acc, x unsafe.Pointer) {
			r := rooms.Get().(*room)
			lines(count, Block, Block*2, (*float32)(unsafe.Pointer(r)), (*uint16)(x))
			*(*float32)(acc) = pairwise(elements[float32](count, unsafe.Pointer(r)), combine)
			rooms.Put(r)
		},
	}
}

// sumLine returns the scan of a line of float32 in float64.
func sumLine(level simd.Level) func(out, x []float32, acc *float64) {
	if level.Vectors() < simd.AVX2 {
		return sumWide
	}
	return sumFours
}

// sumFours is sumWide by assembly.
func sumFours(out, x []float32, acc *float64) {
	if fours := len(x) / 4; fours > 0 {
		wideSumPrefixF64AVX2(fours, &out[0], acc, &x[0])
		out, x = out[4*fours:], x[4*fours:]
	}
	sumWide(out, x, acc)
}

// wideNext returns the scan of columns of float32 in float64 by assembly, nil where there is
// none.
func wideNext(level simd.Level, kind Kind) columns {
	var f func(rows, vectors, outStride, stride int, out *float32, acc *float64, x *float32)
	lanes := 4
	switch sum := kind == Sum; {
	case level.Vectors() < simd.AVX2:
		return nil
	case level.Vectors() >= simd.AVX512 && sum:
		f, lanes = wideSumNextF64AVX512, 8
	case level.Vectors() >= simd.AVX512:
		f, lanes = wideProdNextF64AVX512, 8
	case sum:
		f = wideSumNextF64AVX2
	default:
		f = wideProdNextF64AVX2
	}
	return func(rows, n, outStride, stride int, out, acc, x unsafe.Pointer) int {
		f(rows, n/lanes, outStride, stride, (*float32)(out), (*float64)(acc), (*float32)(x))
		return n &^ (lanes - 1)
	}
}
