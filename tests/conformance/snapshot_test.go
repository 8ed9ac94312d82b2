package conformance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/memory/pprof"
)

// record turns history on for the test.
func record(t testing.TB, o memory.HistoryOptions) {
	t.Helper()
	o.Clear = true
	must(t, memory.RecordHistory(o))
	t.Cleanup(func() { must(t, memory.RecordHistory(memory.HistoryOptions{Level: memory.HistoryOff, Clear: true})) })
}

func (h *heap) snapshot() memory.Snapshot { return memory.SnapshotOf(h.dev.Kind, h.dev.Index) }

// trace returns the trace, without its stacks and times.
func (h *heap) trace() []memory.TraceEntry {
	entries := h.snapshot().Traces[0].Entries
	for i := range entries {
		entries[i].Frames, entries[i].Time = nil, time.Time{}
	}
	return entries
}

// A snapshot has the segments by address, each with its device, stream, pool, kind
// and sums, and its blocks, which tile it: in use, freed and awaiting streams, or
// free.
func TestA30(t *testing.T) {
	h := newHeap(t, "")
	s := h.holdStream()
	a, b, c := h.take(1000), h.take(600), h.take(512)
	b.RecordStream(s)
	h.free(b, c)
	large := h.takeOn(s, 3*mib-1)
	got := h.snapshot()
	equal(t, "segments in order", slices.IsSortedFunc(got.Segments, func(x, y memory.Segment) int {
		if x.Address < y.Address {
			return -1
		}
		return 1
	}), true)
	want := []memory.Segment{
		{
			Device: h.dev, Address: a.Addr, Total: 2 * mib, Requested: 1600, Allocated: 1024, Active: 2048, Small: true,
			Blocks: []memory.BlockInfo{
				{Address: a.Addr, Size: 1024, Requested: 1000, State: memory.BlockAllocated},
				{Address: b.Addr, Size: 1024, Requested: 600, State: memory.BlockAwaitingFree},
				{Address: c.Addr, Size: 2*mib - 2048},
			},
		},
		{
			Device: h.dev, Address: large.Addr, Total: 20 * mib, Requested: 3*mib - 1, Allocated: 3 * mib, Active: 3 * mib, Stream: s,
			Blocks: []memory.BlockInfo{
				{Address: large.Addr, Size: 3 * mib, Requested: 3*mib - 1, State: memory.BlockAllocated},
				{Address: large.Addr + 3*mib, Size: 17 * mib},
			},
		},
	}
	if large.Addr < a.Addr {
		slices.Reverse(want)
	}
	equal(t, "segments", got.Segments, want)
	equal(t, "names of states", fmt.Sprint(memory.BlockAllocated, memory.BlockAwaitingFree, memory.BlockInactive),
		"active_allocated active_awaiting_free inactive")
	h.finish()
}

// The trace has what happened, in order: allocations, frees as requested and as
// completed, segments that come and go, snapshots, and errors, these with what the
// device has free in place of an address. It is a ring of the latest entries.
func TestA31(t *testing.T) {
	h := newHeap(t, "")
	h.limit(30 * mib)
	record(t, memory.HistoryOptions{Context: memory.ContextNone})
	began := time.Now().Add(-time.Millisecond)
	a := h.take(1000)
	h.free(a)
	if _, err := h.try(0, 41*mib-1); !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("over the limit: %v", err)
	}
	for _, e := range h.snapshot().Traces[0].Entries {
		if e.Time.Before(began) || e.Time.After(time.Now()) {
			t.Errorf("%v at %v, not during the test", e.Action, e.Time)
		}
	}
	free, _, err := h.drv.MemoryInfo(0)
	must(t, err)
	got := h.trace()
	i := slices.IndexFunc(got, func(e memory.TraceEntry) bool { return e.Action == memory.TraceOutOfMemory })
	if i < 0 || got[i].Free < free-64*mib || got[i].Free > free+64*mib {
		t.Fatalf("no error in the trace, or not with %d bytes free: %+v", free, got)
	}
	got[i].Free = 0
	entry := func(what memory.TraceAction, addr uint64, size int64) memory.TraceEntry {
		return memory.TraceEntry{Action: what, Addr: addr, Size: size, Device: h.dev}
	}
	equal(t, "trace", got, []memory.TraceEntry{
		entry(memory.TraceSegmentAlloc, a.Addr, 2*mib),
		entry(memory.TraceAlloc, a.Addr, 1000),
		entry(memory.TraceFreeRequested, a.Addr, 1000),
		entry(memory.TraceFreeCompleted, a.Addr, 1000),
		entry(memory.TraceSegmentFree, a.Addr, 2*mib),
		entry(memory.TraceOutOfMemory, 0, 41*mib),
		entry(memory.TraceSnapshot, 0, 0),
		entry(memory.TraceSnapshot, 0, 0),
	})

	record(t, memory.HistoryOptions{Context: memory.ContextNone, MaxEntries: 3})
	for n := int64(1); n <= 4; n++ {
		h.take(n * 1000)
	}
	var sizes []int64
	for _, e := range h.trace() {
		sizes = append(sizes, e.Size)
	}
	equal(t, "the latest three", sizes, []int64{3000, 4000, 1024 + 2048 + 3072 + 4096})
	t.Run("mapped", mappedInTrace)
}

