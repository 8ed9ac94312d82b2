package dist_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// optimizers are those of package optim, in forms that read gradients in ways of their own.
var optimizers = map[string]func(p []*nn.Parameter) (optim.Optimizer, error){
	"SGD": func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewSGD(p, 0.1, optim.WeightDecay(0.01)) },
	"momentum": func(p []*nn.Parameter) (optim.Optimizer, error) {
		return optim.NewSGD(p, 0.1, optim.Momentum(0.9), optim.Dampening(0.1))
	},
	"Nesterov": func(p []*nn.Parameter) (optim.Optimizer, error) {
		return optim.NewSGD(p, 0.1, optim.Momentum(0.9), optim.Nesterov(), optim.Maximize())
	},
	"Adam":  func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewAdam(p, 0.01) },
	"AdamW": func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewAdamW(p, 0.01) },
}

// A trainee is a replica of a model in float32 with its optimizer.
type trainee struct {
	t *testing.T
	g *dist.Group
	m *net
	d *dist.DistributedDataParallel
	o optim.Optimizer
	// wide: gradients are asked for before each step, which then reads what they were converted to.
	wide bool
}

func newTrainee(t *testing.T, g *dist.Group, optimizer string, aside, wide bool, opts ...dist.Option) (*trainee, error) {
	m, err := newNet(g.Device(), aside)
	if err != nil {
		return nil, err
	}
	if err := nn.ToType(m, tensor.Float32); err != nil {
		return nil, err
	}
	d, err := dist.NewDistributedDataParallel(g, m, opts...)
	if err != nil {
		return nil, err
	}
	var o optim.Optimizer
	if optimizer == "sharded" {
		o, err = dist.NewShardedOptimizer(g, nn.Parameters(d), optimizers["Adam"])
	} else {
		o, err = optimizers[optimizer](nn.Parameters(d))
	}
	return &trainee{t, g, m, d, o, wide}, err
}

// share is a rank's part of a step's batch, in float32.
func (n *trainee) share(step int) (x, y T) {
	x, y = share(n.g, step)
	return x.ToType(tensor.Float32).Contiguous(), y.ToType(tensor.Float32).Contiguous()
}

// step makes a step of the optimizer by gradients that a pass averaged in 16 bits.
func (n *trainee) step() error {
	if err := n.read(); err != nil {
		return err
	}
	return n.o.Step()
}

// read asks for gradients where they are to be read, and looks whether they are as they travelled.
func (n *trainee) read() error {
	for name, p := range nn.Named(n.d) {
		g, other, _ := p.Handle().GradOfTwo()
		if other != nil {
			other.Release()
		} else if g = p.Handle().GradAsItIs(); g == nil {
			continue
		}
		if g.DType() == tensor.Float32 && n.g.Size() > 1 {
			n.t.Errorf("%s: the average was converted before anybody asked for it", name)
		}
		if (other != nil) != (n.g.Size() == 2) {
			n.t.Errorf("%s: two that are averaged as they are read: %v, of %d ranks", name, other != nil, n.g.Size())
		}
		g.Release()
		if !n.wide {
			continue
		}
		wide, _ := p.Grad()
		if err := wide.Err(); err != nil {
			return err
		}
		if wide.DType() != tensor.Float32 {
			n.t.Errorf("%s: the gradient is %s", name, wide.DType())
		}
	}
	return nil
}

// left is what steps leave.
func (n *trainee) left() (left, error) {
	out := left{}
	for name, p := range nn.Named(n.d) {
		out[name] = data[float64](n.t, p.Detach().ToType(tensor.Float64))
		if g, has := p.Grad(); has {
			out[name+".grad"] = data[float64](n.t, g.ToType(tensor.Float64))
		}
	}
	state, err := n.o.State()
	for name, s := range state {
		out["optimizer "+name] = data[float64](n.t, s.ToType(tensor.Float64))
	}
	return out, err
}

// A narrowWay is a loop over one step.
type narrowWay struct {
	aside bool
	opts  []dist.Option
	step  func(n *trainee, x, y T) error
}

