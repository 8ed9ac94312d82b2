package core_test

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// TestEvict gives a tensor's memory back under a view and a saved value: none can be used
// until it is restored, and then the gradient is right. With other elements it is an error.
func TestEvict(t *testing.T) {
	simulate(t, sim.Config{Devices: 1})
	for _, dev := range []device.Device{device.CPU, device.Sim(0)} {
		for _, same := range []bool{true, false} {
			w, x := vector(dev, 3, 4), vector(dev, 5, 6)
			must(t, w.SetRequiresGrad(true))
			must(t, x.SetRequiresGrad(true))
			view := w.Detach()
			y := mul(w, x)
			held := memory.Allocated(device.Sim(0))
			must(t, w.Evict())
			if dev != device.CPU && memory.Allocated(dev) >= held {
				t.Errorf("%s: %d bytes are held, %d before", dev, memory.Allocated(dev), held)
			}
			_, read := core.Data[float32](view)
			for name, err := range map[string]error{
				"Err": w.Err(), "Evict": w.Evict(), "operand": mul(x, w).Err(), "a view": mul(view, view).Err(), "Data": read, "Detach": view.Detach().Err(),
				"saved": core.Backward([]T{mul(w, x)}, []T{vector(dev, 1, 1)}, core.BackwardOptions{Ops: &engine}),
				"pass":  core.Backward([]T{y}, []T{vector(dev, 1, 1)}, core.BackwardOptions{Ops: &engine, Retain: true}),
			} {
				if !errors.Is(err, core.ErrAway) {
					t.Errorf("%s: %s: %v", dev, name, err)
				}
			}
			must(t, w.Restore(same, func() error { return core.CopyFrom(view, vector(dev, 3, 4), core.TransferOptions{}, nil) }))
			want(t, view, 3, 4)
			err := core.Backward([]T{y}, []T{vector(dev, 1, 1)}, core.BackwardOptions{Ops: &engine})
			switch {
			case same && err != nil || !same && !errors.Is(err, core.ErrChanged):
				t.Errorf("%s: same elements: %t: %v", dev, same, err)
			case same:
				want(t, x.Grad(), 3, 4)
				want(t, w.Grad(), 5, 6)
			}
			if err := w.Restore(same, func() error { return nil }); err == nil {
				t.Error("a tensor that has its elements was restored")
			}
			for _, v := range []T{w, x, y, view} {
				v.Release()
			}
		}
	}
}
