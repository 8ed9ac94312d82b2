package gemm

import "unsafe"

// A HalfProduct is C = A*B for matrices of bfloat16, where A is M by K, B is K by
// N and C, which must not overlap them, M by N. The sums are of float32, numbers
// too small for a normal bfloat16 or float32 count as zero, and each element is
// rounded once, or with Wide not at all. A sum runs over pairs of terms in ascending order, or those of a
// vector's lanes do, the same way whatever the number of processors.
type HalfProduct struct {
	M, N, K int
	A, B, C Matrix
	Bias    unsafe.Pointer // unless nil: N contiguous elements of float32, which are added to each row
	Wide    bool           // C is of float32
	Serial  bool           // use the calling goroutine only
}

// A halfTile is what a kernel for tiles gets: groups of rows are multiplied with
// one panel, a block of their terms after the other. It is changed. Its fields'
// offsets are known to the generator; distances are in bytes. Kernels for bytes
// take four of them for two bfloat16, and keep sums of int32.
type halfTile struct {
	config   unsafe.Pointer // of tile registers: 64 bytes
	a        unsafe.Pointer
	aRow     int            // from one row of a tile to the next
	aLow     int            // to the tile 16 rows below
	aStep    int            // to the next 32 terms
	aGroup   int            // to the next group of rows
	b        unsafe.Pointer // a panel: rows of pairs of terms of 32 columns
	steps    int            // of 32 terms, at least one
	block    int            // steps after which the next rows are taken, so that B's part stays in the first cache
	src      unsafe.Pointer // nil, or what the sums begin with
	srcRow   int
	srcGroup int
	c        unsafe.Pointer // float32: the sums, rows of 128 bytes that may be read
	cRow     int
	cGroup   int            // 0 where sums are not needed again
	out      unsafe.Pointer // nil, or where the sums go when all terms are there, rounded
	outRow   int
	rows     int // of a group
	columns  int // of the panel
	groups   int // at least one

	// What kernels read from config.
	inner int  // bytes of a row of A's tiles, a fourth of which are rows of B's
	bytes bool // the elements are bytes
}

// Sizes of the pieces that products of bfloat16 are cut into.
const (
	halfStep    = 32 // terms of one round of a kernel
	halfSide    = 16 // rows of a tile
	halfRows    = 2 * halfSide
	halfColumns = 32
	halfPairs   = halfColumns * 4 // bytes of a row of a panel
	tileBytes   = halfSide * halfStep * 2
	halfDepth   = 2048      // terms of a stretch, a multiple of halfStep
	halfSteps   = 16        // rounds of a block
	halfBlock   = 256 << 10 // bytes of A that panels are multiplied with, one panel after the other
	halfPanels  = 1 << 20   // bytes of panels that one processor has at once
	ownPanels   = 8         // panels from which on a processor packs its own
	halfShare   = 1 << 20   // products worth another processor
)
