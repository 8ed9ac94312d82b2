package dist_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// replayed captures sums and averages of several dtypes and a send beside them, replays them with
// pauses that are another rank's own, and returns what is left on one rank.
func replayed(t testing.TB, g *dist.Group) (all [][]float64, err error) {
	on := tensor.On(g.Device())
	var list []T
	for k, dt := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16, tensor.Float64} {
		x := tensor.FromSlice(filled(3000, func(i int) float32 { return float32((i*(k+3)+g.Rank()*5)%12 - 6) }), []int{3000}, on)
		list = append(list, x.ToType(dt).MulScalar(2))
	}
	out, in := tensor.Full([]int{3}, float32(g.Rank()), on), tensor.Zeros([]int{3}, on)
	if err := g.Barrier().Synchronize(context.Background()); err != nil {
		return nil, err
	}
	recorded := graph.New(g.Device())
	defer recorded.Reset()
	err = recorded.Capture(func() error {
		for _, op := range []dist.Op{dist.Sum, dist.Average} {
			for _, batch := range [][]T{list[:1], list, list[1:3]} {
				w := g.Batch(func(b *dist.Batch) {
					b.Send(out, (g.Rank()+1)%g.Size())
					for _, x := range batch {
						b.AllReduce(x, op)
					}
					b.Receive(in, (g.Rank()+g.Size()-1)%g.Size())
				})
				if err := w.Wait(context.Background()); err != nil {
					return err
				}
				for _, x := range batch {
					if err := errors.Join(x.AddScalarInPlace(float64(g.Rank()+1)), x.DivScalarInPlace(8), x.FloorInPlace()); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(uint64(g.Rank()), 7))
	for range 6 {
		time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
		if err := recorded.Replay(); err != nil {
			return nil, err
		}
	}
	for _, x := range append(list, in) {
		v, err := tensor.Data[float64](x.ToType(tensor.Float64))
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// TestCapturedCopies compares captured reductions that are made by copies with those of the engine
// under it. Numbers are small, so that sums are exact.
func TestCapturedCopies(t *testing.T) {
	for _, n := range []int{2, 3} {
		for _, piece := range []int{512, 4096, 1 << 20} {
			t.Run(fmt.Sprintf("%d ranks, pieces of %d", n, piece), func(t *testing.T) {
				copying(t, piece)
				devices := accelerators(t, n)
				var got [2][][][]float64
				for way := range got {
					got[way] = make([][][]float64, n)
					must(t, errors.Join(withOptions(t, devices, func(g *dist.Group) (err error) {
						got[way][g.Rank()], err = replayed(t, g)
						return err
					}, dist.CopyEngines(way == 0), dist.CapturedCopies(way == 0))...))
				}
				equal(t, "elements", got[0], got[1], averaged(device.CUDA(0), n, 1.0/128))
			})
		}
	}
}

// TestCapturedCopiesAreMade counts copies of captured calls, with the option and without.
func TestCapturedCopiesAreMade(t *testing.T) {
	onSimulated(t)
	drv := sim.New(sim.Config{Devices: 2, Async: true})
	device.Install(drv)
	defer device.Install(sim.New(sim.Config{Devices: simulated, Async: true}))
	copying(t, 512)
	for _, captured := range []bool{false, true} {
		before := drv.Counters(0).ToPeer.Bytes
		must(t, errors.Join(withOptions(t, []device.Device{device.Sim(0), device.Sim(1)}, func(g *dist.Group) error {
			x := tensor.Ones([]int{1000}, tensor.On(g.Device()))
			recorded := graph.New(g.Device())
			defer recorded.Reset()
			return errors.Join(recorded.Capture(func() error { return g.AllReduce(x, dist.Sum).Wait(context.Background()) }), recorded.Replay(),
				stream.Current(g.Device()).Synchronize(context.Background()))
		}, dist.CapturedCopies(captured))...))
		if got := drv.Counters(0).ToPeer.Bytes - before; (got > 0) != captured {
			t.Errorf("CapturedCopies(%v): %d bytes were copied", captured, got)
		}
	}
	if live := drv.Counters(0).LiveStreams; live > 5 { // those of the group, and what the capture took
		t.Errorf("%d streams are left", live)
	}
}

// TestCapturedCopiesTrain trains by compiled steps with copies and without: two ranks come to the
// same parameters, to the bit.
func TestCapturedCopiesTrain(t *testing.T) {
	copying(t, 512)
	devices := accelerators(t, 2)
	for name, opts := range map[string][]dist.Option{
		"float32":  {dist.BucketBytes(100)},
		"bfloat16": {dist.BucketBytes(100), dist.Compress(tensor.BFloat16)},
	} {
		t.Run(name, func(t *testing.T) {
			var got [2][2]left
			for way := range got {
				must(t, errors.Join(withOptions(t, devices, func(g *dist.Group) (err error) {
					got[way][g.Rank()], err = trained(t, g, true, false, opts)
					return err
				}, dist.CopyEngines(way == 0), dist.CapturedCopies(way == 0))...))
			}
			equal(t, "what is left", got[0], got[1])
		})
	}
}

// TestCapturedCopiesFail has one rank capture a call that another one makes at once, and ranks that
// do not replay what the others do: all are told, and replays end.
func TestCapturedCopiesFail(t *testing.T) {
	copying(t, 512)
	sum := func(g *dist.Group, x T) error { return g.AllReduce(x, dist.Sum).Wait(context.Background()) }
	t.Run("not captured", func(t *testing.T) {
		errs := withOptions(t, accelerators(t, 2), func(g *dist.Group) error {
			x := tensor.Ones([]int{200}, tensor.On(g.Device()))
			if g.Rank() == 1 {
				return errors.Join(sum(g, x), g.Barrier().Synchronize(context.Background()))
			}
			recorded := graph.New(g.Device())
			defer recorded.Reset()
			return errors.Join(recorded.Capture(func() error { return sum(g, x) }), g.Barrier().Synchronize(context.Background()))
		}, dist.CapturedCopies())
		wantErrors(t, errs[:2], dist.ErrMismatch, "rank 0 captures all-reduce(sum) of float32 [200], rank 1 does not")
	})
	t.Run("not replayed", func(t *testing.T) {
		why := errors.New("no more")
		errs := withOptions(t, accelerators(t, 2), func(g *dist.Group) error {
			x := tensor.Ones([]int{20000}, tensor.On(g.Device()))
			recorded := graph.New(g.Device())
			defer recorded.Reset()
			if err := errors.Join(recorded.Capture(func() error { return sum(g, x) }), g.Barrier().Synchronize(context.Background())); err != nil {
				return err
			}
			if g.Rank() == 1 {
				g.Abort(why)
				return nil
			}
			_ = recorded.Replay() // may be made before the other gives up
			if err := stream.Current(g.Device()).Synchronize(context.Background()); err != nil {
				return err
			}
			return recorded.Replay()
		}, dist.CapturedCopies())
		wantErrors(t, errs[:1], why, "rank 1 gave up")
	})
	t.Run("replayed by one alone, which closes", func(t *testing.T) {
		if testing.Short() {
			t.Skip("waits for some seconds")
		}
		err := dist.Run(accelerators(t, 2), func(g *dist.Group) error {
			x := tensor.Ones([]int{200}, tensor.On(g.Device()))
			recorded := graph.New(g.Device())
			if err := errors.Join(recorded.Capture(func() error { return sum(g, x) }), g.Barrier().Synchronize(context.Background())); err != nil || g.Rank() == 1 {
				return err
			}
			return recorded.Replay()
		}, dist.CapturedCopies(), dist.Timeout(patience.Left(t)))
		wantErrors(t, []error{err}, dist.ErrClosed, "call 2 of the group, of graph 1 with all-reduce(sum) of float32 [200], which rank 0 replays", "by rank 1")
	})
}

// TestCapturedCopiesOfFew replays sums of so few elements that one rank adds up all of them.
func TestCapturedCopiesOfFew(t *testing.T) {
	copying(t, 512)
	must(t, errors.Join(withOptions(t, accelerators(t, 2), func(g *dist.Group) error {
		const replays = 500
		x := tensor.Full([]int{16}, g.Rank(), tensor.OfType(tensor.Float32), tensor.On(g.Device()))
		recorded := graph.New(g.Device())
		defer recorded.Reset()
		err := errors.Join(recorded.Capture(func() error { // the average, and 1
			return errors.Join(g.AllReduce(x, dist.Sum).Wait(context.Background()), x.DivScalarInPlace(2), x.AddScalarInPlace(1))
		}), g.Barrier().Synchronize(context.Background()))
		for range replays {
			err = errors.Join(err, recorded.Replay())
		}
		got, e := tensor.Data[float32](x)
		for _, v := range got {
			if v != 0.5+replays {
				t.Errorf("rank %d has %v", g.Rank(), got)
				break
			}
		}
		return errors.Join(err, e)
	}, dist.CapturedCopies())...))
}

// TestCapturedCopiesUnavailable asks for them where there are none.
func TestCapturedCopiesUnavailable(t *testing.T) {
	for name, c := range map[string]struct {
		devices []device.Device
		opts    []dist.Option
	}{
		"processor": {[]device.Device{device.CPU, device.CPU}, nil},
		"no copies": {[]device.Device{device.CPU, device.CPU}, []dist.Option{dist.CopyEngines(false)}},
	} {
		if _, err := dist.Local(c.devices, append(c.opts, dist.CapturedCopies())...); !errors.Is(err, device.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
