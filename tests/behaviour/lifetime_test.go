package behaviour_test

import (
	"errors"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// withoutCollections installs simulated devices and switches the collector off, so
// that only what is released goes back. Live returns how many blocks of sim:0 are
// allocated.
func withoutCollections(t testing.TB, c sim.Config) (live func() int64, d *sim.Driver) {
	t.Helper()
	t.Setenv("SINTER_NO_MEMORY_CACHING", "1") // a block is an allocation of the driver's
	old := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(old) })
	d = withSimulated(t, c)
	return func() int64 { return d.Counters(0).LiveAllocs }, d
}

// TestFailedCallsReleaseResults: a call that the device refuses holds no memory
// afterwards, whichever of its steps failed.
func TestFailedCallsReleaseResults(t *testing.T) {
	live, d := withoutCollections(t, sim.Config{Devices: 2})
	on := tensor.On(device.Sim(0))
	x, k := tensor.Ones([]int{4, 4}, on), tensor.Ones([]int{4, 4}, on, tensor.OfType(tensor.Float64))
	refused := errors.New("refused")
	for name, call := range map[string]func() error{
		"element-wise": func() error { return x.Exp().Err() },
		"reduction":    func() error { return x.Sum().Err() },
		"scan":         func() error { return x.Cumsum(0).Err() },
		"kernel":       func() error { return x.MatMul(x).Err() },
		"promotion":    func() error { return tensor.Cat([]T{x, k}, 0).Err() },
		"conversion":   func() error { return x.ToType(tensor.Float64).Err() },
		"copy":         func() error { return x.CopyFrom(k) },
		"in place":     func() error { return x.AddInPlace(k) },
		"to a peer":    func() error { return x.T().To(device.Sim(1)).Err() },
		"to the host":  func() error { return x.T().To(device.CPU).Err() },
	} {
		for _, fault := range []sim.Fault{sim.FaultLaunch, sim.FaultAlloc, sim.FaultCopy} {
			for step := 1; step <= 3; step++ {
				before := live()
				must(t, d.Fail(0, fault, step, refused))
				err := call()
				if err == nil { // it has fewer such steps
					_ = call()
					_ = call()
				}
				_ = x.Err() // which carries the error of a form that should have changed it
				if err != nil && live() > before {
					t.Errorf("%s, fault %d at step %d: %d blocks are left", name, fault, step, live()-before)
				}
			}
		}
		for x.Add(x).Err() != nil { // use up the faults that are left
		}
	}
}

// TestReleaseAfterCopies: what copies and recorded in-place operators need on the
// way goes back with the call.
func TestReleaseAfterCopies(t *testing.T) {
	live, _ := withoutCollections(t, sim.Config{Devices: 2})
	on := tensor.On(device.Sim(0))
	dst := tensor.Zeros([]int{2}, on, tensor.OfType(tensor.Float64))
	before := live()
	for range 3 {
		must(t, dst.CopyFrom(tensor.From([]float32{1, 2})))
	}
	if got := live() - before; got != 0 {
		t.Errorf("%d blocks are left after copies from the host", got)
	}

	w := tensor.Ones([]int{2}, on).RequireGrad()
	before = live()
	y := w.MulScalar(3) // one block
	must(t, y.MulInPlace(w))
	loss := y.Sum()
	must(t, loss.Backward())
	y.Release()
	loss.Release()
	tensor.Scope(func() error { wantGradient(t, "w", w, 6, 6); return nil })
	must(t, w.ZeroGrad())
	if got := live() - before; got != 0 {
		t.Errorf("%d blocks are left after a recorded in-place operator and its gradient", got)
	}
}

// TestReleaseAfterBackward: what backward passes need on the way goes back in a
// scope, also the gradients that a hook replaces.
func TestReleaseAfterBackward(t *testing.T) {
	live, _ := withoutCollections(t, sim.Config{Devices: 1})
	on := tensor.On(device.Sim(0))
	w := tensor.Ones([]int{4}, on).RequireGrad()
	before := live()
	for range 3 {
		tensor.Scope(func() error {
			h := w.Exp()
			_, err := h.RegisterHook(func(g T) T { return g.MulScalar(2) })
			must(t, err)
			y := h.Mul(w).Sum()
			must(t, y.Backward(tensor.Retain()))
			must(t, y.Backward())
			gs, err := tensor.Gradients([]T{w.Square().Sum()}, []T{w})
			must(t, err)
			wantValues(t, "a gradient", gs[0], 2, 2, 2, 2)
			return nil
		})
		must(t, w.ZeroGrad())
		if got := live() - before; got != 0 {
			t.Fatalf("%d blocks are left after backward passes", got)
		}
	}
}

