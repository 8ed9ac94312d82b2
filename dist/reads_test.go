package dist_test

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/optim/checkpoint"
	"github.com/sinter-go/sinter/runtime/device"
)

// A reading driver counts copies to the host, and those that wait for their stream.
type reading struct {
	*sim.Driver
	reads, waits *atomic.Int64
}

func (d reading) CopyToHost(dev int, s device.StreamID, dst unsafe.Pointer, src uint64, n int64) error {
	d.reads.Add(1)
	if idle, err := d.StreamIdle(dev, s); err != nil || !idle {
		d.waits.Add(1)
	}
	return d.Driver.CopyToHost(dev, s, dst, src, n)
}

// TestReadsAfterCalls has one rank come late to all that ranks agree on as they train: what is read of a call is there,
// as no driver is to hold up a device until another rank comes.
func TestReadsAfterCalls(t *testing.T) {
	onSimulated(t)
	before, err := device.DriverOf(device.KindSim)
	must(t, err)
	drv := reading{sim.New(sim.Config{Devices: 2, Async: true, Run: optest.OnCPU}), new(atomic.Int64), new(atomic.Int64)}
	device.Install(drv)
	t.Cleanup(func() { device.Install(before) })
	path := filepath.Join(t.TempDir(), "trained.safetensors")
	must(t, errors.Join(together(t, accelerators(t, 2), func(g *dist.Group) error {
		m, err := newNet(g.Device(), true)
		if err != nil {
			return err
		}
		for _, opts := range [][]dist.Option{{dist.BucketBytes(100)}, {dist.FindUnused()}} {
			d, err := dist.NewDistributedDataParallel(g, m, opts...)
			if err != nil {
				return err
			}
			o, err := dist.NewShardedOptimizer(g, nn.Parameters(d), optimizers["momentum"])
			if err != nil {
				return err
			}
			for i := range 3 {
				x, y := share(g, i)
				err = errors.Join(err, o.ZeroGrad(), loss(d, x, y).Backward(), o.Step())
			}
			if err != nil {
				return err
			}
			_, stated := o.State()
			saved := dist.SaveCheckpoint(g, path, checkpoint.State{Model: d, Optimizer: o})
			if err = errors.Join(err, stated, saved, d.Close()); err != nil {
				return err
			}
		}
		return nil
	})...))
	if drv.reads.Load() < 20 || drv.waits.Load() != 0 {
		t.Errorf("of %d copies to the host %d waited for their device", drv.reads.Load(), drv.waits.Load())
	}
}