// mappedInTrace has memory that is mapped on demand, of a pool and a stream, in the
// trace.
func mappedInTrace(t *testing.T) {
	h := newRoomy(t)
	record(t, memory.HistoryOptions{Context: memory.ContextNone})
	s, pool := h.drv.stream(t), memory.NewPool(h.dev, memory.PoolOptions{})
	must(t, pool.Do(func() error { h.free(h.takeOn(s, mib)); return nil }))
	must(t, pool.Release())
	var names []string
	for _, e := range h.trace() {
		names = append(names, e.Action.String())
		if e.Action != memory.TraceSnapshot && (e.Stream != s || e.Pool != pool.ID()) {
			t.Errorf("%v on stream %#x of pool %v, want %#x and %v", e.Action, e.Stream, e.Pool, s, pool.ID())
		}
	}
	equal(t, "actions on memory that is mapped", names, []string{"segment_map", "alloc", "free_requested", "free_completed", "segment_unmap", "snapshot"})
}

// A free that nothing delays is requested and completed at once, at one address; a
// delayed one is completed later.
func TestA32(t *testing.T) {
	h := newHeap(t, "")
	record(t, memory.HistoryOptions{Context: memory.ContextNone, Skip: []memory.TraceAction{memory.TraceAlloc, memory.TraceSegmentAlloc, memory.TraceSnapshot}})
	s := h.holdStream()
	a, b := h.take(512), h.take(512)
	a.RecordStream(s)
	h.free(a, b)
	entry := func(what memory.TraceAction, at memory.Block) memory.TraceEntry {
		return memory.TraceEntry{Action: what, Addr: at.Addr, Size: 512, Device: h.dev}
	}
	want := []memory.TraceEntry{entry(memory.TraceFreeRequested, a), entry(memory.TraceFreeRequested, b), entry(memory.TraceFreeCompleted, b)}
	equal(t, "two frees, one delayed", h.trace(), want)
	h.drv.release(s)
	h.take(512)
	equal(t, "when the stream is done", h.trace(), append(want, entry(memory.TraceFreeCompleted, a)))
}

// A snapshot is the complete state of the allocators of all devices: every byte
// they have is in a block, and it can be written in the form that PyTorch's memory
// visualiser reads.
func TestS47(t *testing.T) {
	h := newHeap(t, "")
	for n := int64(1000); n < 60*mib; n *= 3 {
		h.take(n)
		h.free(h.take(n / 2))
	}
	s := memory.SnapshotOf(h.dev.Kind)
	equal(t, "traces", len(s.Traces), device.Count(h.dev.Kind))
	must(t, identities(h.stats(), slices.DeleteFunc(slices.Clone(s.Segments), func(g memory.Segment) bool { return g.Device != h.dev })))
	var file bytes.Buffer
	must(t, s.WritePickle(&file))
	if data := file.Bytes(); !bytes.HasPrefix(data, []byte{0x80, 4}) || !bytes.HasSuffix(data, []byte{'.'}) || !bytes.Contains(data, []byte("device_traces")) {
		t.Errorf("%d bytes that are no pickle", len(data))
	}
}

// pickledFrame and pickled are the written form of a snapshot, as Python has it.
type pickledFrame struct {
	Name, Filename string
	Line           int
}

type pickled struct {
	Segments []struct {
		Device, Address, Stream uint64
		TotalSize               int64    `json:"total_size"`
		AllocatedSize           int64    `json:"allocated_size"`
		ActiveSize              int64    `json:"active_size"`
		RequestedSize           int64    `json:"requested_size"`
		SegmentType             string   `json:"segment_type"`
		SegmentPool             []uint64 `json:"segment_pool_id"`
		Expandable              *bool    `json:"is_expandable"`
		Frames                  []pickledFrame
		Blocks                  []struct {
			Address       uint64
			Size          int64
			RequestedSize int64 `json:"requested_size"`
			State         string
			Frames        []pickledFrame
		}
	}
	Traces [][]struct {
		Action       string
		Addr, Stream uint64
		Size         int64
		Time         int64 `json:"time_us"`
		Frames       []pickledFrame
	} `json:"device_traces"`
	Settings map[string]any `json:"allocator_settings"`
}

