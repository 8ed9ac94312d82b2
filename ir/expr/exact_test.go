package expr

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
)

func TestExact(t *testing.T) {
	operand := func(name string) bool { return name == "x" || name == "y" }
	for src, want := range map[string]bool{
		"-x": true, "where(x > 0.1, x, -y)": true, "max(abs(x), 1)": true, "round(x)": true, "x*x > y": true, "cast(0)": true,
		"x + y": false, "2*x": false, "max(x, eps)": false, "max(x, 0.1)": false, "where(x > 0, exp(x), 0)": false,
	} {
		e, err := Parse(src, Env{Operands: []Operand{{Name: "x"}, {Name: "y"}}, Params: []Param{{Name: "eps"}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Exact(operand); got != want {
			t.Errorf("%s: exact is %v, want %v", src, got, want)
		}
	}
}

func TestPortable(t *testing.T) {
	for src, want := range map[string]bool{
		"x": true, "eps": true, "x/y": true, "-x": true, "x - 2": true, "x*eps": true,
		"x*y + eps": false, "exp(x)": false, "x > y": false, "index": false, "x + index": false,
	} {
		e, err := Parse(src, Env{Operands: []Operand{{Name: "x"}, {Name: "y"}}, Params: []Param{{Name: "eps"}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, dtype := range []ir.DType{ir.Float32, ir.Float64} {
			g, err := e.Check(dtype)
			if err != nil {
				t.Fatal(src, err)
			}
			if got := g.Portable(); got != want {
				t.Errorf("%s of %s: portable is %v, want %v", src, dtype, got, want)
			}
		}
	}
}
