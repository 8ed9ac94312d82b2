package opaque

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// part returns the view of v that starts at the given position of each axis and
// has the given shape.
func part(v ir.View, start, shape []int) ir.View {
	off := 0
	for i, s := range start {
		off += s * v.Strides[i]
	}
	v.Ptr, v.Shape = unsafe.Add(v.Ptr, off*v.DType.Size()), shape
	return v
}

// Cat joins the operands along attribute dim.
func Cat(c *ir.Call) error {
	out := c.Out[0]
	axis, err := axisOf(c, 0, out.Shape)
	if err != nil {
		return err
	}
	start := make([]int, len(out.Shape))
	for _, x := range c.In {
		if x.NumElements() > 0 {
			tile.Copy(part(out, start, x.Shape), x)
		}
		if axis < len(x.Shape) {
			start[axis] += x.Shape[axis]
		}
	}
	return nil
}

// PadConstant surrounds x with a value. Attributes: padding, the elements to add
// before and after the last axis, then the axis before it, and so on; value.
func PadConstant(c *ir.Call) error {
	x, out, padding := c.In[0], c.Out[0], c.Attrs[0].Ints
	if out.NumElements() == 0 {
		return nil
	}
	rank := len(x.Shape)
	from, to, shape := make([]int, rank), make([]int, rank), slices.Clone(x.Shape)
	for i := 0; i+1 < len(padding); i += 2 {
		a := rank - 1 - i/2
		before, after := padding[i], padding[i+1]
		from[a], to[a] = max(-before, 0), max(before, 0)
		shape[a] = max(0, x.Shape[a]+min(before, 0)+min(after, 0))
	}
	if slices.Equal(shape, out.Shape) {
		tile.Copy(out, part(x, from, shape))
		return nil
	}
	one := tile.NewDense(out.DType, []int{1})
	fill(one, c.Attrs[1].Scalar, c.Compute)
	if ir.NumElements(shape) > 0 && padPlanes(out, part(x, from, shape), to, one.Ptr) {
		return nil
	}
	one.Shape, one.Strides = out.Shape, make([]int, rank)
	tile.Copy(out, one)
	if ir.NumElements(shape) > 0 {
		tile.Copy(part(out, to, shape), part(x, from, shape))
	}
	return nil
}

// Elements of a matrix that is filled, and then written into while a cache holds it.
const leastPlane, mostPlane = 64, 32 * 1024

// padPlanes puts x into out at the given place, and the element at one around it, matrix by
// matrix of the last two axes. It reports false, and does nothing, where these do not suit it.
func padPlanes(out, x ir.View, to []int, one unsafe.Pointer) bool {
	lead := len(out.Shape) - 2
	if lead < 0 || !out.IsContiguous() || x.DType != out.DType || x.Strides[lead+1] != 1 {
		return false
	}
	width, size := out.Shape[lead+1], out.DType.Size()
	plane := out.Shape[lead] * width
	if plane < leastPlane || plane > mostPlane {
		return false
	}
	level, fill := simd.Active(), move.Fill(simd.Active(), size)
	at := (to[lead]*width + to[lead+1]) * size
	pool.For(ir.NumElements(out.Shape[:lead]), max(1, moveWork/plane), func(lo, hi int) {
		for ; lo < hi; lo++ {
			target := unsafe.Add(out.Ptr, lo*plane*size)
			fill(target, one, plane)
			if off, inside := placeIn(x, out.Shape[:lead], to, lo); inside {
				move.CopyRows(level, unsafe.Add(target, at), unsafe.Add(x.Ptr, off*size), x.Shape[lead], x.Shape[lead+1]*size, width*size, x.Strides[lead]*size)
			}
		}
	})
	return true
}

// placeIn returns the offset in x, which begins at place to of a tensor, of row-major position
// i of that tensor's first axes, and whether x has it.
func placeIn(x ir.View, shape, to []int, i int) (off int, inside bool) {
	for a := len(shape) - 1; a >= 0; a-- {
		p := i%shape[a] - to[a]
		if p < 0 || p >= x.Shape[a] {
			return 0, false
		}
		off += p * x.Strides[a]
		i /= shape[a]
	}
	return off, true
}

