//go:build !amd64

package gemm

// Halves reports false: there are no tiles.
func Halves() bool { return false }

// Run does nothing and reports false.
func (p *HalfProduct) Run() bool { return false }
