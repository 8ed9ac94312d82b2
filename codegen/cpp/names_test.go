package cpp_test

import (
	"go/token"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/codegen/cpp"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// TestNames prints names that mean something in C++, or that printing gives itself.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{"x": "x", "double": "double_", "this": "this_", "class": "class_", "t0": "t0", "first.class": "first.class_", "a.new": "a.new", "a.union": "a.union_"} {
		if got := cpp.Name(name); got != want || token.IsKeyword(name) {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := []string{cpp.Free("r", []string{"phi", "r"}), cpp.Free("r", []string{"phi"})}; !cmp.Equal(got, []string{"r_", "r"}) {
		t.Errorf("free names are %q", got)
	}
	e, err := expr.Parse("exp(t0)*double + exp(t0)", expr.Env{Operands: []expr.Operand{{Name: "t0"}, {Name: "double"}}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := e.Check(ir.Float32)
	if err != nil {
		t.Fatal(err)
	}
	code := cpp.Types{T: "T", Real: "R"}.Print(g)
	got := append([]string{code.Lets[0].Name, code.Lets[0].Expr}, code.Results...)
	if diff := cmp.Diff([]string{"t0_", "sinter::exp(t0)", "t0_ * double_ + t0_"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
