package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// text writes a value as (what args...), each with its type, so that tests can
// state what was understood.
func (v Value) text() string {
	var args []string
	for _, a := range v.Args {
		args = append(args, a.text())
	}
	list := strings.Join(args, " ")
	switch v.Kind {
	case NameValue:
		if v.Type == NoType {
			return "_" // an absent bound
		}
		return v.Name
	case LiteralValue:
		return v.Literal.text(v.Type)
	case CallValue:
		return fmt.Sprintf("(%s %s)", v.Op.Name, list)
	case HostValue:
		return fmt.Sprintf("(host %s %s)", v.Name, list)
	case BinaryValue, UnaryValue:
		return fmt.Sprintf("(%s %v %s)", v.Name, v.Type, list)
	case ListValue:
		return "[" + list + "]"
	case IndexValue:
		return fmt.Sprintf("(index %s)", list)
	case SliceValue:
		return fmt.Sprintf("(slice %s)", list)
	case SelectValue:
		return fmt.Sprintf("(result %s %s)", v.Name, list)
	}
	return fmt.Sprintf("(%v %s)", v.Type, list)
}

func (l Literal) text(t Type) string {
	switch t {
	case Int, Float, Bool, Scalar:
		return fmt.Sprintf("%v:%v", t, l.Scalar)
	case String:
		return fmt.Sprintf("%q", l.Str)
	case Enum:
		return "'" + l.Str
	}
	switch {
	case l.Nil:
		return "nil"
	case t == DType:
		return l.DType.String()
	case t == Ints:
		return fmt.Sprint(l.Ints)
	}
	return "_"
}

func (s Stmt) text() string {
	var vs []string
	for _, v := range s.Values {
		vs = append(vs, v.text())
	}
	list := strings.Join(vs, ", ")
	switch {
	case s.If != nil:
		var body []string
		for _, b := range s.Body {
			body = append(body, b.text()+"; ")
		}
		return fmt.Sprintf("if %s { %sreturn %s }", s.If.text(), strings.Join(body, ""), list)
	case s.Return:
		return "return " + list
	}
	return s.Define + " := " + list
}

func (b Block) text() string {
	var lines []string
	for _, s := range b.Stmts {
		lines = append(lines, s.text())
	}
	return strings.Join(lines, "\n")
}

// languageOps are the operators that TestLanguage's bodies use.
const languageOps = `schema: 1
package: p
imports: {k: example.com/k}
groups:
- group: g
  doc: Operators.
  ops:
  - {op: "add(x Tensor, y Tensor|Scalar) -> Tensor", doc: adds., compose: k.F}
  - {op: "sub(x Tensor, y Tensor|Scalar) -> Tensor", doc: subtracts., compose: k.F}
  - {op: "mul(x Tensor, y Tensor|Scalar) -> Tensor", doc: multiplies., compose: k.F}
  - {op: "div(x Tensor, y Tensor|Scalar) -> Tensor", doc: divides., compose: k.F}
  - {op: "neg(x Tensor) -> Tensor", doc: negates., compose: k.F}
  - {op: "clamp(x Tensor, lo Tensor|Scalar, hi Tensor|Scalar) -> Tensor", doc: clamps., compose: k.F}
  - {op: "sum(x Tensor, *, dim []int = nil, keepdim bool = false, dtype dtype = nil) -> Tensor", doc: sums., compose: k.F}
  - {op: "max(x Tensor) -> Tensor", doc: finds., compose: k.F}
  - {op: "sort(x Tensor, dim int) -> (values Tensor, indices Tensor)", doc: sorts., compose: k.F}
  - {op: "cat(xs []Tensor, dim int) -> Tensor", doc: joins., compose: k.F}
  - {op: "cut(x Tensor, sizes []int) -> []Tensor", doc: cuts., compose: k.F}
  - {op: "var(x Tensor, *, correction int = 1) -> Tensor", doc: varies., compose: k.F}
  - {op: "pad(x Tensor, *, how enum(zero, edge) = edge, value float = 0, w Tensor?) -> Tensor", doc: pads., compose: k.F}
  - {op: "zeros(shape []int) -> Tensor", doc: makes., compose: k.F}
`

