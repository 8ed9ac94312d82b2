package fused_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/fused"
	"github.com/sinter-go/sinter/backend/cuda/nvrtc"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
	"github.com/sinter-go/sinter/ir/program"
)

// rows is that of y = x*k*m, z = x*k < m, of which x and y are stored otherwise, where m is the mean of rows of x*k, plus e.
func rows(t *testing.T, dt, stored ir.DType) *fusion.Rows {
	t.Helper()
	const n, length = 40, 64
	wide, one := []int{n, length}, []int{n, 1}
	in := []ir.Operand{{Name: "a"}, {Name: "b"}}
	op := func(kind ir.BodyKind, name string, b ir.Body, in []ir.Operand, out ir.DType, attrs ...ir.Attr) *ir.Kernel {
		o := &ir.Op{Name: name, Kind: kind, In: in, Out: []ir.Result{{Name: "y", DType: out}}, Attrs: attrs, Switch: -1, DTypes: ir.ClassFloat, Bodies: []ir.Body{b}}
		return o.Kernel(0, dt)
	}
	text := func(s string) ir.Body { return ir.Body{Exprs: []string{s}} }
	k := ir.Attr{Name: "k", Kind: ir.AttrScalar}
	scaled := op(ir.Elementwise, "scaled", text("a*k"), in[:1], ir.Invalid, k)
	mean := op(ir.Reduction, "mean", ir.Body{Init: "0", Combine: "a + b", Finish: "a/count"}, []ir.Operand{{Name: "x"}}, ir.Invalid)
	more := op(ir.Elementwise, "more", text("a + k"), in[:1], ir.Invalid, k)
	times := op(ir.Elementwise, "times", text("a*b"), in, ir.Invalid)
	less := op(ir.Elementwise, "less", text("a < b"), in, ir.Bool)
	view := func(dt ir.DType, shape []int, strides ...int) ir.View {
		return ir.View{DType: dt, Shape: shape, Strides: strides}
	}
	call := func(k *ir.Kernel, space []int, out ir.View, in ...ir.View) ir.Call {
		c := ir.Call{Kernel: k, Space: space, Out: []ir.View{out}, In: in}
		for range k.Op.Attrs {
			c.Scalars, c.Attrs = append(c.Scalars, ir.FloatScalar(0.5)), append(c.Attrs, ir.ScalarValue(ir.FloatScalar(0.5)))
		}
		return c
	}
	outside := view(stored, wide, length, 1)
	x, m, spread := view(dt, wide, length, 1), view(dt, one, 1, 1), view(dt, wide, 1, 0)
	fold := call(mean, wide, m, x)
	fold.Axes = []int{1}
	ref := func(list ...int) (refs []program.Ref) {
		for _, b := range list {
			refs = append(refs, program.Ref{Buffer: b})
		}
		return refs
	}
	bytes := int64(n * length * dt.Size())
	p := program.New([]program.Buffer{{Kind: program.Argument, Bytes: bytes}, {Bytes: bytes}, {Bytes: bytes}, {Bytes: bytes},
		{Kind: program.Result, Bytes: bytes}, {Kind: program.Result, Bytes: bytes}},
		[]program.Step{
			{Call: call(scaled, wide, x, outside), Out: ref(1), In: ref(0)},
			{Call: fold, Out: ref(2), In: ref(1)},
			{Call: call(more, one, m, m), Out: ref(3), In: ref(2)},
			{Call: call(times, wide, outside, x, spread), Out: ref(4), In: ref(1, 3)},
			{Call: call(less, wide, view(ir.Bool, wide, length, 1), x, spread), Out: ref(5), In: ref(1, 3)},
		}, nil)
	var made *fusion.Rows
	plan := fusion.Make(p, fusion.Options{
		Refused:     func(int) string { return "" },
		Rounds:      func(int) bool { return true },
		RoundsFolds: func(int) bool { return false },
		Number:      func(int, int) (ir.Scalar, bool) { return ir.Scalar{}, false },
		Place:       func(int) int { return 0 },
		Kind:        func(int) string { return fmt.Sprint(t.Name(), dt, stored) },
		Code:        func(int, *fusion.Region, *ir.Call) error { return nil },
		RowCode:     func(_ int, r *fusion.Rows) error { made = r; return nil },
	})
	if len(plan.Groups) != 1 || len(plan.Order) != 1 || made == nil {
		t.Fatalf("%d groups, %d steps: %v", len(plan.Groups), len(plan.Order), plan.Why)
	}
	return made
}

// TestRowsCompile: the source of rows compiles, and its kernel has the name that launches
// ask for.
func TestRowsCompile(t *testing.T) {
	c, err := nvrtc.Open()
	if err != nil {
		t.Skip(err)
	}
	for _, dts := range [][2]ir.DType{{ir.Float32, ir.Float32}, {ir.Float64, ir.Float64}, {ir.Float32, ir.BFloat16}, {ir.Float32, ir.Float16}} {
		k, err := fused.Rows(rows(t, dts[0], dts[1]))
		if err != nil {
			t.Fatal(err)
		}
		p := sources(t, k)
		ptx, err := c.Compile(p)
		if err != nil {
			t.Fatalf("%v\n%s", err, p.Source)
		}
		for _, name := range []string{"", "_held4", "_held16"} {
			if name = fused.RowKernel() + name; !strings.Contains(string(ptx), ".entry "+name+"(") {
				t.Errorf("no kernel %s in\n%s", name, p.Source)
			}
		}
	}
}

// TestProductCompiles: the source of a small product and what follows compiles, and its
// kernels have the names that launches ask for.
func TestProductCompiles(t *testing.T) {
	c, err := nvrtc.Open()
	if err != nil {
		t.Skip(err)
	}
	in := []ir.Operand{{Name: "a"}, {Name: "b"}}
	matmul := &ir.Op{Name: "matmul", Kind: ir.Opaque, In: in, Out: []ir.Result{{Name: "y"}}, Switch: -1, DTypes: ir.ClassFloat, Tags: ir.TagProduct}
	r := region(t, ir.Float32, 2)
	p := &fusion.Product{Op: &ir.Op{Out: make([]ir.Result, 3)}, Of: matmul.Kernel(0, ir.Float32), After: r, In: []int{-1, 2}, Raw: true}
	k, err := fused.Product(p)
	if err != nil {
		t.Fatal(err)
	}
	source := sources(t, k)
	ptx, err := c.Compile(source)
	if err != nil {
		t.Fatalf("%v\n%s", err, source.Source)
	}
	for _, name := range []string{"region_outer", "region_dot"} {
		if !strings.Contains(string(ptx), ".entry "+name+"(") {
			t.Errorf("no kernel %s in\n%s", name, source.Source)
		}
	}
}
