//go:build !linux

package cpu

import "unsafe"

// adviseHuge does nothing: large pages are the system's business.
func adviseHuge(unsafe.Pointer, int64) {}