// fill sets every element of v to s, as a number of dtype compute.
func fill(v ir.View, s ir.Scalar, compute ir.DType) {
	wide := s.Complex()
	if compute == ir.Bool || compute.IsInt() {
		n := s.Int()
		if compute == ir.Bool && s.Bool() {
			n = 1
		}
		repeat(v, ir.Int64, compute, unsafe.Pointer(&n))
		return
	}
	repeat(v, ir.Complex128, compute, unsafe.Pointer(&wide))
}

// repeat sets every element of v to the number of dtype from at p, rounded to
// compute first.
func repeat(v ir.View, from, compute ir.DType, p unsafe.Pointer) {
	var one [2]uint64
	convert.Between(compute, from)(1, unsafe.Pointer(&one), 1, p, 1)
	src := ir.View{Ptr: unsafe.Pointer(&one), DType: compute, Shape: v.Shape, Strides: make([]int, len(v.Shape))}
	tile.Copy(v, src)
}

// Flip reverses x along the axes in attribute dims.
func Flip(c *ir.Call) error {
	x := c.In[0]
	if x.NumElements() == 0 {
		return nil
	}
	x.Strides = slices.Clone(x.Strides)
	for _, d := range c.Attrs[0].Ints {
		axis, err := ir.Axis(d, len(x.Shape))
		if err != nil {
			return err
		}
		if axis < len(x.Shape) {
			x.Ptr = unsafe.Add(x.Ptr, (x.Shape[axis]-1)*x.Strides[axis]*x.DType.Size())
			x.Strides[axis] = -x.Strides[axis]
		}
	}
	tile.Copy(c.Out[0], x)
	return nil
}

// Band copies the matrices in the last two axes of x, with zeros where column less
// row is not from attribute first to attribute last.
func Band(c *ir.Call) error {
	shape := c.In[0].Shape
	if len(shape) < 2 {
		return fmt.Errorf("x must have two axes or more, not shape %v", shape)
	}
	rows, cols, n := shape[len(shape)-2], shape[len(shape)-1], ir.NumElements(shape)
	if n == 0 {
		return nil
	}
	first, last := min(max(int(c.Attrs[0].Int), -rows), cols), min(max(int(c.Attrs[1].Int), -rows), cols)
	x := tile.Dense(c.In[0], c.In[0].DType)
	d := tile.TargetOf(c.Out[0], x.DType)
	size := x.DType.Size()
	from, to := unsafe.Slice((*byte)(x.Ptr), n*size), unsafe.Slice((*byte)(d.Ptr), n*size)
	pool.For(n/cols, max(1, moveWork/cols), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			start := min(max(r%rows+first, 0), cols)
			end := max(start, min(r%rows+last+1, cols))
			a, b := (r*cols+start)*size, (r*cols+end)*size
			clear(to[r*cols*size : a])
			copy(to[a:b], from[a:b])
			clear(to[b : (r+1)*cols*size])
		}
	})
	tile.Finish(c.Out[0], d)
	return nil
}

// nonzeroPiece is how many elements one processor looks through at a time.
const nonzeroPiece = 1 << 15

// NonzeroSized returns the positions of x's nonzero elements, of which there
// must be as many as attribute n says, one row of axis indices each.
func NonzeroSized(c *ir.Call) error {
	shape, want := c.In[0].Shape, int(c.Attrs[0].Int)
	nonzero := in[uint8](c, 0, ir.Bool)
	before := nonzeroBefore(nonzero)
	if have := before[len(before)-1]; have != want {
		return fmt.Errorf("x has %d nonzero elements, not %d", have, want)
	}
	d := tile.TargetOf(c.Out[0], ir.Int64)
	at, rank := tile.Elements[int64](d), len(shape)
	if rank > 0 {
		eachNonzeroPiece(nonzero, func(p int, piece []uint8) {
			places(at[before[p]*rank:before[p+1]*rank], piece, shape, p*nonzeroPiece)
		})
	}
	tile.Finish(c.Out[0], d)
	return nil
}

