package dist_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

// copying has calls of any size be made by copies, in pieces of so many bytes, until the test ends.
func copying(t testing.TB, piece int) {
	t.Helper()
	t.Cleanup(dist.SetCopies(1, piece))
}

// TestCopies compares reductions that are made by copies, several at once, one behind the other
// and with what is computed before and after, with those of the engine under it. Numbers are
// small, so that sums are exact.
func TestCopies(t *testing.T) {
	for _, n := range []int{2, 3} {
		for i, piece := range []int{512, 4096, 1 << 20} {
			if testing.Short() && i != n-2 { // two ranks have several pieces, three few
				continue
			}
			t.Run(fmt.Sprintf("%d ranks, pieces of %d", n, piece), func(t *testing.T) {
				copying(t, piece)
				devices := accelerators(t, n)
				want := make([][][]float64, n)
				errs := withOptions(t, devices, func(g *dist.Group) (err error) {
					want[g.Rank()], err = reductions(t, g)
					return err
				}, dist.CopyEngines(false))
				must(t, errors.Join(errs...))
				must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
					got, err := reductions(t, g)
					equal(t, fmt.Sprint("rank ", g.Rank()), got, want[g.Rank()], averaged(device.CUDA(0), n, 1.0/128))
					return err
				})...))
			})
		}
	}
}

// withOptions is together with options.
func withOptions(t testing.TB, devices []device.Device, f func(g *dist.Group) error, opts ...dist.Option) []error {
	t.Helper()
	errs := make([]error, len(devices))
	err := dist.Run(devices, func(g *dist.Group) error {
		errs[g.Rank()] = f(g)
		return errs[g.Rank()]
	}, append(opts, dist.Timeout(patience.Left(t)))...)
	return append(errs, err)
}

// reductions returns what batches of sums and averages gave on one rank.
func reductions(t testing.TB, g *dist.Group) (all [][]float64, err error) {
	on := tensor.On(g.Device())
	dtypes := []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16, tensor.Float64}
	if testing.Short() {
		dtypes = dtypes[:2]
	}
	for _, dt := range dtypes {
		for _, op := range []dist.Op{dist.Sum, dist.Average} {
			var list []T
			for k, n := range []int{1, 65, 3000} {
				x := tensor.FromSlice(filled(n, func(i int) float32 { return float32((i*(k+3)+g.Rank()*5)%12 - 6) }), []int{n}, on)
				list = append(list, x.ToType(dt).MulScalar(2))
			}
			for _, batch := range [][]T{list[:1], list, list[1:], list[2:]} {
				w := g.Batch(func(b *dist.Batch) {
					for _, x := range batch {
						b.AllReduce(x, op)
					}
				})
				if err := w.Wait(context.Background()); err != nil {
					return nil, err
				}
				for _, x := range batch { // the next one sees this
					if err := errors.Join(x.AddScalarInPlace(1), x.DivScalarInPlace(2)); err != nil {
						return nil, err
					}
				}
			}
			for _, x := range list {
				v, err := tensor.Data[float64](x.ToType(tensor.Float64))
				if err != nil {
					return nil, err
				}
				all = append(all, v)
			}
		}
	}
	return all, nil
}

// TestCopiesAreMade counts copies: large sums of floats are made by them, and other calls not.
func TestCopiesAreMade(t *testing.T) {
	onSimulated(t)
	drv := sim.New(sim.Config{Devices: 3, Async: true})
	device.Install(drv)
	defer device.Install(sim.New(sim.Config{Devices: simulated, Async: true}))
	defer dist.SetCopies(4000, 2048)()
	for _, c := range []struct {
		name   string
		ranks  int
		dt     tensor.DType
		op     dist.Op
		n      int
		copied int64 // bytes, to all other ranks
	}{
		{"a sum", 2, tensor.Float32, dist.Sum, 1000, 4000},
		{"an average of three", 3, tensor.Float64, dist.Average, 600, 2 * 4800 * 2 / 3},
		{"16 bits", 2, tensor.BFloat16, dist.Sum, 2000, 4000},
		{"16 bits of three, which would be rounded twice", 3, tensor.BFloat16, dist.Sum, 2000, 0},
		{"a small one", 2, tensor.Float32, dist.Sum, 999, 0},
		{"a maximum", 2, tensor.Float32, dist.Max, 2000, 0},
		{"integers", 2, tensor.Int32, dist.Sum, 2000, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			devices := []device.Device{device.Sim(0), device.Sim(1), device.Sim(2)}[:c.ranks]
			before := drv.Counters(0).ToPeer.Bytes
			must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
				x := tensor.Ones([]int{c.n}, tensor.On(g.Device()), tensor.OfType(c.dt))
				return g.AllReduce(x, c.op).Synchronize(context.Background())
			})...))
			// A part is a multiple of 256 bytes, so that ranks have not exactly equal ones.
			if got := drv.Counters(0).ToPeer.Bytes - before; got > c.copied+c.copied/3 || got < c.copied-c.copied/3 {
				t.Errorf("rank 0 copied %d bytes to others, want about %d", got, c.copied)
			}
		})
	}
}

