package dist_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// left is what steps leave, by name: parameters, gradients, versions, buffers and the
// optimizer's state.
type left map[string][]float64

// trained returns what steps of data parallel training leave on a rank, as they are or
// compiled.
func trained(t testing.TB, g *dist.Group, compiled, accumulate bool, opts []dist.Option) (left, error) {
	var model *nn.Sequential
	as := tensor.OfType(tensor.Float64)
	random.With(random.New(7), func() error {
		model = nn.NewSequential(nn.NewLinear(4, 8, as), nn.NewBatchNorm(8, as), nn.Tanh(), nn.NewLinear(8, 3, as))
		return nil
	})
	if err := nn.To(model, g.Device()); err != nil {
		return nil, err
	}
	d, err := dist.NewDistributedDataParallel(g, model, opts...)
	if err != nil {
		return nil, err
	}
	adam, err := optim.NewAdam(nn.Parameters(d), 0.01)
	if err != nil {
		return nil, err
	}
	call := func(x ...T) (T, error) {
		return tensor.ScopeValue(func() (T, error) {
			if err := adam.ZeroGrad(); err != nil {
				return T{}, err
			}
			l := loss(d, x[0], x[1])
			if err := l.Backward(); err != nil {
				return l, err
			}
			if accumulate {
				if err := loss(d, x[0].MulScalar(2), x[1]).Backward(); err != nil {
					return l, err
				}
			}
			return l.Detach(), adam.Step()
		})
	}
	step := compile.Step(call, compile.State(d, adam))
	defer step.Close()
	if compiled {
		call = step.Call
	}
	out := left{}
	for i := range 5 {
		x, y := share(g, i)
		l, err := call(x.Contiguous(), y.Contiguous())
		if err != nil {
			return nil, err
		}
		out["loss"] = append(out["loss"], data[float64](t, l)...)
	}
	if s := step.Stats(); compiled && (s.Traces != 1 || (s.Nodes > 0) != g.Device().Accelerator()) {
		t.Errorf("%+v", s)
	}
	for name, p := range nn.Named(d) {
		grad, has := p.Grad()
		if !has {
			return nil, fmt.Errorf("%s has no gradient", name)
		}
		out[name], out[name+".grad"] = data[float64](t, p.Detach()), data[float64](t, grad)
		out[name+".versions"] = []float64{float64(p.Version()), float64(grad.Version())}
	}
	for name, b := range nn.NamedBuffers(d) {
		out[name] = data[float64](t, b.ToType(tensor.Float64))
	}
	state, err := adam.State()
	if err != nil {
		return nil, err
	}
	for name, s := range state {
		out["optimizer "+name] = data[float64](t, s.ToType(tensor.Float64))
	}
	return out, d.Close()
}

// TestCompiled: compiled steps of data parallel training leave on every rank what eager steps
// leave, in one graph on accelerators.
func TestCompiled(t *testing.T) {
	for name, c := range map[string]struct {
		accumulate bool
		opts       []dist.Option
	}{
		"one bucket":    {},
		"small buckets": {opts: []dist.Option{dist.BucketBytes(100)}},
		"compressed":    {opts: []dist.Option{dist.Compress(tensor.BFloat16)}},
		"accumulated":   {accumulate: true},
		"own buffers":   {opts: []dist.Option{dist.NoBuffers(), dist.BucketBytes(100)}, accumulate: true},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, 2, func(t *testing.T, devices []device.Device) {
				run := func(compiled bool) []left {
					out := make([]left, len(devices))
					must(t, errors.Join(together(t, devices, func(g *dist.Group) (err error) {
						out[g.Rank()], err = trained(t, g, compiled, c.accumulate, c.opts)
						return err
					})...))
					return out
				}
				alike := cmp.Options{}
				if devices[0].Kind == device.KindCUDA {
					alike = append(alike, cmpopts.EquateApprox(bound, bound))
				}
				if d := cmp.Diff(run(false), run(true), alike); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

// TestCompiledCalls: calls of a group in a compiled function, awaited or not, give what they
// give in eager code; passes on this rank alone are another program.
func TestCompiledCalls(t *testing.T) {
	each(t, 2, func(t *testing.T, devices []device.Device) {
		must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
			rank, on := float64(g.Rank()), tensor.On(g.Device())
			f := compile.Func(func(x ...T) ([]T, error) {
				sum, all := x[0].MulScalar(2), tensor.Zeros([]int{4}, on)
				work := g.AllReduce(sum, dist.Sum)
				other := x[0].AddScalar(1)
				if err := work.Wait(context.Background()); err != nil {
					return nil, err
				}
				g.Barrier()
				g.AllGather(all, other) // which the program waits for at its end
				return []T{sum.AddScalar(1), all}, nil
			})
			defer f.Close()
			for i := range 4 {
				x := tensor.Full([]int{2}, float32(rank)+float32(i), on)
				list, err := f.Call(x)
				if err != nil {
					return err
				}
				s, n := float32(4*i+3), float32(i)
				equal(t, "sum", data[float32](t, list[0]), []float32{s, s})
				equal(t, "all", data[float32](t, list[1]), []float32{n + 1, n + 1, n + 2, n + 2})
			}
			if s := f.Stats(); (s.Nodes > 0) != g.Device().Accelerator() || !strings.Contains(f.Program().String(), "await all-gather") {
				t.Errorf("%+v\n%s", s, f.Program())
			}
			return nil
		})...))
	})
}

