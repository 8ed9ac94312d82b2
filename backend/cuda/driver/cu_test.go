//go:build cu && cgo

package driver

import (
	"testing"
	"unsafe"

	"gorgonia.org/cu"
)

func init() { endsWithoutDevice = true }

// TestWithCU passes contexts, streams, events and memory both ways between this
// package and a program's own code over gorgonia.org/cu.
func TestWithCU(t *testing.T) {
	api := machine(t)
	const n = 1000
	want := make([]uint32, n)
	for i := range want {
		want[i] = uint32(i * i)
	}
	from, size := bytesOf(want)
	context, err := api.PrimaryContext(0)
	must(t, err)

	// Theirs: the context is ours, so is the memory at the end.
	must(t, context.CUContext().Lock())
	theirs, err := cu.MakeStreamWithPriority(0, cu.NonBlocking)
	must(t, err)
	p, err := cu.MemAlloc(size)
	must(t, err)
	event, err := cu.MakeEvent(0)
	must(t, err)
	current, err := cu.CurrentContext()
	must(t, err)
	if ContextOf(current) != context {
		t.Errorf("the current context is %x, not %x", ContextOf(current), context)
	}
	must(t, context.CUContext().Unlock())

	// Ours, on their stream and memory.
	ours := alloc(t, api, 0, size)
	must(t, api.MemcpyHtoDAsync(0, PtrOf(p), from, size, StreamOf(theirs)))
	must(t, api.EventRecord(0, EventOf(event), StreamOf(theirs)))
	s := stream(t, api, 0)
	must(t, api.StreamWaitEvent(0, s, EventOf(event)))
	must(t, api.MemcpyDtoDAsync(0, ours, PtrOf(p), size, s))
	must(t, api.StreamSynchronize(0, s))

	// Theirs again, on our memory and stream.
	must(t, context.CUContext().Lock())
	got := make([]uint32, n)
	must(t, cu.MemcpyDtoHAsync(unsafe.Pointer(&got[0]), ours.CUPtr(), size, s.CUStream()))
	must(t, s.CUStream().Synchronize())
	must(t, cu.MemFree(p))
	must(t, cu.DestroyEvent(&event))
	must(t, theirs.Destroy())
	must(t, context.CUContext().Unlock())
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("element %d: %d, want %d", i, got[i], want[i])
		}
	}
}
