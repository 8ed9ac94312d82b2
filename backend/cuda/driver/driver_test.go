package driver

import (
	_ "embed"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/tests/allocations"
)

//go:embed testdata/kernels.ptx
var ptx []byte

// kernels are the test module's, on one device.
type kernels struct {
	module           Module
	add, count, spin Function
}

func load(t testing.TB, api API, dev int) kernels {
	t.Helper()
	m, err := api.ModuleLoad(dev, ptx)
	must(t, err)
	k := kernels{module: m}
	for name, f := range map[string]*Function{"vector_add": &k.add, "count_up": &k.count, "spin_for": &k.spin} {
		*f, err = api.ModuleFunction(dev, m, name)
		must(t, err)
	}
	t.Cleanup(func() { must(t, api.ModuleUnload(dev, m)) })
	return k
}

func alloc(t testing.TB, api API, dev int, bytes int64) Ptr {
	t.Helper()
	p, err := api.MemAlloc(dev, bytes)
	must(t, err)
	t.Cleanup(func() { must(t, api.MemFree(dev, p)) })
	return p
}

func stream(t testing.TB, api API, dev int) Stream {
	t.Helper()
	s, err := api.StreamCreate(dev, StreamNonBlocking, 0)
	must(t, err)
	t.Cleanup(func() { must(t, api.StreamDestroy(dev, s)) })
	return s
}

func event(t testing.TB, api API, dev int, flags EventFlags) Event {
	t.Helper()
	e, err := api.EventCreate(dev, flags)
	must(t, err)
	t.Cleanup(func() { must(t, api.EventDestroy(dev, e)) })
	return e
}

// bytesOf returns the memory of s, for copies.
func bytesOf[T any](s []T) (unsafe.Pointer, int64) {
	return unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)) * int64(unsafe.Sizeof(s[0]))
}

func TestDevices(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		if api.Version() < minVersion {
			t.Errorf("Version() = %d", api.Version())
		}
		ids := map[[16]byte]int{}
		for dev := range api.DeviceCount() {
			name, err := api.DeviceName(dev)
			must(t, err)
			id, err := api.DeviceUUID(dev)
			must(t, err)
			total, err := api.DeviceTotalMem(dev)
			must(t, err)
			major, err := api.DeviceAttribute(dev, ComputeCapabilityMajor)
			must(t, err)
			warp, err := api.DeviceAttribute(dev, WarpSize)
			must(t, err)
			free, whole, err := api.MemGetInfo(dev)
			must(t, err)
			if name == "" || strings.Contains(name, "\x00") || total < 1<<30 || major < 5 || warp != 32 || free <= 0 || free > whole || whole > total {
				t.Errorf("%d: %q, %d bytes, compute capability %d, warps of %d, %d of %d bytes free", dev, name, total, major, warp, free, whole)
			}
			if other, is := ids[id]; is {
				t.Errorf("devices %d and %d have UUID %x", other, dev, id)
			}
			ids[id] = dev
			t.Logf("cuda:%d: %s, %d bytes, UUID %x", dev, name, total, id)
		}
		for _, dev := range []int{-1, api.DeviceCount()} {
			_, err := api.DeviceName(dev)
			var e *Error
			if !errors.Is(err, InvalidDevice) || !errors.As(err, &e) || e.Device != dev || e.Name != "CUDA_ERROR_INVALID_DEVICE" {
				t.Errorf("DeviceName(%d): %v", dev, err)
			}
			if _, err := api.MemAlloc(dev, 8); !errors.Is(err, InvalidDevice) {
				t.Errorf("MemAlloc(%d): %v", dev, err)
			}
		}
		if got := api.ErrorName(OutOfMemory); got != "CUDA_ERROR_OUT_OF_MEMORY" {
			t.Errorf("ErrorName: %q", got)
		}
		if got := api.ErrorText(123456); got != "unknown error 123456" {
			t.Errorf("ErrorText of no code: %q", got)
		}
	})
}

