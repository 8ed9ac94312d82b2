package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/runtime/device"
)

// current is the device of the kind under test without an index: the one that is
// current when it is used.
func current() device.Device { return device.Device{Kind: kind, Index: device.CurrentIndex} }

// placed checks where tensors are.
func placed(t testing.TB, want device.Device, tensors map[string]T) {
	t.Helper()
	for name, x := range tensors {
		if err := x.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if x.Device() != want {
			t.Errorf("%s is on %s, want %s", name, x.Device(), want)
		}
	}
}

// within calls f with d as the current device.
func within(t testing.TB, d device.Device, f func()) {
	t.Helper()
	called := false
	must(t, device.With(d, func() error { called = true; f(); return nil }))
	if !called {
		t.Fatalf("With(%s) did not call its function", d)
	}
}

func onesOn(d device.Device) T { return tensor.Ones([]int{2}, tensor.On(d)) }

// overwrite gives every element of x a value, by kernels on the current stream.
func overwrite(t testing.TB, x T, v float64) {
	t.Helper()
	must(t, x.MulScalarInPlace(0))
	must(t, x.AddScalarInPlace(v))
}

// fails checks that an error wraps a sentinel and has a text.
func fails(t testing.TB, what string, err, is error, text string) {
	t.Helper()
	if err == nil || is != nil && !errors.Is(err, is) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: error %v, want %v with %q", what, err, is, text)
	}
}

// asCUDA returns n devices that the functions of package cuda are about: GPUs, or
// simulated ones that stand for them during the test.
func asCUDA(t testing.TB, n int) []device.Device {
	t.Helper()
	if kind == device.KindCUDA {
		return devices(t, n)
	}
	old, err := device.DriverOf(device.KindCUDA)
	must(t, err)
	c := simulated
	c.Kind = device.KindCUDA
	device.Install(sim.New(c))
	t.Cleanup(func() { device.Install(old) })
	list := make([]device.Device, n)
	for i := range list {
		list[i] = device.CUDA(i)
	}
	return list
}

// A goroutine has a current device of each kind, and what is made for that kind
// without an index is on it.
func TestS1(t *testing.T) {
	d := devices(t, 2)
	placed(t, d[0], map[string]T{"outside": onesOn(current())})
	within(t, d[1], func() { placed(t, d[1], map[string]T{"inside": onesOn(current())}) })
}

// A guard changes the current device for the function it calls; what was current
// before is again when the function returns or panics, and guards nest.
func TestS2(t *testing.T) {
	d := devices(t, 2)
	var seen []int
	see := func() { seen = append(seen, device.Current(kind).Index) }
	see()
	within(t, d[1], func() {
		see()
		within(t, d[0], see)
		see()
		func() {
			defer func() { _ = recover() }()
			_ = device.With(d[0], func() error { see(); panic("out") })
		}()
		see()
	})
	see()
	equal(t, "current devices", seen, []int{0, 1, 0, 1, 0, 1, 0})
	called := false
	fails(t, "a device that is not there", device.With(device.Device{Kind: kind, Index: 99}, func() error { called = true; return nil }), device.ErrUnavailable, "99")
	if called {
		t.Error("the guard of a device that is not there called its function")
	}
}

// Without a guard the current device is the one with index 0, in every goroutine.
func TestS3(t *testing.T) {
	d := devices(t, min(2, max(1, device.Count(kind))))
	equal(t, "the current device", device.Current(kind), d[0])
	within(t, d[len(d)-1], func() {
		seen := make(chan device.Device)
		go func() { seen <- device.Current(kind) }()
		equal(t, "the current device of a goroutine that a guarded one started", <-seen, d[0])
	})
}

// Indices start at 0, so the device with index k is the k+1st; the device string
// says the same.
func TestS4(t *testing.T) {
	d := devices(t, 2)
	count := device.Count(kind)
	for i := range count {
		parsed, err := device.Parse(fmt.Sprintf("%s:%d", kind, i))
		must(t, err)
		placed(t, device.Device{Kind: kind, Index: i}, map[string]T{parsed.String(): onesOn(parsed)})
	}
	fails(t, "one past the last", onesOn(device.Device{Kind: kind, Index: count}).Err(), device.ErrUnavailable, fmt.Sprint(count))
	equal(t, "the string of the second", d[1].String(), kind.String()+":1")
}

