package behaviour_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/runtime/device"
)

// inside calls f with d as the current device.
func inside(t testing.TB, d device.Device, f func()) {
	t.Helper()
	called := false
	must(t, device.With(d, func() error { called = true; f(); return nil }))
	if !called {
		t.Fatalf("With(%s) did not call its function", d)
	}
}

func wantDevice(t testing.TB, what string, x T, want device.Device) {
	t.Helper()
	if err := x.Err(); err != nil {
		t.Errorf("%s: %v", what, err)
	} else if x.Device() != want {
		t.Errorf("%s is on %s, want %s", what, x.Device(), want)
	}
}

func ones(d device.Device) T { return tensor.Ones([]int{2}, tensor.On(d)) }

func TestS1S3(t *testing.T) {
	withSimulated(t, sim.Config{Devices: 3})
	wantDevice(t, "a tensor without an index", ones(device.Sim()), device.Sim(0))
	inside(t, device.Sim(2), func() {
		wantDevice(t, "a tensor without an index, inside sim:2", ones(device.Sim()), device.Sim(2))
	})
}

// TestS2: guards nest, and end when their function returns, panics or ends its
// goroutine; other goroutines never see them.
func TestS2(t *testing.T) {
	withSimulated(t, sim.Config{Devices: 3})
	current := func() int { return device.Current(device.KindSim).Index }
	var seen []int
	see := func() { seen = append(seen, current()) }
	see()
	inside(t, device.Sim(1), func() {
		see()
		inside(t, device.Sim(2), see)
		func() {
			defer func() { _ = recover() }()
			_ = device.With(device.Sim(0), func() error { see(); panic("out") })
		}()
		see()
		var wg sync.WaitGroup
		wg.Go(see)
		wg.Wait()
		if err := device.With(device.Sim(3), func() error { see(); return nil }); !errors.Is(err, device.ErrUnavailable) {
			t.Errorf("With(sim:3) returned %v", err)
		}
		if err := device.With(device.Sim(2), nil); err != nil {
			t.Errorf("With and no function: %v", err)
		}
	})
	see()
	if diff := cmp.Diff([]int{0, 1, 2, 0, 1, 0, 0}, seen); diff != "" {
		t.Errorf("current devices (-want +got):\n%s", diff)
	}
}

// TestManyGuards: thousands of goroutines each have their own current device.
func TestManyGuards(t *testing.T) {
	withSimulated(t, sim.Config{Devices: 3})
	var wg sync.WaitGroup
	inner := make(chan int, 3000)
	for k := range cap(inner) {
		wg.Go(func() {
			_ = device.With(device.Sim(k%3), func() error { inner <- device.Current(device.KindSim).Index - k%3; return nil })
		})
	}
	wg.Wait()
	close(inner)
	for off := range inner {
		if off != 0 {
			t.Fatalf("a goroutine's current device is off by %d", off)
		}
	}
}

func TestS4S5S9(t *testing.T) {
	withSimulated(t, sim.Config{Devices: 3})
	floating, fixed := device.Sim(), device.Sim(2)
	wantDevice(t, "the floating device outside", ones(floating), device.Sim(0))
	inside(t, device.Sim(1), func() {
		wantDevice(t, "the floating device inside", ones(floating), device.Sim(1))
		x := ones(fixed)
		wantDevice(t, "the fixed device inside", x, device.Device{Kind: device.KindSim, Index: 2})
		if got := x.Device().String(); got != "sim:2" {
			t.Errorf("the device prints as %q", got)
		}
	})
}

func TestS6S7S8(t *testing.T) {
	withSimulated(t, sim.Config{Devices: 3})
	host := tensor.From([]float32{1, 2})
	wantDevice(t, "To without an index, outside", host.To(device.Sim()), device.Sim(0))
	inside(t, device.Sim(1), func() {
		wantDevice(t, "To without an index", host.To(device.Sim()), device.Sim(1))
		wantDevice(t, "To with an index", host.To(device.Sim(2)), device.Sim(2))
		wantDevice(t, "Randn on an explicit device", tensor.Randn([]int{2}, tensor.On(device.Sim(2))), device.Sim(2))
		wantDevice(t, "a factory without a device", tensor.Ones([]int{2}), device.CPU)
	})
}

func TestS10(t *testing.T) {
	withSimulated(t, sim.Config{Devices: 3})
	x, y := ones(device.Sim(0)), ones(device.Sim(0))
	inside(t, device.Sim(1), func() {
		a, b := ones(device.Sim()), ones(device.Sim())
		for what, got := range map[string]T{"x+y": x.Add(y), "x sum": x.Sum(), "x cumsum": x.Cumsum(0), "x view": x.Reshape(2, 1),
			"x matmul": x.Reshape(1, 2).MatMul(y.Reshape(2, 1)), "x cat": tensor.Cat([]T{x, y}, 0)} {
			wantDevice(t, what, got, device.Sim(0))
		}
		wantDevice(t, "a+b", a.Add(b), device.Sim(1))
	})
}

