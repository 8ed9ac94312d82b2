package core_test

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/allocations"
)

// still is a device whose kernels do nothing.
type still struct{ *sim.Driver }

func (still) Launch(int, device.StreamID, *ir.Call) error { return nil }

// TestAllocations bounds the Go allocations of an operator whose result is
// released: the list of operands, the handle, and what is named beside each.
func TestAllocations(t *testing.T) {
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
		t.Run(c.name, func(t *testing.T) { allocations.AtMost(t, c.most, func() { c.call().Release() }) })
	}
}

// TestHostAllocations: on the host a result is its handle alone, and its memory that
// of one that was released, whether a view held it too or not.
func TestHostAllocations(t *testing.T) {
	simulate(t, sim.Config{})
	for _, n := range []int{1, 1024, 1 << 17} {
		x := core.Zeros([]int{n}, core.Placement{})
		for name, call := range map[string]func(){
			"released": func() { mul(x, x).Release() },
			"detached": func() { y := mul(x, x); z := y.Detach(); y.Release(); z.Release() },
		} {
			call()
			want := map[string]float64{"released": 2, "detached": 3}[name] // with the list of operands
			if n > 1<<16 {
				want += 2 // what workers are given
			}
			t.Run(fmt.Sprintf("%d elements, %s", n, name), func(t *testing.T) { allocations.AtMost(t, want, call) })
		}
	}
}

// TestShortWay: operands that are alike give what others give that are not, but for
// their dtype, layout, shape or place in a graph.
func TestShortWay(t *testing.T) {
	simulate(t, sim.Config{})
	x := core.From([]float32{1, 2, 3, 4}, []int{2, 2}, core.Placement{})
	y := core.From([]float32{5, 6, 7, 8}, []int{2, 2}, core.Placement{})
	want(t, mul(x, y), 5, 12, 21, 32)
	want(t, mul(x, transpose(transpose(y))), 5, 12, 21, 32)
	want(t, mul(x, core.Copy(transpose(y))), 5, 14, 18, 32)
	want(t, mul(x, transpose(y)), 5, 14, 18, 32)
	must(t, x.SetRequiresGrad(true))
	z := mul(x, y)
	if z.GradFn() != "mul" {
		t.Errorf("recorded as %q", z.GradFn())
	}
	core.NoGrad(func() {
		if z := mul(x, y); z.RequiresGrad() {
			t.Error("recorded while nothing is to be")
		}
	})
	if none := mul(core.Zeros([]int{0, 3}, core.Placement{}), core.Zeros([]int{0, 3}, core.Placement{})); none.Err() != nil || none.NumElements() != 0 {
		t.Errorf("of no elements: %v", none)
	}
	core.InScope(func(*core.Scope) { z = mul(x, y) })
	if z.Err() == nil {
		t.Error("the scope did not release the result")
	}
}
