package jit

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// load maps memory, fills it with code, and only then makes it executable: it is never
// writable and executable at once.
func load(code []byte) ([]byte, error) {
	m, err := unix.Mmap(-1, 0, len(code), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("%w: %d bytes: %w", ErrUnavailable, len(code), err)
	}
	copy(m, code)
	if err := unix.Mprotect(m, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		unmap(m)
		return nil, fmt.Errorf("%w: the system refuses executable memory: %w", ErrUnavailable, err)
	}
	return m, nil
}

func unmap(m []byte) error { return unix.Munmap(m) }
