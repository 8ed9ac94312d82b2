package mpi

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
)

// textBytes is how much of a description travels.
const textBytes = 256

// Tags of what sends and receives exchange.
const (
	tagText = 1 // the description of what is sent
	tagData = 2
)

// collective makes a call of all ranks, once they have found that all make the same.
func (c *Communicator) collective(call *collective.Call) error {
	number := c.made.Add(1)
	if err := c.agree(number, call); err != nil {
		return err
	}
	what := fmt.Sprintf("%s, call %d of the group", call, number)
	switch call.Kind {
	case collective.Barrier:
		return nil // agreeing was one
	case collective.AllReduce, collective.Reduce, collective.ReduceScatter:
		return c.reduce(what, call)
	}
	return c.move(what, call)
}

// agree compares the calls of all ranks by a hash of their descriptions, of which all ranks
// learn the least and the greatest.
func (c *Communicator) agree(number uint64, call *collective.Call) error {
	h := fnv.New64a()
	h.Write([]byte(call.String()))
	mine := h.Sum64()
	pair := &[2]uint64{mine, ^mine}
	what := fmt.Sprintf("%s, call %d of the group", call, number)
	err := c.do(what, fAllreduce, func(f *dl.Frame) []uintptr {
		return []uintptr{inPlace, keep(f, unsafe.Pointer(pair)), 2, typeUint64, opMax, c.comm}
	})
	if err != nil || pair[0] == ^pair[1] {
		return err
	}
	return c.differing(number, call)
}

// differing returns which ranks make which calls, where not all make the same.
func (c *Communicator) differing(number uint64, call *collective.Call) error {
	mine := new([textBytes]byte)
	copy(mine[:textBytes-1], call.String())
	all := make([]byte, textBytes*c.Size())
	err := c.do(call.String(), fAllgather, func(f *dl.Frame) []uintptr {
		return []uintptr{keep(f, unsafe.Pointer(mine)), textBytes, typeByte, keep(f, unsafe.Pointer(&all[0])), textBytes, typeByte, c.comm}
	})
	if err != nil {
		return err
	}
	first := text(all)
	for r := range c.Size() {
		if other := text(all[r*textBytes:]); other != first {
			return fmt.Errorf("call %d of the group: %w: rank 0 makes %s, rank %d %s", number, collective.ErrMismatch, first, r, other)
		}
	}
	return fmt.Errorf("call %d of the group: %w: they begin alike, as %s", number, collective.ErrMismatch, first)
}

// text returns the description at the start of b.
func text(b []byte) string {
	b = b[:min(len(b), textBytes)]
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	return string(b)
}

// size returns how many bytes v has.
func size(v ir.View) int {
	if !v.Given() {
		return 0
	}
	return v.NumElements() * v.DType.Size()
}

// apart returns v's elements, copied where they overlap with those of o.
func apart(v, o ir.View) unsafe.Pointer {
	n, m := size(v), size(o)
	if n == 0 || m == 0 || uintptr(v.Ptr) >= uintptr(o.Ptr)+uintptr(m) || uintptr(o.Ptr) >= uintptr(v.Ptr)+uintptr(n) {
		return v.Ptr
	}
	held := make([]uint64, (n+7)/8)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&held[0])), n), unsafe.Slice((*byte)(v.Ptr), n))
	return unsafe.Pointer(&held[0])
}

// move makes a call that changes no elements: they travel as bytes.
func (c *Communicator) move(what string, call *collective.Call) error {
	in, out := call.In, call.Out
	n := uintptr(size(in))
	from := apart(in, out)
	root, ranks := uintptr(call.Root), uintptr(c.Size())
	switch call.Kind {
	case collective.Broadcast:
		if in.Given() && in.Ptr != out.Ptr {
			copy(unsafe.Slice((*byte)(out.Ptr), n), unsafe.Slice((*byte)(from), n))
		}
		return c.do(what, fBcast, func(f *dl.Frame) []uintptr {
			return []uintptr{keep(f, out.Ptr), uintptr(size(out)), typeByte, root, c.comm}
		})
	case collective.AllGather:
		return c.do(what, fAllgather, func(f *dl.Frame) []uintptr {
			return []uintptr{keep(f, from), n, typeByte, keep(f, out.Ptr), n, typeByte, c.comm}
		})
	case collective.Gather:
		return c.do(what, fGather, func(f *dl.Frame) []uintptr {
			return []uintptr{keep(f, from), n, typeByte, keep(f, out.Ptr), n, typeByte, root, c.comm}
		})
	case collective.Scatter:
		n = uintptr(size(out))
		return c.do(what, fScatter, func(f *dl.Frame) []uintptr {
			return []uintptr{keep(f, from), n, typeByte, keep(f, out.Ptr), n, typeByte, root, c.comm}
		})
	case collective.AllToAll:
		n /= ranks
		return c.do(what, fAlltoall, func(f *dl.Frame) []uintptr {
			return []uintptr{keep(f, from), n, typeByte, keep(f, out.Ptr), n, typeByte, c.comm}
		})
	}
	return fmt.Errorf("%w: %s", collective.ErrCall, call)
}

