package core

import (
	"math"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// printer holds how the shown elements of a tensor are written.
type printer struct {
	o       FormatOptions
	dtype   ir.DType
	shape   []int  // the tensor's
	shown   []int  // its edges' where it is summarised
	raw     []byte // the elements of shown, row-major
	summary bool
	number  column // or the real parts
	imag    column
}

// A column is the one format that all shown numbers share.
type column struct {
	verb   byte // 'f' or 'e'
	digits int  // after the point
	point  bool // whole floats print as "2."
	width  int
}

// print returns the elements in brackets, the first line being indented by indent.
func (p *printer) print(indent int) string {
	if ir.NumElements(p.shape) == 0 {
		return "[]"
	}
	p.number = p.column(func(v ir.Scalar) float64 { return real(v.Complex()) })
	if p.dtype.IsComplex() {
		p.imag = p.column(func(v ir.Scalar) float64 { return imag(v.Complex()) })
	}
	for i := range len(p.raw) / p.dtype.Size() {
		p.measure(p.value(i))
	}
	var b strings.Builder
	p.write(&b, 0, 0, indent)
	return b.String()
}

// column decides between fixed and scientific notation for one part of the shown
// elements, as PyTorch does: by the sizes of those that are finite and not 0.
func (p *printer) column(part func(ir.Scalar) float64) column {
	c := column{verb: 'f', digits: p.o.Precision}
	if !p.dtype.IsFloat() && !p.dtype.IsComplex() {
		return c
	}
	whole, low, high := true, math.Inf(1), 0.0
	for i := range len(p.raw) / p.dtype.Size() {
		a := math.Abs(part(p.value(i)))
		if math.IsNaN(a) || math.IsInf(a, 0) || a == 0 {
			continue
		}
		whole = whole && a == math.Trunc(a)
		low, high = min(low, a), max(high, a)
	}
	switch {
	case high > 0 && (high/low > 1000 || high > 1e8 || low < 1e-4):
		c.verb = 'e'
	case whole:
		c.digits, c.point = 0, true
	}
	return c
}

// measure widens the columns to hold v. Imaginary parts are not padded.
func (p *printer) measure(v ir.Scalar) {
	if p.dtype.IsComplex() {
		p.number.width = max(p.number.width, len(p.number.format(real(v.Complex()))))
		p.imag.width = max(p.imag.width, len(p.imag.format(imag(v.Complex()))))
		return
	}
	p.number.width = max(p.number.width, len(p.text(v)))
}

// value returns an element of what is shown.
func (p *printer) value(i int) ir.Scalar {
	return decode(p.raw[i*p.dtype.Size():], p.dtype)
}

// text formats a number that is not complex.
func (p *printer) text(v ir.Scalar) string {
	switch {
	case p.dtype == ir.Bool:
		return strconv.FormatBool(v.Bool())
	case p.dtype.IsInt():
		return strconv.FormatInt(v.Int(), 10)
	}
	return p.number.format(v.Float())
}

// element formats an element of what is shown, at the column's width.
func (p *printer) element(i int) string {
	v := p.value(i)
	if !p.dtype.IsComplex() {
		return pad(p.text(v), p.number.width)
	}
	c := v.Complex()
	im := p.imag.format(imag(c)) + "j"
	if im[0] != '-' {
		im = "+" + im
	}
	return pad(p.number.format(real(c)), p.number.width) + im
}

func pad(s string, width int) string { return strings.Repeat(" ", max(0, width-len(s))) + s }

func (c *column) format(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, c.verb, c.digits, 64)
	if c.point {
		s += "."
	}
	return s
}

// elementWidth is the width of an element with the comma and space behind it.
func (p *printer) elementWidth() int {
	w := p.number.width + 2
	if p.dtype.IsComplex() {
		w += p.imag.width + 1 // a sign that is not written takes the place of the j
	}
	return w
}

// write prints the elements along axis and those after it, of which the first is
// base, behind indent characters.
func (p *printer) write(b *strings.Builder, axis, base, indent int) {
	if axis == len(p.shape) {
		b.WriteString(p.element(base))
		return
	}
	rest := len(p.shape) - axis - 1
	inner := ir.NumElements(p.shown[axis+1:])
	edge := p.shown[axis]
	if p.cut(axis) {
		edge = p.o.EdgeItems
	}
	perLine := max(1, (p.o.LineWidth-indent)/p.elementWidth())
	separate := func(i int) {
		switch {
		case i == 0:
		case rest > 0:
			b.WriteString("," + strings.Repeat("\n", rest) + strings.Repeat(" ", indent+1))
		case i%perLine == 0:
			b.WriteString(",\n" + strings.Repeat(" ", indent+1))
		default:
			b.WriteString(", ")
		}
	}
	b.WriteByte('[')
	place := 0 // in the row, the dots counting
	for i := range p.shown[axis] {
		if i == edge {
			separate(place)
			p.dots(b, rest, place)
			place++
		}
		separate(place)
		p.write(b, axis+1, base+i*inner, indent+1)
		place++
	}
	if p.shown[axis] == 0 {
		p.dots(b, rest, 0)
	}
	b.WriteByte(']')
}

// cut reports whether elements along axis are left out.
func (p *printer) cut(axis int) bool { return p.summary && p.shown[axis] < p.shape[axis] }

// dots stand for the elements that are left out. Among numbers they are set off.
func (p *printer) dots(b *strings.Builder, rest, place int) {
	if rest == 0 && place > 0 {
		b.WriteByte(' ')
	}
	b.WriteString("...")
}
