package expr

import (
	"slices"
	"testing"

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
