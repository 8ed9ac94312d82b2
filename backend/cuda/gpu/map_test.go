package gpu

import (
	"context"
	"errors"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/runtime/device"
)

// TestMap uses memory across the border of pages that were mapped one after the
// other, on the GPU and on another one that was given access between the two.
func TestMap(t *testing.T) {
	d := onGPU(t)
	if !d.CanMap(0) {
		t.Skip("the GPU maps no memory on demand")
	}
	const page = device.MapUnit
	base, err := d.Reserve(0, 16*page)
	must(t, err)
	must(t, d.Map(0, base, 2*page, page))
	reader := 0
	if n, _ := d.DeviceCount(); n > 1 && d.CanAccessPeer(1, 0) {
		must(t, d.EnablePeerAccess(1, 0))
		reader = 1
	}
	must(t, d.Map(0, base+2*page, 4*page, 2*page))

	want, got := []byte{1, 2, 3, 4, 5, 6, 7, 8}, make([]byte, 8)
	to, err := d.Alloc(reader, 8)
	must(t, err)
	for _, at := range []uint64{base + page - 4, base + 2*page - 4, base + 4*page - 4, base + 6*page - 8} {
		clear(got)
		must(t, d.CopyFromHost(0, 0, at, unsafe.Pointer(&want[0]), 8))
		must(t, d.SyncStream(context.Background(), 0, 0))
		must(t, d.CopyOnDevice(reader, 0, to.Addr, at, 8))
		must(t, d.CopyToHost(reader, 0, unsafe.Pointer(&got[0]), to.Addr, 8))
		must(t, d.SyncStream(context.Background(), reader, 0))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at +%d, read on cuda:%d: %s", at-base, reader, diff)
		}
	}
	if err := d.Map(0, base+8*page, 1<<50, 1<<50); !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("mapping a PiB: %v", err)
	}
	must(t, d.Unmap(0, base, 2*page, page))
	must(t, d.Unmap(0, base+2*page, 4*page, 2*page))
	must(t, d.Unreserve(0, base, 16*page))
	must(t, d.Free(reader, to))
	if n := len(d.gpus[0].mapped.pages); n != 0 {
		t.Errorf("%d pages are still noted", n)
	}
}

// TestRegisterHost page-locks Go memory.
func TestRegisterHost(t *testing.T) {
	d := onGPU(t)
	data := make([]byte, 1<<20)
	m := device.Memory{Host: unsafe.Pointer(&data[0]), Bytes: 1 << 20}
	must(t, d.RegisterHost(m))
	if !d.pinned.has(m.Host, m.Bytes) {
		t.Error("registered memory is not known as page-locked")
	}
	must(t, d.UnregisterHost(m))
	if err := d.UnregisterHost(m); !errors.Is(err, device.ErrInvalid) || d.pinned.has(m.Host, 1) {
		t.Errorf("registered no more: %v", err)
	}
}
