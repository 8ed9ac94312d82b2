package cudnn

import (
	_ "embed"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/ir"
)

//go:embed testdata/fakecudnn.c
var fakeSource []byte

// entering is a driver that counts how often device 0 is entered now.
type entering struct {
	driver.API
	inside, entered int
}

func (e *entering) Enter(int) error {
	e.inside++
	e.entered++
	return nil
}

func (e *entering) Leave() { e.inside-- }

// scratching is a GPU whose allocator makes other contexts current, as those of
// several devices do.
type scratching struct {
	*librarytest.GPU
	api   *entering
	t     *testing.T
	taken int
}

func (s *scratching) Scratch(bytes int64) (uint64, error) {
	if s.taken++; s.api.inside != 0 {
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
	d := &device{functions: f, api: api, ordinal: 3, handles: map[driver.Stream]*handle{}, plans: map[key]*plan{}}
	return &scratching{GPU: librarytest.NewOn(t, api, 1<<20), api: api, t: t}, d, lib
}

// TestFakeContext has the device's context current in calls of the library, also
// where taking the workspace made another one current.
func TestFakeContext(t *testing.T) {
	g, d, _ := newFake(t)
	for direction := range directions {
		for range 2 { // the second time with a plan
			v := problems[2].convolution(ir.Float32)
			k, _ := keyOf(direction, &v)
			entered, taken := g.api.entered, g.taken
			must(t, d.run(g, &k, 1, 2, 3))
			if g.taken != taken+1 || g.api.entered != entered+2 || g.api.inside != 0 {
				t.Errorf("direction %d: scratch %d times, entered %d times, still inside %d",
					direction, g.taken-taken, g.api.entered-entered, g.api.inside)
			}
		}
	}
	if len(d.plans) != int(directions) || len(d.handles) != 1 {
		t.Errorf("%d plans, %d handles", len(d.plans), len(d.handles))
	}
}

// TestFakeDescriptors: what the collector finds of plans waits for the next plan to
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
	must(t, d.run(g, &k, 1, 2, 3))
	made := count()
	clear(d.plans)
	dropped := func() int {
		d.unused.mu.Lock()
		defer d.unused.mu.Unlock()
		return len(d.unused.list)
	}
	for limit := time.Now().Add(10 * time.Second); dropped() == 0 && time.Now().Before(limit); {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if got := count(); dropped() != 1 || got != made {
		t.Fatalf("%d plans dropped, %d descriptors live; want 1 and %d, for a cleanup calls no library", dropped(), got, made)
	}
	must(t, d.run(g, &k, 1, 2, 3))
	if got := count(); dropped() != 0 || got != made {
		t.Errorf("after the next plan %d are dropped and %d descriptors live, want 0 and %d", dropped(), got, made)
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
		err := d.run(g, &k, 1, 2, 3)
		if err == nil || err.Error() != c.want || errors.Is(err, ErrUnsupported) != c.unsupported || g.api.inside != 0 {
			t.Errorf("status %d: %v, want %s", c.status, err, c.want)
		}
	}
}
