package nccl

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
)

// make gives one call to the library, in a group that is open on this thread. What the
// oldest version has no function for is made of sends and receives, as newer ones do.
func (c *Communicator) make(f *dl.Frame, s uintptr, call *collective.Call) error {
	in, out := uintptr(call.In.Addr), uintptr(call.Out.Addr)
	n, m, root := bytes(call.In), bytes(call.Out), uintptr(call.Root)
	ranks := uintptr(c.size)
	switch call.Kind {
	case collective.Barrier:
		return c.call(f, fAllReduce, uintptr(c.spare.Addr), uintptr(c.spare.Addr), 1, typeByte, ops[collective.Sum], c.comm, s)
	case collective.AllReduce, collective.Reduce, collective.ReduceScatter:
		return c.reduce(f, s, call)
	case collective.Broadcast:
		if c.rank != call.Root {
			in = out // is not read
		}
		return c.call(f, fBroadcast, in, out, m, typeByte, root, c.comm, s)
	case collective.AllGather:
		return c.call(f, fAllGather, in, out, n, typeByte, c.comm, s)
	case collective.Gather:
		return c.exchange(f, s, c.rank == call.Root, []part{{in, call.Root}}, out, n)
	case collective.Scatter:
		return c.exchange(f, s, true, c.parts(in, m, c.rank == call.Root), out, m, call.Root)
	case collective.AllToAll:
		return c.exchange(f, s, true, c.parts(in, n/ranks, true), out, n/ranks)
	case collective.Send:
		return c.call(f, fSend, in, n, typeByte, root, c.comm, s)
	case collective.Receive:
		return c.call(f, fRecv, out, m, typeByte, root, c.comm, s)
	}
	return fmt.Errorf("%w: %s", collective.ErrCall, call)
}

// call calls one of the library's functions.
func (c *Communicator) call(f *dl.Frame, function int, args ...uintptr) error {
	return c.started(function, c.lib.f[function].Call(f, args...))
}

// reduce gives a reduction to the library.
func (c *Communicator) reduce(f *dl.Frame, s uintptr, call *collective.Call) error {
	in, out := uintptr(call.In.Addr), uintptr(call.Out.Addr)
	dtype, op, width, err := reduction(call.Op, call.In.DType)
	if err != nil {
		return err
	}
	count := func(v ir.View) uintptr { return uintptr(v.NumElements() * width) }
	switch call.Kind {
	case collective.AllReduce:
		return c.call(f, fAllReduce, in, out, count(call.In), dtype, op, c.comm, s)
	case collective.ReduceScatter:
		return c.call(f, fReduceScatter, in, out, count(call.Out), dtype, op, c.comm, s)
	}
	return c.call(f, fReduce, in, out, count(call.In), dtype, op, uintptr(call.Root), c.comm, s)
}

// A part is memory that goes to a rank.
type part struct {
	at uintptr
	to int
}

// parts cuts memory into parts of n bytes, one for each rank; none where the rank has none.
func (c *Communicator) parts(at, n uintptr, has bool) (out []part) {
	if has {
		for r := range c.size {
			out = append(out, part{at + uintptr(r)*n, r})
		}
	}
	return out
}

// exchange sends parts of n bytes and, where the rank receives, gets as many from each of
// the ranks in from, one after the other; from none, from all.
func (c *Communicator) exchange(f *dl.Frame, s uintptr, receives bool, parts []part, out, n uintptr, from ...int) error {
	for _, p := range parts {
		if err := c.call(f, fSend, p.at, n, typeByte, uintptr(p.to), c.comm, s); err != nil {
			return err
		}
	}
	if !receives {
		return nil
	}
	if len(from) == 0 {
		for r := range c.size {
			from = append(from, r)
		}
	}
	for i, r := range from {
		if err := c.call(f, fRecv, out+uintptr(i)*n, n, typeByte, uintptr(r), c.comm, s); err != nil {
			return err
		}
	}
	return nil
}
