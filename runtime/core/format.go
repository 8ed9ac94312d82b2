package core

import (
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/option"
	"github.com/sinter-go/sinter/runtime/printing"
)

// String formats the tensor as usual, after waiting for its elements.
func (t *Tensor) String() string { return t.Format(printing.Default) }

const opening = "tensor("

// FormatWith is Format with what the options change of printing.Default.
func (t *Tensor) FormatWith(opts []option.Option) string {
	r, o := option.Read(opts), printing.Default
	o.Precision, o.MaxElements = r.Int("Precision", o.Precision), r.Int("MaxElements", o.MaxElements)
	o.EdgeItems, o.LineWidth = r.Int("EdgeItems", o.EdgeItems), r.Int("LineWidth", o.LineWidth)
	if err := of("format", r.Err("Precision, MaxElements, EdgeItems, LineWidth")); err != nil {
		return opening + "error: " + err.Error() + ")"
	}
	return t.Format(o)
}

// Format returns the tensor's elements in nested brackets, followed by what is
// not the default: device, dtype, the operator that made it. Of a tensor that is
// summarised, only the elements that are shown are copied to the host.
func (t *Tensor) Format(o printing.Options) string {
	if err := t.Err(); err != nil {
		return opening + "error: " + err.Error() + ")"
	}
	shown, raw, err := t.layout.Shape, []byte(nil), error(nil)
	if t.NumElements() > o.MaxElements {
		shown, raw, err = t.edges(max(o.EdgeItems, 0))
	} else {
		raw, err = Bytes(t)
	}
	if err != nil {
		return opening + "error: " + err.Error() + ")"
	}
	size := t.dtype.Size()
	a := printing.Array{DType: t.dtype, Shape: t.layout.Shape, Shown: shown, Value: func(i int) ir.Scalar { return decode(raw[i*size:], t.dtype) }}
	return joined(opening+o.Text(a, len(opening)), t.suffixes(), o.LineWidth)
}

// suffixes say what the elements do not show: an accelerator, a dtype that is not a
// default one, the shape where there are no elements, the part in differentiation.
func (t *Tensor) suffixes() []string {
	var out []string
	n := t.NumElements()
	if t.dev.Accelerator() {
		out = append(out, fmt.Sprintf("device='%s'", t.dev))
	}
	if n == 0 && len(t.layout.Shape) != 1 {
		out = append(out, "size="+strings.ReplaceAll(fmt.Sprint(t.layout.Shape), " ", ", "))
	}
	if !t.dtypeShown() || n == 0 && t.dtype != DefaultFloat() {
		out = append(out, "dtype="+t.dtype.String())
	}
	switch {
	case !t.IsLeaf():
		out = append(out, fmt.Sprintf("grad_fn=<%s>", t.GradFn()))
	case t.RequiresGrad():
		out = append(out, "requires_grad=true")
	}
	return out
}

// joined puts suffixes behind text, each on a new line where it would pass the
// line's width.
func joined(text string, suffixes []string, width int) string {
	var b strings.Builder
	b.WriteString(text)
	column := len(text) - strings.LastIndexByte(text, '\n') + 1
	for _, s := range suffixes {
		if column+len(s)+2 > width {
			b.WriteString(",\n" + strings.Repeat(" ", len(opening)) + s)
			column = len(opening) + len(s)
		} else {
			b.WriteString(", " + s)
			column += len(s) + 2
		}
	}
	b.WriteByte(')')
	return b.String()
}

// dtypeShown reports whether the printed elements alone tell the dtype.
func (t *Tensor) dtypeShown() bool {
	return t.dtype == DefaultFloat() || t.dtype == ir.Int64 || t.dtype == ir.Bool || t.dtype == defaultComplex()
}

// edges returns the first and the last edge elements along every axis that has more
// than both, row-major and in host memory, and their shape.
func (t *Tensor) edges(edge int) (shape []int, raw []byte, err error) {
	shape = append([]int(nil), t.layout.Shape...)
	for i, n := range shape {
		shape[i] = min(n, 2*edge)
	}
	size := t.dtype.Size()
	raw = make([]byte, ir.NumElements(shape)*size)
	if len(raw) == 0 {
		return shape, raw, nil
	}
	err = t.corners(shape, 0, t.layout, ir.Layout{Shape: shape, Strides: ir.ContiguousStrides(shape)}, func(from, to ir.Layout) error {
		block := t.alias()
		defer block.Release()
		block.layout = from
		return block.read(func(elements []byte) { spread(raw, to, elements, size) })
	})
	return shape, raw, err
}

// corners calls f with every block of t that edges shows, as a part of t and as a
// part of what shows it. Axes before axis were cut already.
func (t *Tensor) corners(shape []int, axis int, from, to ir.Layout, f func(from, to ir.Layout) error) error {
	if axis == len(shape) {
		return f(from, to)
	}
	have, show := from.Shape[axis], shape[axis]
	if have == show {
		return t.corners(shape, axis+1, from, to, f)
	}
	for _, begin := range [][2]int{{0, 0}, {have - show/2, show / 2}} {
		if err := t.corners(shape, axis+1, part(from, axis, begin[0], show/2), part(to, axis, begin[1], show/2), f); err != nil {
			return err
		}
	}
	return nil
}

// part returns n elements from begin on along one axis of l.
func part(l ir.Layout, axis, begin, n int) ir.Layout {
	shape := append([]int(nil), l.Shape...)
	shape[axis] = n
	return ir.Layout{Shape: shape, Strides: l.Strides, Offset: l.Offset + begin*l.Strides[axis]}
}

// spread writes the elements in from, row-major and size bytes each, to where l has
// them in to.
func spread(to []byte, l ir.Layout, from []byte, size int) {
	if len(l.Shape) == 0 {
		copy(to[l.Offset*size:], from[:size])
		return
	}
	inner := len(from) / l.Shape[0]
	for i := range l.Shape[0] {
		row := ir.Layout{Shape: l.Shape[1:], Strides: l.Strides[1:], Offset: l.Offset + i*l.Strides[0]}
		spread(to, row, from[i*inner:(i+1)*inner], size)
	}
}
