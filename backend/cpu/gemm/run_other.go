//go:build !amd64

package gemm

// runTile runs the kernel for a class of tiles and a number of rows.
func runTile[T Number](_ family, class, rows int, t *tile) { plainTile[T](class, rows, t) }

// runDots and runUpdates are not called: there are no such kernels.
func runDots(family, int, int, *thin) {}

func runUpdates(family, int, int, *thin) {}
