package cpp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

var env = expr.Env{Operands: []expr.Operand{{Name: "x"}, {Name: "y"}}, Params: []expr.Param{{Name: "p", Kind: expr.ScalarParam}}}

func TestPrint(t *testing.T) {
	for _, c := range []struct {
		src   string
		dtype ir.DType
		want  string
	}{
		{"x*y + p", ir.Float32, "x * y + p"},
		{"max(x, 0) + log1p(exp(-abs(x)))", ir.Float64, "sinter::max(x, T(0.0)) + sinter::log1p(sinter::exp(-sinter::abs(x)))"},
		{"x/y", ir.Int32, "sinter::div(x, y)"},
		{"-x + y*p", ir.Int32, "sinter::add(sinter::neg(x), sinter::mul(y, p))"},
		{"-x + y*p", ir.Int8, "T(T(-x) + T(y * p))"},
		{"x + index%2", ir.Int64, "sinter::add(x, sinter::cast<T>(sinter::rem(index, 2LL)))"},
		{"x + y", ir.Bool, "x || y"},
		{"x != 0", ir.Bool, "x != false"},
		{"where(x > y, 1, 0)", ir.Float32, "((x > y) ? T(1.0) : T(0.0))"},
		{"p + index*0.5", ir.Float32, "p + sinter::cast<T>(index) * T(0.5)"},
		{"x - (y - p)", ir.Float64, "x - (y - p)"},
		{"abs(x)", ir.Complex64, "sinter::abs(x)"},
		{"x*Inf", ir.Float32, "x * sinter::infinity<T>()"},
	} {
		if diff := cmp.Diff(c.want, printed(t, c.src, env, c.dtype)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.src, diff)
		}
	}
}

// printed is an expression of dtype d as C++.
func printed(t *testing.T, src string, env expr.Env, d ir.DType) string {
	t.Helper()
	e, err := expr.Parse(src, env)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	g, err := e.Check(d)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return Types{"T", "R"}.Print(g).Results[0]
}
