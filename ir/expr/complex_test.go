package expr

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestComplexGradients holds gradients against central differences of a real
// loss: with out = f(x) and loss = Re(conj(w)·out), the gradient of loss is
// d loss/d Re(x) + i d loss/d Im(x) for dy = w.
func TestComplexGradients(t *testing.T) {
	const h = 1e-6
	x, y, w := complex(0.6, -0.4), complex(-0.3, 0.8), complex(0.7, 0.2)
	value := func(e *Expr, x complex128) complex128 {
		g, err := e.Check(ir.Complex128)
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		v, err := Interpret(g, double{}, map[string]Number[float64]{
			"x": {Complex: x}, "y": {Complex: y}, "dy": {Complex: w}, "p": {Complex: 0.25}, "n": {Int: 3}})
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		if g.Result() == ir.Float64 {
			return complex(v.Float, 0)
		}
		return v.Complex
	}
	for _, src := range []string{
		"x", "x*x*y", "x/y", "y/x", "exp(x)*sin(x)", "sqrt(x)", "rsqrt(x)", "log(x)", "tanh(x*y)", "pow(x, y)", "pow(y, x)", "sigmoid(x)",
		"acosh(x)", "asinh(x)", "atanh(x)", "acos(x)", "asin(x)", "atan(x)", "cosh(x)", "sinh(x)", "tan(x)", "cos(x)", "exp2(x)", "expm1(x)", "log1p(x)", "log2(x)", "log10(x)",
		"abs(x)", "abs(x*x)", "real(x*y)", "imag(x)", "conj(x)*x", "angle(x)", "abs(x)*x", "x/abs(x)", "complex(imag(x), real(x))",
		"where(abs(x) > 1, x, x*conj(x))", "exp(-abs(x)*abs(x))", "max(real(x), imag(x))*x",
	} {
		e := mustParse(t, src)
		e.Env = withoutDy
		d, err := e.Gradient("x", true)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		g, err := e.Check(ir.Complex128)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		weight := w
		if g.Result() == ir.Float64 { // the gradient of a real result is real
			weight = complex(real(w), 0)
		}
		loss := func(x complex128) float64 { return real(cmplx.Conj(weight) * value(e, x)) }
		want := complex((loss(x+h)-loss(x-h))/(2*h), (loss(x+h*1i)-loss(x-h*1i))/(2*h))
		// dy of a real result has no imaginary part.
		dy := name(GradName)
		if weight != w {
			dy = call("cast", call("real", dy))
		}
		bound := &Expr{d.Root.replace(map[string]*Node{GradName: dy}), d.Env}
		if got := value(bound, x); cmplx.Abs(got-want) > 1e-7 {
			t.Errorf("gradient of %s = %s = %v, central difference %v", src, d, got, want)
		}
	}
}

// TestQuotients holds that a gradient divides by what a derivative divides by: a product with
// a reciprocal is rounded twice.
func TestQuotients(t *testing.T) {
	for _, c := range []struct{ src, real, complexToo string }{
		{"x/y", "dy/y", "dy/conj(y)"},
		{"log(x)", "dy/x", "dy/conj(x)"},
		{"log1p(x)", "dy/(1 + x)", "dy/conj(1 + x)"},
		{"log2(x)", "dy/(Ln2*x)", "dy/conj(Ln2*x)"},
		{"sqrt(x)", "dy/(2*sqrt(x))", "dy/conj(2*sqrt(x))"},
		{"acos(x)", "-(dy/sqrt(1 - x*x))", "-(dy/conj(sqrt(1 - x*x)))"},
		{"atan(x)", "dy/(1 + x*x)", "dy/conj(1 + x*x)"},
	} {
		e := mustParse(t, c.src)
		e.Env = withoutDy
		for _, complexToo := range []bool{false, true} {
			want := c.real
			if complexToo {
				want = c.complexToo
			}
			d, err := e.Gradient("x", complexToo)
			if err != nil {
				t.Fatalf("%s: %v", c.src, err)
			}
			if d.String() != want {
				t.Errorf("gradient of %s is %s, want %s", c.src, d, want)
			}
		}
	}
}

// TestBranches holds that a branch that was not taken stays out of a complex
// gradient, also where its own derivative is infinite.
func TestBranches(t *testing.T) {
	for _, src := range []string{"where(x == 0, 0, log(x))", "where(x == 0, 0, abs(x)*log(x))", "abs(x)", "where(x == 0, 0, pow(x, -1))"} {
		e := mustParse(t, src)
		e.Env = withoutDy
		d, err := e.Gradient("x", true)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		g, err := d.Check(ir.Complex128)
		if err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		v, err := Interpret(g, double{}, map[string]Number[float64]{"x": {}, "dy": {Complex: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if v.Complex != 0 {
			t.Errorf("gradient of %s at 0 is %v by %s, want 0", src, v.Complex, d)
		}
	}
}

// TestLongDerivative holds that an expression whose derivative would not fit
// anywhere is an error, and soon.
func TestLongDerivative(t *testing.T) {
	src := "x"
	for range 11 {
		src = "sigmoid(" + src + "*" + src + ")"
	}
	for _, complexToo := range []bool{false, true} {
		e := mustParse(t, src)
		e.Env = withoutDy
		if d, err := e.Gradient("x", complexToo); err == nil {
			t.Errorf("the gradient has %d bytes, want an error", len(d.String()))
		}
	}
	if _, err := mustParse(t, "x*y").Gradient("x", false); err == nil {
		t.Error("an operand named dy: want an error")
	}
	if v := mustParse(t, "x*0.5"); math.IsNaN(v.Root.Args[1].Value.Float()) || !v.Uses("x") || v.Uses("y") {
		t.Error("Uses does not tell which operands are read")
	}
}

// TestRealOperands: an operand that is loaded as the dtype of a complex number's parts is
// a real number, and one of another float dtype is not.
func TestRealOperands(t *testing.T) {
	e, err := Parse("complex(x, y)", Env{Operands: []Operand{{Name: "x", Fixed: ir.Float32}, {Name: "y", Fixed: ir.Float32}}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := e.Check(ir.Complex64)
	if err != nil || g.Result() != ir.Complex64 {
		t.Errorf("two float32 make %v, %v", g, err)
	}
	if _, err := e.Check(ir.Complex128); err == nil {
		t.Error("two float32 make a complex128")
	}
}