// A device without an index is the current one at the moment it is used; one with
// an index is always the same.
func TestS5(t *testing.T) {
	d := devices(t, 2)
	floating, fixed := current(), d[0]
	placed(t, d[0], map[string]T{"floating, outside": onesOn(floating), "fixed, outside": onesOn(fixed)})
	within(t, d[1], func() {
		placed(t, d[1], map[string]T{"floating, inside": onesOn(floating)})
		placed(t, d[0], map[string]T{"fixed, inside": onesOn(fixed)})
	})
}

// An explicit device counts more than a guard.
func TestS6(t *testing.T) {
	d := devices(t, 2)
	host := tensor.From([]float32{1, 2})
	within(t, d[1], func() {
		placed(t, d[0], map[string]T{
			"a factory": tensor.Randn([]int{2}, tensor.On(d[0])), "To": host.To(d[0]), "To of one that is elsewhere": onesOn(d[1]).To(d[0]),
		})
	})
}

// A transfer from the host to the device without an index goes to the current one.
func TestS7(t *testing.T) {
	d := devices(t, 2)
	host := tensor.From([]float32{1, 2})
	placed(t, d[0], map[string]T{"outside": host.To(current())})
	within(t, d[1], func() {
		x := host.To(current())
		placed(t, d[1], map[string]T{"inside": x})
		equal(t, "its elements", values(t, x), []float64{1, 2})
	})
}

// To is how tensors move, with the placement rules of S5 to S7.
//
// Differs: there is no second spelling; what PyTorch writes as x.cuda() is x.To of
// the device without an index.
func TestS8(t *testing.T) {
	d := devices(t, 2)
	x := tensor.From([]float32{1, 2})
	within(t, d[1], func() {
		y := x.To(current())
		placed(t, d[1], map[string]T{"to the current device": y})
		placed(t, d[0], map[string]T{"to a device by index": y.To(d[0])})
		placed(t, device.CPU, map[string]T{"to the host": y.To(device.CPU), "by CPU": y.CPU()})
	})
}

// A tensor reports its device as kind and index, never without an index.
func TestS9(t *testing.T) {
	d := devices(t, 2)
	within(t, d[1], func() {
		got := onesOn(current()).Device()
		equal(t, "kind", got.Kind, kind)
		equal(t, "index", got.Index, 1)
	})
	equal(t, "a host tensor's device", tensor.From([]float32{1}).Device(), device.CPU)
}

// A tensor can be worked on whatever device is current, and results are on the
// operands' device.
func TestS10(t *testing.T) {
	d := devices(t, 2)
	x, y := onesOn(d[0]), onesOn(d[0])
	within(t, d[1], func() {
		a, b := onesOn(current()), onesOn(current())
		placed(t, d[0], map[string]T{
			"x + y": x.Add(y), "sum": x.Sum(), "cumulative sum": x.Cumsum(0), "view": x.Reshape(2, 1),
			"product": x.Reshape(1, 2).MatMul(y.Reshape(2, 1)), "joined": tensor.Cat([]T{x, y}, 0), "like": tensor.OnesLike(x),
		})
		c := a.Add(b)
		placed(t, d[1], map[string]T{"a + b": c})
		equal(t, "a + b", values(t, c), []float64{2, 2})
	})
}

// mismatched are calls whose operands are on two devices, and what their errors
// name.
func mismatched(x, y T) map[string]func() (T, string) {
	of := func(x, y T) string {
		return fmt.Sprintf("Expected all tensors to be on the same device, but found at least two devices, %s and %s!", x.Device(), y.Device())
	}
	return map[string]func() (T, string){
		"sum":      func() (T, string) { return x.Add(y), of(x, y) },
		"swapped":  func() (T, string) { return y.Mul(x), of(y, x) },
		"product":  func() (T, string) { return x.Reshape(1, 2).MatMul(y.Reshape(2, 1)), of(x, y) },
		"joined":   func() (T, string) { return tensor.Cat([]T{x, y}, 0), of(x, y) },
		"gathered": func() (T, string) { return x.Gather(0, y.ToType(tensor.Int64).SubScalar(1)), of(x, y) },
	}
}

