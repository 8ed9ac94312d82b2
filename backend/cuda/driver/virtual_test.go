package driver

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// TestVirtualMemory maps two pages behind reserved addresses, copies across their
// border, and gives one of them back and another in its place.
func TestVirtualMemory(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		const page = 2 << 20
		if v, err := api.DeviceAttribute(0, VirtualMemoryManagement); v == 0 || err != nil {
			t.Skipf("the device maps no memory: %d, %v", v, err)
		}
		base, err := api.MemAddressReserve(0, 8*page, page)
		must(t, err)
		if base%page != 0 {
			t.Errorf("%#x is not aligned", uint64(base))
		}
		back := func(p Ptr) {
			t.Helper()
			m, err := api.MemCreate(0, page)
			must(t, err)
			must(t, api.MemMap(0, p, page, m))
			must(t, api.MemRelease(0, m))
		}
		back(base)
		back(base + page)
		must(t, api.MemSetAccess(0, base, 2*page, 0))

		s := stream(t, api, 0)
		want, got := []uint32{1, 2, 3, 4}, make([]uint32, 4)
		from, size := bytesOf(want)
		to, _ := bytesOf(got)
		check := func(at Ptr) {
			t.Helper()
			must(t, api.MemcpyHtoDAsync(0, at, from, size, s))
			must(t, api.MemcpyDtoHAsync(0, to, at, size, s))
			must(t, api.StreamSynchronize(0, s))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			clear(unsafe.Slice((*uint32)(to), 4))
		}
		check(base + page - 8)
		must(t, api.MemUnmap(0, base+page, page))
		back(base + page)
		must(t, api.MemSetAccess(0, base+page, page, 0))
		check(base + page - 8)

		// NVIDIA's driver takes it for nothing to do, others may refuse it.
		if err := api.MemUnmap(0, base+4*page, page); err != nil && !errors.Is(err, InvalidValue) {
			t.Errorf("MemUnmap of what is not mapped: %v", err)
		}
		if _, err := api.MemCreate(0, 1<<50); !errors.Is(err, OutOfMemory) {
			t.Errorf("MemCreate of 1 PiB: %v", err)
		}
		if _, err := api.MemCreate(api.DeviceCount(), page); !errors.Is(err, InvalidDevice) {
			t.Errorf("MemCreate on no device: %v", err)
		}
		must(t, api.MemUnmap(0, base, page))
		must(t, api.MemUnmap(0, base+page, page))
		must(t, api.MemAddressFree(0, base, 8*page))
	})
}
