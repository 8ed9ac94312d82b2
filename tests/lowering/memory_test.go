//go:build unix

package lowering_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// regionSize is the room for one operand.
const regionSize = 1 << 19

// regions are memory between pages that must not be touched, one for each operand.
var regions [][]byte

// region returns the k-th.
func region(t *testing.T, k int) []byte {
	t.Helper()
	for len(regions) <= k {
		page := unix.Getpagesize()
		all, err := unix.Mmap(-1, 0, regionSize+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		for _, guard := range [][]byte{all[:page], all[page+regionSize:]} {
			if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
				t.Fatal(err)
			}
		}
		regions = append(regions, all[page:page+regionSize])
	}
	return regions[k]
}

// guard is what surrounds operands that do not fill their region.
const guard, guardSize = 0xA5, 128

// memory returns size bytes at the end of the k-th region, or at its beginning,
// filled with guards, as is what is around them.
func memory(t *testing.T, k, size int, atEnd bool) []byte {
	t.Helper()
	r := region(t, k)
	from, to := 0, size
	if atEnd {
		from, to = regionSize-size, regionSize
	}
	for i := max(from-guardSize, 0); i < min(to+guardSize, regionSize); i++ {
		r[i] = guard
	}
	return r[from:to:to]
}

// checkGuards reports whether what surrounds the operand of size bytes changed.
func checkGuards(t *testing.T, k, size int, atEnd bool) bool {
	t.Helper()
	r := region(t, k)
	around := r[size:min(size+guardSize, regionSize)]
	if atEnd {
		around = r[max(regionSize-size-guardSize, 0) : regionSize-size]
	}
	return bytes.Count(around, []byte{guard}) == len(around)
}

func at(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// special are bits that scalar code gets wrong, by dtype.
func special(d ir.DType) []uint64 {
	switch d {
	case ir.Bool:
		return []uint64{0, 1}
	case ir.Float32:
		var out []uint64
		for _, f := range []float32{0, 1, 0.5, 2, 1.5, 2.5, 3, 88.7, 1e-3, 0x1p-126, 0x1p-127, 0x1p-149, 0x1.fffffep127, 0x1p23, 0x1p24 + 2, 1 - 0x1p-24, 1 + 0x1p-23, float32(math.Inf(1)), float32(math.NaN())} {
			out = append(out, uint64(math.Float32bits(f)), uint64(math.Float32bits(-f)))
		}
		return out
	case ir.Float64:
		var out []uint64
		for _, f := range []float64{0, 1, 0.5, 2, 1.5, 2.5, 3, 709.7, 1e-3, 0x1p-1022, 0x1p-1023, 0x1p-1074, math.MaxFloat64, 0x1p52, 0x1p53 + 2, 1 - 0x1p-53, 1 + 0x1p-52, math.Inf(1), math.NaN()} {
			out = append(out, math.Float64bits(f), math.Float64bits(-f))
		}
		return out
	}
	top := uint64(1) << (8*d.Size() - 1)
	return []uint64{0, 1, 2, 3, 7, 100, top - 1, top, top + 1, ^uint64(0), ^uint64(0) - 1, ^uint64(0) - 6, uint64(8 * d.Size()), uint64(8*d.Size() - 1)}
}

// random is a value of any magnitude, or a usual one.
func random(r *rand.Rand, d ir.DType) uint64 {
	usual := r.IntN(2) == 0
	switch {
	case d == ir.Bool:
		return r.Uint64() & 1
	case d == ir.Float32 && usual:
		return uint64(math.Float32bits(float32(r.NormFloat64() * 3)))
	case d == ir.Float64 && usual:
		return math.Float64bits(r.NormFloat64() * 3)
	case d.IsInt() && usual:
		return uint64(int64(r.IntN(41) - 20))
	}
	return r.Uint64()
}

// parts are what elements of dtype d consist of, and how many of them.
func parts(d ir.DType) (ir.DType, int) {
	if d.IsComplex() {
		return d.Real(), 2
	}
	return d, 1
}

// fill writes n values of dtype d, the i-th of which value gives.
func fill(dst []byte, d ir.DType, n int, value func(i int) uint64) {
	var word [8]byte
	for i := range n {
		binary.LittleEndian.PutUint64(word[:], value(i))
		copy(dst[i*d.Size():(i+1)*d.Size()], word[:])
	}
}

// load returns the bits of element i.
func load(src []byte, d ir.DType, i int) uint64 {
	var word [8]byte
	copy(word[:], src[i*d.Size():(i+1)*d.Size()])
	return binary.LittleEndian.Uint64(word[:])
}

// samples returns n elements for each operand of b: all pairs of special values of
// the first two, beside special values of the others; then random ones, or for one
// float32 operand numbers over all bit patterns.
func (b *body) samples(n int, seed uint64) [][]byte {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([][]byte, len(b.in))
	pairs, first := 1, 1
	for k, d := range b.in[:min(len(b.in), 2)] {
		d, _ = parts(d)
		pairs *= len(special(d))
		if k == 0 {
			first = pairs
		}
	}
	pairs = min(pairs, n/2)
	for k, d := range b.in {
		out[k] = make([]byte, n*d.Size())
		d, each := parts(d)
		list := special(d)
		fill(out[k], d, n*each, func(i int) uint64 {
			switch {
			case i < pairs && k == 0:
				return list[i%len(list)]
			case i < pairs && k == 1:
				return list[i/first%len(list)]
			case i < pairs:
				return list[r.IntN(len(list))]
			case len(b.in) == 1 && d == ir.Float32 && i%2 == 0:
				return uint64(float64(i) / float64(n) * (1 << 32))
			}
			return random(r, d)
		})
	}
	return out
}

// run computes n elements with loop from copies of the operands, in guarded memory,
// and returns the result. Where inPlace, the first operand's memory receives it.
func (b *body) run(t *testing.T, loop vector.Func, in [][]byte, n int, s []ir.Scalar, index int64, inPlace, atEnd bool) []byte {
	t.Helper()
	size := n * b.graph.Result().Size()
	p := make([]unsafe.Pointer, len(in)+1)
	for k, d := range b.in {
		m := memory(t, k+1, n*d.Size(), atEnd)
		copy(m, in[k])
		p[k+1] = at(m)
	}
	slot := 0
	if inPlace {
		slot = 1
		p[0] = p[1]
	} else {
		p[0] = at(memory(t, 0, size, atEnd))
	}
	loop(n, p, s, index)
	if !checkGuards(t, slot, size, atEnd) {
		t.Errorf("%s: %d elements: bytes beside the result were written", b, n)
	}
	return bytes.Clone(unsafe.Slice((*byte)(p[0]), size))
}