// TestS11S13P34: operands on different devices are refused in the known words,
// also where the devices have peer access; nothing is launched.
func TestS11S13P34(t *testing.T) {
	d := withSimulated(t, sim.Config{Devices: 3})
	x, y, host := ones(device.Sim(0)), ones(device.Sim(1)), tensor.From([]float32{1, 2})
	must(t, d.EnablePeerAccess(0, 1))
	launches := d.Counters(0).Launches + d.Counters(1).Launches
	for what, c := range map[string]struct {
		got  T
		text string
	}{
		"two accelerators":     {x.Add(y), "found at least two devices, sim:0 and sim:1!"},
		"accelerator and host": {x.Add(host), "found at least two devices, sim:0 and cpu!"},
		"a matrix product":     {x.Reshape(1, 2).MatMul(y.Reshape(2, 1)), "found at least two devices, sim:0 and sim:1!"},
		"a list":               {tensor.Cat([]T{x, y}, 0), "found at least two devices, sim:0 and sim:1!"},
	} {
		err := c.got.Err()
		if !errors.Is(err, device.ErrMismatch) || !strings.Contains(fmt.Sprint(err), "Expected all tensors to be on the same device, but "+c.text) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := x.AddInPlace(y); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("in place: %v", err)
	}
	if err := out.Add(y, x, x); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("out form: %v", err)
	}
	if got := d.Counters(0).Launches + d.Counters(1).Launches; got != launches {
		t.Errorf("refused calls launched %d kernels", got-launches)
	}
}

func TestS12(t *testing.T) {
	withSimulated(t, sim.Config{Devices: 3, Peer: func(dev, peer int) bool { return false }})
	x := tensor.From([]float32{1, 2}).To(device.Sim(0))
	y := tensor.Zeros([]int{3, 2}, tensor.On(device.Sim(1)), tensor.OfType(tensor.Float64))
	must(t, y.CopyFrom(x))
	wantDevice(t, "the written tensor", y, device.Sim(1))
	wantValues(t, "copied, broadcast and converted", y, 1, 2, 1, 2, 1, 2)
	host := tensor.Zeros([]int{2})
	must(t, host.CopyFrom(x))
	wantValues(t, "copied to the host", host, 1, 2)
	wantValues(t, "there and back", x.To(device.Sim(2)).To(device.CPU), 1, 2)

	w := leafOf([]float64{1, 2}) // copies are differentiable
	must(t, w.To(device.Sim(1)).To(device.Sim(2)).Square().Sum().Backward())
	wantGradient(t, "a leaf two devices away", w, 2, 4)
	if g, _ := w.Grad(); g.Device() != device.CPU {
		t.Errorf("the gradient is on %s", g.Device())
	}
}

