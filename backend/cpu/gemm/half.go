package gemm

import "unsafe"

// A HalfProduct is C = A*B for matrices of bfloat16, where A is M by K, B is K by
// N and C, which must not overlap them, M by N. The sums are of float32, numbers
// too small for a normal bfloat16 or float32 count as zero, and each element is
// rounded once.
type HalfProduct struct {
	M, N, K int
	A, B, C Matrix
	Bias    unsafe.Pointer // unless nil: N contiguous elements of float32, which are added to each row
	Serial  bool           // use the calling goroutine only
}

// A halfTile is what a kernel for tiles gets. Its fields' offsets are known to the
// generator; distances are in bytes.
type halfTile struct {
	config    unsafe.Pointer // of tile registers: 64 bytes
	a         unsafe.Pointer
	aRow      int
	aStep     int            // from one 32 terms to the next
	b         unsafe.Pointer // a panel: rows of pairs of terms of 32 columns
	steps     int            // of 32 terms, at least one
	c         unsafe.Pointer // float32
	cRow      int
	src       unsafe.Pointer // nil, or what the sums begin with
	srcRow    int
	groups    int     // of rows, at least one
	ahead     uintptr // what is asked for meanwhile; nothing is read there
	aheadStep int     // how far that moves on with each 32 terms of each group
}

// Sizes of the pieces that products of bfloat16 are cut into.
const (
	halfDepth   = 2048    // terms, a multiple of halfStep
	halfStep    = 32      // terms of one round of a kernel
	halfSteps   = 16      // rounds after which the next rows are taken, so that B's panel stays in the first cache
	halfBlock   = 1 << 20 // bytes of A that a task takes at once
	halfAcross  = 4096    // columns packed at once
	halfRows    = 32      // of a kernel's tiles
	halfColumns = 32
	halfPairs   = halfColumns * 4 // bytes of a row of a panel
	halfShare   = 1 << 20         // products worth another processor
)