// TestGathersAreMade counts copies of all-gathers: large ones are made by them, of any number of ranks and
// dtype, into memory that has this rank's part, or not. All have all elements.
func TestGathersAreMade(t *testing.T) {
	onSimulated(t)
	drv := simulating(t, sim.Config{Devices: 3, Async: true})
	defer dist.SetCopies(4000, 2048)()
	for _, c := range []struct {
		ranks, n int
		dt       tensor.DType
		inPlace  bool
		copied   int64 // bytes, to all other ranks
	}{
		{2, 1000, tensor.Float32, false, 4000},
		{2, 2001, tensor.BFloat16, true, 4002},
		{3, 4000, tensor.Uint8, true, 8000},
		{3, 500, tensor.Complex64, false, 8000},
		{2, 999, tensor.Int32, true, 0},
	} {
		t.Run(fmt.Sprintf("%d ranks, %d of %s, in place: %v", c.ranks, c.n, c.dt, c.inPlace), func(t *testing.T) {
			devices := []device.Device{device.Sim(0), device.Sim(1), device.Sim(2)}[:c.ranks]
			before := drv.Counters(0).ToPeer.Bytes
			must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
				on := []tensor.Option{tensor.On(g.Device()), tensor.OfType(c.dt)}
				all := tensor.Zeros([]int{g.Size(), c.n}, on...)
				own := all.Select(0, g.Rank())
				if !c.inPlace {
					own = tensor.Zeros([]int{c.n}, on...)
				}
				err := own.FillInPlace(g.Rank() + 1)
				for range 2 { // the second one waits for the first
					err = errors.Join(err, g.AllGather(all, own).Wait(context.Background()))
				}
				got, e := tensor.Data[float32](all.ToType(tensor.Float32))
				for i, v := range got {
					if want := float32(i/c.n + 1); v != want {
						t.Errorf("rank %d has %v at %d, want %v", g.Rank(), v, i, want)
						break
					}
				}
				return errors.Join(err, e)
			})...))
			if got := drv.Counters(0).ToPeer.Bytes - before; got != 2*c.copied {
				t.Errorf("rank 0 copied %d bytes to others, want %d", got, 2*c.copied)
			}
		})
	}
}

// TestCopiesTrain trains by copies and without: two ranks come to the same parameters, to the bit.
func TestCopiesTrain(t *testing.T) {
	copying(t, 512)
	devices := accelerators(t, 2)
	sgd := func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewSGD(p, 0.1) }
	for _, c := range []struct {
		name string
		opts []dist.Option
	}{
		{"float32", []dist.Option{dist.BucketBytes(100)}},
		{"bfloat16", []dist.Option{dist.BucketBytes(100), dist.Compress(tensor.BFloat16)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got [2][2]map[string][]float64
			for way := range got {
				must(t, errors.Join(withOptions(t, devices, func(g *dist.Group) (err error) {
					got[way][g.Rank()], err = minimized(t, g, "copies", true, sgd, c.opts)
					return err
				}, dist.CopyEngines(way == 0))...))
			}
			equal(t, "parameters", got[0], got[1])
		})
	}
}

