package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/ir"
)

// compareScalars lets cmp look at host numbers, which have private fields.
var compareScalars = cmp.Comparer(func(a, b ir.Scalar) bool { return a.String() == b.String() && a.Category() == b.Category() })

func noPos(int) Pos { return Pos{} }

func TestSignature(t *testing.T) {
	tensor := func(name string, i int) *Param { return &Param{Name: name, Type: Tensor, Operand: i, Attr: -1} }
	attr := func(name string, typ Type, i int) *Param { return &Param{Name: name, Type: typ, Operand: -1, Attr: i} }
	option := func(p *Param, d Literal) *Param { p.Option, p.Default = true, d; return p }
	enum := func(p *Param, names ...string) *Param { p.Type, p.Enum = Enum, names; return p }
	out := []Result{{Name: "out"}}
	tests := []struct {
		src     string
		params  []*Param
		results []Result
	}{
		{"f(x Tensor) -> Tensor", []*Param{tensor("x", 0)}, out},
		{"f()->Tensor", nil, out},
		{"f(x Tensor) -> Tensor bool", []*Param{tensor("x", 0)}, []Result{{Name: "out", DType: ir.Bool}}},
		{"f(x Tensor) -> []Tensor", []*Param{tensor("x", 0)}, []Result{{Name: "out", List: true}}},
		{"f(x Tensor) -> (values Tensor, indices Tensor int64)", []*Param{tensor("x", 0)}, []Result{{Name: "values"}, {Name: "indices", DType: ir.Int64}}},
		{"f(x Tensor, y Tensor|Scalar) -> Tensor", []*Param{tensor("x", 0), {Name: "y", Type: Tensor, OrScalar: true, Operand: 1, Attr: -1}}, out},
		{"f(dim int, xs []Tensor) -> Tensor", []*Param{attr("dim", Int, 0), {Name: "xs", Type: TensorList, Operand: 0, Attr: -1}}, out},
		{"f(ps Tensor..., gs Tensor..., rate float)", []*Param{
			{Name: "ps", Type: TensorList, Parallel: true, Operand: 0, Attr: -1}, {Name: "gs", Type: TensorList, Parallel: true, Operand: 1, Attr: -1}, attr("rate", Float, 0),
		}, out},
		{"f(a int, b float, c bool, d string, e []int, g Scalar, h dtype, i enum(p, q)) -> Tensor", []*Param{
			attr("a", Int, 0), attr("b", Float, 1), attr("c", Bool, 2), attr("d", String, 3), attr("e", Ints, 4),
			attr("g", Scalar, 5), attr("h", DType, 6), enum(attr("i", Enum, 7), "p", "q"),
		}, out},
		{`f(*, a int = -1, b float = 1e-05, c bool = true, d string = "a b", e []int = [1, -2], g Scalar = 1.5, h dtype = int64, i enum(p, q) = q) -> Tensor`, []*Param{
			option(attr("a", Int, 0), Literal{Scalar: ir.IntScalar(-1)}),
			option(attr("b", Float, 1), Literal{Scalar: ir.FloatScalar(1e-5)}),
			option(attr("c", Bool, 2), Literal{Scalar: ir.BoolScalar(true)}),
			option(attr("d", String, 3), Literal{Str: "a b"}),
			option(attr("e", Ints, 4), Literal{Ints: []int{1, -2}}),
			option(attr("g", Scalar, 5), Literal{Scalar: ir.FloatScalar(1.5)}),
			option(attr("h", DType, 6), Literal{DType: ir.Int64}),
			option(enum(attr("i", Enum, 7), "p", "q"), Literal{Str: "q"}),
		}, out},
		{"f(x Tensor, *, w Tensor?, b Tensor? = nil, dim []int = nil, none []int = [], t dtype = nil, p float = 2) -> Tensor", []*Param{
			tensor("x", 0),
			{Name: "w", Type: Tensor, Option: true, Optional: true, Default: Literal{Nil: true}, Operand: 1, Attr: -1},
			{Name: "b", Type: Tensor, Option: true, Optional: true, Default: Literal{Nil: true}, Operand: 2, Attr: -1},
			option(attr("dim", Ints, 0), Literal{Nil: true}),
			option(attr("none", Ints, 1), Literal{Ints: []int{}}),
			option(attr("t", DType, 2), Literal{Nil: true}),
			option(attr("p", Float, 3), Literal{Scalar: ir.FloatScalar(2)}),
		}, out},
	}
	for _, test := range tests {
		sig, errs := parseSignature(test.src, noPos)
		if len(errs) > 0 {
			t.Errorf("%s: %v", test.src, errs)
			continue
		}
		want := &signature{"f", test.params, test.results}
		if diff := cmp.Diff(want, sig, cmp.AllowUnexported(signature{}), compareScalars); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.src, diff)
		}
	}
}

