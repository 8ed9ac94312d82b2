package optest

import (
	"fmt"
	"math/rand/v2"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// layoutKind is a way to lay out the elements of an operand.
type layoutKind int

const (
	contiguous layoutKind = iota
	transposed            // axes in reverse order in memory
	sliced                // every second element along every axis, from an offset
	expanded              // stride 0 along the first axis
	numLayouts
	// unaligned is contiguous, a byte beyond where numbers are otherwise, as in files of other
	// programs. It cannot be written, and only the host has it.
	unaligned = numLayouts
)

func (k layoutKind) String() string {
	return [...]string{"contiguous", "transposed", "sliced", "expanded", "unaligned"}[k]
}

var layoutOp = ir.Op{Name: "layout", Kind: ir.ViewBody, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, Switch: -1}

// place returns the layout of kind k for shape, and the number of elements its
// storage needs.
func (k layoutKind) place(shape []int) (l ir.Layout, storage int) {
	l = ir.ContiguousLayout(shape)
	switch k {
	case transposed:
		n := 1
		strides := make([]int, len(shape))
		for i, d := range shape {
			strides[i] = n
			n *= max(d, 1)
		}
		l.Strides = strides
	case sliced:
		n := 1
		strides := make([]int, len(shape))
		for i := len(shape) - 1; i >= 0; i-- {
			strides[i] = 2 * n
			n *= 2*max(shape[i], 1) + 1
		}
		l.Strides, l.Offset = strides, 3
		return l, n + 3
	case expanded:
		if len(shape) > 0 {
			l = ir.ContiguousLayout(shape[1:])
			l.Shape = shape
			l.Strides = append([]int{0}, l.Strides...)
			return l, max(ir.NumElements(shape[1:]), 1)
		}
	}
	return l, max(ir.NumElements(shape), 1)
}

// build returns a tensor of the given values, row-major, laid out as k on dev.
// With the layout expanded, the values along the first axis are those of index 0.
func build(values []ir.Scalar, shape []int, dt ir.DType, k layoutKind, dev device.Device) (*core.Tensor, error) {
	t, _, err := buildIn(values, shape, dt, k, dev)
	return t, err
}

// buildIn is build, and returns the storage as well, as a tensor of one axis.
func buildIn(values []ir.Scalar, shape []int, dt ir.DType, k layoutKind, dev device.Device) (v, store *core.Tensor, err error) {
	l, n := k.place(shape)
	raw := make([]ir.Scalar, n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range raw { // what no element lies on must not matter
		raw[i] = ir.IntScalar(r.Int64N(2))
	}
	if ir.NumElements(shape) > 0 {
		index := make([]int, len(shape))
		for _, v := range values {
			at := l.Offset
			for a, i := range index {
				at += i * l.Strides[a]
			}
			if k != expanded || len(shape) == 0 || index[0] == 0 {
				raw[at] = v
			}
			advance(index, shape)
		}
	}
	if store = core.FromBytes(encode(raw, dt), dt, []int{n}, core.Placement{Device: dev}); k == unaligned && dev == device.CPU {
		moved := append(make([]byte, 1, 64+n*dt.Size()), encode(raw, dt)...) // so much begins at an even address
		store = core.Fixed(moved[1:], dt, []int{n}, &moved)
	}
	v = core.View(core.Apply{Op: &layoutOp, In: []*core.Tensor{store}}, l, nil)
	if err := v.Err(); err != nil {
		return nil, nil, fmt.Errorf("building a %s operand of shape %v: %w", k, shape, err)
	}
	return v, store, nil
}

// advance steps a row-major index.
func advance(index, shape []int) {
	for a := len(index) - 1; a >= 0; a-- {
		if index[a]++; index[a] < shape[a] {
			return
		}
		index[a] = 0
	}
}
