package exec

import (
	"math/bits"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// scanRun is how many elements of a scan are folded one after the other. Their folds
// are merged as a pairwise sum's blocks are, so that the error of a result grows with
// the logarithm of its place, in an order that depends on nothing but the place.
const scanRun = 32

// A tally is the fold of the runs of some lines that have ended: of k runs, those of
// the powers of two that k is made of, and what is before each.
type tally struct {
	loops   *vector.FoldFuncs
	scalars []ir.Scalar
	lines   int          // accumulators each entry has
	most    int          // powers of two
	runs    int          // that have ended
	room    []complex128 // no accumulator is larger
}

// newTally returns a tally of at most so many lines of so many elements.
func newTally(loops *vector.FoldFuncs, scalars []ir.Scalar, lines, length int) *tally {
	most := bits.Len(uint(length / scanRun))
	return &tally{loops: loops, scalars: scalars, lines: lines, most: most, room: make([]complex128, (2*most+2)*lines)}
}

// entry returns the i-th list of accumulators.
func (t *tally) entry(i int) unsafe.Pointer { return unsafe.Pointer(&t.room[i*t.lines]) }

// before is the fold of all runs that have ended.
func (t *tally) before() unsafe.Pointer { return t.entry(0) }

// whole is room for the fold of these and of the run under way.
func (t *tally) whole() unsafe.Pointer { return t.entry(1) }

// fold is that of the last two to the power k runs; ahead what is before them.
func (t *tally) fold(k int) unsafe.Pointer  { return t.entry(2 + k) }
func (t *tally) ahead(k int) unsafe.Pointer { return t.entry(2 + t.most + k) }

// begin makes t the tally of n lines without any run.
func (t *tally) begin(n int) {
	t.runs = 0
	t.loops.Init(n, t.before(), t.scalars)
	for k := range t.most {
		t.loops.Init(n, t.ahead(k), t.scalars)
	}
}

// copy sets n accumulators to others.
func (t *tally) copy(n int, to, from unsafe.Pointer) {
	bytes := n * t.loops.Acc.Size()
	copy(unsafe.Slice((*byte)(to), bytes), unsafe.Slice((*byte)(from), bytes))
}

// end adds the run of n lines that acc is the fold of.
func (t *tally) end(n int, acc unsafe.Pointer) {
	k := 0
	for ; t.runs>>k&1 == 1; k++ {
		t.loops.Merge(n, t.fold(k), acc, t.scalars)
		acc = t.fold(k)
	}
	t.copy(n, t.fold(k), acc)
	t.runs++
	t.copy(n, t.before(), t.ahead(k))
	t.loops.Merge(n, t.before(), t.fold(k), t.scalars)
	for i := range k {
		t.copy(n, t.ahead(i), t.before())
	}
}
