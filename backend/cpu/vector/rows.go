package vector

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// A Rows is code of an element-wise call over rows of two axes, however far apart the rows of
// each view are. A view's row has its elements side by side, or is an operand's one element. Of
// a fold it combines each row with accumulators that there are for every place of a row, as the
// fold's loops for rows do; the elements that are folded are in no memory.
type Rows struct {
	// Values says what an array is, by array: a result of the call, or an operand, whose numbers
	// follow those of results; or accumulators, which are negative.
	Values []int
	Words  int // of a block
	Fill   func(block []uint64, scalars []ir.Scalar)
	// Run computes rows of some length. Arrays begin at at, and their next rows are as many bytes
	// further as steps says. It changes the block.
	Run func(rows, length int, at []unsafe.Pointer, steps []int, block []uint64)
}
