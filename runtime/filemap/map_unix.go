//go:build linux || darwin || freebsd

package filemap

import (
	"os"

	"golang.org/x/sys/unix"
)

func mapFile(f *os.File, bytes int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, bytes, unix.PROT_READ, unix.MAP_PRIVATE)
}

func unmap(data []byte) error { return unix.Munmap(data) }

func forget(data []byte) { _ = unix.Madvise(data, unix.MADV_DONTNEED) }
