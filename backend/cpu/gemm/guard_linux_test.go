package gemm

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapped is what guarded has mapped. Tests that use it do not run in parallel.
var mapped [][]byte

// guarded returns n elements whose last one is followed by a page that cannot be
// read, until unguard.
func guarded[T float](n int) []T {
	page := unix.Getpagesize()
	bytes := n * int(unsafe.Sizeof(*new(T)))
	size := roundUp(bytes, page)
	memory, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	mapped = append(mapped, memory)
	if err := unix.Mprotect(memory[size:], unix.PROT_NONE); err != nil {
		panic(err)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&memory[size-bytes])), n)
}

// unguard unmaps everything.
func unguard() {
	for _, m := range mapped {
		if err := unix.Munmap(m); err != nil {
			panic(err)
		}
	}
	mapped = nil
}