// eachNonzeroPiece calls f for the pieces of a mask, on all processors.
func eachNonzeroPiece(mask []uint8, f func(p int, piece []uint8)) {
	pool.For((len(mask)+nonzeroPiece-1)/nonzeroPiece, 1, func(lo, hi int) {
		for p := lo; p < hi; p++ {
			f(p, mask[p*nonzeroPiece:min((p+1)*nonzeroPiece, len(mask))])
		}
	})
}

// nonzeroBefore returns how many bytes are nonzero before each piece of a mask, and
// in all.
func nonzeroBefore(mask []uint8) []int {
	before := make([]int, (len(mask)+nonzeroPiece-1)/nonzeroPiece+1)
	eachNonzeroPiece(mask, func(p int, piece []uint8) { before[p+1] = countNonzero(piece) })
	for p := range len(before) - 1 {
		before[p+1] += before[p]
	}
	return before
}

// MaskedSelectSized returns the elements of x at the places where mask, which has
// x's shape, is not zero: as many as attribute n says.
func MaskedSelectSized(c *ir.Call) error {
	want := int(c.Attrs[0].Int)
	mask := in[uint8](c, 1, ir.Bool)
	before := nonzeroBefore(mask)
	if have := before[len(before)-1]; have != want {
		return fmt.Errorf("mask has %d nonzero elements, not %d", have, want)
	}
	if want == 0 {
		return nil
	}
	x := tile.Dense(c.In[0], c.Out[0].DType)
	d := tile.TargetOf(c.Out[0], x.DType)
	switch x.DType.Size() {
	case 1:
		selectMasked[uint8](d, x, mask, before)
	case 2:
		selectMasked[uint16](d, x, mask, before)
	case 4:
		selectMasked[uint32](d, x, mask, before)
	case 8:
		selectMasked[uint64](d, x, mask, before)
	default:
		selectMasked[[2]uint64](d, x, mask, before)
	}
	tile.Finish(c.Out[0], d)
	return nil
}

// selectMasked moves elements of a size. It writes one before it knows whether it is
// chosen, where there is room.
func selectMasked[T any](out, x ir.View, mask []uint8, before []int) {
	to, from := unsafe.Slice((*T)(out.Ptr), before[len(before)-1]), unsafe.Slice((*T)(x.Ptr), len(mask))
	eachNonzeroPiece(mask, func(p int, piece []uint8) {
		to, from, n := to[before[p]:before[p+1]], from[p*nonzeroPiece:], 0
		for i := 0; i < len(piece) && n < len(to); i++ {
			to[n] = from[i]
			n += isNonzero(piece[i])
		}
	})
}

// countNonzero returns how many bytes are not zero.
func countNonzero(b []uint8) (n int) {
	const low = 0x7f7f7f7f7f7f7f7f
	for ; len(b) >= 8; b = b[8:] {
		w := binary.NativeEndian.Uint64(b)
		n += bits.OnesCount64((w&low + low | w) &^ low)
	}
	for _, v := range b {
		n += isNonzero(v)
	}
	return n
}

func isNonzero(v uint8) int { return int((v | -v) >> 7) }

// places writes to out, which has room for no more, the axis indices of those
// elements that are nonzero, from row-major position i of a shape on. It writes an
// element's last index before it knows whether it is one.
func places(out []int64, nonzero []uint8, shape []int, i int) {
	rank := len(shape)
	last := shape[rank-1]
	for len(out) > 0 {
		row, col := i/last, i%last
		run := nonzero[:min(last-col, len(nonzero))]
		found := 0
		for j := 0; j < len(run) && found < len(out); j++ {
			out[found+rank-1] = int64(col + j)
			found += rank & -isNonzero(run[j])
		}
		if found > 0 {
			for a := rank - 2; a >= 0; a-- {
				out[a] = int64(row % shape[a])
				row /= shape[a]
			}
			for k := rank; k < found; k += rank {
				copy(out[k:k+rank-1], out)
			}
		}
		out, nonzero, i = out[found:], nonzero[len(run):], i+len(run)
	}
}