// TestSignatureSpace checks that white space, which YAML folds, means nothing.
func TestSignatureSpace(t *testing.T) {
	const src = "f(x Tensor, *, e enum(a, b) = a, k []int = [1, 2]) -> (v Tensor, i Tensor int64)"
	want, errs := parseSignature(src, noPos)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, variant := range []string{
		strings.ReplaceAll(strings.ReplaceAll(src, ", ", ","), " = ", "="),
		strings.ReplaceAll(src, " ", " \n  "),
		strings.NewReplacer("(", " ( ", ")", " ) ", ",", " , ").Replace(src),
	} {
		got, errs := parseSignature(variant, noPos)
		if len(errs) > 0 {
			t.Errorf("%q: %v", variant, errs)
		} else if diff := cmp.Diff(want, got, cmp.AllowUnexported(signature{}), compareScalars); diff != "" {
			t.Errorf("%q (-want +got):\n%s", variant, diff)
		}
	}
}

func TestGoName(t *testing.T) {
	for name, want := range map[string]string{
		"add": "Add", "log_softmax": "LogSoftmax", "matmul": "MatMul", "keepdim": "KeepDim", "bmm": "BMM", "to_dtype": "ToDType",
		"conv1d": "Conv1d", "log1p": "Log1p", "leaky_relu": "LeakyReLU", "mse_loss": "MSELoss", "rms_norm": "RMSNorm", "rfftfreq": "RFFTFreq",
	} {
		if got := GoName(name); got != want {
			t.Errorf("GoName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestForms(t *testing.T) {
	x := &Param{Name: "x", Type: Tensor}
	y := &Param{Name: "y", Type: Tensor, Operand: 1, OrScalar: true}
	dim := &Param{Name: "dim", Type: Int, Operand: -1, Option: true}
	out := []Result{{Name: "out"}}
	tests := []struct {
		op   Op
		want []string
	}{
		{Op{GoName: "ReLU", Params: []*Param{x}, Results: out}, []string{"ReLU", "ReLUOut", "ReLUInPlace"}},
		{Op{GoName: "Mul", Params: []*Param{x, y}, Results: out, NoInPlace: true}, []string{"Mul", "MulScalar", "MulOut"}},
		{Op{GoName: "Sum", Kind: ir.Reduction, Params: []*Param{x, dim}, Results: out}, []string{"Sum", "SumOption", "SumOut"}},
		{Op{GoName: "Sort", Kind: ir.Opaque, Params: []*Param{x}, Results: append(out, out...)}, []string{"Sort"}},
		{Op{GoName: "Permute", Kind: ir.ViewBody, Params: []*Param{x}, Results: out}, []string{"Permute"}},
		{Op{GoName: "Full", Results: out, Tags: ir.TagFactory}, []string{"Full", "FullLike"}},
		{Op{GoName: "Grad", Params: []*Param{x}, Results: out, Tags: ir.TagHidden}, nil},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, Forms(&test.op), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.op.GoName, diff)
		}
	}
}

// FuzzSignature checks that any text gives a signature or mistakes, each at a
// place in the text.
func FuzzSignature(f *testing.F) {
	for _, s := range []string{
		"f(x Tensor) -> Tensor", "f(x Tensor, *, e enum(a, b) = a, k []int = [1, 2]) -> (v Tensor, i Tensor int64)",
		"f(xs []Tensor, y Tensor|Scalar) -> []Tensor", `f(*, s string = "a", w Tensor? = nil) -> Tensor bool`, "f(", "f(x Tensor,)", "\"", "-", "1e-",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		sig, errs := parseSignature(src, noPos)
		for _, e := range errs {
			if e.offset < 0 || e.offset > len(src) || e.msg == "" {
				t.Errorf("mistake %q at %d of %d bytes", e.msg, e.offset, len(src))
			}
		}
		if len(errs) > 0 {
			return
		}
		if !snakeCase(sig.name) || len(sig.results) == 0 {
			t.Errorf("%q: accepted as %q with %d results", src, sig.name, len(sig.results))
		}
		operands, attrs := 0, 0
		for _, p := range sig.params {
			switch {
			case p.Type == NoType:
				t.Errorf("%q: parameter %q has no type", src, p.Name)
			case p.Operand == operands:
				operands++
			case p.Attr == attrs:
				attrs++
			default:
				t.Errorf("%q: parameter %q is operand %d and attribute %d", src, p.Name, p.Operand, p.Attr)
			}
		}
	})
}