func TestCopies(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		const n = 100_003
		want := make([]uint32, n)
		for i := range want {
			want[i] = rand.Uint32()
		}
		from, size := bytesOf(want)
		a, b, s := alloc(t, api, 0, size), alloc(t, api, 0, size), stream(t, api, 0)
		pinned, err := api.MemHostAlloc(0, size, HostPortable)
		must(t, err)
		got := make([]uint32, n)
		to, _ := bytesOf(got)
		must(t, api.HostRegister(0, to, size, HostPortable))

		copy(unsafe.Slice((*uint32)(pinned), n), want)
		must(t, api.MemcpyHtoDAsync(0, a, pinned, size, s))
		must(t, api.MemcpyDtoDAsync(0, b, a, size, s))
		must(t, api.MemcpyDtoHAsync(0, to, b, size, s))
		must(t, api.StreamSynchronize(0, s))
		if !slices.Equal(want, got) {
			t.Error(cmp.Diff(want, got))
		}
		must(t, api.HostUnregister(0, to))
		must(t, api.MemFreeHost(0, pinned))

		must(t, api.MemcpyHtoDAsync(0, a, from, size, s)) // from Go memory as it is
		must(t, api.MemsetD8Async(0, a, 0xa5, 4, s))
		must(t, api.MemsetD32Async(0, a+4, 0x01020304, 2, s))
		must(t, api.MemcpyDtoHAsync(0, to, a, size, s))
		must(t, api.StreamSynchronize(0, s))
		want[0], want[1], want[2] = 0xa5a5a5a5, 0x01020304, 0x01020304
		if !slices.Equal(want, got) {
			t.Error(cmp.Diff(want, got))
		}
		if err := api.MemcpyHtoDAsync(0, a, from, -1, s); !errors.Is(err, InvalidValue) {
			t.Errorf("a copy of -1 bytes: %v", err)
		}
		runtime.KeepAlive(want)
	})
}

func TestStreamsAndEvents(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		lowest, highest, err := api.StreamPriorityRange(0)
		must(t, err)
		if highest > lowest {
			t.Errorf("priorities from %d to %d", lowest, highest)
		}
		urgent, err := api.StreamCreate(0, StreamNonBlocking, highest)
		must(t, err)
		must(t, api.StreamDestroy(0, urgent))

		k, s1, s2 := load(t, api, 0), stream(t, api, 0), stream(t, api, 0)
		start, end := event(t, api, 0, EventDefault), event(t, api, 0, EventBlockingSync)
		if done, err := api.EventQuery(0, end); !done || err != nil {
			t.Errorf("EventQuery of an event never recorded: %t, %v", done, err)
		}
		counter := alloc(t, api, 0, 8)
		launch(t, api, k.spin, s1, 1, 0) // the driver loads kernels at their first launch, and waits for others to end
		launch(t, api, k.count, s1, 1, uint64(counter), 1)
		must(t, api.MemsetD8Async(0, counter, 0, 8, s1))
		must(t, api.StreamSynchronize(0, s1))

		// s1 counts to 1 after 50 ms; s2 waits for that and copies.
		const wait = 50 * time.Millisecond
		began := time.Now()
		must(t, api.EventRecord(0, start, s1))
		launch(t, api, k.spin, s1, 1, uint64(wait))
		launch(t, api, k.count, s1, 1, uint64(counter), 1)
		must(t, api.EventRecord(0, end, s1))
		must(t, api.StreamWaitEvent(0, s2, end))
		got := make([]uint64, 1)
		to, size := bytesOf(got)
		must(t, api.HostRegister(0, to, size, 0))
		must(t, api.MemcpyDtoHAsync(0, to, counter, size, s2))
		done, err := api.EventQuery(0, end)
		idle, idleErr := api.StreamQuery(0, s2)
		_, early := api.EventElapsed(0, start, end)
		if asked := time.Since(began); asked < wait*9/10 { // else this thread was held up, or the fake is at work
			if done || err != nil || idle || idleErr != nil {
				t.Errorf("after %v of %v: event %t, %v, waiting stream idle %t, %v", asked, wait, done, err, idle, idleErr)
			}
			if !errors.Is(early, NotReady) {
				t.Errorf("EventElapsed before the end: %v", early)
			}
		}
		must(t, api.StreamSynchronize(0, s2))
		if got[0] != 1 {
			t.Errorf("the copy read %d before the event", got[0])
		}
		must(t, api.HostUnregister(0, to))
		must(t, api.EventSynchronize(0, end))
		if done, err := api.EventQuery(0, end); !done || err != nil {
			t.Errorf("EventQuery after EventSynchronize: %t, %v", done, err)
		}
		took, err := api.EventElapsed(0, start, end)
		if err != nil || took < wait*9/10 || took > time.Since(began) {
			t.Errorf("elapsed %v, %v; %v were spun", took, err, wait)
		}
		if status, err := api.StreamCaptureStatus(0, s1); status != CaptureNone || err != nil {
			t.Errorf("StreamCaptureStatus: %d, %v", status, err)
		}
		must(t, api.Synchronize(0))
		untimed := event(t, api, 0, EventDisableTiming)
		must(t, api.EventRecord(0, untimed, s1))
		must(t, api.EventSynchronize(0, untimed))
		if _, err := api.EventElapsed(0, start, untimed); !errors.Is(err, InvalidHandle) {
			t.Errorf("EventElapsed of an event without timing: %v", err)
		}
	})
}