// TestSnapshotInPython reads the written form of a snapshot as PyTorch's tools do.
func TestSnapshotInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 to read a pickle")
	}
	const settings = "garbage_collection_threshold:0.9"
	h := newHeap(t, settings)
	record(t, memory.HistoryOptions{})
	a := h.take(1000)
	b := h.take(3 * mib)
	h.free(b)
	var file bytes.Buffer
	must(t, memory.SnapshotOf(h.dev.Kind).WritePickle(&file))
	cmd := exec.Command(python, "-c", "import pickle, json, sys; json.dump(pickle.load(sys.stdin.buffer), sys.stdout)")
	cmd.Stdin = &file
	out, err := cmd.Output()
	must(t, err)
	var got pickled
	d := json.NewDecoder(bytes.NewReader(out))
	must(t, d.Decode(&got))
	ours := 0
	for _, g := range got.Segments {
		if g.Address != a.Addr {
			continue
		}
		ours++
		if g.TotalSize != 2*mib || g.AllocatedSize != 1024 || g.ActiveSize != 1024 || g.RequestedSize != 1000 || g.SegmentType != "small" ||
			!slices.Equal(g.SegmentPool, []uint64{0, 0}) || g.Expandable == nil || *g.Expandable || len(g.Frames) == 0 || len(g.Blocks) != 2 {
			t.Errorf("segment %+v", g)
			continue
		}
		first := g.Blocks[0]
		if first.Address != a.Addr || first.State != "active_allocated" || first.RequestedSize != 1000 || g.Blocks[1].State != "inactive" {
			t.Errorf("blocks %+v", g.Blocks)
		}
		if !slices.ContainsFunc(first.Frames, func(f pickledFrame) bool { return strings.HasSuffix(f.Name, ".TestSnapshotInPython") && f.Line > 0 }) {
			t.Errorf("the block's stack is %+v", first.Frames)
		}
	}
	equal(t, "settings", got.Settings, map[string]any{"PYTORCH_CUDA_ALLOC_CONF": settings})
	equal(t, "segments with the block", ours, 1)
	var actions []string
	for _, e := range got.Traces[h.dev.Index] {
		actions = append(actions, e.Action)
	}
	equal(t, "actions", actions, []string{"segment_alloc", "alloc", "segment_alloc", "alloc", "free_requested", "free_completed", "snapshot"})
}