// TestS14 is the composite example of the statement, top to bottom.
func TestS14(t *testing.T) {
	withSimulated(t, sim.Config{Devices: 3})
	d0, current, d2 := device.Sim(0), device.Sim(), device.Sim(2)
	x := tensor.From([]float32{1, 2}).To(d0)
	y := tensor.From([]float32{1, 2}).To(current)
	where := map[string]T{"x": x, "y": y}
	inside(t, device.Sim(1), func() {
		a := tensor.FromSlice([]float32{1, 2}, []int{2}, tensor.On(current))
		b := tensor.From([]float32{1, 2}).To(current)
		where["a"], where["b"], where["b2"] = a, b, tensor.From([]float32{1, 2}).To(current)
		where["c"], where["z"] = a.Add(b), x.Add(y)
		where["d"] = tensor.Randn([]int{2}, tensor.On(d2))
		where["e"], where["f"] = tensor.Randn([]int{2}).To(d2), tensor.Randn([]int{2}).To(device.Sim(2))
	})
	got := map[string]int{}
	for name, v := range where {
		must(t, v.Err())
		got[name] = v.Device().Index
	}
	want := map[string]int{"x": 0, "y": 0, "z": 0, "a": 1, "b": 1, "b2": 1, "c": 1, "d": 2, "e": 2, "f": 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}

func TestS62S64S66(t *testing.T) {
	withSimulated(t, sim.Config{Devices: 3})
	x := tensor.Ones([]int{2, 2}, tensor.On(device.Sim(2)), tensor.OfType(tensor.Int64))
	inside(t, device.Sim(1), func() {
		for what, c := range map[string]struct {
			got  T
			want []float64
		}{
			"NewFull":   {x.NewFull([]int{2}, -5), []float64{-5, -5}},
			"NewZeros":  {x.NewZeros([]int{1}), []float64{0}},
			"NewOnes":   {x.NewOnes([]int{1}), []float64{1}},
			"OnesLike":  {tensor.OnesLike(x), []float64{1, 1, 1, 1}},
			"ZerosLike": {tensor.ZerosLike(x), []float64{0, 0, 0, 0}},
		} {
			wantDevice(t, what, c.got, device.Sim(2))
			wantValues(t, what, c.got, c.want...)
			if c.got.DType() != tensor.Int64 {
				t.Errorf("%s is %s", what, c.got.DType())
			}
		}
	})
	half := tensor.From([]float32{0}).NewFull([]int{3, 2}, 0.3)
	if !slices.Equal(half.Shape(), []int{3, 2}) || half.DType() != tensor.Float32 || half.Device() != device.CPU {
		t.Errorf("NewFull of a host tensor is %s %v on %s", half.DType(), half.Shape(), half.Device())
	}
	wantValues(t, "NewFull of a host tensor", half, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3)
	if got := ones(device.Sim(1)).String(); got != "tensor([1., 1.], device='sim:1')" { // S65
		t.Errorf("printed as %s", got)
	}
}

func TestP32(t *testing.T) {
	d := withSimulated(t, sim.Config{Devices: 2})
	x := ones(device.Sim(1))
	before := d.Counters(1)
	if y := x.To(device.Sim(1)); y != x {
		t.Error("To the tensor's own device is another tensor")
	}
	inside(t, device.Sim(1), func() {
		if y := x.To(device.Sim()); y != x {
			t.Error("To the current device, which the tensor is on, is another tensor")
		}
	})
	if diff := cmp.Diff(before, d.Counters(1)); diff != "" {
		t.Errorf("the device was used (-before +after):\n%s", diff)
	}
}

// TestP33: host scalars join element-wise operators on any device, and get their
// gradients on the host; nothing else mixes.
func TestP33(t *testing.T) {
	withSimulated(t, sim.Config{Devices: 2})
	x := tensor.From([]float64{1, 2}).To(device.Sim(1)).RequireGrad()
	s := tensor.FromSlice([]float64{3}, []int{}, tensor.RequireGrad())
	if s.Rank() != 0 {
		t.Fatalf("s has shape %v", s.Shape())
	}
	y := x.Mul(s)
	wantDevice(t, "vector times host scalar", y, device.Sim(1))
	wantDevice(t, "host scalar times vector", s.Mul(x), device.Sim(1))
	must(t, y.Sum().Backward())
	wantGradient(t, "the host scalar", s, 3)
	wantGradient(t, "the vector", x, 3, 3)
	g, _ := s.Grad()
	wantDevice(t, "the host scalar's gradient", g, device.CPU)
	must(t, s.Mul(x).Sum().Backward())
	wantGradient(t, "the host scalar, twice", s, 6)

	gs, err := tensor.Gradients([]T{s.Square().Mul(x).Sum()}, []T{s}, tensor.CreateGraph())
	must(t, err)
	wantValues(t, "d/ds of s²(x0+x1)", gs[0], 18)
	wantDevice(t, "a gradient that is recorded", gs[0], device.CPU)
	second, err := tensor.Gradients(gs, []T{s})
	must(t, err)
	wantValues(t, "the second derivative", second[0], 6)

	there := tensor.FromSlice([]float64{3}, []int{}, tensor.On(device.Sim(1)))
	for what, got := range map[string]T{
		"a scalar of an accelerator and a host vector": there.Mul(tensor.From([]float64{1, 2})),
		"a dot product with a host vector":             x.Detach().Dot(tensor.From([]float64{1, 2})),
	} {
		if err := got.Err(); !errors.Is(err, device.ErrMismatch) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestP35: counting devices never fails, and using one that is not there says so.
func TestP35(t *testing.T) {
	withSimulated(t, sim.Config{})
	if n := device.Count(device.KindSim); n != 0 {
		t.Errorf("%d devices are counted, want none", n)
	}
	for _, d := range []device.Device{device.Sim(), device.Sim(0), {Kind: 77}, {Kind: 77, Index: device.CurrentIndex}} {
		if err := ones(d).Err(); !errors.Is(err, device.ErrUnavailable) {
			t.Errorf("a tensor on %s: %v", d, err)
		}
	}
	if n := device.Count(77); n != 0 {
		t.Errorf("%d devices of no kind", n)
	}
	var none device.Driver
	device.Install(none) // passed over
}

func TestP36(t *testing.T) {
	for _, s := range []string{"cuda0", "cuda:", "cuda:-1", "cuda:01", "cuda:1 ", "CUDA", "cpu:1", "", ":", "cuda:99999999999999999999"} {
		if d, err := device.Parse(s); !errors.Is(err, device.ErrInvalid) || !strings.Contains(err.Error(), "Invalid device string") {
			t.Errorf("Parse(%q) = %s, %v", s, d, err)
		}
	}
	if err := ones(device.Device{Kind: device.KindCPU, Index: 1}).Err(); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("a tensor on the host's device 1: %v", err)
	}
	for s, want := range map[string]device.Device{"cpu": device.CPU, "cpu:0": device.CPU, "cuda": device.CUDA(), "sim:2": device.Sim(2)} {
		if d, err := device.Parse(s); err != nil || d != want {
			t.Errorf("Parse(%q) = %v, %v", s, d, err)
		}
	}
}
