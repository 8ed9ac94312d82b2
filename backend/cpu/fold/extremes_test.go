package fold

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// integers are the loops of a kind on one type, on values over its whole range.
type integers[T int8 | int16 | int32 | int64 | uint8] struct {
	t     *testing.T
	kind  Kind
	dtype ir.DType
	rng   *rand.Rand
}

func (c integers[T]) draw(n int) []T {
	x := make([]T, n)
	shift := c.rng.IntN(8)
	for i := range x {
		x[i] = T(c.rng.Uint64()) >> shift
	}
	return x
}

// best is the oracle.
func (c integers[T]) best(x []T) T {
	r := x[0]
	for _, v := range x[1:] {
		if c.kind == Max && v > r || c.kind == Min && v < r {
			r = v
		}
	}
	return r
}

func (c integers[T]) check(what string, n int, got, want []T) {
	c.t.Helper()
	if !slices.Equal(want, got) {
		c.t.Fatalf("%s of %s: %s of %d elements (-want +got):\n%s", names[c.kind], c.dtype, what, n, cmp.Diff(want, got))
	}
}

func at[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

func (c integers[T]) run(l *vector.FoldFuncs) {
	const rows, beside = 5, 3
	for _, n := range sizes() {
		acc, x := c.draw(n+1), c.draw(rows*(n+beside) + 1)[1:]
		if n > 0 {
			one, want := []T{acc[0]}, c.best(append([]T{acc[0]}, x[:n]...))
			l.Fold(n, at(one), at(x), nil)
			c.check("fold", n, one, []T{want})
		}
		var want []T
		for i := range n {
			want = append(want, c.best([]T{acc[i], x[i]}))
		}
		want = append(want, acc[n])
		l.Rows(n, at(acc), at(x), nil)
		c.check("rows", n, acc, want)
		if n == 0 || l.Lines == nil {
			continue
		}
		got, lines := make([]T, rows), make([]T, rows)
		for i := range lines {
			lines[i] = c.best(x[i*(n+beside):][:n])
		}
		l.Lines(rows, n, (n+beside)*c.dtype.Size(), at(got), at(x), nil)
		c.check("lines", n, got, lines)
	}
	for count := 1; count <= maxBlocks; count *= 2 {
		x, got := c.draw(count*Block), make([]T, 1)
		l.Blocks(count, at(got), at(x), nil)
		c.check("blocks", count*Block, got, []T{c.best(x)})
	}
}

// TestExtremes holds the greatest and the least of integers of any size to plain
// comparisons, at every level.
func TestExtremes(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, level := range simd.UsableVectors() {
		for _, kind := range []Kind{Max, Min} {
			integers[uint8]{t, kind, ir.Uint8, rng}.run(At(level, kind, ir.Uint8))
			integers[int8]{t, kind, ir.Int8, rng}.run(At(level, kind, ir.Int8))
			integers[int16]{t, kind, ir.Int16, rng}.run(At(level, kind, ir.Int16))
			integers[int32]{t, kind, ir.Int32, rng}.run(At(level, kind, ir.Int32))
			integers[int64]{t, kind, ir.Int64, rng}.run(At(level, kind, ir.Int64))
		}
	}
}
