package schema

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

func features(t *testing.T) *Spec {
	t.Helper()
	spec, err := Load("testdata/features.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// header is an Op without what has tests of its own.
func header(op *Op) *Op {
	h := *op
	h.Pos, h.Params, h.Grads, h.Variants, h.Compose, h.Test, h.Bench = Pos{}, nil, nil, nil, nil, Test{}, nil
	return &h
}

// withoutPos ignores positions, which have tests of their own.
var withoutPos = cmpopts.IgnoreTypes(Pos{})

func TestFeatures(t *testing.T) {
	spec := features(t)
	out := []Result{{Name: "out"}}
	arith := func(name, goName string) *Op {
		return &Op{Name: name, GoName: goName, Group: "arithmetic", Results: out, Tags: ir.TagPointwise}
	}
	with := func(op *Op, change func(*Op)) *Op { change(op); return op }
	x := Value{Kind: NameValue, Type: Tensor, Name: "x"}
	meta := func(name string, t Type, v Value) Value {
		return Value{Kind: HostValue, Type: t, Name: name, Args: []Value{v}}
	}
	want := []*Op{
		with(arith("add", "Add"), func(o *Op) { o.DTypes, o.Promote = ir.ClassAll, ir.PromoteArith }),
		with(arith("less", "Less"), func(o *Op) {
			o.DTypes, o.Promote, o.NoGrad = ir.ClassBool|ir.ClassReal, ir.PromoteCompare, true
			o.Results = []Result{{Name: "out", DType: ir.Bool}}
		}),
		with(arith("abs", "Abs"), func(o *Op) { o.DTypes, o.Promote = ir.ClassNum, ir.PromoteToReal }),
		with(arith("where", "Where"), func(o *Op) { o.DTypes, o.Promote, o.NoInPlace = ir.ClassAll, ir.PromoteArith, true }),
		with(arith("full", "Full"), func(o *Op) { o.DTypes, o.Tags, o.NoGrad = ir.ClassAll, ir.TagFactory, true }),
		{Name: "sum", GoName: "Sum", Group: "folds", Results: out, DTypes: ir.ClassNum, Promote: ir.PromoteSumAcc, Kind: ir.Reduction, Tags: ir.TagReduction},
		{Name: "amax", GoName: "Amax", Group: "folds", Results: out, DTypes: ir.ClassFloat, Kind: ir.Reduction, Tags: ir.TagReduction, EmptyFail: true, NoGrad: true},
		{Name: "any", GoName: "Any", Group: "folds", Results: []Result{{Name: "out", DType: ir.Bool}}, DTypes: ir.ClassAll, Promote: ir.PromoteCompare,
			Kind: ir.Reduction, Tags: ir.TagReduction, NoGrad: true},
		{Name: "transpose", GoName: "Transpose", Group: "structured", Results: out, DTypes: ir.ClassAll, Kind: ir.ViewBody, Tags: ir.TagView,
			View: &Rule{Func: "TransposeView", Args: []Value{meta("layout", Layout, x), {Type: Int, Name: "dim0"}, {Type: Int, Name: "dim1"}}}},
		{Name: "sort", GoName: "Sort", Group: "structured", Results: []Result{{Name: "values"}, {Name: "indices", DType: ir.Int64}},
			DTypes: ir.ClassBool | ir.ClassReal, Kind: ir.Opaque, Tags: ir.TagNondeterministic,
			Shape:  &Rule{Func: "SortShape", Args: []Value{meta("shape", Ints, x), {Type: Int, Name: "dim"}}},
			Kernel: map[string]GoRef{"cpu": GoRef{Pkg: "kernel", Func: "Sort"}, "ref": GoRef{Pkg: "kernel", Func: "SortRef"}}},
		{Name: "gather_rows", GoName: "TakeRows", Group: "structured", Results: out, DTypes: ir.ClassAll, Kind: ir.Opaque,
			Shape:  &Rule{Pkg: "shapes", Func: "Rows", Args: []Value{meta("shape", Ints, x), meta("shape", Ints, Value{Type: Tensor, Name: "index"})}},
			Kernel: map[string]GoRef{"cpu": GoRef{Pkg: "kernel", Func: "Rows"}, "ref": GoRef{Pkg: "kernel", Func: "RowsRef"}}},
		{Name: "decay", GoName: "Decay", Group: "structured", Results: []Result{{Name: "counts", DType: ir.Int64}, {Name: "ps"}},
			DTypes: ir.ClassFloat, Kind: ir.Opaque, Tags: ir.TagHidden, NoGrad: true,
			Kernel: map[string]GoRef{"cpu": GoRef{Pkg: "kernel", Func: "Decay"}, "ref": GoRef{Pkg: "kernel", Func: "DecayRef"}}},
		{Name: "parts", GoName: "Parts", Group: "structured", Results: []Result{{Name: "out", List: true}}, DTypes: ir.ClassAll, Kind: ir.Composition,
			GoCompose: &GoRef{Pkg: "kernel", Func: "Parts"}},
	}
	for _, w := range want {
		op := spec.Lookup(w.Name)
		if op == nil {
			t.Errorf("no operator %s", w.Name)
			continue
		}
		w.Doc = op.Doc
		if diff := cmp.Diff(w, header(op), withoutPos, compareScalars); diff != "" {
			t.Errorf("%s (-want +got):\n%s", w.Name, diff)
		}
	}
	if got := spec.Lookup("gelu").Doc; got != "returns the Gaussian error linear unit of each element of x." {
		t.Errorf("gelu's doc is %q", got)
	}
	if c := spec.Lookup("where").Params[0]; c.Fixed != ir.Bool || c.DTypes != ir.ClassBool {
		t.Errorf("where's cond is fixed to %v of %v, want bool", c.Fixed, c.DTypes.List())
	}
}

// TestVariants checks bodies by value, which no parser under test is part of.
func TestVariants(t *testing.T) {
	spec := features(t)
	gelu := spec.Lookup("gelu")
	if gelu.Switch == nil || gelu.Switch.Name != "approximate" || len(gelu.Variants) != 2 || gelu.Variants[1].Name != "tanh" {
		t.Fatalf("gelu has switch %v and variants %v", gelu.Switch, gelu.Variants)
	}
	sources := func(op string) []string {
		v := spec.Lookup(op).Variants[0]
		var out []string
		for _, x := range append([]*expr.Expr{v.Init, v.Map, v.Combine, v.Finish}, v.Exprs...) {
			if x != nil {
				out = append(out, x.String())
			}
		}
		return out
	}
	for op, want := range map[string][]string{
		"add":    {"x + y"},
		"where":  {"where(cond, x, y)"},
		"sum":    {"cast(0)", "x", "a + b", "a"},
		"amax":   {"-Inf", "x", "max(a, b)", "a"},
		"any":    {"cast(0)", "x != 0", "a || b", "a"},
		"cumsum": {"cast(0)", "x", "a + b", "a"},
	} {
		if diff := cmp.Diff(want, sources(op)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", op, diff)
		}
	}
}

func TestGradients(t *testing.T) {
	spec := features(t)
	for name, want := range map[string][]string{
		"add":         {"x derived", "y derived"},
		"where":       {"cond none", "x derived", "y derived"},
		"gelu":        {"x derived"},
		"abs":         {"x return (mul dy x)"},
		"sum":         {"x by rule"},
		"amax":        nil,
		"less":        nil,
		"full":        nil,
		"cumsum":      {"x return (flip (cumsum (flip dy [dim]) dim) [dim])"},
		"transpose":   {"x return (transpose dy dim0 dim1)"},
		"gather_rows": {"x return dy", "index none"},
		"cat":         {"xs return (parts dy (host extents (host shapes xs) dim) dim)"},
		"loss":        {"x by rule", "y by rule", "weight by rule"},
		"sort": {"x n := (host size (host shape x) dim)\n" +
			"if (|| bool (== bool n int:1) (== bool (host rank x) int:0)) { s := (mul dy_values Scalar:2); return s }\n" +
			"return (flip dy_values [dim])"},
	} {
		var got []string
		op := spec.Lookup(name)
		for _, g := range op.Grads {
			text := ""
			switch {
			case g.None:
				text = "none"
			case g.ByRule:
				text = "by rule"
			case g.Block != nil:
				text = g.Block.text()
			case len(g.Derived) == len(op.Variants):
				text = "derived"
			}
			got = append(got, g.Operand.Name+" "+text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if op.NoGrad != (len(want) == 0) {
			t.Errorf("%s: NoGrad is %v", name, op.NoGrad)
		}
	}
	d := spec.Lookup("div").Grads[1].Derived[0]
	if !d.Uses(expr.GradName) || !d.Uses("x") || !d.Uses("y") {
		t.Errorf("the gradient of div for y is %v", d)
	}
}

func TestTests(t *testing.T) {
	spec := features(t)
	num := func(f float64) ir.Scalar { return ir.FloatScalar(f) }
	i := func(i int64) ir.Scalar { return ir.IntScalar(i) }
	for name, want := range map[string]Test{
		"div": {Domain: DefaultDomain, Domains: map[string][2]float64{"x": {-4, 4}, "y": {1, 4}}, ULP: DefaultULP, Avoid: []float64{0}, Cases: []Case{
			{In: []ir.Scalar{i(1), i(2)}, Want: []ir.Scalar{num(0.5)}},
			{In: []ir.Scalar{i(1), i(0)}, Want: []ir.Scalar{parsed("inf")}},
			{In: []ir.Scalar{ir.ComplexScalar(1 + 1i), i(1)}, Want: []ir.Scalar{ir.ComplexScalar(1 + 1i)}},
		}},
		"neg": {Domain: [2]float64{-4, 4}, ULP: DefaultULP, Cases: []Case{{In: []ir.Scalar{i(1)}, Want: []ir.Scalar{i(-1)}}, {In: []ir.Scalar{parsed("nan")}, Want: []ir.Scalar{parsed("nan")}}}},
		"gelu": {Domain: [2]float64{-6, 6}, ULP: 4, Cases: []Case{
			{In: []ir.Scalar{i(0)}, Want: []ir.Scalar{i(0)}},
			{In: []ir.Scalar{i(1)}, Args: map[string]Literal{"approximate": {Str: "tanh"}}, Want: []ir.Scalar{num(0.8411919906082768)}},
		}},
		"sum":  {Domain: DefaultDomain, ULP: DefaultULP, Samples: []Sample{{Shapes: [][]int{{2, 3}}, Args: map[string]Literal{"dim": {Ints: []int{0}}}}}},
		"sort": {Domain: DefaultDomain, ULP: DefaultULP, Samples: []Sample{{Shapes: [][]int{{3}}, Args: map[string]Literal{"dim": {Scalar: i(0)}, "descending": {Scalar: ir.BoolScalar(true)}}}}},
		"gather_rows": {Domain: DefaultDomain, ULP: DefaultULP, Samples: []Sample{
			{Shapes: [][]int{{3, 2}, {4}}, Values: map[string]string{"index": "index(3)"}},
			{Shapes: [][]int{{3, 2}, {3}}, Values: map[string]string{"index": "perm", "x": "domain(0, 1)"}},
		}},
		"full": {Domain: DefaultDomain, ULP: DefaultULP},
	} {
		if diff := cmp.Diff(want, spec.Lookup(name).Test, compareScalars, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func parsed(s string) ir.Scalar {
	v, _ := parseNumber(s)
	return v
}

func TestOrder(t *testing.T) {
	spec := features(t)
	if !slices.IsSortedFunc(spec.Ops, func(a, b *Op) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("operators are not sorted by name")
	}
	var groups, first []string
	for _, g := range spec.Groups {
		groups = append(groups, g.Name)
		first = append(first, g.Ops[0].Name)
	}
	if diff := cmp.Diff([]string{"arithmetic", "folds", "structured"}, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"add", "sum", "transpose"}, first); diff != "" {
		t.Errorf("first operators (-want +got):\n%s", diff)
	}
}

// TestDeep checks that the work grows with the text, not with its nesting.
func TestDeep(t *testing.T) {
	const n = 200
	src := "schema: 1\npackage: p\nimports: {k: example.com/k}\ngroups:\n- group: g\n  doc: Operators.\n  ops:\n" +
		"  - {op: max(x Tensor) -> Tensor, doc: finds., compose: k.F}\n" +
		"  - {op: f(x Tensor) -> Tensor, doc: nests., compose: " + strings.Repeat("max(", n) + "x" + strings.Repeat(")", n) + "}\n"
	if _, err := Parse("p", []byte(src), nil); err != nil {
		t.Fatal(err)
	}
}

// TestBase checks that a schema refers to the operators of its base, and cannot
// define them again.
func TestBase(t *testing.T) {
	base := features(t)
	const own = `schema: 1
package: my
groups:
- group: mine
  doc: My operators.
  ops:
  - op: %s(x Tensor) -> Tensor
    doc: returns the square of gelu.
    compose: gelu(x)*gelu(x)
`
	spec, err := Parse("my.yaml", []byte(strings.Replace(own, "%s", "gelu2", 1)), base)
	if err != nil {
		t.Fatal(err)
	}
	if len(spec.Ops) != 1 || spec.Base != base || spec.Lookup("gelu") != base.Lookup("gelu") {
		t.Errorf("the schema has %d operators and gelu %p", len(spec.Ops), spec.Lookup("gelu"))
	}
	_, err = Parse("my.yaml", []byte(strings.Replace(own, "%s", "gelu", 1)), base)
	const want = "my.yaml:7:9: op gelu: already defined by the standard schema; choose another name"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestLoadMissing(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want that the file does not exist", err)
	}
}

// TestStandard reads the standard operators.
func TestStandard(t *testing.T) {
	spec, err := Load("../../ops.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"add", "matmul", "softmax", "sum", "zeros"} {
		if spec.Lookup(name) == nil {
			t.Errorf("no operator %s", name)
		}
	}
}

// TestPositions checks that a mistake is found at its character in every style
// of YAML text. The mistake is the name "wrong", once in each schema.
func TestPositions(t *testing.T) {
	for name, body := range map[string]string{
		"plain":         "neg(wrong)",
		"plain folded":  "neg(\n      wrong)",
		"quoted":        "\"neg(wrong)\"",
		"single quoted": "'neg(wrong)'",
		"quoted folded": "\"neg(\n      wrong)\"",
		"literal":       "|\n      y := neg(x)\n\n      if rank(y) == 0 {\n        return neg(wrong)\n      }\n      return y",
		"literal empty": "|\n\n      return neg(wrong)",
		"literal keep":  "|+2\n        return neg(wrong)\n\n",
		"folded":        ">-\n      neg(\n      wrong)",
		"characters":    "neg(wrong) # ä",
		"after letters": "\"neg(neg(/* äö */ wrong))\"",
	} {
		src := "schema: 1\npackage: p\ngroups:\n- group: g\n  doc: Operators.\n  ops:\n  - {op: neg(x Tensor) -> Tensor, doc: negates., dtypes: float, expr: -x, grad: none, test: {domain: [0, 1], cases: [[1, -1], [0, 0]]}}\n" +
			"  - op: f(x Tensor) -> Tensor\n    doc: does something.\n    compose: " + body + "\n"
		_, err := Parse("p", []byte(src), nil)
		list, ok := err.(Errors)
		if !ok {
			t.Errorf("%s: error is %v", name, err)
			continue
		}
		before, _, _ := strings.Cut(src, "wrong")
		line := strings.Count(before, "\n") + 1
		want := Pos{"p", line, runes(before[strings.LastIndexByte(before, '\n')+1:]) + 1}
		if list[0].Pos != want {
			t.Errorf("%s: mistake at %v, want %v: %v", name, list[0].Pos, want, err)
		}
	}
}

// FuzzParse checks that any file gives a Spec or mistakes with a position in it.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/errors/*.txt")
	for _, file := range append(files, "testdata/features.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		src, _, _ := strings.Cut(string(data), wantMark)
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		spec, err := Parse("f", []byte(src), nil)
		if err == nil {
			if spec == nil {
				t.Error("neither a Spec nor an error")
			}
			return
		}
		list, ok := err.(Errors)
		if !ok || len(list) == 0 || spec != nil {
			t.Fatalf("error is %T %v, Spec %v", err, err, spec)
		}
		for _, e := range list {
			if e.Pos.Line < 1 || e.Pos.Col < 1 || e.Msg == "" {
				t.Errorf("mistake without a place: %v", e)
			}
		}
	})
}
