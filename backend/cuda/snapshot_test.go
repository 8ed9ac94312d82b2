package cuda_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// TestSnapshotNames calls the names for what the allocators hold, on simulated
// devices that stand for GPUs.
func TestSnapshotNames(t *testing.T) {
	device.Install(sim.New(sim.Config{Devices: 2, Kind: device.KindCUDA}), sim.New(sim.Config{Devices: 1}))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(cuda.RecordMemoryHistory(cuda.ClearHistory()))
	cuda.ProfileMemory(true)
	t.Cleanup(func() {
		cuda.ProfileMemory(false)
		must(cuda.RecordMemoryHistory(cuda.HistoryOff, cuda.ClearHistory()))
	})
	addr, err := cuda.CachingAllocatorAlloc(1000)
	must(err)

	s, err := cuda.SnapshotMemory()
	must(err)
	if len(s.Segments) != 1 || s.Segments[0].Total != 2<<20 || s.Segments[0].Requested != 1000 || s.Segments[0].Blocks[0].Address != addr {
		t.Errorf("segments %+v, want one of 2 MiB with the block at %#x", s.Segments, addr)
	}
	var actions []memory.TraceAction
	for _, e := range s.Traces[0].Entries {
		actions = append(actions, e.Action)
	}
	if diff := cmp.Diff([]memory.TraceAction{memory.TraceSegmentAlloc, memory.TraceAlloc, memory.TraceSnapshot}, actions); diff != "" {
		t.Error(diff)
	}
	if other, err := cuda.SnapshotMemory(device.CUDA(1)); err != nil || len(other.Segments) != 0 {
		t.Errorf("the other device has %+v, %v", other.Segments, err)
	}

	name := filepath.Join(t.TempDir(), "snapshot.pickle")
	must(cuda.DumpMemorySnapshot(name))
	if text, err := os.ReadFile(name); err != nil || !bytes.Contains(text, []byte("segment_pool_id")) || text[len(text)-1] != '.' {
		t.Errorf("a file of %d bytes, %v: want a pickle of segments", len(text), err)
	}
	var b bytes.Buffer
	must(cuda.WriteMemoryProfile(&b))
	p, err := profile.Parse(&b)
	must(err)
	if diff := cmp.Diff([][]int64{{1, 1000, 1, 1000}}, [][]int64{p.Sample[0].Value}); len(p.Sample) != 1 || diff != "" {
		t.Errorf("%d stacks\n%s", len(p.Sample), diff)
	}
	table, err := cuda.MemorySummary(true)
	must(err)
	if !strings.Contains(table, "1024 B") || !strings.Contains(table, "2048 KiB") {
		t.Errorf("the summary has not 1 KiB allocated of 2 MiB reserved:\n%s", table)
	}
	must(cuda.CachingAllocatorDelete(addr))

	cpu, wrong := device.Device{}, filepath.Join(t.TempDir(), "none")
	_, snapshot := cuda.SnapshotMemory(cpu)
	_, summary := cuda.MemorySummary(true, cpu)
	for what, err := range map[string]error{
		"snapshot": snapshot, "summary": summary, "profile": cuda.WriteMemoryProfile(&b, cpu), "file": cuda.DumpMemorySnapshot(wrong, cpu),
	} {
		if !errors.Is(err, device.ErrInvalid) {
			t.Errorf("%s of the CPU: %v", what, err)
		}
	}
	if _, err := os.Stat(wrong); err == nil {
		t.Error("a file was made for a device that is none")
	}
}

// TestPeerNames turns access between two devices on and off.
func TestPeerNames(t *testing.T) {
	device.Install(sim.New(sim.Config{Devices: 3, Kind: device.KindCUDA, Peer: func(a, b int) bool { return a+b != 3 }}))
	a, b, c := device.CUDA(0), device.CUDA(1), device.CUDA(2)
	for _, pair := range []struct {
		a, b device.Device
		can  bool
	}{{a, b, true}, {b, c, false}} {
		can, err := cuda.CanAccessPeer(pair.a, pair.b)
		enabled := cuda.EnablePeerAccess(pair.a, pair.b)
		if err != nil || can != pair.can || (enabled == nil) != pair.can || device.PeerAccessEnabled(pair.a, pair.b) != pair.can {
			t.Errorf("%s and %s: access %t, %v, enabling %v; want %t", pair.a, pair.b, can, err, enabled, pair.can)
		}
	}
	if err := cuda.DisablePeerAccess(a, b); err != nil || device.PeerAccessEnabled(a, b) {
		t.Errorf("after DisablePeerAccess: %v", err)
	}
	for _, err := range []error{cuda.EnablePeerAccess(a, device.CPU), cuda.DisablePeerAccess(device.CPU, a)} {
		if !errors.Is(err, device.ErrInvalid) {
			t.Errorf("with the CPU: %v", err)
		}
	}
}

// TestHostMemoryNames follows one page-locked block.
func TestHostMemoryNames(t *testing.T) {
	drv := sim.New(sim.Config{Devices: 1, Kind: device.KindCUDA})
	device.Install(drv)
	block, err := memory.AllocPinned(drv, 1000)
	if err != nil {
		t.Fatal(err)
	}
	active := func() []int64 {
		m := cuda.HostMemoryStatsMap()
		return []int64{m["active_bytes.current"], m["active_bytes.peak"], m["active_bytes.allocated"]}
	}
	held := active()
	if err := block.Free(); err != nil {
		t.Fatal(err)
	}
	freed := active()
	cuda.ResetPeakHostMemoryStats()
	cuda.ResetAccumulatedHostMemoryStats()
	if diff := cmp.Diff([][]int64{{1024, 1024, 1024}, {0, 1024, 1024}, {0, 0, 0}}, [][]int64{held, freed, active()}); diff != "" {
		t.Error(diff)
	}
}

// TestOptions holds that what is asked of history, streams and pools is what they take,
// and that history without options records everything.
func TestOptions(t *testing.T) {
	install(1)
	t.Cleanup(func() {
		if err := cuda.RecordMemoryHistory(cuda.HistoryOff, cuda.ClearHistory()); err != nil {
			t.Error(err)
		}
	})
	if err := cuda.RecordMemoryHistory(); err != nil {
		t.Fatal(err)
	}
	addr, err := cuda.CachingAllocatorAlloc(1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := cuda.CachingAllocatorDelete(addr); err != nil {
		t.Fatal(err)
	}
	s, err := cuda.SnapshotMemory()
	if err != nil {
		t.Fatal(err)
	}
	traced := false
	for _, trace := range s.Traces {
		for _, e := range trace.Entries {
			traced = traced || len(e.Frames) > 0
		}
	}
	if !traced {
		t.Errorf("without options no stack is in the trace: %+v", s.Traces)
	}
	_, poolErr := cuda.NewMemPool(cuda.Priority(1))
	for want, err := range map[string]error{
		"memory history: no option NoSplit here; want HistoryLevel, HistoryContext, MaxEntries, Skip or ClearHistory": cuda.RecordMemoryHistory(cuda.NoSplit()),
		"memory history: option HistoryLevel is given twice":                                                          cuda.RecordMemoryHistory(cuda.HistoryOff, cuda.HistoryAll),
		"stream: no option MaxEntries here; want On or Priority":                                                      cuda.NewStream(cuda.MaxEntries(1)).Err(),
		"memory pool: no option Priority here; want On, UseOnOOM or NoSplit":                                          poolErr,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
