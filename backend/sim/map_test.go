package sim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/runtime/device"
)

// TestMap maps pages behind reserved addresses, uses them across their border, and
// sees that addresses without memory are told from memory.
func TestMap(t *testing.T) {
	const page = device.MapUnit
	d := New(Config{Devices: 1, Memory: 8 * page})
	base, err := d.Reserve(0, 9*page)
	if err != nil || base%page != 0 {
		t.Fatalf("%#x, %v", base, err)
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	refused := func(want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	data, got := []byte{1, 2, 3, 4, 5, 6, 7, 8}, make([]byte, 8)
	put := func(at uint64) error { return d.CopyFromHost(0, 0, at, unsafe.Pointer(&data[0]), 8) }
	get := func(at uint64) error { return d.CopyToHost(0, 0, unsafe.Pointer(&got[0]), at, 8) }

	refused("has no memory", put(base))
	ok(d.Map(0, base, 2*page, 2*page))
	ok(d.Map(0, base+2*page, page, page))
	if free, _, _ := d.MemoryInfo(0); free != 5*page {
		t.Errorf("%d bytes are free", free)
	}
	ok(get(base + 2*page))
	if got[0] != 0xa5 || got[7] != 0xa5 {
		t.Errorf("new memory holds %x", got)
	}
	ok(put(base + 2*page - 4))
	ok(get(base + 2*page - 4))
	if string(got) != string(data) {
		t.Errorf("read %v", got)
	}
	refused("has no memory", put(base+3*page-4))
	refused("some are mapped already", d.Map(0, base+2*page, page, page))
	refused("some are mapped already", d.Unmap(0, base+3*page, page, page))
	refused("want whole pages", d.Map(0, base+3*page, page/2, page/2))
	refused("not in one reservation", d.Map(0, base+8*page, 2*page, page))
	if err := d.Map(0, base+3*page, 6*page, page); !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("more than there is: %v", err)
	}
	refused("still have", d.Unreserve(0, base, 9*page))
	refused("not the start of an allocation", d.Free(0, device.Memory{Addr: base, Bytes: 9 * page}))

	ok(d.Unmap(0, base+2*page, page, page))
	refused("has no memory", get(base+2*page-4))
	ok(d.Map(0, base+2*page, page, page))
	ok(get(base + 2*page))
	if got[0] != 0xa5 {
		t.Errorf("memory mapped anew holds %x", got)
	}
	ok(d.Unmap(0, base, 2*page, 2*page))
	ok(d.Unmap(0, base+2*page, page, page))
	ok(d.Unreserve(0, base, 9*page))
	refused("were not reserved", d.Unreserve(0, base, 9*page))
	refused("not allocated", get(base))
	ok(d.SyncDevice(context.Background(), 0))
	if used, err := d.ProcessMemory(0); used != 0 || err != nil || d.Counters(0).LiveBytes != 0 {
		t.Errorf("%d bytes are left, %v", used, err)
	}
}
