//go:build linux || darwin || freebsd

package offheap

import "golang.org/x/sys/unix"

// mapped returns n bytes of zeros of the system's, nil where it gives none.
func mapped(n int) []byte {
	data, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	return data
}

func unmap(data []byte) { _ = unix.Munmap(data) }
