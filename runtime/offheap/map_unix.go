//go:build linux || darwin || freebsd

package offheap

import "golang.org/x/sys/unix"

// mapped returns n bytes of zeros of the system's, nil where it gives none.
func mapped(n int) []byte {
	data, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	if n >= hugeFrom {
		adviseHuge(data)
	}
	return data
}

// hugeFrom is how many bytes are asked for in large pages, which are quicker to touch.
const hugeFrom = 4 << 20

func unmap(data []byte) { _ = unix.Munmap(data) }
