package compile_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestNeighbours: every element-wise operator gives eager code's bits in one kernel with
// another operator before it and one behind it.
func TestNeighbours(t *testing.T) {
	for _, dev := range devices() {
		if dev.Kind != device.KindSim { // where nothing is fused
			t.Run(dev.Kind.String(), func(t *testing.T) { testNeighbours(t, dev) })
		}
	}
}

func testNeighbours(t *testing.T, dev device.Device) {
	if dev.Kind == device.KindCUDA && testing.Short() {
		t.Skip("each of hundreds of kernels is compiled")
	}
	var fused atomic.Int32
	var wait sync.WaitGroup
	free := make(chan struct{}, max(runtime.GOMAXPROCS(0), 2)) // kernels are compiled side by side
	for i := range opcases.Cases {
		o := &opcases.Cases[i]
		if o.Op.Kind != ir.Elementwise && o.Op.Kind != ir.Joint || len(o.Op.In) == 0 || !o.RunsOn(dev.Kind) {
			continue
		}
		for k, dtype := range []ir.DType{ir.Float32, ir.Float64, ir.Float16, ir.BFloat16} {
			if !o.Op.DTypes.Has(dtype) || testing.Short() && (i+k)%16 != 0 { // every fourth operator, in one of them
				continue
			}
			free <- struct{}{}
			wait.Go(func() {
				defer func() { <-free }()
				if testBetween(t, o, dtype, dev) {
					fused.Add(1)
				}
			})
		}
	}
	wait.Wait()
	t.Logf("%d operators fused", fused.Load())
	if fused.Load() == 0 {
		t.Skip("nothing is fused here")
	}
}

// testBetween tests an operator between others, and reports whether it was fused.
func testBetween(t *testing.T, o *optest.Operator, dtype ir.DType, dev device.Device) bool {
	x := operands(o, dtype, dev)
	if x == nil {
		return false
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
		return false // not with these operands, which eager code says
	}
	run := func(options core.RecordOptions) (list [][]byte, r *core.Recorded, err error) {
		if r, err = core.Record(x, options, f); err != nil {
			return nil, nil, err
		}
		got, err := r.Run(x)
		for i := range got {
			b, failed := core.Bytes(got[i])
			list, err = append(list, b), errors.Join(err, failed)
		}
		return list, r, err
	}
	got, rec, err := run(core.RecordOptions{})
	want, apart, failed := run(core.RecordOptions{Unfused: true})
	if err = errors.Join(err, failed); err != nil {
		t.Errorf("%s of %v: %v", o.Op.Name, dtype, err)
		return false
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("%s of %v: result %d differs\n%s", o.Op.Name, dtype, i, rec.Program)
		}
	}
	return rec.Steps() < apart.Steps()
}

// operands are random ones of an operator within its domains, or nil where it takes others
// than floats.
func operands(o *optest.Operator, dtype ir.DType, dev device.Device) (list []*core.Tensor) {
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
		list = append(list, core.Cast(core.From(values, []int{n}, core.Placement{Device: dev}), dtype))
	}
	return list
}
