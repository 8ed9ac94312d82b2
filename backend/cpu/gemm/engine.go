package gemm

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A tile is what a micro-kernel gets: it multiplies groups of rows of A, one
// after the other, with one panel of B. Its fields' offsets are known to the
// generator; distances are in bytes.
type tile struct {
	a          unsafe.Pointer
	aRow, aCol int
	b          unsafe.Pointer
	bRow       int
	k          int // terms, at least one
	c          unsafe.Pointer
	cRow       int
	src        unsafe.Pointer // nil, or what is added to the sums
	srcRow     int
	groups     int // at least one
	last       int // columns in the last vector of a panel that is cut short

	// What the larger kernels ask for while they multiply, where nothing is read: it
	// begins so far after a place in memory, and moves on with each term of each group.
	// It may lie behind the matrices, where no pointer may.
	ahead              unsafe.Pointer
	aheadAt, aheadStep int
}

// Classes of tiles, by the panel's columns: two vectors or one, whole or cut short.
const (
	twoVectors = iota
	twoEdge
	oneVector
	oneEdge
	classes
)

// A family is the kernels of an engine.
type family uint8

const (
	portable family = iota
	f32AVX2
	f64AVX2
	f32AVX512
	f64AVX512
	i32AVX2 // kernels for tiles only, like those that follow
	i64AVX2
	i32AVX512
	i64AVX512
	i8AVX2 // whose elements are four bytes
	i8AVX512VNNI
)

// An engine is how products of one element type run at one level.
type engine struct {
	family family
	size   int // bytes of an element
	lanes  int // elements of a vector
	rows   [classes]int
	depth  int // most terms of a stretch
	short  int // the same where B is read where it is and no cache holds it
	long   int // the same where B is one panel
	block  int // bytes of A that a task takes at once
	across int // most columns of B that are packed at once
	direct int // bytes of an operand that is read where it is
	passes int // groups of rows beyond which B, if it is larger, is packed
	flat   int // terms up to which storing the result takes as long as multiplying
	ways   int // rows of a group that may fall on the same place of the first cache
	share  int // products worth another processor
	once   int // products of one call of a kernel, at most, beyond one group of rows
}

// columns returns the columns of a panel.
func (e *engine) columns() int { return 2 * e.lanes }

const kinds = 2 // of engines at a level: for float32 and float64

var engines = [simd.AVX512 + 1][kinds]engine{
	simd.Portable: {vectorless(4), vectorless(8)},
	simd.AVX2:     {avx2(f32AVX2, 4, 8), avx2(f64AVX2, 8, 4)},
	simd.AVX512:   {avx512(f32AVX512, 4, 16), avx512(f64AVX512, 8, 8)},
}

func vectorless(size int) engine {
	return engine{
		family: portable, size: size, lanes: 2, rows: [classes]int{2, 2, 2, 2},
		depth: 256, short: 256, long: 256, block: 64 * 256 * size, across: 1024, direct: 16 << 10, passes: 4, ways: 2,
		share: 64 << 10, once: 64 << 10,
	}
}

func avx2(f family, size, lanes int) engine {
	return engine{
		family: f, size: size, lanes: lanes, rows: [classes]int{6, 6, 12, 12},
		depth: 1024 / size, short: 1024 / size, long: 4096 / size, block: 192 << 10, across: 4096, direct: 256 << 10, passes: 2, ways: 6,
		share: 48 << 10 * lanes, once: 128 << 10 * lanes,
	}
}

func avx512(f family, size, lanes int) engine {
	return engine{
		family: f, size: size, lanes: lanes, rows: [classes]int{14, 14, 14, 14},
		depth: 4096 / size, short: 1024 / size, long: 8192 / size, block: 512 << 10, across: 4096, direct: 600 << 10, passes: 5, flat: 16, ways: 10,
		share: 48 << 10 * lanes, once: 128 << 10 * lanes,
	}
}

// engineOf returns the engine of an element type. Types without kernels of their
// own share one, but for their size.
func engineOf[T Number](level simd.Level) *engine {
	switch any(*new(T)).(type) {
	case float32:
		return &engines[level.Vectors()][0]
	case float64:
		return &engines[level.Vectors()][1]
	case int32:
		return &integerEngines[level.Vectors()][0]
	case int64:
		return &integerEngines[level.Vectors()][1]
	}
	return &others[unsafe.Sizeof(*new(T))/2]
}

// others are the engines of types without kernels of their own, by half their size.
var others = [9]engine{0: vectorless(1), 1: vectorless(2), 2: vectorless(4), 4: vectorless(8), 8: vectorless(16)}

// A split cuts rows into groups of nearly the same size, the larger ones first.
type split struct{ large, rows, small int } // number of groups of rows+1, rows of the others, and their number

// split cuts rows into groups of at most so many.
func (e *engine) split(rows, class, most int) split {
	n := ceil(rows, min(e.rows[class], most))
	return split{rows % n, rows / n, n - rows%n}
}

// classOf returns the class of a panel and the columns of its last vector.
func (e *engine) classOf(columns int) (class, last int) {
	switch {
	case columns == 2*e.lanes:
		return twoVectors, 0
	case columns > e.lanes:
		return twoEdge, columns - e.lanes
	case columns == e.lanes:
		return oneVector, 0
	}
	return oneEdge, columns
}

// multiply runs the kernels for the rows of a panel: t, less the number of groups,
// says where its first row is, and is changed. Where the rows are far away it asks
// for those of the next group meanwhile. A call takes some groups at a time, so that
// the garbage collector, which cannot stop a kernel, need not wait long.
func multiply[T Number](e *engine, t *tile, class int, s split, columns int, far bool) {
	first := *t
	row := 0
	if t.ahead == nil {
		t.ahead, t.aheadAt, t.aheadStep = t.b, 0, 0
	}
	for rows, n := s.rows+1, s.large; ; rows, n = s.rows, s.small {
		for n > 0 {
			t.a, t.c = unsafe.Add(first.a, row*t.aRow), unsafe.Add(first.c, row*t.cRow)
			if t.src != nil {
				t.src = unsafe.Add(first.src, row*t.srcRow)
			}
			t.groups = min(n, max(1, e.once/(rows*columns*t.k)))
			if far {
				t.groups = 1
				t.ahead, t.aheadAt, t.aheadStep = t.a, rows*t.aRow, rows*t.aRow/t.k
			}
			runTile[T](e.family, class, rows, t)
			n -= t.groups
			row += rows * t.groups
			t.aheadAt += t.groups * t.k * t.aheadStep
		}
		if rows == s.rows {
			return
		}
	}
}