// Operands on two accelerators are refused when the operator is called; the error
// names both, and nothing is computed.
func TestS11(t *testing.T) {
	d := devices(t, 2)
	x, y := onesOn(d[0]), onesOn(d[1])
	for name, call := range mismatched(x, y) {
		got, text := call()
		fails(t, name, got.Err(), device.ErrMismatch, text)
	}
	fails(t, "in place", x.AddInPlace(y), device.ErrMismatch, "two devices")
	_ = x.Err() // looked at: it is of use again
	fails(t, "into another device's tensor", out.Add(y, x, x), device.ErrMismatch, d[1].String())
	_ = y.Err()
	equal(t, "x afterwards", values(t, x), []float64{1, 1})
	equal(t, "y afterwards", values(t, y), []float64{1, 1})
}

// Copies are exempt: To and CopyFrom take tensors of any devices.
func TestS12(t *testing.T) {
	d := devices(t, 2)
	x := tensor.From([]float32{1, 2}).To(d[0])
	y := tensor.Zeros([]int{3, 2}, tensor.On(d[1]), tensor.OfType(tensor.Float64))
	must(t, y.CopyFrom(x))
	placed(t, d[1], map[string]T{"the written tensor": y})
	equal(t, "copied, repeated and converted", values(t, y), []float64{1, 2, 1, 2, 1, 2})
	equal(t, "there and back", values(t, x.To(d[1]).To(d[0])), []float64{1, 2})
	host := tensor.Zeros([]int{2})
	must(t, host.CopyFrom(x))
	equal(t, "copied to the host", values(t, host), []float64{1, 2})
	w := tensor.From([]float32{1, 2}).RequireGrad()
	must(t, w.To(d[0]).To(d[1]).Square().Sum().Backward())
	g, _ := w.Grad()
	placed(t, device.CPU, map[string]T{"the gradient of a leaf two devices away": g})
	equal(t, "that gradient", values(t, g), []float64{2, 4})
}

// Where a program enables peer access between two devices, element-wise operators
// take operands on both; the result is on the first one's, and the current streams
// of both devices order the work. Other operators still refuse, and all do again
// once it is disabled.
//
// Differs: PyTorch today refuses all such operators, whether or not the devices reach
// each other's memory; the documents allow them where a program asked for it.
func TestS13(t *testing.T) {
	d := devices(t, 2)
	must(t, device.EnablePeerAccess(d[0], d[1]))
	t.Cleanup(func() { must(t, device.DisablePeerAccess(d[0], d[1])) })
	x, y := tensor.From([]float32{1, 2}).To(d[0]), tensor.From([]float32{10, 20}).To(d[1])
	for name, c := range map[string]struct {
		got  T
		on   device.Device
		want []float64
	}{
		"x + y":       {x.Add(y), d[0], []float64{11, 22}},
		"y - x":       {y.Sub(x), d[1], []float64{9, 18}},
		"a condition": {tensor.Where(x.GtScalar(1), y, x), d[0], []float64{1, 20}},
		"broadcast":   {x.Mul(y.Reshape(2, 1)), d[0], []float64{10, 20, 20, 40}},
		"three":       {x.Clamp(y, y), d[0], []float64{10, 20}},
	} {
		placed(t, c.on, map[string]T{name: c.got})
		equal(t, name, values(t, c.got), c.want)
	}
	must(t, x.AddInPlace(y))
	equal(t, "in place", values(t, x), []float64{11, 22})
	a, b := tensor.From([]float32{3}).To(d[0]).RequireGrad(), tensor.From([]float32{5}).To(d[1]).RequireGrad()
	must(t, a.Mul(b).Sum().Backward())
	for name, c := range map[string]struct {
		of   T
		want float64
	}{"the first": {a, 5}, "the second": {b, 3}} {
		g, _ := c.of.Grad()
		placed(t, c.of.Device(), map[string]T{"the gradient of " + name: g})
		equal(t, "the gradient of "+name, values(t, g), []float64{c.want})
	}
	fails(t, "a product", x.Reshape(1, 2).MatMul(y.Reshape(2, 1)).Err(), device.ErrMismatch, "two devices")
	must(t, device.DisablePeerAccess(d[1], d[0]))
	fails(t, "once disabled", x.Add(y).Err(), device.ErrMismatch, "two devices")
	equal(t, "enabled", device.PeerAccessEnabled(d[0], d[1]), false)
	for what, pair := range map[string][2]device.Device{"with itself": {d[0], d[0]}, "with the host": {d[0], device.CPU}} {
		fails(t, what, device.EnablePeerAccess(pair[0], pair[1]), device.ErrInvalid, "two accelerators")
	}
}

