package dist_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// A net has layers and a part that only some passes use.
type net struct {
	First, Second *nn.Linear
	Side          *nn.Linear
	aside         bool
}

func (m *net) Forward(x T) T {
	y := m.Second.Forward(m.First.Forward(x).Tanh())
	if m.aside {
		y = y.Add(m.Side.Forward(x))
	}
	return y
}

// newNet returns the same model each time, on a device.
func newNet(d device.Device, aside bool) (m *net, err error) {
	random.With(random.New(7), func() error {
		as := tensor.OfType(tensor.Float64)
		m = &net{First: nn.NewLinear(4, 8, as), Second: nn.NewLinear(8, 3, as), Side: nn.NewLinear(4, 3, as), aside: aside}
		err = nn.To(m, d)
		return nil
	})
	return m, err
}

// batch returns n samples of a step, the same each time.
func batch(step, n int, d device.Device) (x, y T) {
	random.With(random.New(int64(100+step)), func() error {
		as := tensor.OfType(tensor.Float64)
		x, y = tensor.Randn([]int{n, 4}, as).To(d), tensor.Randn([]int{n, 3}, as).To(d)
		return nil
	})
	return x, y
}

// A model is what a step trains.
type model interface{ Forward(x T) T }

func loss(m model, x, y T) T { return m.Forward(x).Sub(y).Square().Mean() }

const rows, steps = 24, 4

// alone trains one model with whole batches and returns its parameters.
func alone(t testing.TB, aside bool) map[string][]float64 {
	t.Helper()
	m, err := newNet(device.CPU, aside)
	must(t, err)
	o, err := optim.NewSGD(nn.Parameters(m), 0.1)
	must(t, err)
	for step := range steps {
		must(t, o.ZeroGrad())
		x, y := batch(step, rows, device.CPU)
		must(t, loss(m, x, y).Backward())
		must(t, o.Step())
	}
	return parameters(t, m)
}

func parameters(t testing.TB, m any) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	for name, p := range nn.Named(m) {
		out[name] = data[float64](t, p.Detach().ToType(tensor.Float64))
	}
	return out
}

// near compares parameters that were summed in another order.
func near(t testing.TB, what string, got, want map[string][]float64, bound float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d parameters, want %d", what, len(got), len(want))
	}
	for name, w := range want {
		for i, v := range got[name] {
			if math.Abs(v-w[i]) > bound*(1+math.Abs(w[i])) {
				t.Errorf("%s: %s[%d] is %v, want %v", what, name, i, v, w[i])
				return
			}
		}
	}
}

// bound is what sums of float64 in another order may differ by.
const bound = 1e-12

// share returns a rank's part of a step's batch.
func share(g *dist.Group, step int) (x, y T) {
	x, y = batch(step, rows, g.Device())
	n := rows / g.Size()
	return x.Narrow(0, g.Rank()*n, n), y.Narrow(0, g.Rank()*n, n)
}

// train trains a replica by one rank.
func train(t testing.TB, g *dist.Group, aside bool, backward func(d *dist.DistributedDataParallel, step int) error, opts ...dist.Option) error {
	m, err := newNet(g.Device(), aside)
	if err != nil {
		return err
	}
	d, err := dist.NewDistributedDataParallel(g, m, opts...)
	if err != nil {
		return err
	}
	o, err := optim.NewSGD(nn.Parameters(d), 0.1)
	if err != nil {
		return err
	}
	for step := range steps {
		if err := o.ZeroGrad(); err != nil {
			return err
		}
		if err := backward(d, step); err != nil {
			return err
		}
		if err := o.Step(); err != nil {
			return err
		}
	}
	if err := g.Barrier().Synchronize(context.Background()); err != nil {
		return err
	}
	return d.Close()
}

