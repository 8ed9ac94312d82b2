package opaque

import (
	"math/bits"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// A rows is an operator over the rows of contiguous tensors, as kernels/rows.cuh
// has them.
type rows struct {
	module, kernel string
	dtype          ir.DType
	rows, along    int
	params         driver.Params
}

// What the kernels of rows.cuh keep in registers: elements for each thread.
const (
	fewKept  = 8
	manyKept = 32
	warp     = 32
	// rowWarps is how many threads a block of the kernels has that give a row a
	// warp or less; largestBlock the most the others have.
	rowWarps     = 128
	largestBlock = 1024
)

// blockKept is how many elements a thread of the kernels keeps that give a row a
// block.
func blockKept(dt ir.DType) int {
	if dt == ir.Float64 {
		return 8
	}
	return 16
}

// launch enqueues the kernel for the length of the rows. addrs are those of
// everything that is read and written by row, or 0.
func (r *rows) launch(g code.GPU, addrs ...uint64) error {
	together := uint64(r.along * r.dtype.Size())
	for _, a := range addrs {
		together |= a
	}
	suffix := ""
	if together%16 == 0 {
		suffix = "_vector"
	}
	name := ofType(r.kernel, r.dtype)
	kept := blockKept(r.dtype)
	switch {
	case r.along > kept*largestBlock:
		return g.Launch(r.module, name+"_stream"+suffix, [3]int{r.rows, 1, 1}, block(largestBlock), 0, r.params.Bytes())
	case r.along > manyKept*warp:
		threads := int(ceil(int64(r.along), int64(kept*warp))) * warp
		return g.Launch(r.module, name+"_block"+suffix, [3]int{r.rows, 1, 1}, block(threads), 0, r.params.Bytes())
	}
	kernel, lanes := "_warp32", warp
	if r.along <= fewKept*warp {
		kernel, lanes = "_warp8", 1<<bits.Len(uint(max(r.along-1, 0)/fewKept))
	}
	r.params.Int32(int32(lanes))
	return g.Launch(r.module, name+kernel+suffix, grid(int64(r.rows), int64(rowWarps/lanes)), block(rowWarps), 0, r.params.Bytes())
}