// TestGradientsWalksOnlyWhatItNeeds: the graph below an input that is no leaf
// stays as it is, so that a pass can be done in two parts.
func TestGradientsWalksOnlyWhatItNeeds(t *testing.T) {
	x, other := leafOf([]float64{1, 2}), leafOf([]float64{5, 5})
	calls := 0
	_, err := x.RegisterHook(func(T) T { calls++; return T{} })
	must(t, err)
	h := x.Square()
	loss := h.Mul(h).Add(other.Exp().Mul(other)).Sum()
	gs, err := tensor.Gradients([]T{loss}, []T{h})
	must(t, err)
	wantValues(t, "the gradient of the middle", gs[0], 2, 8)
	if calls != 0 {
		t.Errorf("the hook of a leaf that was not asked for was called %d times", calls)
	}
	must(t, h.Backward(tensor.WithGradient(gs[0])))
	wantGradient(t, "x, in two parts", x, 4, 32)

	same, err := tensor.Gradients([]T{h, h}, []T{h, x}, tensor.WithGradient(tensor.From([]float64{1, 1}), tensor.From([]float64{2, 3})))
	if err == nil {
		t.Errorf("a graph was walked again without its saved values: %v", same)
	}
	y := x.Square()
	same, err = tensor.Gradients([]T{y, y, x}, []T{y, x}, tensor.WithGradient(
		tensor.From([]float64{1, 1}), tensor.From([]float64{2, 3}), tensor.From([]float64{100, 100})))
	must(t, err)
	wantValues(t, "a root that is an input, twice", same[0], 3, 4)
	wantValues(t, "a leaf that is a root", same[1], 106, 116)
}

// TestLeafGradientsAreApart: gradients of different leaves share no memory, also
// in a recorded pass, and none with what the program gave.
func TestLeafGradientsAreApart(t *testing.T) {
	for _, opts := range [][]tensor.Option{nil, {tensor.CreateGraph()}} {
		a, b, given := leafOf([]float64{1, 2}), leafOf([]float64{3, 4}), tensor.From([]float64{1, 10})
		must(t, a.Add(b).Backward(append(opts, tensor.WithGradient(given))...))
		ga, _ := a.Grad()
		gb, _ := b.Grad()
		if ga.SharesStorage(gb) || ga.SharesStorage(given) || gb.SharesStorage(given) {
			t.Error("gradients of leaves share memory")
		}
		must(t, a.Backward(append(opts, tensor.WithGradient(given))...))
		wantGradient(t, "a leaf that is a root", a, 2, 20)
	}
}

// TestDetachedViews: a view of a detached handle stays usable after the storage
// was changed, unless it is changed after the view was made.
func TestDetachedViews(t *testing.T) {
	w := leafOf([]float64{2, 3})
	x := w.MulScalar(1)
	d := x.Detach()
	must(t, x.MulInPlace(w))
	wantValues(t, "a view of the detached handle", d.Reshape(2, 1).Mul(w.Reshape(2, 1)), 8, 27)

	free := tensor.From([]float64{1, 2}).Detach()
	v := free.Narrow(0, 0, 1)
	must(t, free.MulInPlace(w))
	if err := v.MulScalar(2).Err(); !errors.Is(err, core.ErrChanged) {
		t.Errorf("a view that misses the gradient of its base: %v", err)
	}
}

func TestNilFunctions(t *testing.T) {
	x := leafOf([]float64{1})
	tensor.NoGrad(nil)
	tensor.EnableGrad(nil)
	tensor.Scope(nil)
	random.With(nil, func() error { must(t, tensor.Rand([]int{2}).Err()); return nil })
	if _, err := x.RegisterHook(nil); err == nil || !strings.Contains(err.Error(), "the hook is nil") {
		t.Errorf("a hook that is nil: %v", err)
	}
	if got := x.Detach().Format(); !strings.HasPrefix(got, "tensor([") {
		t.Errorf("printed without options: %s", got)
	}
	if got := tensor.Arange(0, 5, 1).Format(tensor.MaxElements(2), tensor.EdgeItems(0)); !strings.Contains(got, "...") {
		t.Errorf("printed without edges: %s", got)
	}
	if n := len(tensor.Chunk(tensor.Zeros([]int{3}), math.MaxInt>>1, 0)); n != 3 {
		t.Errorf("3 elements are in %d chunks", n)
	}
	if err := tensor.Chunk(tensor.Zeros([]int{0}), math.MaxInt>>1, 0)[0].Err(); err == nil {
		t.Error("an axis without elements has 2^62 chunks")
	}
	if _, err := tensor.Data[float32](tensor.Ones([]int{1}).Expand(math.MaxInt >> 13)); strconv.IntSize == 64 && !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("the elements of a view too large: %v", err)
	}
	if err := new(core.Tensor).Err(); !errors.Is(err, core.ErrZeroTensor) {
		t.Errorf("a handle on nothing: %v", err)
	}
}

