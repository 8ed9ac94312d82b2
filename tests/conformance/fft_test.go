package conformance_test

import (
	"math"
	"math/cmplx"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/fftplans"
)

// cacheOf returns the empty plan cache of a device, which is as it was again after
// the test.
func cacheOf(t *testing.T, d device.Device) fftplans.Handle {
	t.Helper()
	c := fftplans.Of(d)
	must(t, c.Clear())
	before := c.MaxSize()
	t.Cleanup(func() {
		must(t, c.Clear())
		must(t, c.SetMaxSize(before))
	})
	return c
}

// transformed transforms rows of n points that are 0, 1, 2 and so on, and checks
// the first row of the result.
func transformed(t *testing.T, d device.Device, rows, n int) {
	t.Helper()
	row := make([]complex64, n)
	for i := range row {
		row[i] = complex(float32(i), 0)
	}
	x := tensor.FromSlice(row, []int{1, n}, tensor.On(d)).Expand(rows, n).Contiguous()
	got, err := tensor.Data[complex64](x.FFT())
	must(t, err)
	for k := range n {
		var want complex128
		for j := range n {
			want += complex(float64(j), 0) * cmplx.Exp(complex(0, -2*math.Pi*float64(j*k%n)/float64(n)))
		}
		if cmplx.Abs(complex128(got[k])-want) > 1e-4*float64(n*n) {
			t.Fatalf("number %d of %d points is %v, want %v", k, n, got[k], want)
		}
	}
}

// Every accelerator keeps the plans of Fourier transforms that were used
// last. A transform of a geometry that was seen before uses its plan; another one
// makes its own.
//
// Differs: a transform of a real tensor along several axes takes two plans, one for
// the real axis and one for the others, but on a GPU that of planes takes one; and one
// along more than three axes takes one for each three.
func TestS49(t *testing.T) {
	d := one(t)
	c := cacheOf(t, d)
	for i, step := range []struct{ rows, n, size int }{{2, 8, 1}, {2, 8, 1}, {3, 8, 2}, {2, 8, 2}, {2, 9, 3}} {
		transformed(t, d, step.rows, step.n)
		if got := c.Size(); got != step.size {
			t.Errorf("step %d: %d plans, want %d", i, got, step.size)
		}
	}
	x := tensor.Ones([]int{4, 6}, tensor.On(d))
	plans := 2
	if kind == device.KindCUDA {
		plans = 1
	}
	must(t, c.Clear())
	for range 2 {
		must(t, x.RFFT2().Err())
		equal(t, "plans of a real transform of two axes", c.Size(), plans)
	}
}

// The cache has a bound, because plans may hold device memory: beyond it
// the plan that was used least recently goes, and a lower bound makes plans go at
// once. A plan that a call uses is not destroyed before the call has returned.
func TestS50(t *testing.T) {
	d := one(t)
	c := cacheOf(t, d)
	must(t, c.SetMaxSize(2))
	for _, n := range []int{4, 5, 4, 6} { // 5 goes, because 4 was used after it
		transformed(t, d, 1, n)
	}
	equal(t, "plans kept of three", c.Size(), 2)
	must(t, c.SetMaxSize(3))
	transformed(t, d, 1, 4)
	equal(t, "plans after one that was kept", c.Size(), 2)
	transformed(t, d, 1, 5)
	equal(t, "plans after one that was dropped", c.Size(), 3)
	must(t, c.SetMaxSize(1))
	equal(t, "plans after the bound was lowered", c.Size(), 1)
	must(t, c.SetMaxSize(0))
	transformed(t, d, 1, 4)
	equal(t, "plans kept with a bound of 0", c.Size(), 0)

	// Many goroutines push each other's plans out of a cache of one.
	must(t, c.SetMaxSize(1))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 4 {
				n := 4 + (i+j)%4
				x := tensor.Ones([]int{n}, tensor.On(d), tensor.OfType(tensor.Complex64))
				got, err := tensor.Data[complex64](x.FFT())
				if err != nil || cmplx.Abs(complex128(got[0])-complex(float64(n), 0)) > 1e-4 {
					t.Errorf("goroutine %d, %d points: %v, %v", i, n, got, err)
				}
			}
		})
	}
	all.Wait()
	equal(t, "plans after all", c.Size(), 1)

	// A graph goes on after the plan that it was captured with was dropped.
	x := tensor.Ones([]int{4}, tensor.On(d), tensor.OfType(tensor.Complex64))
	must(t, x.FFT().Err())
	var y T
	g := captured(t, d, func() error {
		y = x.FFT()
		return y.Err()
	})
	must(t, c.Clear())
	transformed(t, d, 1, 5)
	must(t, x.MulScalarInPlace(3))
	must(t, g.Replay())
	got, err := tensor.Data[complex64](y)
	must(t, err)
	equal(t, "a replay after its plan was dropped", got, []complex64{12, 0, 0, 0})
}

