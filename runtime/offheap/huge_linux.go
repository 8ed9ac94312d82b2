package offheap

import "golang.org/x/sys/unix"

// adviseHuge asks the system for large pages, where it has some.
func adviseHuge(data []byte) { _ = unix.Madvise(data, unix.MADV_HUGEPAGE) }
