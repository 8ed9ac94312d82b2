package fused_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/fused"
	"github.com/sinter-go/sinter/backend/cuda/nvrtc"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/kernels"
)

// region is that of t = tanh(x*k + y), t < y.
func region(t *testing.T, dt ir.DType, results int) *fusion.Region {
	t.Helper()
	in := []ir.Operand{{Name: "a"}, {Name: "b"}}
	op := func(name, text string, in []ir.Operand, out ir.DType, attrs ...ir.Attr) *ir.Op {
		return &ir.Op{Name: name, Kind: ir.Elementwise, In: in, Out: []ir.Result{{Name: "y", DType: out}}, Attrs: attrs, Switch: -1,
			DTypes: ir.ClassFloat, Bodies: []ir.Body{{Exprs: []string{text}}}}
	}
	scaled := op("scaled", "tanh(a*k + b)", in, ir.Invalid, ir.Attr{Name: "k", Kind: ir.AttrScalar})
	less := op("less", "a < b", in, ir.Bool)
	k := ir.FloatScalar(0.5)
	view := func(dt ir.DType) ir.View { return ir.View{DType: dt, Shape: []int{8}, Strides: []int{1}} }
	call := func(o *ir.Op, out ir.DType, s ...ir.Scalar) ir.Call {
		c := ir.Call{Kernel: o.Kernel(0, dt), Space: []int{8}, Out: []ir.View{view(out)}, In: []ir.View{view(dt), view(dt)}, Scalars: s}
		for _, s := range s {
			c.Attrs = append(c.Attrs, ir.ScalarValue(s))
		}
		return c
	}
	buffers := []program.Buffer{{Kind: program.Argument, Bytes: 64}, {Kind: program.Argument, Bytes: 64}, {Bytes: 64}, {Kind: program.Result, Bytes: 64}}
	if results > 1 {
		buffers[2].Kind = program.Result
	}
	p := program.New(buffers, []program.Step{
		{Call: call(scaled, dt, k), Out: []program.Ref{{Buffer: 2}}, In: []program.Ref{{Buffer: 0}, {Buffer: 1}}},
		{Call: call(less, ir.Bool), Out: []program.Ref{{Buffer: 3}}, In: []program.Ref{{Buffer: 2}, {Buffer: 1}}},
	}, nil)
	var made *fusion.Region
	plan := fusion.Make(p, fusion.Options{
		Refused:     func(int) string { return "" },
		Rounds:      func(int) bool { return true },
		RoundsFolds: func(int) bool { return false },
		Number:      func(int, int) (ir.Scalar, bool) { return ir.Scalar{}, false },
		Place:       func(int) int { return 0 },
		Kind:        func(int) string { return fmt.Sprint(t.Name(), dt, results) },
		Code:        func(_ int, r *fusion.Region, _ *ir.Call) error { made = r; return nil },
	})
	if len(plan.Groups) != 1 || len(plan.Order) != 1 || made == nil {
		t.Fatalf("%d groups, %d steps: %v", len(plan.Groups), len(plan.Order), plan.Why)
	}
	return made
}

// sources is what the compiler is given of device code.
func sources(t *testing.T, k *code.Kernels) nvrtc.Program {
	t.Helper()
	files, err := kernels.Files(k.Source, k.Module)
	if err != nil {
		t.Fatal(err)
	}
	p := nvrtc.Program{Name: k.Module + ".cu", Headers: map[string]string{}, Target: "compute_90", Options: slices.Clone(kernels.Options())}
	for _, f := range files {
		if f.Name == p.Name {
			p.Source = string(f.Text)
		} else {
			p.Headers[f.Name] = string(f.Text)
		}
	}
	return p
}

// TestCompiles: the source of a region compiles, and its kernels have the names that
// launches ask for.
func TestCompiles(t *testing.T) {
	c, err := nvrtc.Open()
	if err != nil {
		t.Skip(err)
	}
	for _, results := range []int{1, 2} {
		for _, dt := range []ir.DType{ir.Float32, ir.Float64} {
			k, err := fused.Kernels(region(t, dt, results))
			if err != nil {
				t.Fatal(err)
			}
			for _, loop := range []string{"", "_strided", "_rows"} {
				if loop == "_rows" && results > 1 {
					continue
				}
				file := *k
				file.Module += loop
				p := sources(t, &file)
				ptx, err := c.Compile(p)
				if err != nil {
					t.Fatalf("%v\n%s", err, p.Source)
				}
				if name := k.Symbol + "_" + dt.String() + loop + "("; !strings.Contains(string(ptx), ".entry "+name) {
					t.Errorf("no kernel %s", name)
				}
			}
		}
	}
}
