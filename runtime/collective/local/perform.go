package local

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
)

// perform does the collective call that all ranks came to. Views are in host memory.
func perform(calls []*collective.Call) error {
	c := calls[0]
	root := calls[c.Root]
	switch c.Kind {
	case collective.AllReduce:
		return reduceAll(calls)
	case collective.Reduce:
		n := root.In.NumElements()
		return reduceInto(root.Out, calls, 0, n)
	case collective.Broadcast:
		for _, to := range calls {
			move(to.Out, 0, root.In, 0, root.In.NumElements())
		}
	case collective.AllGather:
		for _, to := range calls {
			gather(to.Out, calls)
		}
	case collective.Gather:
		gather(root.Out, calls)
	case collective.ReduceScatter:
		n := c.Out.NumElements()
		for r, to := range calls {
			if err := reduceInto(to.Out, calls, r*n, n); err != nil {
				return err
			}
		}
	case collective.Scatter:
		for r, to := range calls {
			n := to.Out.NumElements()
			move(to.Out, 0, root.In, r*n, n)
		}
	case collective.AllToAll:
		return exchange(calls)
	}
	return nil
}

// reduceAll reduces to rank 0's output, and copies that: an input may be the output
// of its own rank alone.
func reduceAll(calls []*collective.Call) error {
	n := calls[0].In.NumElements()
	if err := reduceInto(calls[0].Out, calls, 0, n); err != nil {
		return err
	}
	for _, to := range calls[1:] {
		move(to.Out, 0, calls[0].Out, 0, n)
	}
	return nil
}

// reduceInto reduces n elements of all inputs, from an element on, to out.
func reduceInto(out ir.View, calls []*collective.Call, from, n int) error {
	srcs := make([]unsafe.Pointer, len(calls))
	for r, c := range calls {
		srcs[r] = at(c.In, from)
	}
	return collective.Combine(calls[0].Op, out.DType, n, out.Ptr, srcs)
}

// gather copies all inputs to out, one after the other.
func gather(out ir.View, calls []*collective.Call) {
	n := calls[0].In.NumElements()
	for r, from := range calls {
		move(out, r*n, from.In, 0, n)
	}
}

// exchange gives part r of every input to rank r. A rank's output may be its input, so
// that all inputs are read before an output is written.
func exchange(calls []*collective.Call) error {
	n := calls[0].In.NumElements() / len(calls)
	bytes := n * calls[0].In.DType.Size()
	if bytes == 0 {
		return nil
	}
	held := make([][]byte, len(calls))
	for r, from := range calls {
		held[r] = append([]byte{}, unsafe.Slice((*byte)(from.In.Ptr), bytes*len(calls))...)
	}
	for r, to := range calls {
		out := unsafe.Slice((*byte)(to.Out.Ptr), bytes*len(calls))
		for s := range calls {
			copy(out[s*bytes:(s+1)*bytes], held[s][r*bytes:])
		}
	}
	return nil
}

// at returns where element i of v is.
func at(v ir.View, i int) unsafe.Pointer { return unsafe.Add(v.Ptr, i*v.DType.Size()) }

// move copies n elements, which may overlap.
func move(dst ir.View, to int, src ir.View, from, n int) {
	if n > 0 {
		bytes := n * src.DType.Size()
		copy(unsafe.Slice((*byte)(at(dst, to)), bytes), unsafe.Slice((*byte)(at(src, from)), bytes))
	}
}