func TestPinnedFactories(t *testing.T) {
	old, _ := device.DriverOf(device.KindCUDA)
	device.Install(sim.New(sim.Config{Devices: 1, Kind: device.KindCUDA}))
	t.Cleanup(func() { device.Install(old) })
	for name, x := range map[string]T{
		"Zeros":     tensor.Zeros([]int{3}, tensor.Pinned()),
		"Full":      tensor.Full([]int{3}, 2, tensor.Pinned(), tensor.OfType(tensor.Float16)),
		"FromSlice": tensor.FromSlice([]float32{1, 2}, []int{2}, tensor.Pinned(), tensor.OfType(tensor.Float64)),
	} {
		if err := x.Err(); err != nil || !x.IsPinned() {
			t.Errorf("%s: pinned is %t, %v", name, x.IsPinned(), err)
		}
	}
	if err := tensor.Zeros([]int{3}, tensor.Pinned(), tensor.On(device.CUDA(0))).Err(); err == nil {
		t.Error("pinned memory of a device")
	}
}

// TestNothingReleased: a program that never releases goes on past the device's
// memory, since what it dropped is collected before the device is out of memory.
func TestNothingReleased(t *testing.T) {
	_, d := withoutCollections(t, sim.Config{Devices: 1, Memory: 1 << 20})
	for range 40 {
		must(t, tensor.Zeros([]int{1 << 16}, tensor.On(device.Sim(0))).Err())
	}
	if c := d.Counters(0); c.Frees < 35 {
		t.Errorf("%d of %d blocks were freed", c.Frees, c.Allocs)
	}
	if err := tensor.Zeros([]int{1 << 20}, tensor.On(device.Sim(0))).Err(); !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("more than the device has: %v", err)
	}
}

func TestEinsumExtents(t *testing.T) {
	none, one := tensor.Zeros([]int{0}), tensor.Ones([]int{1})
	wantValues(t, "no elements against one", tensor.Einsum("i,i->", []T{none, one}), 0)
	wantValues(t, "one against no elements", tensor.Einsum("i,i->", []T{one, none}), 0)
	if err := tensor.Einsum("ii->i", []T{tensor.Ones([]int{1, 3})}).Err(); err == nil {
		t.Error("a diagonal of axes with 1 and 3 elements")
	}
}

// TestManyElements has tensors whose element numbers do not fit 31 bits.
func TestManyElements(t *testing.T) {
	if testing.Short() || math.MaxInt == math.MaxInt32 || availableMemory() < 6<<30 {
		t.Skip("needs 6 GiB of memory")
	}
	giga := 1 << 30 // no constant: multiples of it have more bits than an int of some platforms
	n := 2*giga + 10
	x := tensor.Zeros([]int{n}, tensor.OfType(tensor.Uint8))
	must(t, x.Err())
	defer x.Release()
	must(t, x.Narrow(0, n-3, 2).CopyFrom(tensor.From([]uint8{7, 9})))
	wantValues(t, "the last elements", x.Narrow(0, n-4, 4), 0, 7, 9, 0)
	wantValues(t, "one element", x.Select(0, n-2), 9)
	sum, err := x.Sum().ItemInt()
	must(t, err)
	if sum != 16 {
		t.Errorf("the sum is %d, want 16", sum)
	}
	wide := tensor.From([]uint8{1, 2}, 2, 1).Expand(2, n)
	if wide.NumElements() != 2*n {
		t.Errorf("the expanded view has %d elements", wide.NumElements())
	}
	wantValues(t, "the end of an expanded view", wide.Narrow(1, n-2, 2), 1, 1, 2, 2)
}

// availableMemory returns the bytes that the system says are free, 0 where it
// does not say.
func availableMemory() int64 {
	info, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(info)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemAvailable:" {
			var kib int64
			for _, c := range f[1] {
				kib = kib*10 + int64(c-'0')
			}
			return kib << 10
		}
	}
	return 0
}
