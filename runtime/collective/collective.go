// Package collective says what collective communication is: the calls by which the
// ranks of a group exchange elements, and what an engine must implement to make them.
// It knows nothing of tensors, nor of how elements travel.
package collective

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// Sentinel errors of groups.
const (
	// ErrMismatch is wrapped when the ranks of a group do not make the same call.
	ErrMismatch ir.Error = "the ranks make different calls"
	// ErrTimeout is wrapped when other ranks did not come within the group's timeout.
	ErrTimeout ir.Error = "timeout"
	// ErrClosed is wrapped when a rank has closed or left the group.
	ErrClosed ir.Error = "group closed"
	// ErrCall is wrapped when a call cannot be made whatever the other ranks do.
	ErrCall ir.Error = "invalid call"
)

// A Kind is what a call does.
type Kind uint8

// The kinds of call. Every rank of the group makes each of them, but for Send and
// Receive, which two make.
const (
	Barrier       Kind = iota // every rank waits for all
	AllReduce                 // Out is the reduction of all In, on every rank
	Broadcast                 // Out is Root's In, on every rank
	Reduce                    // Out is the reduction of all In, on Root
	AllGather                 // Out is all In, one after the other, on every rank
	ReduceScatter             // the reduction of all In is cut into parts; rank r's Out is part r
	Gather                    // Out is all In, one after the other, on Root
	Scatter                   // Root's In is cut into parts; rank r's Out is part r
	AllToAll                  // In is cut into parts; part r goes to rank r, which has it in Out by sender
	Send                      // In goes to rank Root
	Receive                   // Out comes from rank Root

	numKinds
)

var kindNames = [numKinds]string{"barrier", "all-reduce", "broadcast", "reduce", "all-gather", "reduce-scatter",
	"gather", "scatter", "all-to-all", "send", "receive"}

func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("collective.Kind(%d)", uint8(k))
}

// An Op is what a reduction does with the elements of all ranks.
type Op uint8

// The operations. Booleans are added and compared as numbers that saturate at true.
const (
	Sum Op = iota
	Product
	Min     // NaN where any is, of floats
	Max     // NaN where any is, of floats
	Average // of floating and complex dtypes

	numOps
)

var opNames = [numOps]string{"sum", "product", "min", "max", "average"}

func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	return fmt.Sprintf("collective.Op(%d)", uint8(o))
}

// Has reports whether the operation is one of elements of dtype d.
func (o Op) Has(d ir.DType) bool {
	switch o {
	case Sum, Product:
		return ir.ClassStored.Has(d)
	case Min, Max:
		return ir.ClassStored.Has(d) && !ir.ClassComplex.Has(d)
	case Average:
		return ir.ClassFloat.Has(d) || ir.ClassComplex.Has(d)
	}
	return false
}

// A Call is what one rank asks of its group. Views are contiguous, of the rank's
// device and stay valid until the call is done; one that Kind does not name for the rank
// is not given. In and Out may be the same memory where they have the same elements,
// or where one is the rank's part of the other.
type Call struct {
	Kind    Kind
	Op      Op  // of reductions
	Root    int // of those that have one; Send and Receive: the other rank
	In, Out ir.View
}

// reduces reports whether the call has an Op, rooted whether it has a Root.
func (c *Call) reduces() bool {
	return c.Kind == AllReduce || c.Kind == Reduce || c.Kind == ReduceScatter
}

func (c *Call) rooted() bool {
	switch c.Kind {
	case Broadcast, Reduce, Gather, Scatter, Send, Receive:
		return true
	}
	return false
}

// share is what all ranks have alike: the view whose shape and dtype must agree.
func (c *Call) share() *ir.View {
	switch c.Kind {
	case Broadcast, ReduceScatter, Scatter, Receive:
		return &c.Out
	}
	return &c.In
}

// Bytes returns how much memory the call's part of one rank is.
func (c *Call) Bytes() int64 {
	v := c.share()
	if !v.Given() {
		return 0
	}
	return int64(v.NumElements()) * int64(v.DType.Size())
}

// String describes the call as messages name it: "all-reduce(sum) of float32 [2 3]".
func (c *Call) String() string {
	s := c.Kind.String()
	if c.reduces() {
		s += "(" + c.Op.String() + ")"
	}
	if v := c.share(); v.Given() {
		s += fmt.Sprintf(" of %s %v", v.DType, v.Shape)
	}
	switch {
	case !c.rooted():
	case c.Kind == Send || c.Kind == Reduce || c.Kind == Gather:
		s += fmt.Sprintf(" to rank %d", c.Root)
	default:
		s += fmt.Sprintf(" from rank %d", c.Root)
	}
	return s
}

// A Communicator is one rank's end of a group, on one device. Calls are made from one
// goroutine at a time, Abort from any at any time.
//
// Once a call went wrong (a timeout, a mismatch, a rank that is gone) the group is of no
// more use: every later call of every rank returns the error.
type Communicator interface {
	Rank() int
	Size() int
	Device() device.Device
	// Do makes calls, which were checked, together and in the order of a stream: on
	// an accelerator it gives them to the stream and returns, on the host it returns
	// when they are done. Sends and receives that are made together do not wait for
	// one another. Every rank gives a communicator's calls to one stream.
	Do(s device.StreamID, calls ...*Call) error
	// Seed returns what a rank gives to the members of a new group of which it is the first,
	// for their Split; nil where they need nothing.
	Seed() ([]byte, error)
	// Split returns this rank's end of a new group of some ranks of this one: members has them
	// by their rank there, and seed is what Seed of the first returned. All ranks of this
	// group call it at once, those that are in no new group without members, and get nil.
	// No other call of this rank is under way.
	Split(members []int, seed []byte) (Communicator, error)
	// Err returns why the group is of no more use, or nil. ErrClosed itself is that this rank closed a group that had
	// not failed.
	Err() error
	// Abort makes the group of no more use: whoever waits for this rank gets the
	// reason, where the engine can tell it, and this rank's own calls end.
	Abort(reason error)
	// Fail is Abort for a reason that names the rank by itself.
	Fail(reason error)
	// Close gives up what the rank holds. Calls that are not done are not waited for.
	Close() error
}

// An Overlapper is a Communicator some of whose batches may be under way beside one another, each
// on a stream of its own.
type Overlapper interface {
	// Overlaps reports whether the calls of a batch may be given to another stream than the batch
	// before, where the current stream is s. It is alike on all ranks.
	Overlaps(s device.StreamID, calls ...*Call) bool
	// Binds reports whether ranks wait for one another in a batch itself, so that all make it in one way: at
	// once or, where it is captured, by replays of the same graph.
	Binds(captured bool, calls ...*Call) bool
}

// A Lingerer is a Communicator whose calls may fail before other ranks' devices are done with their memory.
type Lingerer interface {
	// Lingers returns what is closed once no device is at the memory of the last batch any more, where Do returned
	// an error and some are; nil where none is.
	Lingers() <-chan struct{}
}

// A Keeper is a Communicator whose calls that failed may be at their memory for as long as the process runs.
type Keeper interface {
	// Keeps reports whether those of the last batch are, where Do returned an error.
	Keeps() bool
}

// A Replayer is a Communicator that compares what its rank replays with what ranks of other processes
// make and replay, or has replays wait for what its calls wait for on the host.
type Replayer interface {
	// Replayed notes that calls that were captured are about to be made again, but for sends and receives.
	Replayed(calls []string)
}