// The bound can be read and set for each device; it is 4,096 at first. A
// negative one is refused and changes nothing.
func TestS51(t *testing.T) {
	d := one(t)
	equal(t, "the bound at first", fftplans.Of(d).MaxSize(), 4096)
	c := cacheOf(t, d)
	must(t, c.SetMaxSize(10))
	equal(t, "the bound after it was set", c.MaxSize(), 10)
	if err := c.SetMaxSize(-1); err == nil {
		t.Error("a negative bound was accepted")
	}
	equal(t, "the bound after a refused one", c.MaxSize(), 10)
}

// The number of plans that a device keeps can be read. Reading it, and
// transforms that fail, add none.
func TestS52(t *testing.T) {
	d := one(t)
	c := cacheOf(t, d)
	equal(t, "plans of a device that has transformed nothing", c.Size(), 0)
	if err := tensor.Ones([]int{4, 0}, tensor.On(d)).FFT().Err(); err == nil {
		t.Error("no points were transformed")
	}
	equal(t, "plans after a call that failed", c.Size(), 0)
	transformed(t, d, 2, 7)
	equal(t, "plans after one transform", c.Size(), 1)
}

// Clear drops every plan of a device, and transforms go on as before.
func TestS53(t *testing.T) {
	d := one(t)
	c := cacheOf(t, d)
	transformed(t, d, 1, 6)
	transformed(t, d, 1, 7)
	equal(t, "plans", c.Size(), 2)
	must(t, c.Clear())
	equal(t, "plans after Clear", c.Size(), 0)
	must(t, c.Clear())
	transformed(t, d, 1, 6)
	equal(t, "plans after another transform", c.Size(), 1)
}

// A handle without an index is the cache of the device that is current when
// it is used; with a device value or an index it is that device's. Devices do not
// share plans or bounds, and a device that is not there is an error.
func TestS54(t *testing.T) {
	ds := devices(t, 2)
	first, second := cacheOf(t, ds[0]), cacheOf(t, ds[1])
	current := fftplans.Of(device.Device{Kind: kind, Index: device.CurrentIndex})
	must(t, current.At(1).SetMaxSize(10))
	equal(t, "the second device's bound", second.MaxSize(), 10)
	equal(t, "the current device's bound", current.MaxSize(), first.MaxSize())
	transformed(t, ds[0], 1, 5)
	must(t, device.With(ds[1], func() error {
		equal(t, "plans of the current device, which has none", current.Size(), 0)
		equal(t, "its bound", current.MaxSize(), 10)
		transformed(t, ds[1], 1, 5)
		transformed(t, ds[1], 2, 5)
		equal(t, "plans of the current device", current.Size(), 2)
		return nil
	}))
	equal(t, "plans outside of the scope", current.Size(), 1)
	equal(t, "plans by index", current.At(1).Size(), 2)
	equal(t, "plans by device", fftplans.Of(ds[1]).Size(), 2)
	must(t, second.Clear())
	equal(t, "plans of the other device", first.Size(), 1)
	gone := current.At(device.Count(kind))
	if err := gone.SetMaxSize(1); err == nil || gone.Size() != 0 {
		t.Errorf("a device that is not there has %d plans, error %v", gone.Size(), err)
	}
	if kind == device.KindCUDA {
		must(t, cuda.FFTPlanCache().At(1).SetMaxSize(11))
		equal(t, "the bound by the name that people know", cuda.FFTPlanCache(ds[1]).MaxSize(), 11)
	}
}