// launch runs blocks of 256 threads of a kernel whose parameters are words.
func launch(t testing.TB, api API, f Function, s Stream, blocks uint32, words ...uint64) {
	t.Helper()
	var p Params
	for _, w := range words {
		p.Uint64(w)
	}
	block := Dim3{1, 1, 1}
	if blocks > 1 {
		block.X = 256
	}
	must(t, api.LaunchKernel(0, Launch{f, Dim3{blocks, 1, 1}, block, 0, s, false, p.Bytes(), nil}))
}

func TestOutOfMemory(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		total, err := api.DeviceTotalMem(0)
		must(t, err)
		_, err = api.MemAlloc(0, 2*total)
		if !errors.Is(err, OutOfMemory) || !strings.Contains(err.Error(), "bytes") {
			t.Errorf("twice the memory: %v", err)
		}
		if _, err := api.MemAlloc(0, -1); !errors.Is(err, InvalidValue) {
			t.Errorf("-1 bytes: %v", err)
		}
		k := load(t, api, 0)
		counter := alloc(t, api, 0, 8)
		must(t, api.MemsetD8Async(0, counter, 0, 8, 0))
		launch(t, api, k.count, 0, 2, uint64(counter), 3)
		if got := read(t, api, counter); got != 2*256*3 {
			t.Errorf("counted %d after running out of memory", got)
		}
	})
}

// read returns a counter's value, on the default stream.
func read(t testing.TB, api API, counter Ptr) uint64 {
	t.Helper()
	got := make([]uint64, 1)
	to, size := bytesOf(got)
	must(t, api.MemcpyDtoHAsync(0, to, counter, size, 0))
	must(t, api.StreamSynchronize(0, 0))
	return got[0]
}

// testTime is how long the tests with many goroutines run on a GPU.
func testTime(api API) time.Duration {
	if testing.Short() || api == fakeOnce.api {
		return 300 * time.Millisecond
	}
	return 3 * time.Second
}

// TestManyGoroutines: 64 goroutines launch on two streams each, while the
// collector runs and stacks grow; every launch is counted, once.
func TestManyGoroutines(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		k, counter := load(t, api, 0), alloc(t, api, 0, 8)
		must(t, api.MemsetD8Async(0, counter, 0, 8, 0))
		must(t, api.Synchronize(0))
		var all, collector sync.WaitGroup
		var want, launches atomic.Uint64
		stop := time.Now().Add(testTime(api))
		for g := range 64 {
			streams := [2]Stream{stream(t, api, 0), stream(t, api, 0)}
			all.Go(func() {
				var p Params
				for i := 0; time.Now().Before(stop); i++ {
					step := uint64(g*7 + i%13 + 1)
					p.Reset()
					p.Ptr(counter)
					p.Uint64(step)
					grow(i % 50)
					if err := api.LaunchKernel(0, Launch{k.count, Dim3{2, 1, 1}, Dim3{32, 1, 1}, 0, streams[i%2], false, p.Bytes(), nil}); err != nil {
						t.Error(err)
						return
					}
					want.Add(64 * step)
					launches.Add(1)
					if i%256 == 255 {
						if err := api.StreamSynchronize(0, streams[i%2]); err != nil {
							t.Error(err)
							return
						}
					}
				}
			})
		}
		collector.Go(func() {
			for time.Now().Before(stop) {
				runtime.GC()
			}
		})
		all.Wait()
		collector.Wait()
		must(t, api.Synchronize(0))
		if got := read(t, api, counter); got != want.Load() {
			t.Errorf("counted %d, want %d", got, want.Load())
		}
		t.Logf("%d launches", launches.Load())
	})
}

