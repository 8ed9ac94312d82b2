//go:build darwin || freebsd

package offheap

// adviseHuge does nothing: large pages are the system's business.
func adviseHuge([]byte) {}
