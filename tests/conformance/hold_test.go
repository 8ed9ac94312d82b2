package conformance_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
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
		must(t, ready())
	}
	drv, err := device.DriverOf(s.Device().Kind)
	must(t, err)
	simulated, ok := drv.(holder)
	if !ok {
		return holdGPU(t, s)
	}
	release, err = simulated.Hold(s.Device().Index, s.ID())
	must(t, err)
	return untilEnd(t, release)
}

// A holder is a driver whose streams can be held: a simulated one.
type holder interface {
	Hold(dev int, s device.StreamID) (release func(), err error)
}

// untilEnd has release called once: by the function that it returns, by the end of
// the test, or when the test has taken too long.
func untilEnd(t testing.TB, release func()) func() {
	release = sync.OnceFunc(release)
	forget := letGo(release)
	t.Cleanup(func() {
		release()
		forget()
	})
	return release
}

// words is page-locked memory that the streams of GPUs wait for, a word for each time.
// It is made before anything is held, and lasts as long as the process.
type words struct {
	first unsafe.Pointer
	used  atomic.Int64
}

const wordsEach = 1 << 14

var theWords = sync.OnceValues(func() (*words, error) {
	const size = int64(unsafe.Sizeof(uint32(0)))
	api, err := driver.Open()
	if err != nil {
		return nil, err
	}
	p, err := api.MemHostAlloc(0, wordsEach*size, driver.HostPortable|driver.HostMapped)
	if err != nil {
		return nil, err
	}
	clear(unsafe.Slice((*uint32)(p), wordsEach))
	return &words{first: p}, nil
})

// ready has all GPUs do once what most tests do while something is held.
var ready = sync.OnceValue(func() error {
	var errs []error
	for i := range device.Count(kind) {
		errs = append(errs, warmUp(device.Device{Kind: kind, Index: i}))
	}
	return errors.Join(errs...)
})

// warmUp has a GPU load the kernels that most tests use, and reach the others.
func warmUp(d device.Device) error {
	on := tensor.On(d)
	x := tensor.Ones([]int{2}, on).AddScalar(1).MulScalar(2).Add(tensor.Full([]int{2}, 3, on)).Sub(tensor.Zeros([]int{2}, on))
	errs := []error{
		x.MulScalarInPlace(1), x.AddScalarInPlace(1), x.MulScalarInPlace(0.5), x.AddScalarInPlace(0.5), x.Clone().CopyFrom(x), x.AddScalar(0.5).Err(),
	}
	for _, y := range []T{x, x.Sum(), x.Mul(x)} {
		_, err := tensor.Data[float64](y.ToType(tensor.Float64))
		errs = append(errs, err)
	}
	for i := range device.Count(d.Kind) {
		errs = append(errs, x.To(device.Device{Kind: d.Kind, Index: i}).CPU().Err())
	}
	return errors.Join(append(errs, stream.Synchronize(context.Background(), d))...)
}

func holdGPU(t testing.TB, s stream.Stream) func() {
	t.Helper()
	api, err := driver.Open()
	must(t, err)
	w, err := theWords()
	must(t, err)
	dev := s.Device()
	at := w.used.Add(1) - 1
	if at >= wordsEach {
		t.Fatalf("streams were held %d times in one process", at)
	}
	word := unsafe.Add(w.first, at*int64(unsafe.Sizeof(uint32(0))))
	must(t, api.StreamWaitValue32(dev.Index, driver.Stream(s.ID()), driver.Ptr(uintptr(word)), 1, false))
	return untilEnd(t, func() { atomic.StoreUint32((*uint32)(word), 1) })
}

// idle reports whether all work given to s is done.
func idle(t testing.TB, s stream.Stream) bool {
	t.Helper()
	done, err := s.Query()
	must(t, err)
	return done
}
