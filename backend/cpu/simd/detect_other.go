//go:build !amd64

package simd

// detect returns Portable: there is no assembly for this architecture.
func detect() Level { return Portable }

func readsAhead() bool { return false }

func sumsBytes() bool { return false }

func tilesBytes() bool { return false }
