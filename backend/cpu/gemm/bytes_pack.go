package gemm

import (
	"encoding/binary"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A packer fills the panels of a matrix of bytes.
type packer struct {
	*Bytes
	from  Matrix
	width int    // columns of a panel
	flip  uint32 // the bits of four bytes that change
	level simd.Level
}

// panels fills panels [lo, hi).
func (p *packer) panels(lo, hi int) {
	for ; lo < hi; lo++ {
		j0 := lo * p.width
		j1 := min(j0+p.width, p.n)
		panel := unsafe.Add(p.packed.ptr, j0*p.packed.k*4)
		j := j0
		for ; j+quadColumns <= j1 && p.from.Col == 1 && p.width > 1 && p.level >= simd.AVX2 && p.k >= 4; j += quadColumns {
			p.quads(unsafe.Add(panel, (j-j0)*4), j)
		}
		for ; j < j1; j++ {
			p.column(unsafe.Add(panel, (j-j0)*4), j)
		}
	}
}

// quadColumns is how many columns packQuads takes.
const quadColumns = 16

// quads packs quadColumns columns from j on, whose rows are contiguous.
func (p *packer) quads(to unsafe.Pointer, j int) {
	whole := p.k / 4
	packQuads(to, p.width*4, unsafe.Pointer(at[int8](p.from, 0, j)), p.from.Row, whole, &p.sums[j], p.flip)
	for i := range quadColumns {
		p.rest(unsafe.Add(to, i*4), j+i, whole*4)
	}
}

// column packs column j.
func (p *packer) column(to unsafe.Pointer, j int) {
	whole := 0
	if p.from.Row == 1 && p.k >= 4 {
		whole = p.k / 4
		from := unsafe.Slice((*byte)(unsafe.Pointer(at[int8](p.from, 0, j))), whole*4)
		sum := int32(0)
		for i := range whole {
			four := binary.NativeEndian.Uint32(from[4*i:]) ^ p.flip
			*(*uint32)(unsafe.Add(to, i*p.width*4)) = four
			sum += sumOfFour(four)
		}
		p.sums[j] += sum
	}
	p.rest(to, j, whole*4)
}

// sumOfFour returns the sum of four bytes with a sign: less 128 by their highest bits they have
// none, and pairs of them fit into 16 bits.
func sumOfFour(four uint32) int32 {
	four ^= 0x80808080
	four = four&0x00ff00ff + four>>8&0x00ff00ff
	return int32(four&0xffff+four>>16) - 4*128
}

// rest packs the terms of column j, whose first one goes to to, from the i-th on.
func (p *packer) rest(to unsafe.Pointer, j, i int) {
	for ; i < p.k; i++ {
		v := *at[int8](p.from, i, j) ^ int8(p.flip)
		*(*int8)(unsafe.Add(to, i/4*p.width*4+i%4)) = v
		p.sums[j] += int32(v)
	}
}