// TestTraining compares replicas that are each given a part of the batch with one
// model that is given all of it.
func TestTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("trains with many numbers of ranks")
	}
	whole := alone(t, true)
	plain := func(g *dist.Group) func(d *dist.DistributedDataParallel, step int) error {
		return func(d *dist.DistributedDataParallel, step int) error {
			x, y := share(g, step)
			return loss(d, x, y).Backward()
		}
	}
	for _, c := range []struct {
		name  string
		opts  []dist.Option
		make  func(g *dist.Group) func(d *dist.DistributedDataParallel, step int) error
		bound float64
	}{
		{"plain", nil, plain, bound},
		{"small buckets", []dist.Option{dist.BucketBytes(100)}, plain, bound},
		{"half", []dist.Option{dist.Compress(tensor.Float16)}, plain, 1e-3},
		{"bfloat16", []dist.Option{dist.Compress(tensor.BFloat16), dist.BucketBytes(1)}, plain, 1e-2},
		{"finding unused", []dist.Option{dist.FindUnused(), dist.BucketBytes(100)}, plain, bound},
		{"accumulated", []dist.Option{dist.BucketBytes(100)}, func(g *dist.Group) func(d *dist.DistributedDataParallel, step int) error {
			return func(d *dist.DistributedDataParallel, step int) error {
				x, y := share(g, step)
				n := x.Size(0) / 2
				part := func(k int) T { return loss(d, x.Narrow(0, k*n, n), y.Narrow(0, k*n, n)).MulScalar(0.5) }
				if err := d.NoSync(func() error { return part(0).Backward() }); err != nil {
					return err
				}
				return part(1).Backward()
			}
		}, bound},
		{"uneven", nil, func(g *dist.Group) func(d *dist.DistributedDataParallel, step int) error {
			return func(d *dist.DistributedDataParallel, step int) error {
				x, y := batch(step, rows, g.Device())
				from, to := 0, rows // rank 0 has none, the last one what is left
				if g.Size() > 1 {
					from, to = max(0, g.Rank()-1)*5, g.Rank()*5
				}
				if g.Size() > 1 && g.Rank() == g.Size()-1 {
					to = rows
				}
				if to == from {
					return d.Backward(T{}, 0)
				}
				return d.Backward(loss(d, x.Narrow(0, from, to-from), y.Narrow(0, from, to-from)), to-from)
			}
		}, bound},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 4, -2, -3} {
				if n < 0 { // gradients are reduced where they are
					n = -n
					was := dist.SetApartBytes(1)
					defer dist.SetApartBytes(was)
				}
				each(t, n, func(t *testing.T, devices []device.Device) {
					replicas := make([]map[string][]float64, n)
					must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
						var replica any
						err := train(t, g, true, func(d *dist.DistributedDataParallel, step int) error {
							replica = d.Model
							return c.make(g)(d, step)
						}, c.opts...)
						if err == nil {
							replicas[g.Rank()] = parameters(t, replica)
						}
						return err
					})...))
					near(t, "rank 0", replicas[0], whole, c.bound)
					for r := range replicas {
						equal(t, fmt.Sprint("rank ", r), replicas[r], replicas[0])
					}
				})
			}
		})
	}
}

