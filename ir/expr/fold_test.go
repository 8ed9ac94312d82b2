package expr

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/ir"
)

// TestCommutes: a function commutes only where its form shows it.
func TestCommutes(t *testing.T) {
	states := []ir.State{{Name: "m"}, {Name: "s"}}
	env := Env{Operands: slices.Concat([]Operand{{Name: "a"}, {Name: "b"}}, StateOperands(states, "a"), StateOperands(states, "b")), Params: []Param{{Name: "c", Kind: ScalarParam}}}
	for _, test := range []struct {
		text  string
		dtype ir.DType
		want  bool
	}{
		{"a + b", ir.Float32, true},
		{"a*b", ir.Int64, true},
		{"max(b, a)", ir.Float64, true},
		{"a || b", ir.Bool, true},
		{"a & b", ir.Uint8, true},
		{"a + b + a*b", ir.Float32, true},
		{"(a + c) + (b + c)", ir.Float32, true},
		{"(a + c) + b", ir.Float32, false},
		{"where(c > 0, max(a, b), min(a, b))", ir.Float32, true},
		{"where(a == b, a + Ln2, max(a, b) + log1p(exp(-abs(a - b))))", ir.Float32, true},
		{"where(a == c, a, a + b)", ir.Float32, false},
		{"where(a != b, a, b)", ir.Float32, false},
		{"where(a == b, a + b, a)", ir.Float32, false},
		{"where(a == 0, b, a)", ir.Float32, false},
		{"where(a > b, a, b)", ir.Float32, false},
		{"abs(a - b)", ir.Float64, true},
		{"abs(a - b)", ir.Uint8, false},
		{"a - b", ir.Int32, false},
		{"b", ir.Float32, false},
		{"a", ir.Float32, false},
		{"c", ir.Float32, true},
		{"a.m + b.m", ir.Float32, true},
		{"a.m + b.s", ir.Float32, false},
		{"a.m*b.s + a.s*b.m", ir.Float32, true},
		{"where(a.m == b.m, a.s + b.s + a.m, max(a.m, b.m))", ir.Float32, true},
		{"where(a.m == b.m, a.s + a.m, max(a.m, b.m))", ir.Float32, false},
		{"where(a.m == b.s, a.m, max(a.m, b.m))", ir.Float32, false},
	} {
		e, err := Parse(test.text, env)
		if err != nil {
			t.Fatal(err)
		}
		g, err := e.Check(test.dtype)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Commutes(); got != test.want {
			t.Errorf("%s of %s commutes: %t, want %t", test.text, test.dtype, got, test.want)
		}
	}
}

// TestFoldEnv: what each part of a fold may name, and what it may not.
func TestFoldEnv(t *testing.T) {
	elements := Env{Operands: []Operand{{Name: "x"}, {Name: "w"}}, Params: []Param{{Name: "c", Kind: ScalarParam}}}
	several := elements.Fold([]ir.State{{Name: "top"}, {Name: "n", DType: ir.Int64}}, []string{"first.pivot"}, true)
	one := elements.Fold(make([]ir.State, 1), nil, false)
	for _, tt := range []struct {
		what     string
		env      Env
		may, not []string
	}{
		{"init", several.Init, []string{"c"}, []string{"x", "a.top", "first.pivot", "count"}},
		{"map", several.Map, []string{"c", "x", "w", "first.pivot"}, []string{"a.top", "count"}},
		{"combine", several.Combine, []string{"c", "a.top", "b.top", "a.n", "b.n"}, []string{"x", "a", "first.pivot", "count"}},
		{"finish", several.Finish, []string{"c", "a.top", "a.n", "first.pivot", "count"}, []string{"x", "b.top"}},
		{"combine of one state", one.Combine, []string{"c", "a", "b"}, []string{"x", "a.top"}},
		{"finish of a scan", one.Finish, []string{"c", "a"}, []string{"b", "count"}},
	} {
		for _, name := range tt.may {
			if _, err := Parse(name, tt.env); err != nil {
				t.Errorf("%s cannot name %s: %v", tt.what, name, err)
			}
		}
		for _, name := range tt.not {
			if _, err := Parse(name, tt.env); err == nil {
				t.Errorf("%s can name %s", tt.what, name)
			}
		}
	}
	if diff := cmp.Diff([]Param{{Name: "c", Kind: ScalarParam}}, elements.Params); diff != "" {
		t.Errorf("the element's parameters have changed (-want +got):\n%s", diff)
	}
}
