package fold

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// A special is a mix of numbers whose folds depend on signs of zeros and on which NaN it is.
type special struct {
	name string
	of32 []uint32
}

var specials = []special{
	{"zeros", []uint32{0, 1 << 31}},
	{"zeros below zero", []uint32{1 << 31}},
	{"zeros and least numbers", []uint32{0, 1 << 31, 1, 1<<31 | 1}},
	{"not above zero", []uint32{0, 1 << 31, 0xbf800000, 0xff800000}},
	{"not below zero", []uint32{0, 1 << 31, 0x3f800000, 0x7f800000}},
	{"infinities", []uint32{0x7f800000, 0xff800000}},
	{"NaN", []uint32{0x7fc00000, 0xffc00000, 0x7fc12345, 0xffd4321f, 0x7f800001, 0xffa00000}},
	{"all", []uint32{0, 1 << 31, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc12345, 0xff800001}},
}

// draw makes n elements of a mix: of it alone, or, where few is set, ones but for a few.
func (s special) draw(rng *rand.Rand, dtype ir.DType, n int, few bool) []byte {
	x := make([]byte, n*dtype.Size()+1)
	for i := range n {
		bits := s.of32[rng.IntN(len(s.of32))]
		if few && rng.IntN(40) != 0 {
			bits = s.of32[0]
		}
		if dtype == ir.Float32 {
			*(*uint32)(unsafe.Pointer(&x[4*i])) = bits
			continue
		}
		// The bits of a float64 of the same kind; widening by hand keeps a signalling NaN.
		wide := math.Float64bits(float64(math.Float32frombits(bits)))
		if bits&0x7fffffff > 0x7f800000 {
			wide = uint64(bits>>31)<<63 | 0x7ff<<52 | uint64(bits&0x7fffff)<<29
		}
		*(*uint64)(unsafe.Pointer(&x[8*i])) = wide
	}
	return x
}

// everyFold returns the bits of all that loops make of elements: columns are n of them.
func everyFold(l *vector.FoldFuncs, size, n int, x []byte) (out [][]byte) {
	const rows = 6
	at := func(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
	made := func(count int) []byte {
		b := make([]byte, (count+1)*size)
		l.Init(count, at(b), nil)
		out = append(out, b)
		return b
	}
	l.Fold(n, at(made(1)), at(x), nil)
	again := made(1)
	for r := range rows {
		l.Fold(n, at(again), at(x[r*n*size:]), nil)
	}
	some := made(n)
	for r := range rows {
		l.Rows(n, at(some), at(x[r*n*size:]), nil)
	}
	merged := made(n)
	l.Merge(n, at(merged), at(some), nil)
	if l.Grid != nil {
		l.Grid(rows, n, n*size, at(made(n)), at(x), nil)
	} else {
		out = append(out, some)
	}
	if l.Lines != nil {
		l.Lines(rows, n, n*size, at(made(rows)), at(x), nil)
	} else {
		lines := made(rows)
		for r := range rows {
			l.Fold(n, at(lines[r*size:]), at(x[r*n*size:]), nil)
		}
	}
	if l.Prefix != nil {
		l.Prefix(n, at(made(n)), at(made(1)), at(x), nil)
	}
	if n*rows >= 4*Block {
		l.Blocks(4, at(made(1)), at(x), nil)
	}
	return out
}

// oneNaN makes every NaN the same one: which one a sum or a product of several gives depends on
// the order of operands of an instruction, which package ir leaves open.
func oneNaN(dtype ir.DType, all [][]byte) {
	for _, b := range all {
		for i := 0; i+dtype.Size() <= len(b); i += dtype.Size() {
			if v := (*float32)(unsafe.Pointer(&b[i])); dtype == ir.Float32 {
				*v = quiet(*v)
				continue
			}
			if v := (*float64)(unsafe.Pointer(&b[i])); *v != *v {
				*v = math.NaN()
			}
		}
	}
}

// TestSpecialsAtAllLevels: zeros keep their signs at every level, in every loop of every fold, and
// the NaN of an extreme is the same one.
func TestSpecialsAtAllLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for kind := range kinds {
		for _, dtype := range []ir.DType{ir.Float32, ir.Float64} {
			plain := At(simd.Portable, kind, dtype)
			for _, s := range specials {
				for _, n := range sizes() {
					if n == 0 {
						continue
					}
					x := s.draw(rng, dtype, 6*n, n%2 == 0)
					size := plain.Acc.Size()
					all := func(l *vector.FoldFuncs) [][]byte {
						out := everyFold(l, size, n, x)
						if kind == Sum || kind == Prod {
							oneNaN(dtype, out)
						}
						return out
					}
					want := all(plain)
					for _, level := range simd.UsableVectors()[1:] {
						got := all(At(level, kind, dtype))
						if slices.EqualFunc(want, got, bytes.Equal) {
							continue
						}
						if d := cmp.Diff(want, got); d != "" {
							t.Fatalf("%s of %s, %s at %s: %d elements (-portable +got):\n%s", names[kind], dtype, s.name, level, n, d)
						}
					}
				}
			}
		}
	}
}

// TestExtremesOfSpecials states what the greatest and the least of zeros and NaN are.
func TestExtremesOfSpecials(t *testing.T) {
	zero, below := float32(0), float32(math.Copysign(0, -1))
	odd := math.Float32frombits(0xffa12345)
	nan := math.Float32bits(float32(math.NaN()))
	for _, c := range []struct {
		kind Kind
		x    []float32
		want uint32
	}{
		{Max, []float32{below, below}, 1 << 31},
		{Max, []float32{zero, below}, 0},
		{Max, []float32{below, zero}, 0},
		{Max, []float32{below, -1}, 1 << 31},
		{Min, []float32{zero, zero}, 0},
		{Min, []float32{zero, below}, 1 << 31},
		{Min, []float32{below, zero}, 1 << 31},
		{Min, []float32{zero, 1}, 0},
		{Max, []float32{odd, 1}, nan},
		{Min, []float32{1, odd}, nan},
		{Max, []float32{odd}, nan},
	} {
		for _, level := range simd.UsableVectors() {
			for _, times := range []int{1, 5, 40, 300} {
				var x []float32
				for _, v := range c.x {
					for range times {
						x = append(x, v)
					}
				}
				l := At(level, c.kind, ir.Float32)
				var acc float32
				l.Init(1, unsafe.Pointer(&acc), nil)
				l.Fold(len(x), unsafe.Pointer(&acc), unsafe.Pointer(&x[0]), nil)
				if got := math.Float32bits(acc); got != c.want {
					t.Errorf("%s of %d of each of %v at %s: %#x, want %#x", names[c.kind], times, c.x, level, got, c.want)
				}
			}
		}
	}
}