// TestManyRanks has 64 ranks, each with one sample, average gradients in buckets: they are
// those of the samples together, on every rank. Then one rank makes another call than the
// others, who are all told which.
func TestManyRanks(t *testing.T) {
	const ranks = 64
	m, err := newNet(device.CPU, true)
	must(t, err)
	x, y := batch(0, ranks, device.CPU)
	must(t, loss(m, x, y).Backward())
	want := gradients(t, m)
	each(t, ranks, func(t *testing.T, devices []device.Device) {
		got := make([]map[string][]float64, ranks)
		var passed sync.WaitGroup // who reads behind the other call does not get the gradients
		passed.Add(ranks)
		errs := together(t, devices, func(g *dist.Group) error {
			pass := sync.OnceFunc(passed.Done)
			defer pass()
			m, err := newNet(g.Device(), true)
			if err != nil {
				return err
			}
			d, err := dist.NewDistributedDataParallel(g, m, dist.BucketBytes(100))
			if err != nil {
				return err
			}
			x, y := batch(0, ranks, g.Device())
			if err := loss(d, x.Narrow(0, g.Rank(), 1), y.Narrow(0, g.Rank(), 1)).Backward(); err != nil {
				return err
			}
			got[g.Rank()] = gradients(t, m)
			pass()
			passed.Wait()
			wrong := tensor.Ones([]int{2 + g.Rank()/(ranks-1)}, tensor.On(g.Device()))
			return g.AllReduce(wrong, dist.Sum).Synchronize(context.Background())
		})
		for rank, err := range errs {
			near(t, fmt.Sprint("rank ", rank), got[rank], want, bound)
			if !errors.Is(err, dist.ErrMismatch) || !strings.Contains(fmt.Sprint(err), "rank 63 ") {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
	})
}

// TestUnused leaves parameters out of a pass: on all ranks, and on one.
func TestUnused(t *testing.T) {
	whole := alone(t, false)
	each(t, 2, func(t *testing.T, devices []device.Device) {
		must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
			var m *net
			err := train(t, g, false, func(d *dist.DistributedDataParallel, step int) error {
				m = d.Model.(*net)
				x, y := share(g, step)
				err := loss(d, x, y).Backward()
				if _, has := m.Side.Weight.Grad(); has && err == nil {
					err = errors.New("a parameter that no rank uses has a gradient")
				}
				return err
			}, dist.FindUnused())
			if err == nil {
				near(t, "parameters", parameters(t, m), whole, bound)
			}
			return err
		})...))
		errs := together(t, devices, func(g *dist.Group) error {
			return train(t, g, g.Rank() == 0, func(d *dist.DistributedDataParallel, step int) error {
				x, y := share(g, step)
				if err := loss(d, x, y).Backward(); err != nil {
					return err
				}
				return g.Barrier().Synchronize(context.Background())
			})
		})
		wantErrors(t, errs, dist.ErrUnused, "side.weight, side.bias", "rank 1")
	})
}

// TestOneUnused leaves a parameter out on one rank: the average counts zeros there.
func TestOneUnused(t *testing.T) {
	each(t, 2, func(t *testing.T, devices []device.Device) {
		var got, half [2][]float64
		must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
			m, err := newNet(g.Device(), g.Rank() == 0)
			if err != nil {
				return err
			}
			lone, err := newNet(g.Device(), true)
			if err != nil {
				return err
			}
			d, err := dist.NewDistributedDataParallel(g, m, dist.FindUnused())
			if err != nil {
				return err
			}
			x, y := batch(0, 4, g.Device())
			if err := errors.Join(loss(d, x, y).Backward(), loss(lone, x, y).MulScalar(0.5).Backward()); err != nil {
				return err
			}
			a, _ := m.Side.Weight.Grad()
			b, _ := lone.Side.Weight.Grad()
			got[g.Rank()], half[g.Rank()] = data[float64](t, a), data[float64](t, b)
			return nil
		})...))
		for r := range got {
			near(t, "gradient", map[string][]float64{"": got[r]}, map[string][]float64{"": half[0]}, bound)
		}
	})
}

// TestDifferentModels gives the ranks models that do not agree.
func TestDifferentModels(t *testing.T) {
	each(t, 3, func(t *testing.T, devices []device.Device) {
		errs := together(t, devices, func(g *dist.Group) error {
			hidden := 8
			if g.Rank() == 2 {
				hidden = 9
			}
			m := nn.NewSequential(nn.NewLinear(4, hidden, tensor.On(g.Device())), nn.NewLinear(hidden, 2, tensor.On(g.Device())))
			_, err := dist.NewDistributedDataParallel(g, m)
			if err != nil {
				err = fmt.Errorf("rank %d: %w", g.Rank(), err)
			}
			return err
		})
		wantErrors(t, errs, dist.ErrMismatch, "rank 2 has parameter 0.weight of float32 [9 4]", "rank 0 parameter 0.weight of float32 [8 4]")
	})
}

