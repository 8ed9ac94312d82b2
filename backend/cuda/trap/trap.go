// Package trap reads what kernels found wrong with their operands' values, which
// no call can report while it returns before its kernels run. A stream has one
// Record, in page-locked host memory that its kernels write (kernels/trap.cuh);
// the first fault stays until it is taken. The package knows nothing of streams.
package trap

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// Size is the bytes of a Record.
const Size = int64(unsafe.Sizeof(Record{}))

// A Record is the first fault since the last was taken. Zero is none.
type Record struct {
	state uint32 // 0, 1 while a kernel writes the rest, 2
	who   uint32
	value int64
	limit int64
}

// A Who is the operator whose kernel found a fault.
type Who uint32

// The operators that check values.
const (
	Gather Who = iota + 1
	Scatter
	ScatterAdd
	IndexSelect
	IndexAdd
	NonzeroSized
	CrossEntropy
	NLL
	MaskedSelect
	ScatterReduce
	Probabilities
)

var names = [...]string{
	Gather: "gather", Scatter: "scatter", ScatterAdd: "scatter_add", IndexSelect: "index_select", IndexAdd: "index_add",
	NonzeroSized: "nonzero_sized", CrossEntropy: "cross_entropy", NLL: "nll_loss",
	MaskedSelect: "masked_select_sized", ScatterReduce: "scatter_reduce", Probabilities: "multinomial or bernoulli",
}

// An Error is a fault that an operator's kernel found after the call had
// returned. The element that it should have read is 0, the one it should have
// written unchanged.
type Error struct {
	Operator     string
	Value, Limit int64 // the index and the axis' extent, or the elements found and wanted, 0 for an unknown number
}

func (e *Error) Error() string {
	switch e.Operator {
	case names[NonzeroSized]:
		return fmt.Sprintf("%s: x has %d nonzero elements, not %d", e.Operator, e.Value, e.Limit)
	case names[Probabilities]:
		count := "" // 0 is not known
		if e.Value > 0 {
			count = fmt.Sprint(e.Value, " ")
		}
		return fmt.Sprintf("%s: x has %selements or rows that are no probabilities or weights: want numbers from 0 to 1, "+
			"or finite ones of 0 or more with one above it in each row", e.Operator, count)
	case names[MaskedSelect]:
		return fmt.Sprintf("%s: mask has %d nonzero elements, not %d", e.Operator, e.Value, e.Limit)
	}
	return fmt.Sprintf("%s: index %d is out of range for an axis of %d elements (%s)",
		e.Operator, e.Value, e.Limit, ir.WantBelow(int(e.Limit)))
}

// Take returns the fault that is recorded, as an *Error, and clears the record;
// nil where there is none. It costs one load then. Kernels that may write the
// record should be done.
func Take(r *Record) error {
	if atomic.LoadUint32(&r.state) != 2 {
		return nil
	}
	e := &Error{Operator: "an operator", Value: r.value, Limit: r.limit}
	if int(r.who) < len(names) && names[r.who] != "" {
		e.Operator = names[r.who]
	}
	if !atomic.CompareAndSwapUint32(&r.state, 2, 0) {
		return nil // another goroutine has reported it
	}
	return e
}
