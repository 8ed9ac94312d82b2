//go:build !amd64

package gemm

// Halves reports false: there is no assembly for this architecture.
func Halves() bool { return false }

// Run does nothing and reports false.
func (p *HalfProduct) Run() bool { return false }
