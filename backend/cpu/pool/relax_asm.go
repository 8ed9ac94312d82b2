//go:build amd64 || arm64

package pool

// relax tells the processor that the caller waits in a loop.
//
//go:noescape
func relax()
