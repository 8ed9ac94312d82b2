package conformance_test

import (
	"flag"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/random"
)

// Code that works on any device is written by the program: a state that a
// recurrent cell starts from has to be made on the cell's device, and where it is not
// the operator refuses and names both devices; nothing is moved in silence.
func TestS55(t *testing.T) {
	dev := one(t)
	w := tensor.Eye(3, 3, tensor.On(dev))
	cell := func(x, state T) T { return x.Add(state.MatMul(w)).Tanh() }
	x := tensor.Ones([]int{2, 3}, tensor.On(dev))
	err := cell(x, tensor.Zeros([]int{2, 3})).Err()
	if err == nil || !strings.Contains(err.Error(), "cpu") || !strings.Contains(err.Error(), dev.String()) {
		t.Errorf("a state on the CPU: %v", err)
	}
	for name, state := range map[string]T{"named": tensor.Zeros([]int{2, 3}, tensor.On(x.Device())), "like": x.NewZeros([]int{2, 3})} {
		h := cell(cell(x, state), state)
		if must(t, h.Err()); h.Device() != dev {
			t.Errorf("%s: the result is on %s", name, h.Device())
		}
	}
}

// choose is how a program picks its device by flags: the accelerators' current device,
// unless they are disabled or there are none.
func choose(accelerators device.Kind, args ...string) (device.Device, error) {
	flags := flag.NewFlagSet("program", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	disable := flags.Bool("disable-cuda", false, "use the CPU")
	if err := flags.Parse(args); err != nil {
		return device.Device{}, err
	}
	if *disable || device.Count(accelerators) == 0 {
		return device.CPU, nil
	}
	return device.Device{Kind: accelerators, Index: device.CurrentIndex}, nil
}

// A flag that disables accelerators and the question whether there are any
// choose between an accelerator and the CPU; asking is no error where there are none.
func TestS56(t *testing.T) {
	dev := one(t)
	for _, c := range []struct {
		args []string
		want device.Device
	}{{nil, dev}, {[]string{"-disable-cuda"}, device.CPU}, {[]string{"--disable-cuda=false"}, dev}} {
		got, err := choose(kind, c.args...)
		must(t, err)
		equal(t, strings.Join(c.args, " "), got.Resolve(), c.want)
	}
	if device.Count(device.KindCUDA) == 0 {
		got, err := choose(device.KindCUDA)
		must(t, err)
		equal(t, "without a GPU", got, device.CPU)
		equal(t, "the best device without a GPU", device.Best(), device.CPU)
	}
}

// train fits a small network on dev and returns the losses.
func train(t testing.TB, dev device.Device) (losses []float64) {
	t.Helper()
	random.With(random.New(3), func() error {
		model := nn.NewSequential(nn.NewLinear(2, 8), nn.Func(T.Tanh), nn.NewLinear(8, 1))
		must(t, nn.To(model, dev))
		x := tensor.Rand([]int{32, 2})
		set, err := data.Tensors(x, x.Sum(tensor.Dim(1), tensor.KeepDim()))
		must(t, err)
		sgd, err := optim.NewSGD(nn.Parameters(model), 0.1, optim.Momentum(0.5))
		must(t, err)
		l := data.Loader{Dataset: set, BatchSize: 8, Shuffle: true}
		for batch, err := range l.Epoch(t.Context()) {
			must(t, err)
			loss := model.Forward(batch[0].To(dev)).MSELoss(batch[1].To(dev))
			must(t, sgd.ZeroGrad())
			must(t, loss.Backward())
			must(t, sgd.Step())
			v, err := loss.Item()
			must(t, err)
			losses = append(losses, v)
		}
		return nil
	})
	return losses
}

// The chosen device is given to factories and to the model, and the same
// program then runs on either, with the same numbers.
func TestS57(t *testing.T) {
	dev := one(t)
	for _, d := range []device.Device{device.CPU, {Kind: kind, Index: device.CurrentIndex}} {
		x := tensor.Empty([]int{8, 42}, tensor.On(d))
		net := nn.NewLinear(42, 3)
		must(t, nn.To(net, d))
		y := net.Forward(x)
		if must(t, y.Err()); y.Device() != d.Resolve() || y.Size(1) != 3 {
			t.Errorf("on %s: the result is %v on %s", d, y.Shape(), y.Device())
		}
		for name, p := range nn.Named(net) {
			equal(t, name, p.Device(), d.Resolve())
		}
	}
	wholeFloat32(t)
	want, got := train(t, device.CPU), train(t, dev)
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-5*(1+math.Abs(want[i])) {
			t.Errorf("step %d: loss %v on %s, %v on the CPU", i, got[i], dev, want[i])
		}
	}
	if want[len(want)-1] >= want[0] {
		t.Errorf("losses %v do not fall", want)
	}
}

// The scoped guard places by hand what names no device index: tensors made and
// moved in it are on its device, those outside are where they were.
func TestS61(t *testing.T) {
	list := devices(t, 2)
	current := device.Device{Kind: kind, Index: device.CurrentIndex}
	x := tensor.Ones([]int{2})
	var made, moved T
	must(t, device.With(list[1], func() error {
		made, moved = tensor.Zeros([]int{2}, tensor.On(current)), x.To(current)
		return nil
	}))
	after := x.To(current)
	equal(t, "devices", []device.Device{made.Device(), moved.Device(), after.Device(), x.Device()},
		[]device.Device{list[1], list[1], list[0], device.CPU})
}

// A device is chosen once and passed around: what a step makes of tensors on
// it stays on it, whichever device is current, and nothing moves unless asked.
func TestS78(t *testing.T) {
	list := devices(t, 2)
	chosen, other := list[1], list[0]
	live(t, other)
	before := memory.StatsOf(other).Allocation.All.Allocated
	must(t, device.With(other, func() error {
		w := tensor.Randn([]int{4, 2}, tensor.On(chosen)).RequireGrad()
		x := tensor.Randn([]int{3, 4}, tensor.On(chosen))
		loss := x.MatMul(w).Tanh().Sum()
		must(t, loss.Backward())
		g, ok := w.Grad()
		if !ok {
			t.Fatal("there is no gradient")
		}
		for name, y := range map[string]T{"loss": loss, "gradient": g, "view": x.Transpose(0, 1), "like": tensor.OnesLike(x), "copied": x.Clone(), "converted": x.ToType(tensor.Float64), "number": x.MulScalar(2)} {
			if must(t, y.Err()); y.Device() != chosen {
				t.Errorf("%s is on %s, want %s", name, y.Device(), chosen)
			}
		}
		if x.To(chosen) != x {
			t.Error("moving a tensor to where it is makes another")
		}
		err := x.Add(tensor.Ones([]int{3, 4}, tensor.On(other))).Err()
		if err == nil || !strings.Contains(err.Error(), chosen.String()) || !strings.Contains(err.Error(), other.String()) {
			t.Errorf("operands on two devices: %v", err)
		}
		return nil
	}))
	// The last operand is all that was asked for on the other device.
	if n := memory.StatsOf(other).Allocation.All.Allocated - before; n != 1 {
		t.Errorf("%d blocks were allocated on %s, want 1", n, other)
	}
}
