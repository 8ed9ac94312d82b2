package ptx

import (
	"fmt"
	"math"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// A Code is the body of a kernel that is being printed. Its registers have names of
// their own, which code of the library does not use.
type Code struct {
	lib       *Library
	registers map[string]int // how many there are, by class
	labels    int
	text      strings.Builder
	err       error
}

// NewCode returns a body without instructions.
func (l *Library) NewCode() *Code { return &Code{lib: l, registers: map[string]int{}} }

// Line adds an instruction, without its semicolon.
func (c *Code) Line(format string, args ...any) {
	fmt.Fprintf(&c.text, format, args...)
	c.text.WriteString(";\n")
}

// Register returns a new register of a class: b32, b64, f32, f64, or pred. Its name is %x,
// the class, and a number.
func (c *Code) Register(class string) string {
	c.registers[class]++
	return fmt.Sprintf("%%x%s_%d", class, c.registers[class])
}

// Let returns a new register of a class that has what an instruction computes, which is
// written without it: "add.s64 a, b".
func (c *Code) Let(class, format string, args ...any) string {
	op, rest, _ := strings.Cut(fmt.Sprintf(format, args...), " ")
	r := c.Register(class)
	c.Line("%s %s, %s", op, r, rest)
	return r
}

// Label returns the name of a new place.
func (c *Code) Label() string {
	c.labels++
	return fmt.Sprintf("$X%d", c.labels)
}

// At says that a place is here.
func (c *Code) At(label string) { fmt.Fprintf(&c.text, "%s:\n", label) }

// Body returns the code in its braces, with its registers; the error is the first of a
// value that cannot be computed.
func (c *Code) Body() (string, error) {
	var b strings.Builder
	b.WriteString("{\n")
	for _, class := range []string{"pred", "b32", "b64", "f32", "f64"} {
		if n := c.registers[class]; n > 0 {
			fmt.Fprintf(&b, ".reg .%s %%x%s_<%d>;\n", class, class, n+1)
		}
	}
	return b.String() + c.text.String() + "ret;\n}\n", c.err
}

// Fail has Body return an error, where that is the first one.
func (c *Code) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// call adds a call of a function of the library.
func (c *Code) call(name, class string, args ...string) string {
	b := c.lib.bodies[name]
	if b == nil || b.params != len(args) {
		c.Fail(fmt.Errorf("no code of %s was compiled ahead", name))
		return c.Register(class)
	}
	r := c.Register(class)
	c.text.WriteString(b.call(name, r, args))
	return r
}

// Load returns the value, in its compute dtype, of a register with the bits of an element.
func (c *Code) Load(d ir.DType, bits string) string {
	if d.Compute() != d {
		return c.call(load(d), Class(d.Compute()), bits)
	}
	return bits
}

// Store is Load's inverse.
func (c *Code) Store(d ir.DType, value string) string {
	if d.Compute() != d {
		return c.call(store(d), "b32", value)
	}
	return value
}

// Graph adds what computes a graph's values, of registers with what it names, and returns
// those of its results.
func (c *Code) Graph(g *expr.Graph, names map[string]string) []string {
	l := &language{c, g, names, map[*expr.Value]string{}}
	g.Print(l)
	list := make([]string, len(g.Roots))
	for i, root := range g.Roots {
		list[i] = l.register(root)
	}
	return list
}

// A language prints values as instructions. What it returns as source text is the name of
// a register.
type language struct {
	*Code
	g     *expr.Graph
	names map[string]string
	done  map[*expr.Value]string
}

// register returns the register that has a value.
func (l *language) register(v *expr.Value) string {
	r := l.done[v]
	if r == "" && v.Op == expr.OpName {
		r = l.names[v.Name]
	}
	if r == "" {
		l.Fail(fmt.Errorf("nothing is named %s", v.Name))
	}
	return r
}

// Name is not asked for the register of a value, which register finds.
func (l *language) Name(name string) string { return name }

// Constant puts a number into a register.
func (l *language) Constant(v *expr.Value) string {
	d := l.g.KindDType(v.Kind)
	s := v.Const
	text := ""
	switch nan := math.IsNaN(s.Float()); {
	case nan && d == ir.Float32:
		text = "0f7FC00000"
	case nan && d == ir.Float64:
		text = "0d7FF8000000000000"
	default:
		text = literal(d, s)
	}
	l.done[v] = l.Let(Class(d), "mov.%s %s", Class(d), text)
	return l.done[v]
}

// literal spells a number that is not NaN.
func literal(d ir.DType, s ir.Scalar) string {
	switch d {
	case ir.Float32:
		return fmt.Sprintf("0f%08X", math.Float32bits(float32(s.Float())))
	case ir.Float64:
		return fmt.Sprintf("0d%016X", math.Float64bits(s.Float()))
	case ir.Bool:
		if s.Bool() {
			return "1"
		}
		return "0"
	}
	return fmt.Sprint(s.Int())
}

// Call calls the library.
func (l *language) Call(v *expr.Value, args []expr.Part) expr.Part {
	var list []string
	for _, a := range args {
		list = append(list, l.register(a.Value))
	}
	if expr.Draws(v.Name) {
		list = append(list, l.names["index"])
	}
	r := l.call(functionName(l.g, v), Class(l.g.KindDType(v.Kind)), list...)
	l.done[v] = r
	return expr.Part{Text: r, Prec: expr.Atom}
}