// TestCopiesFail has a rank stay away, leave, give up, or make another call, while others wait for
// it on the host: all are told.
func TestCopiesFail(t *testing.T) {
	copying(t, 512)
	sum := func(g *dist.Group, n int) error {
		x := tensor.Ones([]int{n}, tensor.On(g.Device()))
		if err := g.AllReduce(x, dist.Sum).Synchronize(context.Background()); err != nil {
			return err
		}
		return g.Barrier().Synchronize(context.Background())
	}
	for _, c := range []struct {
		name    string
		timeout time.Duration             // 0: none that is reached
		other   func(g *dist.Group) error // what the last rank does instead
		kind    error
		texts   []string
	}{
		{"another shape", 0, func(g *dist.Group) error { return sum(g, 300) }, dist.ErrMismatch, []string{"[200]", "[300]", "float32", "all-reduce(sum)"}},
		{"another call", 0, func(g *dist.Group) error { return g.Barrier().Synchronize(context.Background()) }, dist.ErrMismatch, []string{"barrier", "[200]"}},
		{"a batch that is cut otherwise", 0, func(g *dist.Group) error {
			return g.Batch(func(b *dist.Batch) {
				for range 2 {
					b.AllReduce(tensor.Ones([]int{200}, tensor.On(g.Device())), dist.Sum)
				}
			}).Synchronize(context.Background())
		}, dist.ErrMismatch, []string{"calls together", "rank 2", "[200]", "call 1 of the group", "batches are alike"}},
		{"stays away", 50 * time.Millisecond, nil, dist.ErrTimeout, []string{" 2: timeout", "all-reduce(sum) of float32 [200]"}}, // "rank 2", or "ranks 1, 2" where that is late
		{"leaves", 0, func(g *dist.Group) error { return g.Close() }, dist.ErrClosed, []string{"rank 2", "all-reduce(sum) of float32 [200]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			timeout := c.timeout
			if timeout == 0 {
				timeout = patience.Left(t)
			}
			errs := within(t, timeout, accelerators(t, 3), func(g *dist.Group) error {
				switch {
				case g.Rank() != 2:
					return sum(g, 200)
				case c.other != nil:
					return c.other(g)
				}
				return nil
			})
			told := errs[:2]
			if c.kind == dist.ErrMismatch {
				told = errs
			}
			wantErrors(t, told, c.kind, c.texts...)
		})
	}
	t.Run("gives up", func(t *testing.T) {
		why := errors.New("no more")
		errs := together(t, accelerators(t, 3), func(g *dist.Group) error {
			if g.Rank() == 2 {
				g.Abort(why)
				return nil
			}
			return sum(g, 200)
		})
		wantErrors(t, errs[:2], why, "rank 2 gave up")
	})
}

// TestCopiesOfFaults has an operation of a device fail at every place of a call in turn: every
// rank gets an error, and nothing is left.
func TestCopiesOfFaults(t *testing.T) {
	onSimulated(t)
	drv := sim.New(sim.Config{Devices: 2, Async: true})
	device.Install(drv)
	defer device.Install(sim.New(sim.Config{Devices: simulated, Async: true}))
	copying(t, 512)
	devices := []device.Device{device.Sim(0), device.Sim(1)}
	broken := errors.New("broken")
	random := rand.New(rand.NewPCG(*firstSeed, 2))
	run := func(kind sim.Fault, k int) error {
		return dist.Run(devices, func(g *dist.Group) error {
			return tensor.Scope(func() error {
				x := tensor.Ones([]int{1000}, tensor.On(g.Device()))
				if err := g.AllReduce(x, dist.Average).Synchronize(context.Background()); err != nil {
					return err
				}
				if g.Rank() == 1 && k > 0 {
					must(t, drv.Fail(1, kind, k, broken))
				}
				return g.AllReduce(x, dist.Average).Synchronize(context.Background())
			})
		}, dist.Timeout(patience.Left(t)))
	}
	must(t, run(0, 0))
	held := func() (out [2][2]int64) {
		for d := range out {
			c := drv.Counters(d)
			out[d] = [2]int64{c.LiveStreams, memory.Allocated(device.Sim(d))}
		}
		return out
	}
	before, failed := held(), 0
	for range 40 {
		kind, k := []sim.Fault{sim.FaultCopy, sim.FaultLaunch}[random.IntN(2)], 1+random.IntN(20)
		err := run(kind, k)
		if err != nil && !errors.Is(err, broken) {
			t.Errorf("fault %d at operation %d: %v", kind, k, err)
		}
		if err != nil {
			failed++
		}
		drv.Heal(1)
	}
	if failed < 10 {
		t.Errorf("%d of 40 calls failed", failed)
	}
	if !patience.Until(t, func() bool {
		runtime.GC()
		return held() == before
	}) {
		t.Errorf("streams and bytes by device: %v, before %v", held(), before)
	}
	must(t, run(0, 0))
}