// Recording is off, of the state of memory in use, or of all that happens; stacks
// are recorded for nothing, for what is in use, for allocations too, or for frees
// too; some actions can be left out, and only the latest entries are kept.
func TestP59(t *testing.T) {
	stacks := func(h *heap) (block bool, trace map[string]bool) {
		s := h.snapshot()
		trace = map[string]bool{}
		for _, e := range s.Traces[0].Entries {
			trace[e.Action.String()] = len(e.Frames) > 0
		}
		for _, b := range s.Segments[0].Blocks {
			if b.State == memory.BlockAllocated {
				block = len(b.Frames) > 0
			}
		}
		return block, trace
	}
	allocs := map[string]bool{"segment_alloc": true, "alloc": true, "free_requested": true, "free_completed": true, "snapshot": true}
	none := map[string]bool{"segment_alloc": false, "alloc": false, "free_requested": false, "free_completed": false, "snapshot": false}
	for _, c := range []struct {
		o     memory.HistoryOptions
		block bool
		trace map[string]bool
	}{
		{memory.HistoryOptions{Level: memory.HistoryOff}, false, map[string]bool{}},
		{memory.HistoryOptions{Level: memory.HistoryState}, true, map[string]bool{}},
		{memory.HistoryOptions{Level: memory.HistoryState, Context: memory.ContextNone}, false, map[string]bool{}},
		{memory.HistoryOptions{Context: memory.ContextNone}, false, none},
		{memory.HistoryOptions{Context: memory.ContextState}, true, none},
		{memory.HistoryOptions{Context: memory.ContextAlloc}, true, allocs},
		{memory.HistoryOptions{}, true, allocs},
		{memory.HistoryOptions{Context: memory.ContextNone, Skip: []memory.TraceAction{
			memory.TraceSegmentAlloc, memory.TraceFreeRequested, memory.TraceSnapshot}}, false, map[string]bool{"alloc": false, "free_completed": false}},
	} {
		h := newHeap(t, "")
		record(t, c.o)
		h.free(h.take(2000))
		h.take(1000)
		h.snapshot() // which is in the trace of the next one
		block, trace := stacks(h)
		if diff := cmp.Diff(c.trace, trace); diff != "" || block != c.block {
			t.Errorf("%+v: the block has a stack: %t; in the trace (-want +got):\n%s", c.o, block, diff)
		}
	}
	for _, bad := range []memory.HistoryOptions{{Level: 9}, {Context: 9}, {MaxEntries: -1}, {Skip: []memory.TraceAction{99}}} {
		if err := memory.RecordHistory(bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// Free's own stack is in the trace with the context of all, and otherwise the one
// that allocated; entries bear the text of WithMetadata.
//
// Differs: a block in use bears no text of its own; the entry of its allocation does.
func TestP60(t *testing.T) {
	for context, want := range map[memory.HistoryContext]string{memory.ContextAlloc: "takeHere", memory.ContextAll: "freeHere"} {
		h := newHeap(t, "")
		record(t, memory.HistoryOptions{Context: context})
		b := takeHere(h)
		memory.WithMetadata("a note", func() error { freeHere(h, b); return nil })
		found := false
		for _, e := range h.snapshot().Traces[0].Entries {
			note := ""
			if e.Action == memory.TraceFreeRequested || e.Action == memory.TraceFreeCompleted {
				note, found = "a note", true
				if !slices.ContainsFunc(e.Frames, func(f memory.Frame) bool { return strings.HasSuffix(f.Function, "."+want) }) {
					t.Errorf("%v: %v is at %v, want %s", context, e.Action, e.Frames, want)
				}
			}
			if e.Metadata != note {
				t.Errorf("%v bears %q, want %q", e.Action, e.Metadata, note)
			}
		}
		equal(t, "a free is in the trace", found, true)
	}
}

//go:noinline
func takeHere(h *heap) memory.Block { return h.take(1000) }

//go:noinline
func freeHere(h *heap, b memory.Block) { h.free(b) }

// The summary is a table of each metric now, at its peak, and its total rise and
// fall, with the counts of errors and retries; abbreviated it leaves the pools out.
func TestP57(t *testing.T) {
	h := newHeap(t, "")
	h.free(h.take(3 * mib))
	h.take(100)
	text := memory.Summary(h.dev, false)
	rows := map[string][]string{}
	for _, line := range strings.Split(text, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 7 {
			continue
		}
		var row []string
		for _, c := range cells[2:6] {
			row = append(row, strings.TrimSpace(c))
		}
		if name := strings.TrimSpace(cells[1]); rows[name] == nil {
			rows[name] = row
		}
	}
	for name, want := range map[string][]string{
		"Allocated memory":  {"512 B", "3072 KiB", "3072 KiB", "3072 KiB"},
		"Requested memory":  {"100 B", "3072 KiB", "3072 KiB", "3072 KiB"},
		"Reserved memory":   {"22 MiB", "22 MiB", "22 MiB", "0 B"},
		"Allocations":       {"1", "1", "2", "1"},
		"Reserved segments": {"2", "2", "2", "0"},
	} {
		equal(t, name, rows[name], want)
	}
	if !strings.Contains(text, "memory of "+h.dev.String()) || !strings.Contains(text, "out of memory: 0") || !strings.Contains(text, "of small blocks") {
		t.Errorf("the summary lacks a part:\n%s", text)
	}
	if short := memory.Summary(h.dev, true); strings.Contains(short, "of small blocks") || !strings.Contains(short, "Allocated memory") {
		t.Errorf("abbreviated:\n%s", short)
	}
}

// The profile sinter.device has the live blocks and bytes, and those at the peak,
// by the Go stack that allocated them.
func TestDeviceProfile(t *testing.T) {
	h := newHeap(t, "")
	memory.Profile(true)
	defer memory.Profile(false)
	b := takeHere(h)
	elsewhere := h.take(5000)
	h.free(elsewhere)
	h.take(700)
	sites := memory.ProfileOf(h.dev)
	var file bytes.Buffer
	must(t, pprof.Write(&file, sites))
	p, err := profile.ParseData(file.Bytes())
	must(t, err)
	byFunction := map[string][]int64{}
	sum := make([]int64, 4)
	for _, s := range p.Sample {
		name := s.Location[0].Line[0].Function.Name
		for _, l := range s.Location {
			if n := l.Line[0].Function.Name; strings.HasSuffix(n, ".takeHere") {
				name = "takeHere"
			}
		}
		for i, v := range s.Value {
			sum[i] += v
		}
		byFunction[name] = s.Value
	}
	equal(t, "live and peak of one place", byFunction["takeHere"], []int64{1, 1000, 1, 1000})
	equal(t, "live and peak of all", sum, []int64{2, 1700, 2, 6000})
	h.free(b)
	memory.Profile(false)
}
