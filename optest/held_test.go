package optest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// TestHeld: an operator holds memory for its results alone: what it makes on the way, of
// however many results, is given back when it returns, and not when the collector comes by.
func TestHeld(t *testing.T) {
	old, _ := device.DriverOf(device.KindSim)
	device.Install(sim.New(sim.Config{Devices: 1}))
	t.Cleanup(func() { device.Install(old) })
	dev := device.Sim(0)
	tried, several := 0, 0
	for i := range opcases.Cases {
		o := &opcases.Cases[i]
		if testing.Short() && i%9 != 0 {
			continue
		}
		for _, sample := range o.Samples { // those without samples make nothing on the way
			left, results := held(t, o, sample, dev)
			if results == 0 {
				continue
			}
			tried++
			if results > 1 {
				several++
			}
			if left != 0 {
				t.Errorf("%s of %v: %d bytes are held when its results are released", o.Op.Name, sample.Shapes, left)
			}
		}
	}
	least, leastSeveral := 300, 15
	if testing.Short() {
		least, leastSeveral = 20, 1
	}
	if tried < least || several < leastSeveral {
		t.Errorf("%d operators were tried, %d of them with several results", tried, several)
	}
}

// held returns how many more bytes of dev are held after an operator was applied and its
// results were released, and how many these were: none where it refused.
func held(t *testing.T, o *optest.Operator, sample optest.Sample, dev device.Device) (bytes int64, results int) {
	place := &core.Placement{Device: dev, DType: ir.Float32}
	in := make([]*core.Tensor, len(o.Op.In))
	for i, x := range o.Operands(&optest.Bench{}, sample) {
		v := ir.IntScalar(0)
		if x.DType.Differentiable() {
			v = ir.FloatScalar((x.Low + x.High) / 2)
		}
		one := ops.Full(x.Shape, v, &core.Placement{Device: dev, DType: x.DType})
		defer one.Release()
		if i < len(in) {
			in[i] = one
		} else {
			in = append(in, one)
		}
	}
	apply := func() int {
		outs := o.Call(optest.Args{In: in, Attrs: sample.Attrs, Place: place})
		n := len(outs)
		for _, out := range outs {
			if out.TakeErr() != nil {
				n = 0
			}
			if !slices.Contains(in, out) {
				out.Release()
			}
		}
		return n
	}
	apply() // what it keeps for later calls
	before := memory.Allocated(dev)
	results = apply()
	if err := stream.Synchronize(context.Background(), dev); err != nil {
		t.Fatal(err)
	}
	return memory.Allocated(dev) - before, results
}
