package convert

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/allocations"
	"github.com/sinter-go/sinter/tests/brief"
)

// numbers fills memory with the bits of interesting elements of a dtype: special
// values where they are rare among random bits, and then those.
func numbers(rng *rand.Rand, d ir.DType, n int) []byte {
	mem := make([]byte, n*d.Size()+64)
	for i := range mem {
		mem[i] = byte(rng.Uint32())
	}
	for i := range n {
		p := unsafe.Pointer(&mem[i*d.Size()])
		x := samples[rng.IntN(len(samples))] + float64(rng.IntN(3)-1)*rng.Float64()
		switch {
		case d == ir.Bool:
			mem[i] &= 1
		case rng.IntN(3) == 0: // the random bits
		case d == ir.Float64:
			*(*float64)(p) = x
		case d == ir.Float32:
			*(*float32)(p) = float32(x)
		case d == ir.Int64:
			*(*int64)(p) >>= rng.IntN(64)
			*(*int64)(p) += int64(rng.IntN(3) - 1)
		case d == ir.Int32:
			*(*int32)(p) >>= rng.IntN(32)
		case d == ir.Float16 && rng.IntN(8) == 0:
			*(*uint16)(p) = 0x7c00 | uint16(rng.IntN(1024))
		case d == ir.BFloat16 && rng.IntN(8) == 0:
			*(*uint16)(p) = 0x7f80 | uint16(rng.IntN(128))
		}
	}
	return mem[:n*d.Size()]
}

// levels are those that this machine can run, with their conversions.
func levels() map[simd.Level]*[ir.NumDTypes][ir.NumDTypes]Func {
	all := map[simd.Level]*[ir.NumDTypes][ir.NumDTypes]Func{}
	for _, l := range simd.Usable()[1:] { // above portable Go
		all[l] = table(l)
	}
	return all
}

// TestLevels compares every conversion of every level with plain Go's, bit for bit,
// with every number of elements up to 300 and any alignment.
func TestLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	want := table(simd.Portable)
	for level, have := range levels() {
		for _, from := range ir.ClassAll.List() {
			for _, to := range ir.ClassAll.List() {
				src := numbers(rng, from, 1000)
				for n := range 301 {
					if brief.Skip(n/6, int(from), int(to)) {
						continue
					}
					steps := [][2]int{{1, 1}, {1, 1}, {1, 2}, {3, 1}, {2, 3}, {1, 0}}[n%6]
					lo := rng.IntN(64)
					check(t, fmt.Sprintf("%s: %s to %s, %d elements from %d, steps %v", level, from, to, n, lo, steps), have[to][from], want[to][from], n, steps, to.Size(), src[lo*from.Size():])
				}
			}
		}
	}
}

// check compares two conversions, and what they leave around their results.
func check(t *testing.T, what string, have, want Func, n int, steps [2]int, size int, src []byte) {
	t.Helper()
	results := [2][]byte{}
	for i, f := range []Func{have, want} {
		results[i] = bytes.Repeat([]byte{0xa5}, (n*steps[0]+16)*size)
		f(n, ptr(&results[i][8*size]), steps[0], ptr(&src[0]), steps[1])
	}
	if !bytes.Equal(results[0], results[1]) {
		for i := range results[0] {
			if results[0][i] != results[1][i] {
				t.Fatalf("%s: byte %d of element %d is %#x, want %#x", what, i%size, i/size-8, results[0][i], results[1][i])
			}
		}
	}
}

// TestInPlace converts elements where they are, to others of their size, with every number of
// them up to 70.
func TestInPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	plain := table(simd.Portable)
	for level, convert := range levels() {
		for to := range ir.DType(ir.NumDTypes) {
			for from := range ir.DType(ir.NumDTypes) {
				if convert[to][from] == nil || to.Size() != from.Size() {
					continue
				}
				for n := range 70 {
					mem := numbers(rng, from, n+1)
					want, got := bytes.Clone(mem), bytes.Clone(mem)
					plain[to][from](n, unsafe.Pointer(&want[0]), 1, unsafe.Pointer(&mem[0]), 1)
					convert[to][from](n, unsafe.Pointer(&got[0]), 1, unsafe.Pointer(&got[0]), 1)
					if !bytes.Equal(got, want) {
						t.Fatalf("%s: %d of %s to %s in place: %x, want %x", level, n, from, to, got, want)
					}
				}
			}
		}
	}
}

// TestEverySixteenBits compares the conversions from 16-bit floats for each of their
// values, and those to them at every place where rounding changes.
func TestEverySixteenBits(t *testing.T) {
	all := make([]uint16, 1<<16)
	for i := range all {
		all[i] = uint16(i)
	}
	var edges []float32
	for _, h := range all {
		for _, f := range []float32{ir.Half(h).Float32(), ir.BF16(h).Float32()} {
			for _, low := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0x1fff} {
				edges = append(edges, math.Float32frombits(math.Float32bits(f)+low))
			}
		}
	}
	want := table(simd.Portable)
	for level, have := range levels() {
		for _, to := range ir.ClassAll.List() {
			if brief.Skip(int(to), int(level)) {
				continue
			}
			size := to.Size()
			for _, from := range []ir.DType{ir.Float16, ir.BFloat16} {
				check(t, fmt.Sprintf("%s: %s to %s", level, from, to), have[to][from], want[to][from], len(all), [2]int{1, 1}, size, unsafe.Slice((*byte)(ptr(&all[0])), 2*len(all)))
			}
			check(t, fmt.Sprintf("%s: float32 to %s", level, to), have[to][ir.Float32], want[to][ir.Float32], len(edges), [2]int{1, 1}, size, unsafe.Slice((*byte)(ptr(&edges[0])), 4*len(edges)))
		}
	}
}

// TestStridedAllocates checks that the buffers of strided conversions are not garbage.
func TestStridedAllocates(t *testing.T) {
	src, dst := make([]float32, 600), make([]ir.Half, 600)
	f := Between(ir.Float16, ir.Float32)
	allocations.AtMost(t, 0, func() { f(300, ptr(&dst[0]), 2, ptr(&src[0]), 2) })
}
