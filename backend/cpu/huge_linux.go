package cpu

import (
	"syscall"
	"unsafe"
)

// hugePage is the size of large pages where it matters, on amd64 and arm64 with
// pages of 4 KiB. With others the advice is of no effect.
const hugePage = 2 << 20

// adviseHuge asks the system for large pages in words. It is not told whether there
// are any: words is the same memory without.
func adviseHuge(words []uint64) {
	start := uintptr(unsafe.Pointer(&words[0]))
	skip := int(-start & (hugePage - 1))
	n := (len(words)*8 - skip) &^ (hugePage - 1)
	if n <= 0 {
		return
	}
	first := (*byte)(unsafe.Add(unsafe.Pointer(&words[0]), skip))
	_ = syscall.Madvise(unsafe.Slice(first, n), syscall.MADV_HUGEPAGE)
}
