package cuda

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/memory/pprof"
)

// The state of the allocators, and what led there (A30, A31).
type (
	// A MemorySnapshot is the state of the devices' allocators, by segment and block.
	MemorySnapshot = memory.Snapshot
	// HistoryOptions say what RecordMemoryHistory records.
	HistoryOptions = memory.HistoryOptions
)

// Levels and contexts of HistoryOptions.
const (
	HistoryOff   = memory.HistoryOff
	HistoryState = memory.HistoryState
	HistoryAll   = memory.HistoryAll

	ContextNone  = memory.ContextNone
	ContextState = memory.ContextState
	ContextAlloc = memory.ContextAlloc
	ContextAll   = memory.ContextAll
)

// SnapshotMemory returns the state of the allocators of all devices or of the
// given ones (S47), with their traces if RecordMemoryHistory has turned those on.
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

// RecordMemoryHistory turns the recording of what happens to memory on or off, for
// all devices (P59).
func RecordMemoryHistory(o HistoryOptions) error { return memory.RecordHistory(o) }

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

// MemorySummary returns a table of a device's figures, for people (P57). Unless
// abbreviated it has the pools of small and of large blocks too.
func MemorySummary(abbreviated bool, d ...device.Device) (string, error) {
	on, _, err := find(d)
	if err != nil {
		return "", err
	}
	return memory.Summary(on, abbreviated), nil
}
