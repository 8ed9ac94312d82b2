package compile_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestNeighbours: every element-wise operator gives eager code's bits in one kernel with
// another operator before it and one behind it, on the processor.
func TestNeighbours(t *testing.T) {
	fused := 0
	for _, o := range opcases.Cases {
		if o.Op.Kind != ir.Elementwise && o.Op.Kind != ir.Joint || len(o.Op.In) == 0 {
			continue
		}
		for _, dtype := range []ir.DType{ir.Float32, ir.Float64} {
			if !o.Op.DTypes.Has(dtype) || !o.RunsOn(device.KindCPU) {
				continue
			}
			x := operands(t, &o, dtype)
			if x == nil {
				continue
			}
			f := func(in []*core.Tensor) ([]*core.Tensor, error) {
				own := make([]*core.Tensor, len(in))
				for i := range in {
					if own[i] = in[i]; in[i].DType().IsFloat() {
						own[i] = ops.Neg(ops.Neg(in[i]))
					}
				}
				out := o.Call(optest.Args{In: own, Attrs: o.Defaults})
				for i, y := range out {
					out[i] = ops.LogicalNot(y)
					if y.DType().IsFloat() {
						out = append(out, ops.Abs(y))
					}
				}
				return out, nil
			}
			if eager, _ := f(x); len(eager) == 0 || core.FirstError(eager...) != nil {
				continue // not with these operands, which eager code says
			}
			run := func(options core.RecordOptions) ([]*core.Tensor, *core.Recorded) {
				rec, err := core.Record(x, options, f)
				if err != nil {
					t.Fatalf("%s of %v: %v", o.Op.Name, dtype, err)
				}
				got, err := rec.Run(x)
				if err != nil {
					t.Fatalf("%s of %v: %v", o.Op.Name, dtype, err)
				}
				return got, rec
			}
			got, rec := run(core.RecordOptions{})
			want, apart := run(core.RecordOptions{Unfused: true})
			for i := range want {
				g, err := core.Bytes(got[i])
				must(t, err)
				w, err := core.Bytes(want[i])
				must(t, err)
				if !bytes.Equal(g, w) {
					t.Errorf("%s of %v: result %d differs\n%s", o.Op.Name, dtype, i, rec.Program)
				}
			}
			if rec.Steps() < apart.Steps() {
				fused++
			}
		}
	}
	t.Logf("%d operators fused", fused)
	if fused == 0 {
		t.Skip("nothing is fused here")
	}
}

// operands are random ones of an operator within its domains, or nil where it takes others
// than floats.
func operands(t *testing.T, o *optest.Operator, dtype ir.DType) (list []*core.Tensor) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, uint64(len(o.Op.Name))))
	const n = 1003
	for i, in := range o.Op.In {
		if in.Fixed != ir.Invalid && in.Fixed != dtype || in.Variadic {
			return nil
		}
		low, high := o.Domain[0], o.Domain[1]
		if i < len(o.Domains) && o.Domains[i] != [2]float64{} {
			low, high = o.Domains[i][0], o.Domains[i][1]
		}
		if low == high {
			low, high = -2, 2
		}
		values := make([]float64, n)
		for k := range values {
			values[k] = low + (high-low)*rng.Float64()
		}
		list = append(list, core.Cast(core.From(values, []int{n}, core.Placement{}), dtype))
	}
	return list
}