var narrowWays = map[string]narrowWay{
	"step": {aside: true, step: func(n *trainee, x, y T) error {
		return errors.Join(n.o.ZeroGrad(), loss(n.d, x, y).Backward(), n.step())
	}},
	"Minimize": {aside: true, step: func(n *trainee, x, y T) error {
		if n.wide {
			return errors.Join(n.o.ZeroGrad(), loss(n.d, x, y).Backward(), n.step())
		}
		_, err := n.d.Minimize(n.o, func() T { return loss(n.d, x, y) })
		return errors.Join(err, n.read())
	}},
	"accumulated on each rank": {aside: true, step: func(n *trainee, x, y T) error {
		return errors.Join(n.o.ZeroGrad(), n.d.NoSync(func() error { return loss(n.d, y.MatMul(y.Transpose(0, 1)).MatMul(x), y).Backward() }),
			loss(n.d, x, y).Backward(), n.step())
	}},
	"accumulated over passes": {aside: true, step: func(n *trainee, x, y T) error {
		return errors.Join(n.o.ZeroGrad(), loss(n.d, x, y).Backward(), loss(n.d, x.MulScalar(2), y).Backward(), n.step())
	}},
	"never forgotten": {aside: true, step: func(n *trainee, x, y T) error {
		return errors.Join(loss(n.d, x, y).Backward(), n.step())
	}},
	"clipped": {aside: true, step: func(n *trainee, x, y T) error {
		err := errors.Join(n.o.ZeroGrad(), loss(n.d, x, y).Backward(), n.read())
		_, clipped := optim.ClipGradNorm(n.o.Parameters(), 0.1)
		return errors.Join(err, clipped, n.o.Step())
	}},
	"scaled": {aside: true, step: func(n *trainee, x, y T) error { // as against underflow
		err := errors.Join(n.o.ZeroGrad(), loss(n.d, x, y).MulScalar(1024).Backward(), n.read())
		return errors.Join(err, tensor.NoGrad(func() error {
			for _, p := range n.o.Parameters() {
				if g, has := p.Grad(); has {
					err = errors.Join(err, g.DivScalarInPlace(1024))
				}
			}
			return err
		}), n.o.Step())
	}},
	"unused": {opts: []dist.Option{dist.FindUnused()}, step: func(n *trainee, x, y T) error {
		return errors.Join(n.o.ZeroGrad(), loss(n.d, x, y).Backward(), n.step())
	}},
	"uneven": {aside: true, step: func(n *trainee, x, y T) error {
		rows := x.Size(0) - n.g.Rank()
		if n.g.Rank() == 2 {
			return errors.Join(n.o.ZeroGrad(), n.d.Backward(T{}, 0), n.step())
		}
		return errors.Join(n.o.ZeroGrad(), n.d.Backward(loss(n.d, x.Narrow(0, 0, rows), y.Narrow(0, 0, rows)), rows), n.step())
	}},
}

// TestNarrow: steps by averages as they travelled, in 16 bits, leave to the bit what steps by the
// float32 numbers that they stand for do.
func TestNarrow(t *testing.T) {
	for _, ranks := range []int{2, 3} {
		each(t, ranks, func(t *testing.T, devices []device.Device) {
			groups, err := dist.Local(devices, dist.Timeout(patience.Left(t))) // of all cases: GPUs take a second to connect
			must(t, err)
			narrowCases(t, ranks == 3, func(t *testing.T, c narrowCase) { c.compare(t, groups) })
			for _, g := range groups {
				must(t, g.Close())
			}
		})
	}
}

// narrowCases calls f for every case; fewer of short tests, and of many ranks.
func narrowCases(t *testing.T, many bool, f func(t *testing.T, c narrowCase)) {
	for w, name := range slices.Sorted(maps.Keys(narrowWays)) {
		way := narrowWays[name]
		for o, optimizer := range append(slices.Sorted(maps.Keys(optimizers)), "sharded") {
			if testing.Short() && (many && optimizer != "SGD" || (w+o)%2 != 0) {
				continue
			}
			for k, compress := range []tensor.DType{tensor.BFloat16, tensor.Float16} {
				for i, opts := range [][]dist.Option{{dist.BucketBytes(100)}, nil} {
					if optimizer != "SGD" && (i > 0) != (compress == tensor.Float16) {
						continue
					}
					for a, apart := range []int{1 << 20, 100} { // of some gradients, or none
						if testing.Short() && (4*(w%2)+2*k+a+w/2+o)%8 != 0 { // other ways and optimizers have these
							continue
						}
						t.Run(fmt.Sprint(name, ",", optimizer, ",", compress, ",", i, ",", apart), func(t *testing.T) {
							defer dist.SetApartBytes(dist.SetApartBytes(apart))
							f(t, narrowCase{optimizer, way, append(append(opts, way.opts...), dist.Compress(compress))})
						})
					}
				}
			}
		}
	}
}

// A narrowCase is a loop of steps by one optimizer.
type narrowCase struct {
	optimizer string
	way       narrowWay
	opts      []dist.Option
}

