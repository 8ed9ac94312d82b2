// Package opaque is the definition of the operators whose body is opaque
// (ir.Opaque), because no scalar expression says what they compute: one slow and obvious function for each kernel entry of ops.yaml,
// written from the mathematics over decoded elements. It shares no code with
// any other backend and knows nothing of how calls are made.
//
// Operands are read in the compute dtype. Arithmetic is wider than that
// (float64 for float32, 160 bits for float64, exact for integers, which wrap as
// they are stored) and results are rounded once. All operands are read before
// any result is written, so results may overlap operands. Errors do not name
// the operator: the caller does.
package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/ref/element"
	"github.com/sinter-go/sinter/ir"
)

// A tensor is a decoded operand or result, in row-major order.
type tensor[T any] struct {
	shape []int
	v     []T
}

func newTensor[T any](shape []int, fill T) tensor[T] {
	t := tensor[T]{shape, make([]T, ir.NumElements(shape))}
	for i := range t.v {
		t.v[i] = fill
	}
	return t
}

// at returns the element with the given coordinates.
func (t tensor[T]) at(coords []int) *T {
	return &t.v[position(t.shape, coords)]
}

// position returns the row-major position of coordinates.
func position(shape, coords []int) int {
	i := 0
	for a, n := range shape {
		i = i*n + coords[a]
	}
	return i
}

// each calls f with the coordinates of every element of shape in row-major
// order. f must not keep the slice, and may change it.
func each(shape []int, f func(coords []int)) {
	at := make([]int, len(shape))
	for i := range ir.NumElements(shape) {
		locate(at, shape, i)
		f(at)
	}
}

// coordinates returns the coordinates of row-major position i.
func coordinates(shape []int, i int) []int {
	at := make([]int, len(shape))
	locate(at, shape, i)
	return at
}

// locate sets at to the coordinates of row-major position i.
func locate(at, shape []int, i int) {
	for a := len(shape) - 1; a >= 0; a-- {
		at[a] = i % shape[a]
		i /= shape[a]
	}
}

// load decodes an operand as dtype.
func load(v ir.View, dtype ir.DType) tensor[ir.Scalar] {
	t := newTensor(v.Shape, ir.Scalar{})
	for i := range t.v {
		t.v[i] = element.Convert(element.Load(v, i), dtype)
	}
	return t
}

// store writes results that were computed in dtype.
func store(v ir.View, t tensor[ir.Scalar], dtype ir.DType) {
	for i, s := range t.v {
		element.StoreFrom(v, i, s, dtype)
	}
}

// A line is the elements of a tensor that differ in their coordinate along one
// axis only, as positions.
type line []int

// lines returns the lines of a shape along axis. A scalar is one line of one
// element.
func lines(shape []int, axis int) []line {
	if len(shape) == 0 {
		return []line{{0}}
	}
	var all []line
	step := ir.NumElements(shape[axis+1:])
	each(shape, func(coords []int) {
		if coords[axis] != 0 {
			return
		}
		first := position(shape, coords)
		l := make(line, shape[axis])
		for k := range l {
			l[k] = first + k*step
		}
		all = append(all, l)
	})
	return all
}

// axisOf returns attribute i, an axis of shape, counted from the front.
func axisOf(c *ir.Call, i int, shape []int) (int, error) {
	return ir.Axis(int(c.Attrs[i].Int), len(shape))
}

// indexOf decodes an operand as indices into an axis of n elements.
func indexOf(v ir.View, axis, n int) (tensor[int], error) {
	t := newTensor(v.Shape, 0)
	for i, s := range load(v, ir.Int64).v {
		if s.Int() < 0 || s.Int() >= int64(n) {
			return t, fmt.Errorf("index %s at position %v is out of range for axis %d with %d elements (%s)",
				s, coordinates(v.Shape, i), axis, n, ir.WantBelow(n))
		}
		t.v[i] = int(s.Int())
	}
	return t, nil
}
