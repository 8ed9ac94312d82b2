package core_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu"
	cpuvector "github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

type T = *core.Tensor

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want compares the elements of x.
func want(t *testing.T, x T, values ...float32) {
	t.Helper()
	got, err := core.Data[float32](x)
	must(t, err)
	if diff := cmp.Diff(values, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// A spy is a simulated device that notes the calls which give work to a stream or
// wait for one.
type spy struct {
	*sim.Driver
	mu    sync.Mutex
	calls []string
}

// simulate makes a spy over the given devices the simulated ones until the test
// ends.
func simulate(t testing.TB, c sim.Config) *spy {
	s := &spy{Driver: sim.New(c)}
	old, _ := device.DriverOf(device.KindSim)
	device.Install(new(cpu.Driver), s)
	t.Cleanup(func() { device.Install(old) })
	return s
}

func (s *spy) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}

// took returns what was noted since it was last called.
func (s *spy) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func (s *spy) Launch(dev int, q device.StreamID, c *ir.Call) error {
	s.note("%s on %d/%d", c.Op.Name, dev, q)
	return s.Driver.Launch(dev, q, c)
}

func (s *spy) SyncStream(ctx context.Context, dev int, q device.StreamID) error {
	s.note("wait for %d/%d", dev, q)
	return s.Driver.SyncStream(ctx, dev, q)
}

func (s *spy) RecordEvent(dev int, e device.EventID, q device.StreamID) error {
	s.note("mark %d/%d", dev, q)
	return s.Driver.RecordEvent(dev, e, q)
}

func (s *spy) WaitEvent(dev int, q device.StreamID, eventDev int, e device.EventID) error {
	s.note("%d/%d waits for %d", dev, q, eventDev)
	return s.Driver.WaitEvent(dev, q, eventDev, e)
}

func (s *spy) Zero(dev int, q device.StreamID, m device.Memory, n int64) error {
	s.note("zero on %d/%d", dev, q)
	return s.Driver.Zero(dev, q, m, n)
}

func (s *spy) CopyFromHost(dev int, q device.StreamID, dst uint64, src unsafe.Pointer, n int64) error {
	s.note("upload on %d/%d", dev, q)
	return s.Driver.CopyFromHost(dev, q, dst, src, n)
}

func (s *spy) CopyToHost(dev int, q device.StreamID, dst unsafe.Pointer, src uint64, n int64) error {
	s.note("download on %d/%d", dev, q)
	return s.Driver.CopyToHost(dev, q, dst, src, n)
}

func (s *spy) CopyPeer(dev int, q device.StreamID, to int, dst, src uint64, n int64) error {
	s.note("copy to %d on %d/%d", to, dev, q)
	return s.Driver.CopyPeer(dev, q, to, dst, src, n)
}

func loops(f func(out, x, y *float32)) []*[ir.NumDTypes]cpuvector.Func {
	var table [ir.NumDTypes]cpuvector.Func
	table[ir.Float32] = func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
		at := func(k, i int) *float32 { return (*float32)(unsafe.Add(p[min(k, len(p)-1)], 4*i)) }
		for i := range n {
			f(at(0, i), at(1, i), at(2, i))
		}
	}
	return []*[ir.NumDTypes]cpuvector.Func{&table}
}

var mulOp = ir.Op{
	Name: "mul", Kind: ir.Elementwise, Switch: -1, DTypes: ir.ClassFloat, Promote: ir.PromoteArith,
	In: []ir.Operand{{Name: "x"}, {Name: "y"}}, Out: []ir.Result{{Name: "out"}},
	Bodies: []ir.Body{{Exprs: []string{"x*y"}}},
	Code:   []ir.Code{{For: "cpu", Of: &cpuvector.Code{Loops: loops(func(out, x, y *float32) { *out = *x * *y })}}},
}

// mul multiplies operands of one shape.
func mul(x, y T) T {
	return core.Elementwise(core.Apply{Op: &mulOp, In: []T{x, y}, Backward: mulBackward, Save: core.SaveIn(0) | core.SaveIn(1)})
}

func mulBackward(g *core.Grad) {
	g.Set(0, mul(g.Dy(0), g.In(1)))
	g.Set(1, mul(g.Dy(0), g.In(0)))
}

var addOp = ir.Op{
	Name: "add", Kind: ir.Elementwise, Switch: -1, DTypes: ir.ClassFloat, Promote: ir.PromoteArith,
	In: []ir.Operand{{Name: "x"}, {Name: "y"}}, Out: []ir.Result{{Name: "out"}},
	Bodies: []ir.Body{{Exprs: []string{"x + y"}}},
	Code:   []ir.Code{{For: "cpu", Of: &cpuvector.Code{Loops: loops(func(out, x, y *float32) { *out = *x + *y })}}},
}

func add(x, y T) T {
	return core.Elementwise(core.Apply{Op: &addOp, In: []T{x, y}, Backward: addBackward})
}

func addBackward(g *core.Grad) {
	g.Set(0, g.Dy(0))
	g.Set(1, g.Dy(0))
}

// engine is what backward passes of these tests are made of.
var engine = core.Operators{
	Add: add, Clone: core.Copy,
	OnesLike: func(x T) T { return core.From([]float32{1}, []int{}, *core.PlacementLike(x)) },
}

// transpose returns a matrix's view with its axes exchanged.
func transpose(x T) T {
	l := x.Layout()
	op := &ir.Op{Name: "transpose", Kind: ir.ViewBody, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, Switch: -1}
	return core.View(core.Apply{Op: op, In: []T{x}}, ir.Layout{
		Shape: []int{l.Shape[1], l.Shape[0]}, Strides: []int{l.Strides[1], l.Strides[0]}, Offset: l.Offset,
	}, nil)
}

// sameAndWider are dtypes that a copy of float32 is made in.
var sameAndWider = []ir.DType{ir.Float32, ir.Float64}

// replaceStream writes name for the handle of s, a stream of device dev.
func replaceStream(call string, dev int, s stream.Stream, name string) string {
	return strings.ReplaceAll(call, fmt.Sprintf("%d/%d", dev, s.ID()), fmt.Sprintf("%d/%s", dev, name))
}

func on(dev device.Device) core.Placement { return core.Placement{Device: dev} }

func vector(dev device.Device, values ...float32) T { return core.From(values, nil, on(dev)) }
