package core_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestReleasedHandles: a released handle never reaches memory again, also when
// its storage serves another tensor, and says what it was.
func TestReleasedHandles(t *testing.T) {
	simulate(t, sim.Config{Devices: 1})
	for _, dev := range []device.Device{device.CPU, device.Sim(0)} {
		x := vector(dev, 1, 2)
		x.Release()
		x.Release()
		y := vector(dev, 3, 4) // takes the storage
		for name, err := range map[string]error{
			"Err": x.Err(), "operand": mul(x, y).Err(), "in place": core.ElementwiseInPlace(core.Apply{Op: &mulOp, In: []T{x, y}}),
			"to": core.To(x, device.CPU, core.TransferOptions{}).Err(), "detach": x.Detach().Err(), "gradient": x.SetRequiresGrad(true),
			"copy": core.CopyFrom(y, x, core.TransferOptions{}, nil),
		} {
			if !errors.Is(err, core.ErrReleased) {
				t.Errorf("%s of a released tensor: %v", name, err)
			}
		}
		if _, err := core.Data[float32](x); !errors.Is(err, core.ErrReleased) {
			t.Errorf("data of a released tensor: %v", err)
		}
		if x.Device() != dev || x.DType() != ir.Float32 || x.NumElements() != 2 || x.SharesStorage(y) || x.IsPinned() || x.Version() != 0 {
			t.Errorf("a released tensor is %v", x)
		}
		x.Release()
		if err := y.TakeErr(); !errors.Is(err, core.ErrReleased) { // of the copy
			t.Errorf("a tensor that was to be written from a released one: %v", err)
		}
		want(t, y, 3, 4)
	}
}

// TestSharedStorages: memory goes back with its last handle, whichever that is.
func TestSharedStorages(t *testing.T) {
	simulate(t, sim.Config{Devices: 1})
	held := func() int64 { return memory.Allocated(device.Sim(0)) }
	before := held()
	x := core.From([]float32{1, 2, 3, 4}, []int{2, 2}, on(device.Sim(0)))
	one := held()
	view := transpose(x)
	x.Release()
	if held() != one {
		t.Error("memory went back while a view holds it")
	}
	want(t, view, 1, 3, 2, 4)
	view.Release()
	if held() != before {
		t.Error("memory did not go back with the last handle")
	}

	x = vector(device.Sim(0), 3)
	must(t, x.SetRequiresGrad(true))
	y := mul(x, x)
	y2 := mul(y, y)
	y.Release() // saved for the gradient of y2
	vector(device.Sim(0), 100)
	must(t, core.Backward([]T{y2}, []T{vector(device.Sim(0), 1)}, core.BackwardOptions{Ops: &engine}))
	want(t, x.Grad(), 108)
}

// TestRecycledStorages: what a storage was used for does not show in the next use.
func TestRecycledStorages(t *testing.T) {
	simulate(t, sim.Config{Devices: 1})
	for range 100 {
		x := vector(device.Sim(0), 2)
		if x.Version() != 0 {
			t.Fatalf("a new tensor has version %d", x.Version())
		}
		must(t, x.SetRequiresGrad(true))
		y := mul(x, x)
		must(t, core.ElementwiseInPlace(core.Apply{Op: &mulOp, In: []T{y, x}, Backward: mulBackward, Save: core.SaveAllIn}))
		must(t, core.Backward([]T{y}, []T{vector(device.Sim(0), 1)}, core.BackwardOptions{Ops: &engine}))
		want(t, x.Grad(), 12)
		y.Release()
		x.Release()
	}
}

// TestCollectedStorages: memory of tensors that nobody released goes back after
// collections, again and again.
func TestCollectedStorages(t *testing.T) {
	simulate(t, sim.Config{Devices: 1})
	before := memory.Allocated(device.Sim(0))
	for range 3 {
		for range 200 {
			x := vector(device.Sim(0), 1, 2, 3)
			mul(x, x)
		}
		if !patience.Until(t, func() bool {
			runtime.GC()
			vector(device.Sim(0), 1).Release() // an allocation frees what was dropped
			return memory.Allocated(device.Sim(0)) == before
		}) {
			t.Fatalf("%d bytes are held, %d before", memory.Allocated(device.Sim(0)), before)
		}
	}
}

// TestConcurrentOperators applies, records, shares and releases from many goroutines.
func TestConcurrentOperators(t *testing.T) {
	simulate(t, sim.Config{Devices: 1, Async: true})
	shared := vector(device.Sim(0), 1, 2)
	before := memory.Allocated(device.Sim(0))
	done := make(chan error)
	const workers = 16
	for w := range workers {
		go func() {
			var err error
			for i := 0; i < 50 && err == nil; i++ {
				core.InScope(func(*core.Scope) {
					x := core.Zeros([]int{2}, on(device.Sim(0)))
					if err = x.SetRequiresGrad(true); err != nil {
						return
					}
					y := mul(add(x, shared), vector(device.Sim(0), float32(w), 1))
					if err = core.Backward([]T{mul(y, y)}, []T{shared}, core.BackwardOptions{Ops: &engine}); err != nil {
						return
					}
					var g []float32
					if g, err = core.Data[float32](x.Grad()); err == nil && (g[0] != float32(2*w*w) || g[1] != 8) {
						t.Errorf("gradient %v of worker %d", g, w)
					}
					err = errors.Join(err, x.SetGrad(nil))
				})
			}
			done <- err
		}()
	}
	for range workers {
		must(t, <-done)
	}
	if now := memory.Allocated(device.Sim(0)); now != before {
		t.Errorf("%d bytes are held, %d before", now, before)
	}
}

// TestComposing: what a composition makes on the way is given back at once, but for
// what its gradient needs; its result belongs to the scope around it.
func TestComposing(t *testing.T) {
	simulate(t, sim.Config{Devices: 1})
	before := memory.Allocated(device.Sim(0))
	held := func() int64 { return memory.Allocated(device.Sim(0)) - before }
	x := vector(device.Sim(0), 1, 2, 3)
	one := held()
	var outer T
	core.InScope(func(*core.Scope) {
		outer = core.Composing(func() T { return add(mul(x, x), core.Composing(func() T { return mul(x, mul(x, x)) })) })
		want(t, outer, 2, 12, 36)
		if got := held(); got != 2*one {
			t.Errorf("%d bytes are held, want %d", got, 2*one)
		}
	})
	if outer.Err() == nil || held() != one {
		t.Errorf("the scope left %d bytes, and the result's error is %v", held()-one, outer.Err())
	}
	func() {
		defer func() {
			if recover() == nil || held() != one {
				t.Errorf("%d bytes are held after a panic, want %d", held(), one)
			}
		}()
		core.Composing(func() T {
			mul(x, x)
			panic("in a composition")
		})
	}()
	if y := core.Composing(func() T { return x }); y != x || y.Err() != nil {
		t.Errorf("an operand that is the result: %v", y.Err())
	}
	must(t, x.SetRequiresGrad(true))
	y := core.Composing(func() T { return mul(mul(x, x), x) })
	must(t, core.Backward([]T{y}, []T{vector(device.Sim(0), 1, 1, 1)}, core.BackwardOptions{Ops: &engine}))
	want(t, x.Grad(), 3, 12, 27)
}
