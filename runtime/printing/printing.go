// Package printing writes the elements of an array as PyTorch does: in nested brackets,
// as columns of one format, without the middle of large arrays. It knows nothing of
// tensors.
package printing

import (
	"math"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// Options say how arrays are written.
type Options struct {
	Precision   int // digits after the decimal point
	MaxElements int // arrays of more elements are summarised
	EdgeItems   int // elements shown at each end of a summarised axis
	LineWidth   int // characters a line
}

// Default is four decimals.
var Default = Options{Precision: 4, MaxElements: 1000, EdgeItems: 3, LineWidth: 80}

// An Array is what is written.
type Array struct {
	DType ir.DType
	Shape []int
	Shown []int                 // less than Shape along axes whose middle is left out
	Value func(i int) ir.Scalar // the elements of Shown, row-major
}

// Text returns the elements in brackets, the first line being indented by indent.
func (o Options) Text(a Array, indent int) string {
	o.EdgeItems = max(o.EdgeItems, 0)
	return (&printer{Array: a, o: o}).print(indent)
}

// printer holds how the shown elements of an array are written.
type printer struct {
	Array
	o      Options
	number column // or the real parts
	imag   column
}

// A column is the one format that all shown numbers share.
type column struct {
	verb   byte // 'f' or 'e'
	digits int  // after the point
	point  bool // whole floats print as "2."
	width  int
}

// print is Text.
func (p *printer) print(indent int) string {
	if ir.NumElements(p.Shape) == 0 {
		return "[]"
	}
	p.number = p.column(func(v ir.Scalar) float64 { return real(v.Complex()) })
	if p.DType.IsComplex() {
		p.imag = p.column(func(v ir.Scalar) float64 { return imag(v.Complex()) })
	}
	for i := range ir.NumElements(p.Shown) {
		p.measure(p.Value(i))
	}
	var b strings.Builder
	p.write(&b, 0, 0, indent)
	return b.String()
}

// column decides between fixed and scientific notation for one part of the shown
// elements, as PyTorch does: by the sizes of those that are finite and not 0.
func (p *printer) column(part func(ir.Scalar) float64) column {
	c := column{verb: 'f', digits: p.o.Precision}
	if !p.DType.IsFloat() && !p.DType.IsComplex() {
		return c
	}
	whole, low, high := true, math.Inf(1), 0.0
	for i := range ir.NumElements(p.Shown) {
		a := math.Abs(part(p.Value(i)))
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
	if p.DType.IsComplex() {
		p.number.width = max(p.number.width, len(p.number.format(real(v.Complex()))))
		p.imag.width = max(p.imag.width, len(p.imag.format(imag(v.Complex()))))
		return
	}
	p.number.width = max(p.number.width, len(p.text(v)))
}

// text formats a number that is not complex.
func (p *printer) text(v ir.Scalar) string {
	switch {
	case p.DType == ir.Bool:
		return strconv.FormatBool(v.Bool())
	case p.DType.IsInt():
		return v.String()
	}
	return p.number.format(v.Float())
}

// element formats an element of what is shown, at the column's width.
func (p *printer) element(i int) string {
	v := p.Value(i)
	if !p.DType.IsComplex() {
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
	if p.DType.IsComplex() {
		w += p.imag.width + 1 // a sign that is not written takes the place of the j
	}
	return w
}

// write prints the elements along axis and those after it, of which the first is
// base, behind indent characters.
func (p *printer) write(b *strings.Builder, axis, base, indent int) {
	if axis == len(p.Shape) {
		b.WriteString(p.element(base))
		return
	}
	rest := len(p.Shape) - axis - 1
	inner := ir.NumElements(p.Shown[axis+1:])
	edge := p.Shown[axis]
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
	for i := range p.Shown[axis] {
		if i == edge {
			separate(place)
			p.dots(b, rest, place)
			place++
		}
		separate(place)
		p.write(b, axis+1, base+i*inner, indent+1)
		place++
	}
	if p.Shown[axis] == 0 {
		p.dots(b, rest, 0)
	}
	b.WriteByte(']')
}

// cut reports whether elements along axis are left out.
func (p *printer) cut(axis int) bool { return p.Shown[axis] < p.Shape[axis] }

// dots stand for the elements that are left out. Among numbers they are set off.
func (p *printer) dots(b *strings.Builder, rest, place int) {
	if rest == 0 && place > 0 {
		b.WriteByte(' ')
	}
	b.WriteString("...")
}