// grow uses stack, which moves it.
func grow(depth int) byte {
	var room [512]byte
	if depth > 0 {
		room[depth] = grow(depth - 1)
	}
	return room[depth&1]
}

// TestContexts: calls for different devices, interleaved on all threads, each
// find their own context. Handles of one device are refused in the other's.
func TestContexts(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		var all sync.WaitGroup
		stop := time.Now().Add(testTime(api) / 2)
		for g := range 32 {
			all.Go(func() {
				for i := g; time.Now().Before(stop); i++ {
					dev := i % api.DeviceCount()
					if err := visit(api, dev); err != nil {
						t.Errorf("cuda:%d: %v", dev, err)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

// visit makes and destroys one of everything on a device.
func visit(api API, dev int) error {
	p, err := api.MemAlloc(dev, 4096)
	if err != nil {
		return err
	}
	s, err := api.StreamCreate(dev, StreamNonBlocking, 0)
	if err != nil {
		return err
	}
	e, err := api.EventCreate(dev, EventDisableTiming)
	if err != nil {
		return err
	}
	return errors.Join(
		api.MemsetD8Async(dev, p, 1, 4096, s), api.EventRecord(dev, e, s), api.StreamWaitEvent(dev, s, e),
		api.StreamSynchronize(dev, s), api.EventDestroy(dev, e), api.StreamDestroy(dev, s), api.MemFree(dev, p))
}

// TestWaitValue: work waits for words that are there already, and for later ones.
func TestWaitValue(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		p, err := api.MemHostAlloc(0, 8, HostPortable|HostMapped)
		must(t, err)
		defer func() { must(t, api.MemFreeHost(0, p)) }()
		s := stream(t, api, 0)
		atomic.StoreUint32((*uint32)(p), 7)
		must(t, api.StreamWaitValue32(0, s, Ptr(uintptr(p)), 7, false))
		must(t, api.StreamWaitValue32(0, s, Ptr(uintptr(p)), 5, false))
		must(t, api.StreamSynchronize(0, s))
		if can, err := api.DeviceAttribute(0, CanFlushRemoteWrites); err != nil {
			t.Error(err)
		} else if can != 0 {
			must(t, api.StreamWaitValue32(0, s, Ptr(uintptr(p)), 6, true))
			must(t, api.StreamSynchronize(0, s))
		}
		if err := api.StreamWaitValue32(0, s, Ptr(uintptr(p)), 8, false); errors.Is(err, InvalidValue) {
			return // the fake runs at once
		} else if err != nil {
			t.Fatal(err)
		}
		if done, err := api.StreamQuery(0, s); done || err != nil {
			t.Errorf("before the word is written: done %t, %v", done, err)
		}
		atomic.StoreUint32((*uint32)(p), 8)
		must(t, api.StreamSynchronize(0, s))
	})
}

func TestDo(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		want, err := api.PrimaryContext(0)
		must(t, err)
		failed := errors.New("failed")
		err = api.Do(0, func(c Context) error {
			if c != want {
				t.Errorf("Do's context is %x, want %x", c, want)
			}
			return errors.Join(api.Do(0, func(Context) error { return failed }), visit(api, 0))
		})
		if !errors.Is(err, failed) {
			t.Errorf("Do: %v", err)
		}
		for range 40 { // more than the fake's stack of contexts holds
			func() {
				defer func() { _ = recover() }()
				must(t, api.Do(0, func(Context) error { panic("f") }))
			}()
		}
		must(t, api.Do(0, func(Context) error { return nil }))
		if err := api.Do(-1, nil); !errors.Is(err, InvalidDevice) {
			t.Errorf("Do(-1): %v", err)
		}
	})
}

func TestPeers(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		if api.DeviceCount() < 2 {
			t.Skip("one device")
		}
		src, dst, s := alloc(t, api, 0, 8), alloc(t, api, 1, 8), stream(t, api, 0)
		must(t, api.MemsetD32Async(0, src, 7, 2, s))
		must(t, api.MemcpyPeerAsync(0, dst, 1, src, 0, 8, s))
		got := make([]uint32, 2)
		to, size := bytesOf(got)
		must(t, api.StreamSynchronize(0, s))
		must(t, api.MemcpyDtoHAsync(1, to, dst, size, 0))
		must(t, api.StreamSynchronize(1, 0))
		if got[0] != 7 || got[1] != 7 {
			t.Errorf("copied %v", got)
		}
		if can, err := api.CanAccessPeer(0, 1); err != nil || !can {
			t.Skipf("CanAccessPeer: %t, %v", can, err)
		}
		must(t, api.DisablePeerAccess(0, 1))
		for range 2 {
			must(t, api.EnablePeerAccess(0, 1))
		}
		must(t, api.DisablePeerAccess(0, 1))
		if err := api.EnablePeerAccess(0, 0); err == nil {
			t.Error("a device as its own peer: no error")
		}
	})
}

