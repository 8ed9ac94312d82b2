//go:build !amd64 && !arm64

package pool

// relax does nothing where the processor cannot be told that a loop waits.
func relax() {}
