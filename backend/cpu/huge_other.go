//go:build !linux

package cpu

// adviseHuge does nothing: large pages are the system's business.
func adviseHuge([]uint64) {}
