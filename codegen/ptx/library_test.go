package ptx_test

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter/codegen/ptx"
	"github.com/sinter-go/sinter/codegen/ptx/ptxtest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/kernels/functions"
)

// TestLibrary: every function of the expression language was compiled ahead for every dtype
// that it takes, and kernels that are made of all of them assemble, where ptxas is.
func TestLibrary(t *testing.T) {
	text, err := functions.PTX()
	if err != nil {
		t.Skip(err)
	}
	lib := ptx.NewLibrary(text)
	for _, d := range []ir.DType{ir.Bool, ir.Uint8, ir.Int8, ir.Int16, ir.Int32, ir.Int64, ir.Float32, ir.Float64} {
		c := lib.NewCode()
		at := c.Let("b64", "ld.param.u64 [p0]")
		for i, g := range expr.Instances(d) {
			names := map[string]string{"index": c.Let("b64", "ld.volatile.global.b64 [%s]", at)}
			for _, o := range g.Env.Operands {
				class := ptx.Class(d)
				if o.Fixed != ir.Invalid {
					class = ptx.Class(o.Fixed)
				}
				names[o.Name] = c.Let(class, "ld.volatile.global.%s [%s]", class, at)
			}
			for _, r := range c.Graph(g, names) {
				c.Line("st.volatile.global.%s [%s+%d], %s", ptx.Class(g.Result()), at, 8*i, r)
			}
		}
		body, err := c.Body()
		if err != nil {
			t.Errorf("%s: %v", d, err)
			continue
		}
		kernel, err := lib.Module("all", []byte(".visible .entry all(.param .u64 p0)\n"+body))
		if err != nil {
			t.Errorf("%s: %v", d, err)
			continue
		}
		t.Logf("%s: %d functions, %d of them called", d, len(expr.Instances(d)), strings.Count(string(kernel), "call.uni (r)"))
		ptxtest.Assemble(t, kernel)
	}
}
