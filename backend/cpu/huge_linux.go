package cpu

import (
	"syscall"
	"unsafe"
)

// hugePage is the size of large pages where it matters, on amd64 and arm64 with
// pages of 4 KiB. With others the advice is of no effect.
const hugePage = 2 << 20

// adviseHuge asks the system for large pages in the memory at first. It is not told
// whether there are any: it is the same memory without.
func adviseHuge(first unsafe.Pointer, bytes int64) {
	skip := -uintptr(first) & (hugePage - 1)
	n := (bytes - int64(skip)) &^ (hugePage - 1)
	if n <= 0 {
		return
	}
	_ = syscall.Madvise(unsafe.Slice((*byte)(unsafe.Add(first, skip)), n), syscall.MADV_HUGEPAGE)
}