// compare compares what steps by averages in 16 bits and by converted ones leave.
func (c narrowCase) compare(t *testing.T, groups []*dist.Group) {
	var got [2][]left
	for wide := range got {
		got[wide] = make([]left, len(groups))
		errs := make([]error, len(groups))
		var all sync.WaitGroup
		for rank, g := range groups {
			all.Go(func() { got[wide][rank], errs[rank] = c.train(t, g, wide == 1) })
		}
		all.Wait()
		must(t, errors.Join(errs...))
	}
	equal(t, "what is left", got[0], got[1], roundedOnce(groups)...)
	equal(t, "the last rank", got[0][len(groups)-1], got[0][0])
}

// roundedOnce allows for simulated devices, which compute a whole operator before they round: with a mean
// of two in it they round less often than where the mean was written before.
func roundedOnce(groups []*dist.Group) []cmp.Option {
	if len(groups) == 2 && groups[0].Device().Kind == device.KindSim {
		return []cmp.Option{cmpopts.EquateApprox(1e-5, 0)}
	}
	return nil
}

// train makes the steps of a rank, and returns what they leave.
func (c narrowCase) train(t *testing.T, g *dist.Group, wide bool) (left, error) {
	n, err := newTrainee(t, g, c.optimizer, c.way.aside, wide, c.opts...)
	if err != nil {
		return nil, err
	}
	for i := range steps {
		x, y := n.share(i)
		if err := tensor.Scope(func() error { return c.way.step(n, x, y) }); err != nil {
			return nil, err
		}
	}
	is, err := n.left()
	return is, errors.Join(err, n.d.Close())
}

// TestNarrowCaptured: replays of a captured Minimize leave what eager steps do, gradients too, which
// are those of the last replay whenever they are asked for.
func TestNarrowCaptured(t *testing.T) {
	for optimizer := range optimizers {
		for _, copies := range []bool{false, true} {
			t.Run(fmt.Sprint(optimizer, ", copies ", copies), func(t *testing.T) {
				if copies {
					copying(t, 512)
				}
				devices := accelerators(t, 2)
				defer dist.SetApartBytes(dist.SetApartBytes(100))
				var got [2][2][]left
				for way := range got {
					must(t, errors.Join(withOptions(t, devices, func(g *dist.Group) (err error) {
						got[way][g.Rank()], err = replayedSteps(t, g, optimizer, way == 1)
						return err
					}, dist.CopyEngines(copies), dist.CapturedCopies(copies))...))
				}
				equal(t, "what is left", got[1], got[0])
			})
		}
	}
}

// replayedSteps returns what each of some steps leaves on a rank: eager, or replayed.
func replayedSteps(t *testing.T, g *dist.Group, optimizer string, captured bool) (all []left, err error) {
	n, err := newTrainee(t, g, optimizer, true, false, dist.BucketBytes(100), dist.Compress(tensor.BFloat16))
	if err != nil {
		return nil, err
	}
	x, y := n.share(0)
	step := func() error {
		_, err := n.d.Minimize(n.o, func() T { return loss(n.d, x, y) })
		return err
	}
	for range 3 {
		if err := step(); err != nil {
			return nil, err
		}
	}
	recorded := graph.New(g.Device())
	defer recorded.Reset()
	if captured {
		err := errors.Join(n.o.ZeroGrad(), recorded.Capture(step, graph.CaptureStream(stream.New(g.Device(), 0))))
		if err != nil {
			return nil, err
		}
		step = recorded.Replay
	}
	for i := range 4 {
		now, target := n.share(i)
		if err := errors.Join(x.CopyFrom(now), y.CopyFrom(target), step()); err != nil {
			return nil, err
		}
		if i == 1 { // nobody looks at the gradients of this step
			continue
		}
		if err := n.read(); err != nil {
			return nil, err
		}
		is, err := n.left()
		if err != nil {
			return nil, err
		}
		all = append(all, is)
	}
	return all, errors.Join(g.Barrier().Synchronize(context.Background()), n.d.Close())
}

// TestMeanOfTwoRanks: two ranks' average is the mean in float32 of what both rounded, also where 16 bits do
// not hold that.
func TestMeanOfTwoRanks(t *testing.T) {
	each(t, 2, func(t *testing.T, devices []device.Device) {
		must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
			p := nn.NewParameter(tensor.Zeros([]int{3}, tensor.On(g.Device())))
			d, err := dist.NewDistributedDataParallel(g, &struct{ P *nn.Parameter }{p}, dist.Compress(tensor.BFloat16))
			if err != nil {
				return err
			}
			own := []float64{1 + 0x1p-20, 0x1p-10}[g.Rank()] // rounded to 1, and as it is
			if err := p.MulScalar(own).Sum().Backward(); err != nil {
				return err
			}
			grad, _ := p.Grad()
			got, err := tensor.Data[float32](grad)
			equal(t, "the average", got, filled(3, func(int) float32 { return 0.5 + 0x1p-11 }))
			return errors.Join(err, d.Close())
		})...))
	})
}
