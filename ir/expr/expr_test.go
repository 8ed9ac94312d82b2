package expr

import (
	"errors"
	"math"
	"math/cmplx"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
)

// double is float64 arithmetic by package math alone.
type double struct{}

func (double) FromFloat(f float64) float64 { return f }
func (double) FromInt(i int64) float64     { return float64(i) }
func (double) ToInt(f float64) int64       { return ir.FloatScalar(f).Int() }
func (double) ToFloat(f float64) float64   { return f }

var unaryMath = map[string]func(float64) float64{
	"neg": func(x float64) float64 { return -x }, "abs": math.Abs, "sqrt": math.Sqrt, "cbrt": math.Cbrt,
	"rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) }, "exp": math.Exp, "exp2": math.Exp2, "expm1": math.Expm1,
	"log": math.Log, "log1p": math.Log1p, "log2": math.Log2, "log10": math.Log10, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan,
	"asin": math.Asin, "acos": math.Acos, "atan": math.Atan, "sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh,
	"asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh, "erf": math.Erf, "erfc": math.Erfc, "erfinv": math.Erfinv,
	"floor": math.Floor, "ceil": math.Ceil, "trunc": math.Trunc, "round": math.RoundToEven,
	"sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"lgamma":  func(x float64) float64 { v, _ := math.Lgamma(x); return v },
	"digamma": func(x float64) float64 {
		up, _ := math.Lgamma(x + 1e-5)
		down, _ := math.Lgamma(x - 1e-5)
		return (up - down) / 2e-5
	},
	"sign": func(x float64) float64 {
		if x == 0 {
			return 0
		}
		return math.Copysign(1, x)
	},
}

var binaryMath = map[string]func(x, y float64) float64{
	"add": func(x, y float64) float64 { return x + y }, "sub": func(x, y float64) float64 { return x - y },
	"mul": func(x, y float64) float64 { return x * y }, "div": func(x, y float64) float64 { return x / y },
	"min": math.Min, "max": math.Max, "fmin": math.Min, "fmax": math.Max, "pow": math.Pow, "atan2": math.Atan2, "hypot": math.Hypot,
	"fmod": math.Mod, "rem": math.Mod, "copysign": math.Copysign,
	"remainder": func(x, y float64) float64 { return x - y*math.Floor(x/y) },
	"floordiv":  func(x, y float64) float64 { return math.Floor(x / y) },
	"truncdiv":  func(x, y float64) float64 { return math.Trunc(x / y) },
}

func (double) Func(fn string) func(a ...float64) float64 {
	if f := unaryMath[fn]; f != nil {
		return func(a ...float64) float64 { return f(a[0]) }
	}
	if f := binaryMath[fn]; f != nil {
		return func(a ...float64) float64 { return f(a[0], a[1]) }
	}
	if fn == "fma" {
		return func(a ...float64) float64 { return math.FMA(a[0], a[1], a[2]) }
	}
	return nil
}

var complexes = map[string]func(complex128) complex128{
	"sqrt": cmplx.Sqrt, "exp": cmplx.Exp, "log": cmplx.Log, "log10": cmplx.Log10, "sin": cmplx.Sin, "cos": cmplx.Cos, "tan": cmplx.Tan,
	"asin": cmplx.Asin, "acos": cmplx.Acos, "atan": cmplx.Atan, "sinh": cmplx.Sinh, "cosh": cmplx.Cosh, "tanh": cmplx.Tanh,
	"asinh": cmplx.Asinh, "acosh": cmplx.Acosh, "atanh": cmplx.Atanh,
	"rsqrt":   func(x complex128) complex128 { return 1 / cmplx.Sqrt(x) },
	"sigmoid": func(x complex128) complex128 { return 1 / (1 + cmplx.Exp(-x)) },
	"exp2":    func(x complex128) complex128 { return cmplx.Pow(2, x) },
	"expm1":   func(x complex128) complex128 { return cmplx.Exp(x) - 1 },
	"log1p":   func(x complex128) complex128 { return cmplx.Log(1 + x) },
	"log2":    func(x complex128) complex128 { return cmplx.Log(x) / math.Ln2 },
}

func (double) CallComplex(fn string, a []complex128) (complex128, bool) {
	if fn == "pow" {
		return cmplx.Pow(a[0], a[1]), true
	}
	f, ok := complexes[fn]
	if !ok {
		return 0, false
	}
	return f(a[0]), true
}

