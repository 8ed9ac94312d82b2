package device

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
)

// A Reporter is a Driver whose work may turn out wrong after the call that gave it
// returned, in a way that leaves the device usable: a kernel that finds an index
// out of range. What was found is kept for the stream that the work was given to,
// and returned only to those who wait for that stream or for the whole device. The
// methods are called after such a wait, and do not wait; the Driver's own waits,
// which allocators make too, report nothing of this kind.
type Reporter interface {
	// StreamFault returns what the work of a stream went wrong with since it was last
	// asked, and forgets it.
	StreamFault(dev int, s StreamID) error
	// DeviceFault is StreamFault of all streams of a device, also of those that were
	// destroyed.
	DeviceFault(dev int) error
}

// kept is how many operators a Flight remembers.
const kept = 16

// A Flight remembers the operators last given to a stream, so that an error that is
// found late can say which they were. The zero Flight is empty. Any goroutine may
// use it at any time.
type Flight struct {
	given, landed atomic.Uint64 // operators so far; of these, the ones that were waited for
	last          [kept]atomic.Pointer[ir.Op]
}

// Note adds an operator. It allocates nothing and costs two atomic operations, one
// where the operator is the one that was there.
func (f *Flight) Note(op *ir.Op) {
	if f == nil {
		return
	}
	if at := &f.last[f.given.Add(1)%kept]; at.Load() != op {
		at.Store(op)
	}
}

// Land notes that all operators so far were waited for.
func (f *Flight) Land() {
	if f != nil {
		f.landed.Store(f.given.Load())
	}
}

// String returns the operators since the last Land, oldest first: "add, mul" or, of
// many, "the last 16 of 40: add, mul, ..."; "" where there are none.
func (f *Flight) String() string {
	if f == nil {
		return ""
	}
	given := f.given.Load()
	n := given - min(f.landed.Load(), given)
	if n == 0 {
		return ""
	}
	var names []string
	for i := given - min(n, kept); i < given; i++ {
		if op := f.last[(i+1)%kept].Load(); op != nil {
			names = append(names, op.Name)
		}
	}
	list := strings.Join(names, ", ")
	if n > kept {
		return fmt.Sprintf("the last %d of %d: %s", kept, n, list)
	}
	return list
}
