package gpu_test

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/gpu"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/allocations"
)

// still is a CUDA driver with one device whose calls succeed at once and do
// nothing. Calls that an operator has no business making are not there: they end
// the test.
type still struct {
	driver.API
	next  driver.Ptr
	calls map[string]int
}

func (s *still) DeviceCount() int                     { return 1 }
func (s *still) DeviceName(int) (string, error)       { return "still", nil }
func (s *still) DeviceUUID(int) ([16]byte, error)     { return [16]byte{}, nil }
func (s *still) DeviceTotalMem(int) (int64, error)    { return 1 << 40, nil }
func (s *still) ErrorName(driver.Code) string         { return "" }
func (s *still) Version() int                         { return 13000 }
func (s *still) Synchronize(int) error                { return nil }
func (s *still) CanAccessPeer(int, int) (bool, error) { return false, nil }

func (s *still) DeviceAttribute(_ int, a driver.Attribute) (int, error) {
	return map[driver.Attribute]int{driver.Multiprocessors: 132, driver.MaxThreadsPerSM: 2048, driver.ComputeCapabilityMajor: 9}[a], nil
}

func (s *still) FunctionAttribute(int, driver.Function, driver.FunctionAttribute) (int, error) {
	return 90, nil
}

func (s *still) MemGetInfo(int) (free, total int64, err error) { return 1 << 40, 1 << 40, nil }

func (s *still) MemAlloc(_ int, bytes int64) (driver.Ptr, error) {
	s.calls["MemAlloc"]++
	s.next += 1 << 30
	return s.next, nil
}

func (s *still) MemFree(int, driver.Ptr) error {
	s.calls["MemFree"]++
	return nil
}

func (s *still) MemHostAlloc(_ int, bytes int64, _ driver.HostFlags) (unsafe.Pointer, error) {
	s.calls["MemHostAlloc"]++
	return unsafe.Pointer(&make([]uint64, bytes/8+1)[0]), nil
}

func (s *still) MemsetD8Async(int, driver.Ptr, byte, int64, driver.Stream) error {
	s.calls["MemsetD8Async"]++
	return nil
}

func (s *still) ModuleLoad(int, []byte) (driver.Module, error) { return 1, nil }

func (s *still) ModuleFunction(int, driver.Module, string) (driver.Function, error) { return 1, nil }

func (s *still) LaunchKernel(int, driver.Launch) error {
	s.calls["LaunchKernel"]++
	return nil
}

// install makes cuda:0 a device over a still driver until the test ends.
func install(tb testing.TB) *still {
	tb.Helper()
	s := &still{next: 1 << 40, calls: map[string]int{}}
	old, _ := device.DriverOf(device.KindCUDA)
	device.Install(gpu.Over(s))
	tb.Cleanup(func() { device.Install(old) })
	return s
}

// costs are calls of an operator on vectors of 1,024 elements, what each asks of the
// CUDA driver, and the Go allocations it may make: of an add, the handle; of one
// that is recorded, the node of the graph; of the other forms, the list of operands.
var costs = []struct {
	name     string
	recorded bool
	call     func(x, y, z tensor.Tensor) error
	driver   map[string]int
	most     float64
}{
	{"add", false, func(x, y, _ tensor.Tensor) error { return released(x.Add(y)) }, one("LaunchKernel"), 1},
	{"add, recorded", true, func(x, y, _ tensor.Tensor) error { return released(x.Add(y)) }, one("LaunchKernel"), 2},
	{"add, out", false, func(x, y, z tensor.Tensor) error { return out.Add(z, x, y) }, one("LaunchKernel"), 1},
	{"add, in place", false, func(x, y, _ tensor.Tensor) error { return x.AddInPlace(y) }, one("LaunchKernel"), 1},
	{"relu", false, func(x, _, _ tensor.Tensor) error { return released(x.ReLU()) }, one("LaunchKernel"), 1},
	{"sum", false, func(x, _, _ tensor.Tensor) error { return released(x.Sum()) }, one("LaunchKernel"), 3},
	{"empty", false, func(x, _, _ tensor.Tensor) error { return released(tensor.Empty([]int{1024}, tensor.On(x.Device()))) }, nil, 6},
}

func one(call string) map[string]int { return map[string]int{call: 1} }

func released(x tensor.Tensor) error {
	err := x.Err()
	x.Release()
	return err
}

func operands(tb testing.TB, recorded bool) (x, y, z tensor.Tensor) {
	tb.Helper()
	on := tensor.On(device.CUDA(0))
	x, y, z = tensor.Zeros([]int{1024}, on), tensor.Zeros([]int{1024}, on), tensor.Zeros([]int{1024}, on)
	if recorded {
		x = x.RequireGrad()
	}
	for _, t := range []tensor.Tensor{x, y, z} {
		if err := t.Err(); err != nil {
			tb.Fatal(err)
		}
	}
	return x, y, z
}

// TestCost holds calls of operators to what they may ask of the CUDA driver, where
// the time goes, and of Go's allocator.
func TestCost(t *testing.T) {
	s := install(t)
	for _, c := range costs {
		t.Run(c.name, func(t *testing.T) {
			x, y, z := operands(t, c.recorded)
			call := func() {
				if err := c.call(x, y, z); err != nil {
					t.Fatal(err)
				}
			}
			call() // loads the kernel, and takes memory
			clear(s.calls)
			call()
			want := c.driver
			if want == nil {
				want = map[string]int{}
			}
			if diff := cmp.Diff(want, s.calls); diff != "" {
				t.Errorf("calls of the driver (-want +got):\n%s", diff)
			}
			allocations.AtMost(t, c.most, call)
		})
	}
}

// BenchmarkCost measures what a call costs besides the driver's time. A result
// that is not released costs what the collector does about it, too.
func BenchmarkCost(b *testing.B) {
	install(b)
	for _, c := range costs {
		b.Run(c.name, func(b *testing.B) {
			x, y, z := operands(b, c.recorded)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.call(x, y, z); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("add, collected", func(b *testing.B) {
		x, y, _ := operands(b, false)
		b.ReportAllocs()
		for b.Loop() {
			_ = x.Add(y)
		}
		runtime.KeepAlive(x)
	})
}
