package cpp

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/kernels"
)

// TestOwnHeaders finds each function in the header that is included for it.
func TestOwnHeaders(t *testing.T) {
	for _, o := range owns {
		text, err := fs.ReadFile(kernels.Source, o.header)
		if err != nil {
			t.Errorf("%s: %v", o.call, err)
			continue
		}
		if short := strings.TrimPrefix(o.function, "sinter::"); !strings.Contains(string(text), " "+short+"(") {
			t.Errorf("%s has no %s, which %s is printed as", o.header, short, o.call)
		}
	}
}

// TestIncludes prints calls of the language and looks which headers they need.
func TestIncludes(t *testing.T) {
	env := expr.Env{
		Operands: []expr.Operand{{Name: "x"}, {Name: "n", Fixed: ir.Int64}},
		Params:   []expr.Param{{Name: "k", Kind: expr.IntParam}, {Name: "l", Kind: expr.IntParam}},
	}
	for _, c := range []struct {
		src      string
		dtype    ir.DType
		includes string
	}{
		{"lgamma(x)", ir.Float32, "#include \"gamma.cuh\"\n"},
		{"digamma(x) + lgamma(x)", ir.Float64, "#include \"gamma.cuh\"\n"},
		{"pow(x, x)", ir.Complex64, "#include \"power.cuh\"\n"},
		{"pow(x, x)", ir.Float32, ""},
		{"cast(remainder(n, k - l))", ir.Float32, "#include \"remainder.cuh\"\n"},
		{"cast(remainder(n, 1000))", ir.Float32, "#include \"remainder.cuh\"\n"},
		{"cast(remainder(n, index))", ir.Float32, ""},
		{"cast(remainder(k, n - k))", ir.Float32, ""},
		{"remainder(x, x)", ir.Int64, ""},
		{"exp(x)", ir.Float32, ""},
	} {
		text := printed(t, c.src, env, c.dtype)
		if diff := cmp.Diff(c.includes, Includes(text)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.src, text, diff)
		}
	}
}