func TestLanguage(t *testing.T) {
	tests := []struct{ name, params, body, want string }{
		{"name", "x Tensor", "x", "return x"},
		{"tensor and tensor", "x Tensor, y Tensor", "-(x + y*x)/y", "return (div (neg (add x (mul y x))) y)"},
		{"tensor and number", "x Tensor", "x*2 - 1.5", "return (sub (mul x Scalar:2) Scalar:1.5)"},
		{"number and tensor", "x Tensor", "2*x + (1 + x)", "return (add (mul x Scalar:2) (add x Scalar:1))"},
		{"number on the wrong side", "x Tensor", "1/(2 - x)", "return (div (Tensor Scalar:1) (sub (Tensor Scalar:2) x))"},
		{"argument and tensor", "x Tensor, n int, f float, s Scalar", "x*n + f*x - s", "return (sub (add (mul x (Scalar n)) (mul x (Scalar f))) s)"},
		{"defaults", "x Tensor", "sum(x)", "return (sum x nil bool:false nil)"},
		{"options in order", "x Tensor", "sum(x, []int{0, -1}, true, float32)", "return (sum x [int:0 int:-1] bool:true float32)"},
		{"nil option", "x Tensor", "sum(x, nil, true)", "return (sum x nil bool:true nil)"},
		{"dtype of another", "x Tensor, y Tensor", "sum(x, nil, false, dtype_of(y))", "return (sum x nil bool:false (host dtype_of y))"},
		{"option passed on", "x Tensor, *, dim []int = nil, keepdim bool = false", "sum(x, dim, keepdim)", "return (sum x dim keepdim nil)"},
		{"numbers for all", "x Tensor", "clamp(x, 0, 1)", "return (clamp x Scalar:0 Scalar:1)"},
		{"a number and a tensor", "x Tensor, y Tensor", "clamp(x, 0, y)", "return (clamp x (Tensor Scalar:0) y)"},
		{"number for a tensor", "n int", "neg(n)", "return (neg (Tensor (Scalar n)))"},
		{"enum and optional operand", "x Tensor", "pad(x, zero, 1)", "return (pad x 'zero float:1 nil)"},
		{"enum passed on", "x Tensor, w Tensor, *, how enum(zero, edge) = zero", "pad(x, how, 0, w)", "return (pad x how float:0 w)"},
		{"several named", "x Tensor", "v, i := sort(x, 0)\nreturn v + i", "v,i := (sort x int:0)\nreturn (add v i)"},
		{"several ignored", "x Tensor", "_, i := sort(x, 0)\nreturn i", "_,i := (sort x int:0)\nreturn i"},
		{"several kept", "x Tensor", "r := sort(x, 0)\nreturn r.values + r.indices", "r := (sort x int:0)\nreturn (add (result values r) (result indices r))"},
		{"several selected", "x Tensor", "sort(x, 0).values", "return (result values (sort x int:0))"},
		{"lists of tensors", "x Tensor, xs []Tensor", "cat(xs, 0) + cat([]Tensor{x, xs[0]}, 1)", "return (add (cat xs int:0) (cat [x (index xs int:0)] int:1))"},
		{"list result", "x Tensor", "cat(cut(x, []int{1, 2})[1:], 0)", "return (cat (slice (cut x [int:1 int:2]) int:1 _) int:0)"},
		{"keyword as a name", "x Tensor", "var(x, 0) + var (x)", "return (add (var x int:0) (var x int:1))"},
		{"early return", "x Tensor", "if rank(x) == 0 {\n return x\n}\nreturn -x", "if (== bool (host rank x) int:0) { return x }\nreturn (neg x)"},
		{"definitions in an if", "x Tensor", "if rank(x) == 0 {\n y := x*x\n return y\n}\ny := -x\nreturn y",
			"if (== bool (host rank x) int:0) { y := (mul x x); return y }\ny := (neg x)\nreturn y"},
		{"logic", "x Tensor, a bool, s string", "if !a && s == \"sum\" || s < \"a\" {\n return x\n}\nreturn x",
			"if (|| bool (&& bool (! bool a) (== bool s \"sum\")) (< bool s \"a\")) { return x }\nreturn x"},
		{"given", "x Tensor, *, w Tensor?, dim []int = nil", "if w == nil || nil != dim || given(w) {\n return x\n}\nreturn x*w",
			"if (|| bool (|| bool (== bool w nil) (!= bool dim nil)) (host given w)) { return x }\nreturn (mul x w)"},
		{"enum compared", "x Tensor, *, how enum(zero, edge) = zero", "if how != edge {\n return x\n}\nreturn x", "if (!= bool how 'edge) { return x }\nreturn x"},
		{"dtype compared", "x Tensor", "if dtype_of(x) == bool {\n return x\n}\nreturn x", "if (== bool (host dtype_of x) bool) { return x }\nreturn x"},
		{"integers", "x Tensor, n int", "x*(-n*2 + 7/n%3)", "return (mul x (Scalar (+ int (* int (- int n) int:2) (% int (/ int int:7 n) int:3))))"},
		{"int beside float", "x Tensor, n int, f float", "x*(n*f + 1/2.0 + 2)", "return (mul x (Scalar (+ float (+ float (* float (float n) f) (/ float float:1 float:2)) float:2)))"},
		{"conversions", "x Tensor, n int, f float", "x*(float(n) + f) + int(f)", "return (add (mul x (Scalar (+ float (float n) f))) (Scalar (int f)))"},
		{"extremes", "x Tensor, n int", "max(x)*max(n, 1, 2)*min(n, 0.5)", "return (mul (mul (max x) (Scalar (host max n int:1 int:2))) (Scalar (host min (float n) float:0.5)))"},
		{"metadata", "x Tensor, xs []Tensor", "x*(rank(x) + numel(x) + len(shape(x)) + len(shape(xs)) + size(x, 0))",
			"return (mul x (Scalar (+ int (+ int (+ int (+ int (host rank x) (host numel x)) (host len (host shape x))) (host len (host shapes xs))) (host size (host shape x) int:0))))"},
		{"shape as asked", "x Tensor, xs []Tensor", "zeros(neg_ints(x)) + zeros(extents(xs, 0))", "return (add (zeros (host neg_ints (host shape x))) (zeros (host extents (host shapes xs) int:0)))"},
		{"layout as asked", "x Tensor", "if is_contiguous(x) && is_float(x) {\n return x\n}\nreturn x", "if (&& bool (host is_contiguous (host layout x)) (host is_float (host dtype_of x))) { return x }\nreturn x"},
		{"item", "x Tensor", "x*item(x)", "return (mul x (Scalar (host item x)))"},
		{"elements and parts", "x Tensor, l []int", "sum(x, l[1:len(l)], l[0] == shape(x)[0])", "return (sum x (slice l int:1 (host len l)) (== bool (index l int:0) (index (host shape x) int:0)) nil)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			src := languageOps + fmt.Sprintf("  - op: it(%s) -> Tensor\n    doc: is tested.\n    compose: |\n      %s\n",
				test.params, strings.ReplaceAll(test.body, "\n", "\n      "))
			spec, err := Parse("ops.yaml", []byte(src), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, spec.Lookup("it").Compose[0].text()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestCallArguments checks that every call has an argument for every parameter,
// of the parameter's type.
func TestCallArguments(t *testing.T) {
	spec := features(t)
	calls := 0
	check := func(v *Value) {
		if v.Kind != CallValue {
			return
		}
		calls++
		if len(v.Args) != len(v.Op.Params) {
			t.Errorf("%v: %d arguments for the %d parameters of %s", v.Pos, len(v.Args), len(v.Op.Params), v.Op.Name)
			return
		}
		for i, p := range v.Op.Params {
			if got := v.Args[i].Type; got != p.Type && !(p.OrScalar && got == Scalar) {
				t.Errorf("%v: argument %s of %s is of type %v, want %v", v.Pos, p.Name, v.Op.Name, got, p.Type)
			}
		}
	}
	for _, op := range spec.Ops {
		for i := range op.Compose {
			op.Compose[i].Walk(check)
		}
		for _, g := range op.Grads {
			if g.Block != nil {
				g.Block.Walk(check)
			}
		}
	}
	if calls < 20 {
		t.Errorf("%d calls seen, want 20 or more", calls)
	}
}
