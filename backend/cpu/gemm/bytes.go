package gemm

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Products of bytes without a sign by bytes with one: sums are of 32 bits and wrap, and no
// product or sum is limited on the way.

// A Bytes is a matrix B of int8 as kernels read it, for all products with it: panels of
// columns one after the other, each with four terms of a column side by side. It does
// not change.
type Bytes struct {
	e      *engine // nil: there are no kernels
	tiles  bool    // products of more rows than a few are of tiles
	k, n   int
	packed Packed // its elements are four terms; rows of int8 one after the other where there are no kernels
	sums   []int32
}

// byteQuads is how many quads of terms a stretch has at most: results are read and written
// once for each.
const byteQuads = 2048

// byteEngines are the engines of bytes, whose elements are four of them: without and with
// AVX512-VNNI.
var byteEngines = [2]engine{integers(avx2(i8AVX2, 4, 8)), byteSums(avx512(i8AVX512VNNI, 4, 16))}

// byteSums returns the engine with the rows that kernels have where one instruction adds up
// products of bytes.
func byteSums(e engine) engine {
	e.rows = [classes]int{8, 8, 8, 8}
	return e
}

// byteEngine returns the engine of bytes at a level, nil where there is none.
func byteEngine(level simd.Level) *engine {
	switch {
	case level == simd.Portable:
		return nil
	case level.SumsBytes():
		return &byteEngines[1]
	}
	return &byteEngines[0]
}

// PackBytes returns the k by n matrix b of int8, or with moved of uint8 less 128, for kernels of
// the present level.
func PackBytes(b Matrix, k, n int, moved bool) *Bytes {
	return packBytesAt(simd.Active(), b, k, n, moved)
}

// packBytesAt is PackBytes at a level of instructions.
func packBytesAt(level simd.Level, b Matrix, k, n int, moved bool) *Bytes {
	p := &Bytes{e: byteEngine(level), tiles: level.TilesBytes(), k: k, n: n, sums: make([]int32, n)}
	width, quads := 1, ceil(k, 4)
	if p.e != nil {
		width = p.e.columns()
	}
	size := max(1, roundUp(n, width)*quads*4)
	p.packed = newPacked(p.e, quads, n, size)
	to := packer{Bytes: p, from: b, width: width, level: level}
	if moved {
		to.flip = 0x80808080
	}
	pool.For(ceil(n, width), max(1, packShare/max(1, k*width)), to.panels)
	return p
}

// Sums returns the sum of each column, which is not to be changed.
func (b *Bytes) Sums() []int32 { return b.sums }

// Row returns how many bytes apart rows of the factor of K terms are at least: a multiple
// of four, behind whose terms there are zeros.
func (b *Bytes) Row() int { return b.packed.k * 4 }

// Mul sets the m by n matrix c of int32, whose rows have no gaps inside, to a times b, plus
// bias, which is nil or has a number for each column. The rows of a, of uint8, lie row
// bytes apart, as Row says.
func (b *Bytes) Mul(m int, a unsafe.Pointer, row int, c Matrix, bias []int32) {
	b.mul(m, a, row, c, bias, false)
}

// MulSerial is Mul by the calling goroutine alone.
func (b *Bytes) MulSerial(m int, a unsafe.Pointer, row int, c Matrix, bias []int32) {
	b.mul(m, a, row, c, bias, true)
}

// MulBack is Mul whose processors take the columns of few rows from the last to the first. Where a
// product with the same matrix was before, their caches still have the last ones.
func (b *Bytes) MulBack(m int, a unsafe.Pointer, row int, c Matrix) {
	if b.few(m) {
		b.mulFew(&panels{b, m, a, row, c, nil, true}, false)
		runtime.KeepAlive(b)
		return
	}
	b.mul(m, a, row, c, nil, false)
}

// mulFew is Mul of few rows.
func (b *Bytes) mulFew(p *panels, serial bool) {
	if serial || b.n*b.packed.k <= fewShare || runtime.GOMAXPROCS(0) == 1 {
		p.Run(0, p.count())
		return
	}
	shared := *p // which escapes
	share := pool.Run
	if p.back {
		share = pool.RunBack
	}
	share(p.count(), max(1, fewShare/2/(b.e.columns()*b.packed.k)), &shared)
}

