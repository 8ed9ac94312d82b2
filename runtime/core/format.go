package core

import (
	"fmt"
	"math"
	"math/cmplx"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// FormatOptions adjusts how tensors are printed.
type FormatOptions struct {
	Precision int // digits after the decimal point
	Threshold int // tensors of more elements are summarised
	Edge      int // elements shown at each end of a summarised axis
	LineWidth int // characters a line
}

// DefaultFormat prints as S65 describes: four decimals and aligned columns.
var DefaultFormat = FormatOptions{Precision: 4, Threshold: 1000, Edge: 3, LineWidth: 80}

// String formats the tensor with DefaultFormat, after waiting for its elements.
func (t *Tensor) String() string { return t.Format(DefaultFormat) }

// Format returns the tensor's elements in nested brackets, followed by what is
// not the default: device, dtype, the operator that made it.
func (t *Tensor) Format(o FormatOptions) string {
	if err := t.Err(); err != nil {
		return "tensor(error: " + err.Error() + ")"
	}
	raw, err := Bytes(t)
	if err != nil {
		return "tensor(error: " + err.Error() + ")"
	}
	n := t.NumElements()
	p := printer{o: o, dtype: t.dtype, raw: raw, summary: n > o.Threshold}
	p.chooseFormat(t.layout.Shape)
	var b strings.Builder
	b.WriteString("tensor(")
	if n == 0 {
		b.WriteString("[]")
	} else {
		p.write(&b, t.layout.Shape, 0, len("tensor(")+1)
	}
	if t.dev.Accelerator() {
		fmt.Fprintf(&b, ", device='%s'", t.dev)
	}
	if n == 0 && len(t.layout.Shape) != 1 {
		fmt.Fprintf(&b, ", size=%s", strings.ReplaceAll(fmt.Sprint(t.layout.Shape), " ", ", "))
	}
	if !t.dtypeShown() || n == 0 && t.dtype != DefaultFloat {
		fmt.Fprintf(&b, ", dtype=%s", t.dtype)
	}
	switch {
	case !t.IsLeaf():
		fmt.Fprintf(&b, ", grad_fn=<%s>", t.GradFn())
	case t.RequiresGrad():
		b.WriteString(", requires_grad=true")
	}
	b.WriteString(")")
	return b.String()
}

// dtypeShown reports whether the printed elements alone tell the dtype.
func (t *Tensor) dtypeShown() bool {
	return t.dtype == DefaultFloat || t.dtype == ir.Int64 || t.dtype == ir.Bool || t.dtype == ir.Complex64
}

// printer holds the one format that all shown elements share.
type printer struct {
	o       FormatOptions
	dtype   ir.DType
	raw     []byte // the elements, row-major
	summary bool
	verb    byte // 'f' or 'e'
	digits  int  // after the point
	point   bool // whole floats print as "2."
	width   int
}

// shown calls f with the index of every element that is printed.
func (p *printer) shown(shape []int, base, stride int, f func(i int)) {
	if len(shape) == 0 {
		f(base)
		return
	}
	inner := stride / shape[0]
	for i := 0; i < shape[0]; i++ {
		if p.summary && shape[0] > 2*p.o.Edge && i == p.o.Edge {
			if i = shape[0] - p.o.Edge; p.o.Edge == 0 {
				return
			}
		}
		p.shown(shape[1:], base+i*inner, inner, f)
	}
}

// chooseFormat picks fixed or scientific notation and the column width.
func (p *printer) chooseFormat(shape []int) {
	n := ir.NumElements(shape)
	if n == 0 {
		return
	}
	whole, low, high := true, math.Inf(1), 0.0
	p.shown(shape, 0, n, func(i int) {
		for _, part := range p.parts(i) {
			a := math.Abs(part)
			if math.IsNaN(a) || math.IsInf(a, 0) {
				continue
			}
			whole = whole && a == math.Trunc(a)
			if a != 0 {
				low, high = min(low, a), max(high, a)
			}
		}
	})
	p.verb, p.digits = 'f', p.o.Precision
	switch {
	case high > 0 && (high/low > 1000 || high > 1e8 || low < 1e-4):
		p.verb = 'e'
	case whole:
		p.digits, p.point = 0, true
	}
	p.shown(shape, 0, n, func(i int) { p.width = max(p.width, len(p.text(i))) })
}

func (p *printer) value(i int) ir.Scalar {
	return decode(p.raw[i*p.dtype.Size():], p.dtype)
}

func (p *printer) parts(i int) []float64 {
	v := p.value(i)
	switch {
	case p.dtype.IsComplex():
		return []float64{real(v.Complex()), imag(v.Complex())}
	case p.dtype.IsFloat():
		return []float64{v.Float()}
	}
	return nil
}

// text formats element i without padding.
func (p *printer) text(i int) string {
	v := p.value(i)
	switch {
	case p.dtype == ir.Bool:
		return strconv.FormatBool(v.Bool())
	case p.dtype.IsInt():
		return strconv.FormatInt(v.Int(), 10)
	case p.dtype.IsComplex():
		c := v.Complex()
		sign := "+"
		if im := imag(c); math.Signbit(im) && !cmplx.IsNaN(c) {
			sign = ""
		}
		return p.float(real(c)) + sign + p.float(imag(c)) + "j"
	}
	return p.float(v.Float())
}

func (p *printer) float(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, p.verb, p.digits, 64)
	if p.point {
		s += "."
	}
	return s
}

// write prints the elements of shape from base on, indented by indent.
func (p *printer) write(b *strings.Builder, shape []int, base, indent int) {
	if len(shape) == 0 {
		b.WriteString(p.text(base))
		return
	}
	inner := ir.NumElements(shape[1:])
	perLine := max(1, (p.o.LineWidth-indent+1)/(p.width+2))
	b.WriteByte('[')
	column := 0
	for i := 0; i < shape[0]; i++ {
		if i > 0 {
			b.WriteByte(',')
			switch {
			case len(shape) > 1:
				b.WriteString(strings.Repeat("\n", len(shape)-1))
				b.WriteString(strings.Repeat(" ", indent))
			case column >= perLine:
				b.WriteByte('\n')
				b.WriteString(strings.Repeat(" ", indent))
				column = 0
			default:
				b.WriteByte(' ')
			}
		}
		if p.summary && shape[0] > 2*p.o.Edge && i == p.o.Edge {
			if len(shape) == 1 && i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString("...")
			i = shape[0] - p.o.Edge - 1
			column++
			continue
		}
		if len(shape) == 1 {
			s := p.text(base + i)
			b.WriteString(strings.Repeat(" ", p.width-len(s)))
			b.WriteString(s)
			column++
			continue
		}
		p.write(b, shape[1:], base+i*inner, indent+1)
	}
	b.WriteByte(']')
}
