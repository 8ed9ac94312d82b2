package memory

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// record turns history on for a test.
func record(t *testing.T, o HistoryOptions) {
	t.Helper()
	o.Clear = true
	if err := RecordHistory(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := RecordHistory(HistoryOptions{Level: HistoryOff, Clear: true}); err != nil {
			t.Error(err)
		}
	})
}

// sizes returns the sizes in the trace.
func sizes(a *allocator) []int64 {
	list := []int64{}
	for _, e := range a.trail.list() {
		list = append(list, e.Size)
	}
	return list
}

// TestRing changes the number of entries while the trace is full and while it is
// not.
func TestRing(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	record(t, HistoryOptions{Context: ContextNone, MaxEntries: 4, Skip: []TraceAction{TraceSegmentAlloc}})
	a := allocatorOf(cuda0, drv)
	next := int64(0)
	allocate := func(n int, want ...int64) {
		t.Helper()
		for range n {
			next++
			take(t, drv, 0, next)
		}
		if diff := cmp.Diff(want, sizes(a)); diff != "" {
			t.Error(diff)
		}
	}
	limit := func(max int, clear bool) {
		t.Helper()
		o := HistoryOptions{Context: ContextNone, MaxEntries: max, Skip: []TraceAction{TraceSegmentAlloc}, Clear: clear}
		if err := RecordHistory(o); err != nil {
			t.Fatal(err)
		}
	}
	allocate(3, 1, 2, 3)
	allocate(3, 3, 4, 5, 6)
	limit(6, false)
	allocate(1, 3, 4, 5, 6, 7)
	allocate(2, 4, 5, 6, 7, 8, 9)
	limit(2, false)
	allocate(0, 8, 9)
	allocate(1, 9, 10)
	limit(3, true)
	allocate(0, []int64{}...)
	allocate(4, 12, 13, 14)
}

// TestHistoryEnds has blocks that live longer than the recording: nothing that was
// known then is said of what is at the same addresses later.
func TestHistoryEnds(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	frames := func() int {
		n := 0
		for _, b := range SnapshotOf(cuda0.Kind, 0).Segments[0].Blocks {
			n += len(b.Frames)
		}
		return n
	}
	state := HistoryOptions{Level: HistoryState, Context: ContextState}
	record(t, state)
	b := take(t, drv, 0, 100)
	if frames() == 0 {
		t.Error("a block has no stack while history is recorded")
	}
	record(t, HistoryOptions{Level: HistoryOff})
	free(t, b)
	take(t, drv, 0, 100)
	record(t, state)
	take(t, drv, 0, 200) // what tells the allocator
	if list := SnapshotOf(cuda0.Kind, 0).Segments[0].Blocks; len(list[0].Frames) != 0 || len(list[1].Frames) == 0 {
		t.Errorf("stacks of %d and %d calls, want none and some", len(list[0].Frames), len(list[1].Frames))
	}
}

// TestWatchedByMany turns history and the profile on and off while goroutines
// allocate and look.
func TestWatchedByMany(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	t.Cleanup(func() { Profile(false) })
	record(t, HistoryOptions{Level: HistoryOff})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range int64(200) {
				b, err := Alloc(cuda0, drv, 0, n+1)
				if err == nil {
					err = b.Free()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 50 {
		Profile(i%3 == 0)
		if err := RecordHistory(HistoryOptions{Level: HistoryLevel(i % 3), Context: HistoryContext(i % 4), MaxEntries: 10}); err != nil {
			t.Error(err)
		}
		SnapshotOf(cuda0.Kind, 0)
		ProfileOf(cuda0)
	}
	wg.Wait()
	if n := len(SnapshotOf(cuda0.Kind, 0).Traces[0].Entries); n > 10 {
		t.Errorf("%d entries in a trace of 10", n)
	}
}
