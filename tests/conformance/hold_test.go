package conformance_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// hold keeps s from doing the work that is given to it from now on, until release
// is called; the end of the test releases it, too. On a GPU the stream waits for a
// word of page-locked memory. What loads a kernel, frees memory of the driver or
// page-locks some may there wait for all streams, so a test has done once before
// what it does meanwhile.
func hold(t testing.TB, s stream.Stream) (release func()) {
	t.Helper()
	must(t, s.Err())
	if kind == device.KindCUDA {
		return holdGPU(t, s)
	}
	drv, err := device.DriverOf(s.Device().Kind)
	must(t, err)
	simulated, ok := drv.(*sim.Driver)
	if !ok {
		t.Fatalf("no simulated driver provides %s", s.Device())
	}
	release, err = simulated.Hold(s.Device().Index, s.ID())
	must(t, err)
	release = sync.OnceFunc(release)
	t.Cleanup(release)
	return release
}

// words is page-locked memory that the streams of a GPU wait for, a word for each
// time. It is made before anything is held, and lasts as long as the process.
type words struct {
	first unsafe.Pointer
	used  atomic.Int64
}

const wordsEach = 1 << 14

var wordsOf sync.Map // device.Device to func() (*words, error)

func newWords(api driver.API, d device.Device) (*words, error) {
	const size = int64(unsafe.Sizeof(uint32(0)))
	p, err := api.MemHostAlloc(d.Index, wordsEach*size, driver.HostPortable|driver.HostMapped)
	if err != nil {
		return nil, err
	}
	clear(unsafe.Slice((*uint32)(p), wordsEach))
	return &words{first: p}, warmUp(d)
}

// warmUp has a GPU load the kernels that most tests use while something is held.
func warmUp(d device.Device) error {
	on := tensor.On(d)
	x := tensor.Ones([]int{2}, on).AddScalar(1).MulScalar(2).Add(tensor.Full([]int{2}, 3, on)).Sub(tensor.Zeros([]int{2}, on))
	errs := []error{x.MulScalarInPlace(1), x.AddScalarInPlace(1), x.Clone().CopyFrom(x)}
	for _, y := range []T{x, x.Sum(), x.Mul(x), x.To(d)} {
		_, err := tensor.Data[float64](y.ToType(tensor.Float64))
		errs = append(errs, err)
	}
	return errors.Join(append(errs, stream.Synchronize(context.Background(), d))...)
}

func holdGPU(t testing.TB, s stream.Stream) func() {
	t.Helper()
	api, err := driver.Open()
	must(t, err)
	dev := s.Device()
	load, _ := wordsOf.LoadOrStore(dev, sync.OnceValues(func() (*words, error) { return newWords(api, dev) }))
	w, err := load.(func() (*words, error))()
	must(t, err)
	at := w.used.Add(1) - 1
	if at >= wordsEach {
		t.Fatalf("%s was held %d times in one process", dev, at)
	}
	word := unsafe.Add(w.first, at*int64(unsafe.Sizeof(uint32(0))))
	must(t, api.StreamWaitValue32(dev.Index, driver.Stream(s.ID()), driver.Ptr(uintptr(word)), 1))
	release := sync.OnceFunc(func() { atomic.StoreUint32((*uint32)(word), 1) })
	t.Cleanup(release)
	return release
}

// idle reports whether all work given to s is done.
func idle(t testing.TB, s stream.Stream) bool {
	t.Helper()
	done, err := s.Query()
	must(t, err)
	return done
}