// TestPeersInOrder holds the other device's current stream while operators across
// both run: they wait for its work, and its later work for them.
func TestPeersInOrder(t *testing.T) {
	d := devices(t, 2)
	must(t, device.EnablePeerAccess(d[0], d[1]))
	t.Cleanup(func() { must(t, device.DisablePeerAccess(d[0], d[1])) })
	on0, on1 := newStream(t, d[0]), newStream(t, d[1])
	work := func(x, y T) (T, T) {
		overwrite(t, y, 10) // on the held stream
		sum := x.Add(y)
		overwrite(t, y, 99) // after the sum has read y
		return sum, y
	}
	run := func(held bool) {
		must(t, on0.Do(func() error {
			must(t, on1.Do(func() error {
				x, y := onesOn(d[0]), onesOn(d[1])
				release := func() {}
				if held {
					release = hold(t, on1)
				}
				sum, y := work(x, y)
				if held && idle(t, on0) {
					t.Error("the operator did not wait for the other device's stream")
				}
				release()
				equal(t, "the sum", values(t, sum), []float64{11, 11})
				equal(t, "the operand, written afterwards", values(t, y), []float64{99, 99})
				return nil
			}))
			return nil
		}))
	}
	run(false) // kernels are loaded
	run(true)
}

// A machine without peer access between two devices says so when it is enabled.
func TestNoPeerAccess(t *testing.T) {
	fresh(t, sim.Config{Devices: 2, Async: true, Peer: func(dev, peer int) bool { return dev < peer }})
	a, b := device.Sim(0), device.Sim(1)
	fails(t, "one way only", device.EnablePeerAccess(a, b), device.ErrUnavailable, "sim:1 cannot use the memory of sim:0")
	equal(t, "enabled", device.PeerAccessEnabled(a, b), false)
	fails(t, "operators", onesOn(a).Add(onesOn(b)).Err(), device.ErrMismatch, "two devices")
	equal(t, "copies", values(t, onesOn(b).To(a)), []float64{1, 1})
}

// The composite example of the reference puts every one of its ten tensors on the
// device it states. Where there are two devices, the second stands for the third.
func TestS14(t *testing.T) {
	count := min(3, len(devices(t, min(3, max(2, device.Count(kind))))))
	d0, d1, d2 := device.Device{Kind: kind}, device.Device{Kind: kind, Index: 1}, device.Device{Kind: kind, Index: count - 1}
	x := tensor.From([]float32{1, 2}).To(d0)
	y := tensor.From([]float32{1, 2}).To(current())
	on := map[device.Device]map[string]T{d0: {"x": x, "y": y}, d1: {}}
	if on[d2] == nil {
		on[d2] = map[string]T{}
	}
	within(t, d1, func() {
		a := tensor.FromSlice([]float32{1, 2}, []int{2}, tensor.On(current()))
		b := tensor.From([]float32{1, 2}).To(current())
		b2 := tensor.From([]float32{1, 2}).To(current())
		c, z := a.Add(b), x.Add(y)
		on[d1]["a"], on[d1]["b"], on[d1]["b2"], on[d1]["c"], on[d0]["z"] = a, b, b2, c, z
		on[d2]["d"] = tensor.Randn([]int{2}, tensor.On(d2))
		on[d2]["e"], on[d2]["f"] = tensor.Randn([]int{2}).To(d2), tensor.Randn([]int{2}).To(device.Device{Kind: kind, Index: d2.Index})
		equal(t, "c", values(t, c), []float64{2, 4})
		equal(t, "z", values(t, z), []float64{2, 4})
	})
	for d, tensors := range on {
		placed(t, d, tensors)
	}
}

// CUDA_VISIBLE_DEVICES decides which GPUs the program sees, and in what order.
func TestS60(t *testing.T) {
	hardware(t, "the CUDA driver reads the variable")
	ids := func(visible string) []string {
		return strings.Fields(child(t, "devices", "CUDA_VISIBLE_DEVICES="+visible))
	}
	names := []string{"0", "1"}
	if set, ok := os.LookupEnv("CUDA_VISIBLE_DEVICES"); ok {
		names = strings.Split(set, ",")
	}
	all := strings.Fields(child(t, "devices"))
	equal(t, "with none visible", ids(""), []string{})
	equal(t, "with the first visible", ids(names[0]), all[:1])
	if len(all) > 1 {
		equal(t, "with two in reverse", ids(names[1]+","+names[0]), []string{all[1], all[0]})
	}
}

