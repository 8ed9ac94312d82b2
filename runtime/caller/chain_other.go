//go:build !amd64 && !arm64

package caller

// chain finds nothing where frame pointers are not kept.
func chain(pcs *uintptr, n int) int { return 0 }
