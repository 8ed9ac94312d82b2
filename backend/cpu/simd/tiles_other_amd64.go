//go:build !linux

package simd

// permitTiles reports false: how other systems give out tile registers is not known.
func permitTiles() bool { return false }
