package exec

import (
	"math/bits"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

const (
	// block is how many elements a loop folds at once, in an order of its own.
	// Blocks are then merged pairwise: 0 with 1, 2 with 3, then these, and so on.
	block = 1024
	// group is how many elements one processor folds at least: a power of two
	// of blocks, so that merging groups continues the tree inside them. Where each
	// processor has shares of them, groups are larger, up to what one call folds.
	group     = 16 * block
	mostGroup = 64 * block
	shares    = 8
)

// A tree merges rows of accumulators pairwise in the order they are added. The
// shape of the merges depends on how many are added alone.
type tree struct {
	loops   *vector.FoldFuncs
	scalars []ir.Scalar
	width   int // accumulators in a row; may be lowered while the tree is empty
	size    int // bytes of a row
	rows    *scratch.Block
	depth   int // rows in use
	added   int
}

// newTree returns a tree for up to n rows of width accumulators. Release it.
func newTree(loops *vector.FoldFuncs, scalars []ir.Scalar, width, n int) tree {
	size := (width*loops.Acc.Size() + 63) &^ 63
	return tree{
		loops: loops, scalars: scalars, width: width, size: size,
		rows: scratch.Get(size * (bits.Len(uint(n)) + 1)),
	}
}

// release gives the tree's memory back.
func (t *tree) release() { t.rows.Put() }

// top returns a row for the next accumulators, which push then adds.
func (t *tree) top() unsafe.Pointer { return t.row(t.depth) }

func (t *tree) row(i int) unsafe.Pointer { return unsafe.Add(t.rows.Ptr(), i*t.size) }

// push adds the row that top returned, in which n rows are merged already: a power
// of two that divides how many were added before.
func (t *tree) push(n int) {
	t.depth++
	for i := t.added / n; i&1 != 0; i >>= 1 {
		t.mergeTop()
	}
	t.added += n
}

func (t *tree) mergeTop() {
	t.depth--
	t.loops.Merge(t.width, t.row(t.depth-1), t.row(t.depth), t.scalars)
}

// root merges what is left and returns the result, or the identity when nothing
// was added. The tree is empty afterwards, and the row valid until it is used.
func (t *tree) root() unsafe.Pointer {
	if t.added == 0 {
		t.loops.Init(t.width, t.row(0), t.scalars)
	}
	for t.depth > 1 {
		t.mergeTop()
	}
	t.depth, t.added = 0, 0
	return t.row(0)
}
