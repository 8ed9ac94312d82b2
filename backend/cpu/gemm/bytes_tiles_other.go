//go:build !amd64

package gemm

import "unsafe"

// onTiles is not called: there are no tiles.
func (b *Bytes) onTiles(int, unsafe.Pointer, int, Matrix, []int32, bool) {}