// TestCompiledFails: a recording that fails leaves the group as it is, a run that fails
// leaves nobody waiting, and calls of a group that is of no more use are errors.
func TestCompiledFails(t *testing.T) {
	onSimulated(t)
	each(t, 2, func(t *testing.T, devices []device.Device) {
		fault := errors.New("on purpose")
		errs := together(t, devices, func(g *dist.Group) error {
			m, err := newNet(g.Device(), false)
			if err != nil {
				return err
			}
			d, err := dist.NewDistributedDataParallel(g, m, dist.FindUnused())
			if err != nil {
				return err
			}
			unused := compile.Step(func(x ...T) (T, error) {
				l := loss(d, x[0], x[1])
				return l.Detach(), l.Backward()
			}, compile.State(d))
			x, y := share(g, 0)
			if _, err := unused.Call(x.Contiguous(), y.Contiguous()); !errors.Is(err, compile.ErrHostRead) {
				t.Errorf("unused parameters: %v", err)
			}
			weighted := compile.Step(func(x ...T) (T, error) {
				l := loss(d, x[0], x[1])
				if _, err := l.RegisterHook(func(T) T { return tensor.Wrap(core.Failed(fault)) }); err != nil {
					return l, err
				}
				return l.Detach(), d.Backward(l, 3)
			}, compile.State(d))
			if _, err := weighted.Call(x.Contiguous(), y.Contiguous()); !errors.Is(err, fault) || g.Err() != nil {
				t.Errorf("a weighted loss whose gradient is refused: %v; the group: %v", err, g.Err())
			}
			linear := nn.NewLinear(4, 3, tensor.OfType(tensor.Float64))
			if err := nn.To(linear, g.Device()); err != nil {
				return err
			}
			sharded, err := dist.NewFullyShardedDataParallel(g, linear)
			if err != nil {
				return err
			}
			whole := compile.Func(func(x ...T) (T, error) { return sharded.Forward(x[0]), nil }, compile.Captures())
			if _, err := whole.Call(x.Contiguous()); !errors.Is(err, compile.ErrUnrecordable) || !strings.Contains(fmt.Sprint(err), "compiled_test.go:") {
				t.Errorf("sharded: %v", err)
			}
			if err := errors.Join(sharded.Forward(x).Err(), sharded.Close()); err != nil {
				return err
			}
			sum := compile.Func(func(x ...T) (T, error) {
				z := x[0].Clone()
				err := g.AllReduce(z, dist.Sum).Wait(t.Context())
				return z.AddScalar(1), err
			})
			z := tensor.Ones([]int{2}, tensor.On(g.Device()))
			for range 3 {
				if _, err := sum.Call(z); err != nil {
					return err
				}
			}
			if err := g.Barrier().Synchronize(context.Background()); err != nil {
				return err
			}
			g.Abort(fault)
			_, err = sum.Call(z)
			return err
		})
		wantErrors(t, errs, fault)
	})
}
