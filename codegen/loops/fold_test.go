package loops

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// TestCommutes: a function commutes only where its form shows it.
func TestCommutes(t *testing.T) {
	env := expr.Env{Operands: []expr.Operand{{Name: "a"}, {Name: "b"}}, Params: []expr.Param{{Name: "c", Kind: expr.ScalarParam}}}
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
	} {
		e, err := expr.Parse(test.text, env)
		if err != nil {
			t.Fatal(err)
		}
		g, err := e.Check(test.dtype)
		if err != nil {
			t.Fatal(err)
		}
		if got := commutes(g); got != test.want {
			t.Errorf("%s of %s commutes: %t, want %t", test.text, test.dtype, got, test.want)
		}
	}
}
