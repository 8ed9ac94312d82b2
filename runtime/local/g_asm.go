//go:build amd64 || arm64

package local

// goroutine returns the address of the calling goroutine's descriptor, which is
// unique among the living.
func goroutine() uintptr