func (d double) Predicate(fn string) func(a ...float64) bool {
	return func(a ...float64) bool { return d.test(fn, a) }
}

func (double) test(fn string, a []float64) bool {
	switch fn {
	case "lt":
		return a[0] < a[1]
	case "le":
		return a[0] <= a[1]
	case "gt":
		return a[0] > a[1]
	case "ge":
		return a[0] >= a[1]
	case "eq":
		return a[0] == a[1]
	case "ne":
		return a[0] != a[1]
	case "isnan":
		return math.IsNaN(a[0])
	case "isinf":
		return math.IsInf(a[0], 0)
	case "signbit":
		return math.Signbit(a[0])
	}
	return a[0]-a[0] == 0
}

var xy = Env{Operands: []Operand{{Name: "x"}, {Name: "y"}, {Name: "dy"}}, Params: []Param{{"p", ScalarParam}, {"n", IntParam}}}

var withoutDy = Env{Operands: xy.Operands[:2], Params: xy.Params}

func eval(t *testing.T, e *Expr, x, y float64) float64 {
	t.Helper()
	g, err := e.Check(ir.Float64)
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
	v, err := Interpret(g, double{}, map[string]Number[float64]{
		"x": {Float: x}, "y": {Float: y}, "dy": {Float: 1}, "p": {Float: 0.25}, "n": {Int: 3}})
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
	return v.Float
}

func mustParse(t *testing.T, src string) *Expr {
	t.Helper()
	e, err := Parse(src, xy)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return e
}

// TestDerivatives holds the derivative of every differentiable function, and of
// compound expressions, against central differences.
func TestDerivatives(t *testing.T) {
	sources := []string{
		"x*y + x/y", "0.5*x*(1 + erf(x*Sqrt1_2))", "where(x > 0.3, x*x, y*x)", "max(x, 0) + log1p(exp(-abs(x)))",
		"x*x*x - 3*x", "pow(x, 3)", "pow(2, x)", "-x*(y - x)", "x*p + cast(n)*x", "where(x > y, exp(x), 0)*x",
	}
	for fn, f := range functions {
		if f.operator || f.rule != sameKind && f.rule != toReal || fn == "digamma" || fn == "conj" || f.class&onFloat == 0 ||
			fn == "real" || fn == "imag" || fn == "angle" {
			continue
		}
		arg := "x"
		if fn == "acosh" {
			arg = "x + 1.5"
		}
		sources = append(sources, fn+"("+strings.Join([]string{arg, "y", "x*y"}[:f.arity], ", ")+")")
	}
	const x, y, h = 0.61, 0.83, 1e-6
	for _, src := range sources {
		e := mustParse(t, src)
		for _, wrt := range []string{"x", "y"} {
			d, err := e.Derivative(wrt)
			if err != nil {
				t.Errorf("%s: %v", src, err)
				continue
			}
			dx, dyy := h, 0.0
			if wrt == "y" {
				dx, dyy = 0, h
			}
			want := (eval(t, e, x+dx, y+dyy) - eval(t, e, x-dx, y-dyy)) / (2 * h)
			if got := eval(t, d, x, y); math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
				t.Errorf("d %s / d%s = %s = %g, central difference %g", src, wrt, d, got, want)
			}
			again := mustParse(t, d.String())
			if diff := cmp.Diff(d.String(), again.String()); diff != "" {
				t.Errorf("%s does not print back:\n%s", d, diff)
			}
		}
	}
}

// TestKinks states the derivative where there is no unique one.
func TestKinks(t *testing.T) {
	for _, c := range []struct {
		src  string
		x, y float64
		want float64
	}{
		{"abs(x)", 0, 0, 0}, {"max(x, y)", 1, 1, 0.5}, {"min(x, y)", 1, 1, 0.5}, {"max(x, y)", 1, 2, 0},
		{"where(x > 0, x, 0)", 0, 0, 0}, {"sqrt(x)", 0, 0, math.Inf(1)}, {"floor(x)", 1, 0, 0},
		{"where(x > 0, log(x), 0)", -1, 0, 0}, {"pow(x, 0)", 0, 0, 0},
	} {
		e := mustParse(t, c.src)
		e.Env = withoutDy
		d, err := e.Gradient("x", false)
		if err != nil {
			t.Fatal(err)
		}
		if got := eval(t, d, c.x, c.y); got != c.want {
			t.Errorf("gradient of %s at (%g, %g) = %g by %s, want %g", c.src, c.x, c.y, got, d, c.want)
		}
	}
}