func (b *Bytes) mul(m int, a unsafe.Pointer, row int, c Matrix, bias []int32, serial bool) {
	switch {
	case m == 0 || b.n == 0:
	case b.e == nil || b.k == 0:
		b.plain(m, a, row, c, bias)
	case b.few(m):
		b.mulFew(&panels{b, m, a, row, c, bias, false}, serial)
	case b.tiles && m > b.e.rows[oneEdge]:
		b.onTiles(m, a, row, c, bias, serial)
	default:
		p := Product[int32]{M: m, N: b.n, K: b.packed.k, A: Matrix{a, row / 4, 1}, C: c, Packed: &b.packed, Stretch: byteQuads, Serial: serial}
		if bias != nil {
			p.Bias = unsafe.Pointer(&bias[0])
		}
		run(b.e, &p)
	}
	runtime.KeepAlive(b)
}

// few reports whether a kernel takes so many rows at once, and all terms.
func (b *Bytes) few(m int) bool {
	return b.e != nil && m > 0 && m <= b.e.rows[oneEdge] && b.k > 0 && b.n > 0 && b.packed.k <= byteQuads
}

// fewShare is how many quads of a matrix are worth another processor where rows are few: what
// takes time then is to read them.
const fewShare = 96 << 10

// A panels is Mul of few rows, one panel of columns after the other, or with back from the
// last to the first.
type panels struct {
	*Bytes
	m    int
	a    unsafe.Pointer
	row  int
	c    Matrix
	bias []int32
	back bool
}

// count returns how many panels there are.
func (p *panels) count() int { return ceil(p.n, p.e.columns()) }

// Run computes panels [lo, hi).
func (p *panels) Run(lo, hi int) {
	width := p.e.columns()
	t := tile{a: p.a, aRow: p.row, aCol: 4, bRow: width * 4, k: p.packed.k, cRow: p.c.Row * 4, groups: 1}
	for i := lo; i < hi; i++ {
		j := i * width
		if p.back {
			j = (hi - 1 - (i - lo)) * width
		}
		t.b, t.c = unsafe.Add(p.packed.ptr, j*t.k*4), unsafe.Pointer(at[int32](p.c, 0, j))
		t.ahead = t.b
		if p.bias != nil {
			t.src = unsafe.Pointer(&p.bias[j])
		}
		class, last := p.e.classOf(min(width, p.n-j))
		t.last = last
		runTile[int32](p.e.family, class, p.m, &t)
	}
}

// plain is Mul without kernels.
func (b *Bytes) plain(m int, a unsafe.Pointer, row int, c Matrix, bias []int32) {
	for i := range m {
		to := unsafe.Slice(at[int32](c, i, 0), b.n)
		clear(to)
		copy(to, bias)
		if b.k == 0 {
			continue
		}
		for j := range to {
			column := unsafe.Slice((*int8)(unsafe.Add(b.packed.ptr, j*b.Row())), b.k)
			for t, x := range unsafe.Slice((*uint8)(unsafe.Add(a, i*row)), b.k) {
				to[j] += int32(x) * int32(column[t])
			}
		}
	}
}

// SumBytes returns the sum of x, which has at most 2^24 elements.
func SumBytes(x []uint8) (sum int32) {
	const even = 0x00ff00ff00ff00ff
	for len(x) >= 8 {
		n := min(len(x)/8, 64) // sums of 64 times two bytes fit into 16 bits
		var four uint64
		for i := range n {
			v := binary.LittleEndian.Uint64(x[8*i:])
			four += v&even + v>>8&even
		}
		four = four&0x0000ffff0000ffff + four>>16&0x0000ffff0000ffff
		sum += int32(uint32(four)) + int32(four>>32)
		x = x[8*n:]
	}
	for _, v := range x {
		sum += int32(v)
	}
	return sum
}