// reduce makes a reduction: by MPI's own operations where they are what is asked for, which
// they are not for floats of 16 bits and, because of NaN, for extremes of floats.
func (c *Communicator) reduce(what string, call *collective.Call) error {
	dt := call.In.DType
	if _, known := types[dt]; !known || dt.IsFloat() && (call.Op == collective.Min || call.Op == collective.Max) {
		return c.reduceHere(what, call)
	}
	op, n := operation(call.Op, dt), uintptr(call.In.NumElements())
	from := call.In.Ptr
	if call.Kind != collective.AllReduce || from != call.Out.Ptr {
		from = apart(call.In, call.Out)
	}
	var err error
	switch out := call.Out; call.Kind {
	case collective.AllReduce:
		err = c.do(what, fAllreduce, func(f *dl.Frame) []uintptr {
			if call.In.Ptr == out.Ptr {
				return []uintptr{inPlace, keep(f, out.Ptr), n, types[dt], op, c.comm}
			}
			return []uintptr{keep(f, from), keep(f, out.Ptr), n, types[dt], op, c.comm}
		})
	case collective.Reduce:
		err = c.do(what, fReduce, func(f *dl.Frame) []uintptr {
			return []uintptr{keep(f, from), keep(f, out.Ptr), n, types[dt], op, uintptr(call.Root), c.comm}
		})
	case collective.ReduceScatter:
		err = c.do(what, fReduceScatter, func(f *dl.Frame) []uintptr {
			return []uintptr{keep(f, from), keep(f, out.Ptr), uintptr(out.NumElements()), types[dt], op, c.comm}
		})
	}
	if err == nil && call.Op == collective.Average && call.Out.Given() {
		err = collective.Divide(dt, call.Out.NumElements(), call.Out.Ptr, c.Size())
	}
	return err
}

// operation returns MPI's name of an operation, which for an average is the sum.
func operation(o collective.Op, d ir.DType) uintptr {
	least := d == ir.Bool && o == collective.Product
	most := d == ir.Bool && o == collective.Sum
	switch {
	case o == collective.Min || least:
		return opMin
	case o == collective.Max || most:
		return opMax
	case o == collective.Product:
		return opProduct
	}
	return opSum
}

// reduceHere makes a reduction with this process's arithmetic: every rank gets a part of all
// inputs, reduces it, and the results are gathered.
func (c *Communicator) reduceHere(what string, call *collective.Call) error {
	ranks, width := c.Size(), call.In.DType.Size()
	n := call.In.NumElements()
	part := (n + ranks - 1) / ranks
	if n == 0 {
		return nil
	}
	bytes := part * width
	given, got := room(bytes*ranks), room(bytes*ranks)
	copy(given, unsafe.Slice((*byte)(call.In.Ptr), n*width))
	err := c.do(what, fAlltoall, func(f *dl.Frame) []uintptr {
		return []uintptr{keep(f, unsafe.Pointer(&given[0])), uintptr(bytes), typeByte, keep(f, unsafe.Pointer(&got[0])), uintptr(bytes), typeByte, c.comm}
	})
	if err != nil {
		return err
	}
	srcs := make([]unsafe.Pointer, ranks)
	for r := range srcs {
		srcs[r] = unsafe.Pointer(&got[r*bytes])
	}
	mine := room(bytes)
	if err := collective.Combine(call.Op, call.In.DType, part, unsafe.Pointer(&mine[0]), srcs); err != nil {
		return err
	}
	if call.Kind == collective.ReduceScatter {
		copy(unsafe.Slice((*byte)(call.Out.Ptr), bytes), mine)
		return nil
	}
	f, root := fAllgather, []uintptr{c.comm}
	if call.Kind == collective.Reduce {
		f, root = fGather, []uintptr{uintptr(call.Root), c.comm}
	}
	err = c.do(what, f, func(f *dl.Frame) []uintptr {
		return append([]uintptr{keep(f, unsafe.Pointer(&mine[0])), uintptr(bytes), typeByte,
			keep(f, unsafe.Pointer(&given[0])), uintptr(bytes), typeByte}, root...)
	})
	if err == nil && call.Out.Given() {
		copy(unsafe.Slice((*byte)(call.Out.Ptr), n*width), given)
	}
	return err
}

// room returns n bytes, aligned to 8.
func room(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// about describes what is sent or received.
func about(v ir.View) *[textBytes]byte {
	b := new([textBytes]byte)
	copy(b[:textBytes-1], fmt.Sprintf("%s %v", v.DType, v.Shape))
	return b
}

// send begins a send: what it is of, and the elements. With an error it returns what was begun.
func (c *Communicator) send(call *collective.Call) ([]*request, error) {
	about, to := about(call.In), uintptr(call.Root)
	first, err := c.start(call.String(), fSend, func(f *dl.Frame) []uintptr {
		return []uintptr{keep(f, unsafe.Pointer(about)), textBytes, typeByte, to, tagText, c.comm}
	})
	if err != nil {
		return nil, err
	}
	sent := []*request{first}
	second, err := c.start(call.String(), fSend, func(f *dl.Frame) []uintptr {
		return []uintptr{keep(f, call.In.Ptr), uintptr(size(call.In)), typeByte, to, tagData, c.comm}
	})
	if err == nil {
		sent = append(sent, second)
	}
	return sent, err
}

// receive makes a receive, once what is sent is found to be what is wanted.
func (c *Communicator) receive(call *collective.Call) error {
	have, from := new([textBytes]byte), uintptr(call.Root)
	err := c.do(call.String(), fRecv, func(f *dl.Frame) []uintptr {
		return []uintptr{keep(f, unsafe.Pointer(have)), textBytes, typeByte, from, tagText, c.comm}
	})
	if err != nil {
		return err
	}
	if want := about(call.Out); *have != *want {
		return fmt.Errorf("%w: rank %d makes %s, rank %d a send of %s", collective.ErrMismatch, c.Rank(), call, call.Root, text(have[:]))
	}
	return c.do(call.String(), fRecv, func(f *dl.Frame) []uintptr {
		return []uintptr{keep(f, call.Out.Ptr), uintptr(size(call.Out)), typeByte, from, tagData, c.comm}
	})
}