// visible prints the UUIDs of the GPUs that a process sees.
func visible(t *testing.T) {
	for i := range cuda.DeviceCount() {
		p, err := cuda.GetDeviceProperties(cuda.Device(i))
		must(t, err)
		fmt.Println(p.UUID)
	}
}

// A tensor without axes in host memory, and a number, join element-wise operators
// with tensors of any device. One of an accelerator does not join host tensors, and
// operators that are not element-wise have no exception.
func TestP33(t *testing.T) {
	d := one(t)
	x := tensor.From([]float32{1, 2}).To(d)
	s := tensor.FromSlice([]float32{3}, []int{})
	for name, y := range map[string]T{"vector times scalar": x.Mul(s), "scalar times vector": s.Mul(x), "vector times number": x.MulScalar(3)} {
		placed(t, d, map[string]T{name: y})
		equal(t, name, values(t, y), []float64{3, 6})
	}
	text := func(a, b device.Device) string { return fmt.Sprintf("two devices, %s and %s!", a, b) }
	there := tensor.FromSlice([]float32{3}, []int{}, tensor.On(d))
	host := tensor.From([]float32{1, 2})
	fails(t, "an accelerator's scalar and a host vector", there.Mul(host).Err(), device.ErrMismatch, text(d, device.CPU))
	fails(t, "a host vector and an accelerator's scalar", host.Mul(there).Err(), device.ErrMismatch, text(device.CPU, d))
	fails(t, "a dot product", x.Dot(host).Err(), device.ErrMismatch, text(d, device.CPU))
	fails(t, "a product with a host matrix of one element", x.Reshape(2, 1).MatMul(tensor.Ones([]int{1, 1})).Err(), device.ErrMismatch, text(d, device.CPU))
}

// The error about operands on several devices has PyTorch's words, names two of the
// devices, and says which argument of which operator is elsewhere.
func TestP34(t *testing.T) {
	d := one(t)
	x, host := onesOn(d), tensor.From([]float32{1, 2})
	where := fmt.Sprintf("Expected all tensors to be on the same device, but found at least two devices, %s and cpu! ", d)
	fails(t, "add", x.Add(host).Err(), device.ErrMismatch, where+"(when checking argument for argument y in method add)")
	fails(t, "matmul", x.Reshape(1, 2).MatMul(host.Reshape(2, 1)).Err(), device.ErrMismatch, where+"(when checking argument for argument ")
	fails(t, "cat", tensor.Cat([]T{x, x, host}, 0).Err(), device.ErrMismatch, where+"(when checking argument for argument ")
}

// Whether there are GPUs can be asked everywhere and never fails: without a driver
// there are none, and the reason can be had. Loading the packages opens no driver
// and makes no device's state.
//
// Differs: the first count opens the driver, which reads CUDA_VISIBLE_DEVICES then
// and never again. PyTorch counts through NVML until its first use, for the sake of
// processes that fork later.
func TestP35(t *testing.T) {
	if n := cuda.DeviceCount(); cuda.IsAvailable() != (n > 0) || (cuda.Unavailable() == nil) != (n > 0) {
		t.Errorf("%d devices, available: %t, why not: %v", n, cuda.IsAvailable(), cuda.Unavailable())
	}
	if _, err := os.Stat("/proc/self/maps"); err == nil {
		equal(t, "libraries of a process that asked nothing", child(t, "libraries"), "")
	}
	if onGPU() {
		equal(t, "devices of a process that hid them before the first use", child(t, "hide"), "0")
		return
	}
	fresh(t, sim.Config{})
	equal(t, "devices of a driver without any", device.Count(device.KindSim), 0)
	fails(t, "a tensor on one of them", onesOn(device.Sim()).Err(), device.ErrUnavailable, "no device is simulated")
}

// libraries prints what NVIDIA libraries a process has open that has done nothing.
func libraries(t *testing.T) {
	maps, err := os.ReadFile("/proc/self/maps")
	must(t, err)
	for line := range strings.Lines(string(maps)) {
		for _, name := range []string{"libcuda", "libcublas", "libcudnn", "libcufft", "libnvrtc", "libnvidia-ml"} {
			if strings.Contains(line, name) {
				fmt.Print(line)
			}
		}
	}
}

