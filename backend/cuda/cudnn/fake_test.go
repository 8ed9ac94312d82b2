package cudnn

import (
	_ "embed"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/patience"
)

//go:embed testdata/fakecudnn.c
var fakeSource []byte

// entering is a driver that counts how often device 0 is entered now.
type entering struct {
	driver.API
	inside, entered atomic.Int32
}

func (e *entering) Enter(int) error {
	e.inside.Add(1)
	e.entered.Add(1)
	return nil
}

func (e *entering) Leave() { e.inside.Add(-1) }

// scratching is a GPU whose allocator makes other contexts current, as those of
// several devices do.
type scratching struct {
	*librarytest.GPU
	api   *entering
	t     *testing.T
	taken int
}

func (s *scratching) Scratch(bytes int64) (uint64, error) {
	if s.taken++; s.api.inside.Load() != 0 {
		s.t.Errorf("%d bytes of scratch are taken between entering the device and calling the library", bytes)
	}
	return s.GPU.Scratch(bytes)
}

func newFake(t *testing.T) (*scratching, *device, *dl.Library) {
	t.Helper()
	lib := librarytest.Compile(t, fakeSource)
	f, err := resolve(lib)
	must(t, err)
	api := &entering{API: librarytest.Host()}
	return &scratching{GPU: librarytest.NewOn(t, api, 1<<20), api: api, t: t}, newDevice(f, api, 3), lib
}

// TestFakeContext has the device's context current in calls of the library, also
// where taking the workspace made another one current.
func TestFakeContext(t *testing.T) {
	g, d, _ := newFake(t)
	for direction := range directions {
		for range 2 { // the second time prepared
			v := problems[2].convolution(ir.Float32)
			k, _ := keyOf(direction, &v)
			entered, taken := g.api.entered.Load(), g.taken
			must(t, d.run(g, &k, 1, 2, 3, extras{}))
			if g.taken != taken+1 || g.api.entered.Load() != entered+2 || g.api.inside.Load() != 0 {
				t.Errorf("direction %d: scratch %d times, entered %d times, still inside %d",
					direction, g.taken-taken, g.api.entered.Load()-entered, g.api.inside.Load())
			}
		}
	}
	if len(d.prepared) != int(directions) || d.handles.made != 1 {
		t.Errorf("%d prepared, %d handles", len(d.prepared), d.handles.made)
	}
}

// TestFakeDescriptors: what the collector finds of problems waits for the next one to
// be made, and is destroyed then.
func TestFakeDescriptors(t *testing.T) {
	g, d, lib := newFake(t)
	live, err := lib.Func("fake_live")
	must(t, err)
	count := func() int {
		f := dl.Get()
		defer f.Free()
		return int(int32(live.Call(f)))
	}
	v := problems[2].convolution(ir.Float32)
	k, _ := keyOf(Forward, &v)
	must(t, d.run(g, &k, 1, 2, 3, extras{}))
	made := count()
	clear(d.prepared)
	dropped := func() int {
		d.unused.mu.Lock()
		defer d.unused.mu.Unlock()
		return len(d.unused.list)
	}
	patience.Until(t, func() bool { runtime.GC(); return dropped() > 0 })
	if got := count(); dropped() != 1 || got != made {
		t.Fatalf("%d problems dropped, %d descriptors live; want 1 and %d, for a cleanup calls no library", dropped(), got, made)
	}
	must(t, d.run(g, &k, 1, 2, 3, extras{}))
	if got := count(); dropped() != 0 || got != made {
		t.Errorf("after the next problem %d are dropped and %d descriptors live, want 0 and %d", dropped(), got, made)
	}
}

// ask calls a function of the fake's with numbers.
func ask(t *testing.T, lib *dl.Library, name string, args ...uintptr) int {
	t.Helper()
	f, err := lib.Func(name)
	must(t, err)
	c := dl.Get()
	defer c.Free()
	return int(f.Call(c, args...))
}

// on is a GPU on another stream.
type on struct {
	*scratching
	stream driver.Stream
}

func (o on) Stream() driver.Stream { return o.stream }

// TestFakeStreams: one handle serves any number of streams, one after the other, and
// each call runs on its own; nothing is kept of a stream that others made.
func TestFakeStreams(t *testing.T) {
	g, d, lib := newFake(t)
	v := problems[2].convolution(ir.Float32)
	k, _ := keyOf(Forward, &v)
	sum := 0
	for s := 1; s <= 100; s++ {
		must(t, d.run(on{g, driver.Stream(s)}, &k, 1, 2, 3, extras{}))
		if sum += s; ask(t, lib, "fake_used") != sum {
			t.Fatalf("call %d did not run on its stream", s)
		}
	}
	if made := ask(t, lib, "fake_made"); made != 1 {
		t.Errorf("%d handles for 100 streams in turn, want 1", made)
	}
}

// TestFakeHandles: calls of many goroutines have handles of their own, of which there
// are no more than the bound, nor than the library has.
func TestFakeHandles(t *testing.T) {
	v := problems[2].convolution(ir.Float32)
	k, _ := keyOf(Forward, &v)
	for most, want := range map[int]int{64: maxHandles, 3: 3} {
		g, d, lib := newFake(t)
		must(t, d.run(g, &k, 1, 2, 3, extras{}))
		before := ask(t, lib, "fake_used")
		ask(t, lib, "fake_most", uintptr(most))
		ask(t, lib, "fake_delay", 500)
		const callers, calls = 4 * maxHandles, 10
		p, err := d.prepare(1, &k)
		must(t, err)
		var all sync.WaitGroup
		failed := make(chan error, callers*calls)
		sum := 0
		for s := 1; s <= callers; s++ {
			sum += s * calls
			all.Go(func() {
				for range calls {
					failed <- d.call(driver.Stream(s), &k, p, 4096, 1, 2, 3, extras{})
				}
			})
		}
		all.Wait()
		close(failed)
		for err := range failed {
			must(t, err)
		}
		if used := ask(t, lib, "fake_used") - before; used != sum {
			t.Errorf("the streams' sum is %d, want %d: a call ran on another's stream", used, sum)
		}
		if made := ask(t, lib, "fake_made"); made > want {
			t.Errorf("%d handles where the library has %d, want at most %d", made, most, want)
		}
	}
	g, d, lib := newFake(t)
	ask(t, lib, "fake_most", 0)
	if err := d.run(g, &k, 1, 2, 3, extras{}); !errors.Is(err, library.ErrUnusable) {
		t.Errorf("without any handle: %v, want ErrUnusable", err)
	}
}

// TestFakeErrors: errors name the call and the device, and say whether another
// way may work.
func TestFakeErrors(t *testing.T) {
	g, d, lib := newFake(t)
	fail, err := lib.Func("fake_fail")
	must(t, err)
	v := problems[2].convolution(ir.Float32)
	k, _ := keyOf(GradWeight, &v)
	for _, c := range []struct {
		status      uintptr
		unsupported bool
		want        string
	}{
		{3000, true, "cuda:3: cuDNN does not compute this: cudnnConvolutionBackwardFilter: FAKE_STATUS (3000)"},
		{5003, false, "cuda:3: cudnnConvolutionBackwardFilter: FAKE_STATUS (5003)"},
	} {
		f := dl.Get()
		fail.Call(f, c.status)
		f.Free()
		err := d.run(g, &k, 1, 2, 3, extras{})
		if err == nil || err.Error() != c.want || errors.Is(err, ErrUnsupported) != c.unsupported || g.api.inside.Load() != 0 {
			t.Errorf("status %d: %v, want %s", c.status, err, c.want)
		}
	}
}
