package cuda

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/memory/pprof"
	"github.com/sinter-go/sinter/runtime/option"
)

// A MemorySnapshot is the state of the devices' allocators, [memory.Snapshot]:
//
//   - Segments, a list of [memory.Segment]: memory from the driver with its Address, size
//     (Total), and Blocks, each of them in use or free.
//   - Traces, a list of [memory.Trace], one a device: what happened, the oldest first.
//   - Settings: those of SetAllocatorSettings, as text.
//
// WritePickle(w io.Writer) error writes it in the form of PyTorch's memory visualiser.
type MemorySnapshot = memory.Snapshot

// SnapshotMemory returns the state of the allocators of all devices or of the
// given ones, with their traces if RecordMemoryHistory has turned those on.
func SnapshotMemory(d ...device.Device) (MemorySnapshot, error) {
	indices := make([]int, len(d))
	for i, one := range d {
		on, _, err := find([]device.Device{one})
		if err != nil {
			return MemorySnapshot{}, err
		}
		indices[i] = on.Index
	}
	return memory.SnapshotOf(device.KindCUDA, indices...), nil
}

// DumpMemorySnapshot writes what SnapshotMemory returns to a file, in the form
// that PyTorch's memory visualiser (pytorch.org/memory_viz) reads.
func DumpMemorySnapshot(name string, d ...device.Device) error {
	s, err := SnapshotMemory(d...)
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("memory snapshot: %w", err)
	}
	if err := errors.Join(s.WritePickle(f), f.Close()); err != nil {
		return fmt.Errorf("memory snapshot: %w", err)
	}
	return nil
}

// RecordMemoryHistory turns the recording of what happens to memory on, with the Go
// stacks of all of it, for all devices; or off with HistoryOff. Options: a HistoryLevel
// (HistoryAll), a HistoryContext (ContextAll), MaxEntries, Skip, ClearHistory.
func RecordMemoryHistory(opts ...Option) error {
	o := option.Read(opts)
	h := memory.HistoryOptions{
		Level: memory.HistoryLevel(option.Choice(&o, HistoryAll)), Context: memory.HistoryContext(option.Choice(&o, ContextAll)),
		MaxEntries: o.Int("MaxEntries", memory.DefaultHistory), Skip: option.Get[[]TraceAction](&o, "Skip", nil), Clear: o.Flag("ClearHistory", false),
	}
	if err := o.Err("HistoryLevel, HistoryContext, MaxEntries, Skip, ClearHistory"); err != nil {
		return fmt.Errorf("memory history: %w", err)
	}
	return memory.RecordHistory(h)
}

// ProfileMemory makes all devices' allocators keep which Go stacks allocated the
// memory that is held, or stop that. It counts what is allocated from then on.
func ProfileMemory(on bool) { memory.Profile(on) }

// WriteMemoryProfile writes the profile sinter.device for go tool pprof: live and
// peak blocks and bytes by Go stack, of all devices or of the given ones, since
// ProfileMemory was turned on.
func WriteMemoryProfile(w io.Writer, d ...device.Device) error {
	if len(d) == 0 {
		for i := range DeviceCount() {
			d = append(d, device.CUDA(i))
		}
	}
	var sites []memory.Site
	for _, one := range d {
		on, _, err := find([]device.Device{one})
		if err != nil {
			return err
		}
		sites = append(sites, memory.ProfileOf(on)...)
	}
	return pprof.Write(w, sites)
}

// MemorySummary returns a table of a device's figures, for people. Unless
// abbreviated it has the pools of small and of large blocks too.
func MemorySummary(abbreviated bool, d ...device.Device) (string, error) {
	on, _, err := find(d)
	if err != nil {
		return "", err
	}
	return memory.Summary(on, abbreviated), nil
}
