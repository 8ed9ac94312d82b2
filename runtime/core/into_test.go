package core_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/ref"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// momentumOp takes a step of gradient descent with momentum over lists of tensors:
// speed = beta*speed + grad, param -= rate*speed.
var momentumOp = ir.Op{
	Name: "momentum_step", Kind: ir.Opaque, Switch: -1, DTypes: ir.ClassFloat, Promote: ir.PromoteNone,
	In:    []ir.Operand{{Name: "grad"}, {Name: "rate", Fixed: ir.Float64, Optional: true}},
	Attrs: []ir.Attr{{Name: "beta", Kind: ir.AttrFloat}},
	Out:   []ir.Result{{Name: "param"}, {Name: "speed"}, {Name: "steps", DType: ir.Int64}},
	Code:  []ir.Code{{For: "cpu", Of: ir.KernelFunc(momentum)}},
}

func momentum(c *ir.Call) error {
	n := len(c.Out) / len(c.Op.Out)
	at := func(v ir.View, i int) *float32 {
		return (*float32)(unsafe.Add(v.Ptr, 4*i*v.Strides[0]))
	}
	for k := range n {
		rate := 1.0
		if r := c.In[n+k]; r.Given() {
			rate = *(*float64)(r.Ptr)
		}
		for i := range c.Out[k].NumElements() {
			speed := at(c.Out[n+k], i)
			*speed = float32(c.Attrs[0].Scalar.Float())**speed + *at(c.In[k], i)
			*at(c.Out[k], i) -= float32(rate) * *speed
		}
		*(*int64)(unsafe.Add(c.Out[2*n+k].Ptr, 0))++
	}
	return nil
}

// momentumLists are the operands of a step over two tensors.
type momentumLists struct{ param, grad, speed, steps, rate []T }

func newMomentum(dev device.Device) *momentumLists {
	count := func() T {
		return core.Zeros([]int{2}, core.Placement{Device: dev, DType: ir.Int64})
	}
	return &momentumLists{
		param: []T{vector(dev, 1, 2), vector(dev, 3, 4)}, grad: []T{vector(dev, 10, 20), vector(dev, 30, 40)},
		speed: []T{vector(dev, 1, 1), vector(dev, 2, 2)}, steps: []T{count(), count()},
		rate: []T{nil, core.ScalarTensor(ir.FloatScalar(0.5))},
	}
}

func (m *momentumLists) step() error {
	writes := append(append(append([]T(nil), m.param...), m.speed...), m.steps...)
	return core.KernelInto(core.Apply{
		Op: &momentumOp, In: append(append([]T(nil), m.grad...), m.rate...), Attrs: []ir.Value{ir.FloatValue(0.5)},
	}, writes)
}

func TestKernelInto(t *testing.T) {
	ref.Provide(map[*ir.Op]ir.KernelFunc{&momentumOp: momentum})
	simulate(t, sim.Config{Devices: 1, Async: true})
	for _, dev := range []device.Device{device.CPU, device.Sim(0)} {
		m := newMomentum(dev)
		must(t, m.param[0].SetRequiresGrad(true))
		core.NoGrad(func() { must(t, m.step()) })
		want(t, m.param[0], -9.5, -18.5)
		want(t, m.speed[0], 10.5, 20.5)
		want(t, m.param[1], 3-15.5, 4-20.5)
		steps, err := core.Data[int64](m.steps[1])
		must(t, err)
		if diff := cmp.Diff([]int64{1, 0}, steps); diff != "" {
			t.Error(diff)
		}
		for i, x := range []T{m.param[0], m.speed[1], m.steps[0], m.grad[0]} {
			if got := x.Version(); got != int64(1-i/3) {
				t.Errorf("%d: version %d", i, got)
			}
		}
	}
}

// TestKernelIntoRefuses: nothing is written when something is wrong.
func TestKernelIntoRefuses(t *testing.T) {
	simulate(t, sim.Config{Devices: 1})
	for _, c := range []struct {
		name  string
		spoil func(m *momentumLists)
		want  string
	}{
		{"leaf while recording", func(m *momentumLists) { _ = m.param[1].SetRequiresGrad(true) }, "param 1: no gradient"},
		{"lists of two lengths", func(m *momentumLists) { m.grad = m.grad[:1] }, "do not make lists of one length"},
		{"other device", func(m *momentumLists) { m.speed[0] = vector(device.Sim(0), 1, 1) }, "speed 0: operands on different devices"},
		{"other shape", func(m *momentumLists) { m.speed[1] = vector(device.CPU, 1) }, "speed 1: invalid shape"},
		{"gradient of another shape", func(m *momentumLists) { m.grad[1] = vector(device.CPU, 1) }, "grad 1: invalid shape"},
		{"gradient of another dtype", func(m *momentumLists) { m.grad[1] = core.Cast(m.grad[1], ir.Float64) }, "grad 1: invalid dtype: it must be float32, not float64"},
		{"result of another dtype", func(m *momentumLists) { m.steps[1] = m.param[0] }, "steps 1: invalid dtype: it must be int64, not float32"},
		{"same tensor twice", func(m *momentumLists) { m.param[1] = m.param[0] }, "param 0 and param 1, both to be written, share elements"},
		{"read what another writes", func(m *momentumLists) { m.grad[1] = m.param[0] }, "grad 1, which is read, and param 0, to be written, share elements"},
		{"zero", func(m *momentumLists) { m.param[0] = nil }, "param 0: zero Tensor"},
		{"no gradient", func(m *momentumLists) { m.grad[0] = nil }, "grad 0: zero Tensor"},
		{"released", func(m *momentumLists) { m.grad[0].Release() }, "tensor was released"},
		{"expanded", func(m *momentumLists) {
			m.param[0] = core.View(core.Apply{Op: &momentumOp, In: []T{m.param[0]}}, ir.Layout{Shape: []int{2}, Strides: []int{0}}, nil)
		}, "param 0: overlapping memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMomentum(device.CPU)
			keep := m.param[1]
			c.spoil(m)
			err := m.step()
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "into_test.go") {
				t.Errorf("error %v; want this line and %q", err, c.want)
			}
			want(t, keep, 3, 4)
		})
	}
}
