package cupti

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/runtime/device"
)

// fake opens a library made for the test, whose threads call back as CUPTI's do.
func fake(t *testing.T) (*Library, func(n int)) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no C compiler for the fake library")
	}
	name := filepath.Join(t.TempDir(), "libfake.so")
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-o", name, "testdata/fakecupti.c", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lib, err := dl.Open(name)
	if errors.Is(err, dl.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := open(lib)
	if err != nil {
		t.Fatal(err)
	}
	work, err := lib.Func("fakeWork")
	if err != nil {
		t.Fatal(err)
	}
	return l, func(n int) {
		c := dl.Get()
		defer c.Free()
		work.Call(c, uintptr(n))
	}
}

// TestRuns: each kernel, copy and clearing is told of once, with the number that it was
// given under, its times and its stream.
func TestRuns(t *testing.T) {
	l, work := fake(t)
	trace, err := l.Trace()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Trace(); !errors.Is(err, ErrActive) {
		t.Errorf("a second trace: %v, want %v", err, ErrActive)
	}
	failed := errors.New("failed")
	if err := trace.Given(5, func() error { work(1); return failed }); err != failed {
		t.Errorf("%v, want the error of what was given", err)
	}
	work(1) // of nobody
	var got []device.Run
	list := func(r device.Run) { got = append(got, r) }
	if err := trace.Ran(true, list); err != nil {
		t.Fatal(err)
	}
	zero := trace.(*theTrace).zero
	var want []device.Run
	for _, work := range []uint64{5, 0} {
		for i, name := range []string{"kernel", "copy", "clear", "copy"} {
			began := zero.Add(time.Duration(i+1) * time.Microsecond)
			want = append(want, device.Run{Work: work, Device: 1, Stream: 7, Name: name, Bytes: int64(64 * i), Began: began, Ended: began.Add(500)})
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Error(diff)
	}
	got = nil
	if err := errors.Join(trace.Ran(true, list), trace.Close(), trace.Close(), trace.Ran(true, list)); err != nil || got != nil {
		t.Errorf("told again of %v: %v", got, err)
	}
	again, err := l.Trace()
	if err != nil {
		t.Fatalf("after a trace was closed: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestBuffers: records of many buffers, read meanwhile, arrive whole. Where nobody reads, what
// is too much is lost, which is an error once, and the trace goes on.
func TestBuffers(t *testing.T) {
	if testing.Short() {
		t.Skip("fills many buffers")
	}
	l, work := fake(t)
	trace, err := l.Trace()
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	const perWork = 6 // records
	const fills = bufferBytes / 160 / perWork
	count := map[uint64]int{}
	for i := range uint64(bufferCount / 8) {
		for n := range uint64(10) {
			if err := trace.Given(1+10*i+n, func() error { work(fills / 5); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if err := trace.Ran(false, func(r device.Run) { count[r.Work]++ }); err != nil {
			t.Fatal(err)
		}
	}
	if err := trace.Ran(true, func(r device.Run) { count[r.Work]++ }); err != nil {
		t.Fatal(err)
	}
	if len(count) != 10*bufferCount/8 {
		t.Errorf("runs of %d numbers, want %d", len(count), 10*bufferCount/8)
	}
	for work, n := range count {
		if n != fills/5*4 {
			t.Errorf("%d runs of %d, want %d", n, work, fills/5*4)
		}
	}
	if err := trace.Given(1000, func() error { work((bufferCount + 2) * fills); return nil }); err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := trace.Ran(true, func(device.Run) { n++ }); !errors.Is(err, ErrLost) || n == 0 {
		t.Errorf("%d runs and %v, want some and %v", n, err, ErrLost)
	}
	work(1)
	if err := trace.Ran(true, func(device.Run) { n++ }); err != nil {
		t.Error(err)
	}
}
