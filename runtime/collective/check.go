package collective

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Check returns what is wrong with a call that one rank of a group makes, as far as
// that rank can know. The error wraps ErrCall.
func (c *Call) Check(rank, size int) error {
	if err := c.check(rank, size); err != nil {
		return fmt.Errorf("%s: %w: %w", c, ErrCall, err)
	}
	return nil
}

func (c *Call) check(rank, size int) error {
	switch {
	case c.Kind >= numKinds:
		return fmt.Errorf("no such call")
	case c.rooted() && (c.Root < 0 || c.Root >= size):
		return fmt.Errorf("rank %d of a group of %d", c.Root, size)
	}
	wantsIn, wantsOut := c.wants(rank)
	if err := present("input", c.In, wantsIn); err != nil {
		return err
	}
	if err := present("output", c.Out, wantsOut); err != nil {
		return err
	}
	if c.reduces() && !c.Op.Has(c.In.DType) {
		return fmt.Errorf("%s is not an operation of %s", c.Op, c.In.DType)
	}
	if wantsIn && wantsOut {
		return c.checkSizes(size)
	}
	return nil
}

// wants reports which views the call of a rank has.
func (c *Call) wants(rank int) (in, out bool) {
	root := rank == c.Root
	switch c.Kind {
	case Barrier:
		return false, false
	case Send:
		return true, false
	case Receive:
		return false, true
	case Broadcast, Scatter:
		return root, true
	case Reduce, Gather:
		return true, root
	}
	return true, true
}

func present(name string, v ir.View, want bool) error {
	switch {
	case v.Given() != want && want:
		return fmt.Errorf("no %s", name)
	case v.Given() != want:
		return fmt.Errorf("an %s, which this rank has none of", name)
	case want && !v.IsContiguous():
		return fmt.Errorf("the %s is not contiguous (shape %v, strides %v)", name, v.Shape, v.Strides)
	}
	return nil
}

// checkSizes compares a rank's input with its output.
func (c *Call) checkSizes(size int) error {
	in, out := c.In, c.Out
	if in.DType != out.DType {
		return fmt.Errorf("the input is %s, the output %s", in.DType, out.DType)
	}
	n, m := in.NumElements(), out.NumElements()
	switch c.Kind {
	case AllReduce, Broadcast, Reduce:
		if !slices.Equal(in.Shape, out.Shape) {
			return fmt.Errorf("%w: the input has shape %v, the output %v", ir.ErrShape, in.Shape, out.Shape)
		}
	case AllGather, Gather:
		if m != n*size {
			return fmt.Errorf("%w: the output %v does not hold %d inputs %v", ir.ErrShape, out.Shape, size, in.Shape)
		}
	case ReduceScatter, Scatter:
		if n != m*size {
			return fmt.Errorf("%w: the input %v is not %d outputs %v", ir.ErrShape, in.Shape, size, out.Shape)
		}
	case AllToAll:
		if n != m || n%size != 0 {
			return fmt.Errorf("%w: the input %v and the output %v are not %d equal parts each", ir.ErrShape, in.Shape, out.Shape, size)
		}
	}
	return nil
}

// Differs returns how the calls of two ranks differ in what must agree, or nil. The
// error wraps ErrMismatch and names both ranks and calls.
func Differs(rank int, c *Call, otherRank int, other *Call) error {
	if c.agrees(other) {
		return nil
	}
	return fmt.Errorf("%w: rank %d makes %s, rank %d %s", ErrMismatch, otherRank, other, rank, c)
}

func (c *Call) agrees(o *Call) bool {
	if c.Kind != o.Kind || c.reduces() && c.Op != o.Op || c.rooted() && c.Root != o.Root {
		return false
	}
	v, w := c.share(), o.share()
	return v.DType == w.DType && slices.Equal(v.Shape, w.Shape)
}

// Pairs returns how a receive differs from the send that it meets, or nil.
func Pairs(from int, send *Call, to int, receive *Call) error {
	if send.In.DType == receive.Out.DType && slices.Equal(send.In.Shape, receive.Out.Shape) {
		return nil
	}
	return fmt.Errorf("%w: rank %d makes %s, rank %d %s", ErrMismatch, from, send, to, receive)
}