// hide prints how many GPUs there are once the program itself has hidden them.
func hide(t *testing.T) {
	must(t, os.Setenv("CUDA_VISIBLE_DEVICES", ""))
	fmt.Println(cuda.DeviceCount())
}

// A string that names no device is refused as "Invalid device string", a device of
// another kind where CUDA is needed as "Expected a cuda device".
func TestP36(t *testing.T) {
	for _, s := range []string{"cuda0", "cuda:", "cuda:-1", "cuda:01", "cuda:1 ", "CUDA", "cpu:1", "", ":", "cuda:99999999999999999999"} {
		_, err := device.Parse(s)
		fails(t, fmt.Sprintf("%q", s), err, device.ErrInvalid, "Invalid device string")
	}
	for s, want := range map[string]device.Device{"cpu": device.CPU, "cpu:0": device.CPU, "cuda": device.CUDA(), "cuda:2": device.CUDA(2), "sim:2": device.Sim(2)} {
		got, err := device.Parse(s)
		must(t, err)
		equal(t, s, got, want)
	}
	const text = "Expected a cuda device, but got: cpu"
	_, properties := cuda.GetDeviceProperties(device.CPU)
	_, _, info := cuda.MemGetInfo(device.CPU)
	for what, err := range map[string]error{
		"properties": properties, "memory": info, "synchronize": cuda.Synchronize(context.Background(), device.CPU),
		"stream": cuda.NewStream(tensor.On(device.Sim(0))).Err(),
	} {
		if what == "stream" {
			fails(t, what, err, device.ErrInvalid, "Expected a cuda device, but got: sim:0")
			continue
		}
		fails(t, what, err, device.ErrInvalid, text)
	}
	fails(t, "the host's second device", onesOn(device.Device{Index: 1}).Err(), device.ErrInvalid, "index 1")
}

// Properties (name, capability, UUID, memory) and free memory are had of a device,
// or without one of the current device.
func TestP37(t *testing.T) {
	d := asCUDA(t, 1)
	count := cuda.DeviceCount()
	d = append(d[:0], device.CUDA(0), device.CUDA(count-1))
	seen := map[string]bool{}
	for i := range count {
		p, err := cuda.GetDeviceProperties(cuda.Device(i))
		must(t, err)
		if p.Name == "" || p.UUID == "" || seen[p.UUID] || p.TotalMemory <= 0 || onGPU() && (p.Major < 7 || p.Multiprocessors < 1) {
			t.Errorf("device %d: %+v", i, p)
		}
		seen[p.UUID] = true
	}
	for _, on := range d {
		within(t, on, func() {
			given, err := cuda.GetDeviceProperties(on)
			must(t, err)
			got, err := cuda.GetDeviceProperties()
			must(t, err)
			equal(t, "the properties of the current device", got, given)
			free, total, err := cuda.MemGetInfo()
			must(t, err)
			if free <= 0 || free > total || total > given.TotalMemory {
				t.Errorf("%d of %d bytes are free on %s, which has %d", free, total, on, given.TotalMemory)
			}
		})
	}
	_, err := cuda.GetDeviceProperties(cuda.Device(count))
	fails(t, "a device that is not there", err, device.ErrUnavailable, fmt.Sprint(count))
}

// Asking whether there are GPUs, how many and what they are makes no context on any:
// no memory of theirs is taken.
//
// Differs: there is no way by NVML, which PyTorch has for processes that fork: a Go
// program does not.
func TestP38(t *testing.T) {
	if !onGPU() {
		drv := fresh(t, sim.Config{Devices: 2})
		equal(t, "devices", device.Count(device.KindSim), 2)
		_, err := drv.Properties(1)
		must(t, err)
		equal(t, "what was done on a device that was only asked about", drv.Counters(1), sim.Counters{})
		return
	}
	equal(t, "a context in a process that only asked", child(t, "asked"), "false")
}

// asked prints whether a process that only asked has a context on the first GPU.
func asked(t *testing.T) {
	if cuda.IsAvailable() {
		_, err := cuda.GetDeviceProperties(cuda.Device(0))
		must(t, err)
	}
	api, err := driver.Open()
	must(t, err)
	active, err := api.ContextActive(0)
	must(t, err)
	fmt.Println(active)
}