// TestRelease makes contexts come and go, last of all tests' objects' lifetimes.
func TestRelease(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		dev := api.DeviceCount() - 1
		for range 2 {
			must(t, visit(api, dev))
			active, err := api.ContextActive(dev)
			must(t, api.ReleasePrimaryContext(dev))
			must(t, api.ReleasePrimaryContext(dev)) // nothing held: nothing done
			after, gone := api.ContextActive(dev)
			if err != nil || gone != nil || !active || after {
				t.Errorf("a context while it is held: %t, %v; afterwards: %t, %v", active, err, after, gone)
			}
		}
		must(t, visit(api, dev))
	})
}

func TestAllocations(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		k, s, e, counter := load(t, api, 0), stream(t, api, 0), event(t, api, 0, 0), alloc(t, api, 0, 8)
		var p Params
		p.Ptr(counter)
		p.Uint64(1)
		host := make([]uint64, 1)
		at, size := bytesOf(host)
		for name, f := range map[string]func() error{
			"LaunchKernel": func() error {
				return api.LaunchKernel(0, Launch{k.count, Dim3{1, 1, 1}, Dim3{1, 1, 1}, 0, s, false, p.Bytes(), nil})
			},
			"copy": func() error { return api.MemcpyHtoDAsync(0, counter, at, size, s) },
			"events": func() error {
				_, err := api.EventQuery(0, e)
				return errors.Join(api.EventRecord(0, e, s), api.StreamWaitEvent(0, s, e), err)
			},
			"alloc": func() error {
				q, err := api.MemAlloc(0, 64)
				if err != nil {
					return err
				}
				return api.MemFree(0, q)
			},
		} {
			if _, own := api.(*binding); !own && (name == "alloc" || name == "events") {
				continue // gorgonia.org/cu allocates, and where the answer is "not ready" too
			}
			t.Run(name, func(t *testing.T) { allocations.AtMost(t, 0, func() { must(t, f()) }) })
		}
		must(t, api.StreamSynchronize(0, s))
	})
}

// benchmarked is the machine's driver, or the fake one to see the binding's own
// cost, if SINTER_BENCH_FAKE is set.
func benchmarked(b *testing.B) API {
	if os.Getenv("SINTER_BENCH_FAKE") != "" {
		return fake(b)
	}
	return machine(b)
}

func BenchmarkLaunch(b *testing.B) {
	api := benchmarked(b)
	k, s, counter := load(b, api, 0), stream(b, api, 0), alloc(b, api, 0, 8)
	var p Params
	p.Ptr(counter)
	p.Uint64(1)
	l := Launch{k.count, Dim3{1, 1, 1}, Dim3{1, 1, 1}, 0, s, false, p.Bytes(), nil}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := api.LaunchKernel(0, l); err != nil {
			b.Fatal(err)
		}
		if i%512 == 511 { // the driver makes a launch wait when a thousand are queued
			b.StopTimer()
			must(b, api.StreamSynchronize(0, s))
			b.StartTimer()
		}
	}
	must(b, api.StreamSynchronize(0, s))
}

func BenchmarkAllocFree(b *testing.B) {
	api := benchmarked(b)
	b.ReportAllocs()
	for b.Loop() {
		p, err := api.MemAlloc(0, 1<<20)
		must(b, err)
		must(b, api.MemFree(0, p))
	}
}
