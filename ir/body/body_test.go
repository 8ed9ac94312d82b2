package body_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
)

var x = []ir.Operand{{Name: "x"}}

// TestOf: names are bound to operands and to the attributes that expressions can read,
// in their order, and what is computed has the dtype that it is checked for.
func TestOf(t *testing.T) {
	attrs := []ir.Attr{{Name: "how", Kind: ir.AttrEnum}, {Name: "by", Kind: ir.AttrScalar}, {Name: "n", Kind: ir.AttrInt}, {Name: "shape", Kind: ir.AttrInts}, {Name: "ok", Kind: ir.AttrBool}}
	tests := []struct {
		name   string
		op     ir.Op
		result ir.DType
		params []expr.Param
	}{
		{"element-wise", ir.Op{Kind: ir.Elementwise, In: x, Attrs: attrs, Bodies: []ir.Body{{Exprs: []string{"where(ok, x*by, cast(n))"}}}},
			ir.Float32, []expr.Param{{Name: "by", Kind: expr.ScalarParam}, {Name: "n", Kind: expr.IntParam}, {Name: "ok", Kind: expr.BoolParam}}},
		{"a fixed operand", ir.Op{Kind: ir.Elementwise, In: []ir.Operand{{Name: "x", Fixed: ir.Int64}}, Bodies: []ir.Body{{Exprs: []string{"x + 1"}}}}, ir.Int64, nil},
		{"fold", ir.Op{Kind: ir.Reduction, In: x, Bodies: []ir.Body{{Init: "0", Map: "x*x", Combine: "a + b", Finish: "a/cast(count)"}}}, ir.Float32, nil},
		{"parts left out", ir.Op{Kind: ir.Scan, In: x, Bodies: []ir.Body{{Init: "0", Combine: "a + b"}}}, ir.Float32, nil},
		{"another dtype", ir.Op{Kind: ir.Reduction, In: x, Bodies: []ir.Body{{Init: "0", Map: "int(x)", Combine: "a + b"}}}, ir.Int64, nil},
	}
	for i := range tests {
		tt := &tests[i]
		b, err := body.Of(tt.op.Kernel(0, ir.Float32))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff([]ir.DType{tt.result}, b.Results()); diff != "" {
			t.Errorf("%s: results (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.params, b.Params); diff != "" {
			t.Errorf("%s: parameters (-want +got):\n%s", tt.name, diff)
		}
		if again, err := body.Of(tt.op.Kernel(0, ir.Float32)); again != b || err != nil {
			t.Errorf("%s: made again (%v)", tt.name, err)
		}
	}
}

func TestRefused(t *testing.T) {
	sum := ir.Body{Init: "0", Combine: "a + b"}
	tests := map[string]*struct {
		op      ir.Op
		variant int
	}{
		"no body 1 of 1":               {ir.Op{In: x, Bodies: []ir.Body{{Exprs: []string{"x"}}}}, 1},
		"no body -1 of 1":              {ir.Op{In: x, Bodies: []ir.Body{{Exprs: []string{"x"}}}}, -1},
		`body "x + oops": `:            {ir.Op{In: x, Bodies: []ir.Body{{Exprs: []string{"x + oops"}}}}, 0},
		"a reduction has one operand,": {ir.Op{Kind: ir.Reduction, Bodies: []ir.Body{sum}}, 0},
		"are not launched":             {ir.Op{Kind: ir.ViewBody, Bodies: []ir.Body{{}}}, 0},
	}
	for want, tt := range tests {
		if _, err := body.Of(tt.op.Kernel(tt.variant, ir.Float32)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
