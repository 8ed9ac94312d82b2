package sim

import (
	"runtime"
	"syscall"
)

// reserveHost returns host memory that takes up room only where it is written, and
// how to give it back.
func reserveHost(bytes int64) ([]byte, func(), error) {
	data, err := syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return nil, nil, err
	}
	owner := new([16]byte) // lives as long as release, which a dropped driver drops
	cleanup := runtime.AddCleanup(owner, func(data []byte) { _ = syscall.Munmap(data) }, data)
	return data, func() {
		cleanup.Stop()
		_ = syscall.Munmap(data)
		runtime.KeepAlive(owner)
	}, nil
}

// forgetHost lets the system take host memory back; it reads as zeros then.
func forgetHost(data []byte) { _ = syscall.Madvise(data, syscall.MADV_DONTNEED) }