func TestPrint(t *testing.T) {
	for _, c := range []struct {
		src   string
		dtype ir.DType
		want  string
	}{
		{"x*y + p", ir.Float32, "T(x*y) + p"},
		{"max(x, 0) + log1p(exp(-abs(x)))", ir.Float64, "num.Max(x, 0) + num.Log1p(num.Exp(-num.Abs(x)))"},
		{"x/y", ir.Int32, "num.IDiv(x, y)"},
		{"-x + y*p", ir.Int32, "-x + y*p"},
		{"-x + y*p", ir.Int8, "-x + y*p"},
		{"x + index%2", ir.Int64, "x + T(num.ITruncRem(index, 2))"},
		{"x + y", ir.Bool, "x || y"},
		{"x != 0", ir.Bool, "x != false"},
		{"where(x > y, 1, 0)", ir.Float32, "num.Where(x > y, T(1), 0)"},
		{"p + index*0.5", ir.Float32, "p + T(T(index)*0.5)"},
		{"x - (y - p)", ir.Float64, "x - (y - p)"},
		{"abs(x)", ir.Complex64, "num.CAbs[R](x)"},
		{"x*Inf", ir.Float32, "x*num.Inf[T](1)"},
	} {
		g, err := mustParse(t, c.src).Check(c.dtype)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if diff := cmp.Diff(c.want, g.Go(GoTypes{"T", "R"}).Results[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.src, diff)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		src   string
		dtype ir.DType
		col   int
		want  string
	}{
		{"x + z", ir.Float32, 4, `unknown name "z" (have x, y, dy, p, n)`},
		{"foo(x)", ir.Float32, 0, `unknown function "foo"`},
		{"exp(x, y)", ir.Float32, 0, "exp takes 1 arguments, not 2"},
		{"exp(x)", ir.Int32, 0, "exp is not defined for int32"},
		{"x & y", ir.Float32, 2, "& is not defined for float32"},
		{"x - y", ir.Bool, 2, "- is not defined for bool"},
		{"where(x, y, p)", ir.Float32, 0, "where: the condition is float32, not bool"},
		{"x + (y > 0)", ir.Float32, 2, "+: a bool cannot be used as float32; cast(...) makes 1 or 0 of a bool, and where(condition, a, b) chooses"},
		{"x + 0.5", ir.Int16, 2, "+: 0.5 cannot be used as int16"},
		{"x + 300", ir.Uint8, 2, "+: 300 cannot be used as uint8"},
		{"x[0]", ir.Float32, 0, "only names, numbers, operators and calls are part of the language"},
		{"x +", ir.Float32, 3, "expected operand, found 'EOF'"},
		{"x < y", ir.Complex64, 2, "< is not defined for complex64"},
		{"add(x, y)", ir.Float32, 0, `unknown function "add"`},
		{"x +\n\tz", ir.Float32, 5, `unknown name "z" (have x, y, dy, p, n)`},
		{"x +\n\t)", ir.Float32, 5, "expected operand, found ')'"},
	} {
		e, err := Parse(c.src, xy)
		if err == nil {
			_, err = e.Check(c.dtype)
		}
		var at *Error
		if !errors.As(err, &at) {
			t.Errorf("%s: error %v, want one with a column", c.src, err)
			continue
		}
		if diff := cmp.Diff(Error{c.col, c.want}, *at); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.src, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"x", "x*y+p", "where(x>0, 1, -1)", "-(-x)", "x&^y<<2", "1e300*x", "!(x==y)||x<y", "uniform(n, n)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		e, err := Parse(src, xy)
		if err != nil {
			return
		}
		again, err := Parse(e.String(), xy)
		if err != nil {
			t.Fatalf("%q prints as %q, which does not parse: %v", src, e, err)
		}
		if again.String() != e.String() {
			t.Fatalf("%q prints as %q, then as %q", src, e, again)
		}
		for _, d := range []ir.DType{ir.Bool, ir.Int8, ir.Float32, ir.Complex64} {
			if g, err := e.Check(d); err == nil {
				g.Go(GoTypes{"T", "R"})
			}
		}
		e.Env = withoutDy
		if d, err := e.Gradient("x", false); err == nil {
			if _, err := Parse(d.String(), d.Env); err != nil {
				t.Fatalf("gradient of %q is %q: %v", src, d, err)
			}
		}
	})
}
