package dist_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/optim/checkpoint"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// A reading driver counts copies between the host and devices, and those that wait for their stream.
type reading struct {
	*sim.Driver
	reads, waits *atomic.Int64
}

func (d reading) note(dev int, s device.StreamID) {
	d.reads.Add(1)
	if idle, err := d.StreamIdle(dev, s); err != nil || !idle {
		d.waits.Add(1)
	}
}

func (d reading) CopyToHost(dev int, s device.StreamID, dst unsafe.Pointer, src uint64, n int64) error {
	d.note(dev, s)
	return d.Driver.CopyToHost(dev, s, dst, src, n)
}

func (d reading) CopyFromHost(dev int, s device.StreamID, dst uint64, src unsafe.Pointer, n int64) error {
	d.note(dev, s)
	return d.Driver.CopyFromHost(dev, s, dst, src, n)
}

// readings gives the test devices that count copies, until it ends.
func readings(t *testing.T) reading {
	t.Helper()
	onSimulated(t)
	before, err := device.DriverOf(device.KindSim)
	must(t, err)
	drv := reading{sim.New(sim.Config{Devices: 2, Async: true, Run: optest.OnCPU}), new(atomic.Int64), new(atomic.Int64)}
	device.Install(drv)
	t.Cleanup(func() { device.Install(before) })
	return drv
}

// TestReads has one rank come late to a call behind which the other copies to and from the host: no driver is to
// hold up a device until another rank comes. Of a device that nobody else of the process has to do with, and of memory
// that is page-locked, the driver may.
func TestReads(t *testing.T) {
	drv := readings(t)
	behind := map[string]func(x T) error{
		"item":     func(x T) error { _, err := x.Narrow(0, 0, 1).Item(); return err },
		"elements": func(x T) error { _, err := tensor.Data[float32](x); return err },
		"copy":     func(x T) error { return x.CPU().Err() },
		"printing": func(x T) error { _ = x.String(); return x.Err() },
		"from":     func(x T) error { return x.CopyFrom(tensor.Zeros(x.Shape())) },
		"into":     func(x T) error { return tensor.Zeros(x.Shape()).CopyFrom(x) },
		"back and": func(x T) error { return x.Add(tensor.Zeros(x.Shape()).To(x.Device())).Err() },
	}
	for name, f := range behind {
		t.Run(name, func(t *testing.T) {
			drv.reads.Store(0)
			drv.waits.Store(0)
			late := make(chan struct{})
			must(t, errors.Join(together(t, accelerators(t, 2), func(g *dist.Group) error {
				x := tensor.Ones([]int{1000}, tensor.On(g.Device()))
				if g.Rank() == 1 {
					<-late
					time.Sleep(5 * time.Millisecond) // for a copy that does not wait to show
				}
				err := g.AllReduce(x, dist.Sum).Wait(context.Background())
				if g.Rank() == 0 {
					close(late)
				}
				return errors.Join(err, f(x))
			})...))
			if drv.reads.Load() < 2 || drv.waits.Load() != 0 {
				t.Errorf("of %d copies %d waited for their device", drv.reads.Load(), drv.waits.Load())
			}
		})
	}
	drv.waits.Store(0)
	d := device.Sim(0)
	release, err := drv.Hold(0, 0)
	must(t, err)
	x := tensor.Zeros([]int{1}, tensor.On(d))
	read := make(chan error)
	go func() { _, err := x.Item(); read <- err }()
	if !patience.Until(t, func() bool { return drv.waits.Load() == 1 }) {
		t.Error("who reads of a device of no group waits before the driver does")
	}
	release()
	must(t, <-read)
}

// TestReadsAfterCalls has one rank come late to all that ranks agree on as they train: what is read of a call is there,
// as no driver is to hold up a device until another rank comes.
func TestReadsAfterCalls(t *testing.T) {
	drv := readings(t)
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

// TestReadsHoldUpNobody has one rank read behind a call that the other one comes to only once it has touched the first
// one's device, taken memory and copied there. On GPUs, where the driver may have what takes or maps memory wait for a
// device that waits, this hung: there ranks take their memory before.
func TestReadsHoldUpNobody(t *testing.T) {
	onSimulated(t)
	devices := accelerators(t, 2)
	const bytes = 64 << 20 // more than an allocator keeps
	for _, n := range []int{1, 10_000, 200_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			reads := make(chan struct{})
			must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
				return tensor.Scope(func() error {
					x := tensor.Ones([]int{n}, tensor.On(g.Device()))
					if err := g.AllReduce(x, dist.Sum).Wait(context.Background()); err != nil { // joins the ranks
						return err
					}
					if g.Rank() == 1 {
						<-reads
						time.Sleep(50 * time.Millisecond) // for the other one to be at it
						began := time.Now()
						other := stream.New(devices[0], 0) // not the one that waits for this rank
						y := tensor.Zeros([]int{bytes}, tensor.On(g.Device()), tensor.OfType(tensor.Uint8))
						err := errors.Join(y.Err(), tensor.Zeros([]int{bytes}, tensor.OfType(tensor.Uint8), tensor.Pinned()).Err(),
							stream.Current(g.Device()).WaitStream(other), other.Do(func() error { return x.To(devices[0]).Err() }))
						t.Logf("the other device was touched for %v", time.Since(began))
						if err != nil {
							return err
						}
					}
					err := g.AllReduce(x, dist.Sum).Wait(context.Background())
					if g.Rank() == 0 {
						close(reads)
					}
					if err != nil {
						return err
					}
					got, err := tensor.Data[float32](x)
					if err == nil && got[n-1] != 4 {
						t.Errorf("the sum is %v, want 4", got[n-1])
					}
					return err
				})
			})...))
		})
	}
}

// BenchmarkReads reads numbers of a device that is of a group with another one, and of one that is of none: when the
// device has nothing to do, and behind what it computes.
func BenchmarkReads(b *testing.B) {
	devices := accelerators(b, 2)
	for _, n := range []int{1, 1 << 10, 1 << 14, 1 << 17, 1 << 18, 1 << 22} {
		for _, tied := range []bool{false, true} {
			for _, behind := range []bool{false, true} {
				b.Run(fmt.Sprintf("%d/group=%t/behind=%t", 4*n, tied, behind), func(b *testing.B) {
					if tied {
						groups, err := dist.Local(devices)
						must(b, err)
						defer func() {
							for _, g := range groups {
								must(b, g.Close())
							}
						}()
					}
					x := tensor.Ones([]int{n}, tensor.On(devices[0]))
					work := tensor.Ones([]int{1 << 22}, tensor.On(devices[0]))
					to := tensor.Zeros([]int{n})
					for b.Loop() {
						if behind {
							must(b, work.MulScalarInPlace(1))
						}
						must(b, to.CopyFrom(x))
					}
				})
			}
		}
	}
}
