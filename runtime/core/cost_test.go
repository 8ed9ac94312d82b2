package core_test

import (
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// still is a device whose kernels do nothing.
type still struct{ *sim.Driver }

func (still) Launch(int, device.StreamID, *ir.Call) error { return nil }

// TestAllocations bounds the Go allocations of an operator whose result is
// released: the list of operands, the handle, and what is named beside each.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	simulate(t, sim.Config{})
	device.Install(still{sim.New(sim.Config{Devices: 1})})
	x := core.Zeros([]int{1024}, on(device.Sim(0)))
	for _, c := range []struct {
		name string
		call func() T
		most float64
	}{
		{"plain", func() T { return mul(x, x) }, 2},
		{"with a number", func() T { return mul(x, core.ScalarTensor(ir.FloatScalar(2))) }, 3}, // the number
		{"recorded", func() T { return mul(x, x) }, 3},                                         // the node
	} {
		must(t, x.SetRequiresGrad(c.name == "recorded"))
		must(t, c.call().Err())
		if got := testing.AllocsPerRun(500, func() { c.call().Release() }); got > c.most {
			t.Errorf("%s: %v allocations; want at most %v", c.name, got, c.most)
		}
	}
}