// TestBegin: values become those of rank 0, buffers too, before each forward.
func TestBegin(t *testing.T) {
	each(t, 2, func(t *testing.T, devices []device.Device) {
		must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
			on := tensor.On(g.Device())
			m := nn.NewSequential(nn.NewLinear(2, 2, on), nn.NewBatchNorm(2, on))
			for _, p := range nn.Parameters(m) {
				must(t, tensor.NoGrad(func() error { return p.FillInPlace(g.Rank() + 1) }))
			}
			d, err := dist.NewDistributedDataParallel(g, m)
			if err != nil {
				return err
			}
			for _, p := range nn.Parameters(m) {
				equal(t, "a parameter", data[float32](t, p.Detach().Reshape(-1))[:1], []float32{1})
			}
			for step := range 2 {
				x := tensor.Full([]int{4, 2}, g.Rank()+step, on, tensor.OfType(tensor.Float32))
				if err := d.Forward(x).Sum().Backward(); err != nil {
					return err
				}
			}
			if err := d.SyncBuffers(); err != nil {
				return err
			}
			nn.Eval(d)
			before := map[string][]float32{}
			for name, b := range nn.NamedBuffers(d) {
				before[name] = data[float32](t, b.Tensor)
			}
			all := tensor.Zeros([]int{2, 2}, on)
			if err := g.AllGather(all, nn.StateDict(m)["1.running_mean"]).Wait(context.Background()); err != nil {
				return err
			}
			v := data[float32](t, all)
			equal(t, "running means of both ranks", v[2:], v[:2])
			return d.Close()
		})...))
	})
}

// TestFailedPass has a pass fail on one rank. The others do not wait, and no rank keeps
// gradients that are partly those of the pass.
func TestFailedPass(t *testing.T) {
	broken := errors.New("a hook gave up")
	each(t, 2, func(t *testing.T, devices []device.Device) {
		var passed sync.WaitGroup // the first pass
		passed.Add(len(devices))
		errs := together(t, devices, func(g *dist.Group) error {
			pass := sync.OnceFunc(passed.Done)
			defer pass()
			m, err := newNet(g.Device(), true)
			if err != nil {
				return err
			}
			d, err := dist.NewDistributedDataParallel(g, m, dist.BucketBytes(1))
			if err != nil {
				return err
			}
			x, y := share(g, 0)
			if err := loss(d, x, y).Backward(); err != nil {
				return err
			}
			pass()
			passed.Wait()
			if g.Rank() == 1 {
				_, err = m.First.Weight.RegisterHook(func(T) T { return tensor.Ones([]int{2}).Reshape(3) })
				must(t, err)
			}
			err = loss(d, x, y).Backward()
			if err == nil {
				err = g.Barrier().Synchronize(context.Background())
			}
			if err == nil {
				return errors.New("no error")
			}
			if _, has := m.First.Weight.Grad(); has && g.Rank() == 1 {
				return errors.New("a gradient is left")
			}
			return fmt.Errorf("rank %d: %w: %w", g.Rank(), broken, err)
		})
		wantErrors(t, errs, broken, "reshape")
	})
}

// TestGroupFails: a pass after the group failed returns why.
func TestGroupFails(t *testing.T) {
	lost := errors.New("lost")
	must(t, errors.Join(together(t, cpus(1), func(g *dist.Group) error {
		m, err := newNet(g.Device(), true)
		must(t, err)
		d, err := dist.NewDistributedDataParallel(g, m)
		must(t, err)
		g.Abort(lost)
		x, y := share(g, 0)
		if err := loss(d, x, y).Backward(); !errors.Is(err, lost) {
			return fmt.Errorf("a pass: %v", err)
		}
		must(t, d.Close())
		return loss(m, x, y).Backward()
	})...))
}
