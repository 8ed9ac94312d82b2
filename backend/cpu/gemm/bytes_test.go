package gemm

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// bytesOf returns numbers of all sizes, many of them the least and the largest one, whose
// products are largest.
func bytesOf(rng *rand.Rand, n int) []uint8 {
	list := make([]uint8, n)
	for i := range list {
		switch list[i] = uint8(rng.Uint32()); rng.IntN(4) {
		case 0:
			list[i] = 255
		case 1:
			list[i] = 128 // -128 with a sign
		}
	}
	return list
}

// TestMulBytes: products of bytes are those of their numbers, at any level and with any
// number of processors: none is limited on the way.
func TestMulBytes(t *testing.T) {
	eachLevel(t, func(t *testing.T, level simd.Level) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, s := range [][3]int{{1, 1, 1}, {1, 64, 768}, {1, 100, 520}, {4, 95, 64}, {3, 33, 7}, {9, 97, 130}, {20, 40, 1025}, {17, 32, 9000}, {130, 70, 64}, {2, 3, 0}, {33, 65, 192}, {40, 48, 60}, {1, 1100, 600}, {5, 700, 900}, {300, 100, 2100}} {
			m, n, k := s[0], s[1], s[2]
			if testing.Short() && m*n*k > 1<<19 {
				continue
			}
			for _, layout := range []Matrix{{Row: n, Col: 1}, {Row: 1, Col: k}} {
				data := bytesOf(rng, max(1, k*n))
				layout.Ptr = unsafe.Pointer(&data[0])
				moved := rng.IntN(2) == 1
				b := packBytesAt(level, layout, k, n, moved)
				number := func(i, j int) int32 {
					if v := *at[int8](layout, i, j); !moved {
						return int32(v)
					}
					return int32(*at[uint8](layout, i, j)) - 128
				}
				row := b.Row() + 4
				a, bias := bytesOf(rng, m*row), make([]int32, n)
				for j := range bias {
					bias[j] = int32(rng.Uint32())
				}
				for i := range m {
					clear(a[i*row+k : (i+1)*row])
				}
				want := make([]int32, m*n)
				for i := range m {
					for j := range n {
						want[i*n+j] = bias[j]
						for p := range k {
							want[i*n+j] += int32(a[i*row+p]) * number(p, j)
						}
					}
				}
				for procs := 1; procs <= 2; procs++ {
					got := make([]int32, m*n)
					old := runtime.GOMAXPROCS(procs)
					b.Mul(m, unsafe.Pointer(&a[0]), row, Matrix{unsafe.Pointer(&got[0]), n, 1}, bias)
					runtime.GOMAXPROCS(old)
					if diff := diffOf(want, got); diff != "" {
						t.Fatalf("%v, B %v, %d processors (-want +got):\n%s", s, layout, procs, diff)
					}
				}
				for procs := 1; procs <= 3; procs++ {
					got := make([]int32, m*n)
					old := runtime.GOMAXPROCS(procs)
					b.MulBack(m, unsafe.Pointer(&a[0]), row, Matrix{unsafe.Pointer(&got[0]), n, 1})
					runtime.GOMAXPROCS(old)
					for i := range got {
						got[i] += bias[i%n]
					}
					if diff := diffOf(want, got); diff != "" {
						t.Fatalf("%v, B %v, %d processors, from the last column (-want +got):\n%s", s, layout, procs, diff)
					}
				}
				for j, sum := range b.Sums() {
					want := int32(0)
					for p := range k {
						want += number(p, j)
					}
					if sum != want {
						t.Fatalf("%v: the sum of column %d is %d, want %d", s, j, sum, want)
					}
				}
			}
		}
	})
}

// TestTilesBytes: tiles of bytes are used where the processor has them, at the highest level
// alone.
func TestTilesBytes(t *testing.T) {
	var x [8]int8
	for _, level := range simd.Levels() {
		b := packBytesAt(min(level, simd.Available()), Matrix{unsafe.Pointer(&x[0]), 2, 1}, 4, 2, false)
		if got, want := b.tiles, level == simd.AMX && level.TilesBytes() && simd.Available() == level; got != want {
			t.Errorf("%s: tiles are used: %v, want %v", level, got, want)
		}
		if level < simd.AMX && level.TilesBytes() {
			t.Errorf("%s has tiles of bytes", level)
		}
	}
}

func BenchmarkMulBytes(b *testing.B) {
	for _, s := range [][3]int{{16, 768, 768}, {128, 1536, 384}, {128, 384, 1536}, {512, 512, 512}, {2048, 64, 576}, {1024, 1024, 1024}} {
		m, n, k := s[0], s[1], s[2]
		rng := rand.New(rand.NewPCG(1, 2))
		y := bytesOf(rng, k*n)
		p := PackBytes(Matrix{unsafe.Pointer(&y[0]), n, 1}, k, n, false)
		x, c := bytesOf(rng, m*p.Row()), make([]int32, m*n)
		b.Run(fmt.Sprintf("%dx%dx%d", m, n, k), func(b *testing.B) {
			b.SetBytes(int64(m) * int64(n) * int64(k)) // products
			for b.Loop() {
				p.Mul(m, unsafe.Pointer(&x[0]), p.Row(), Matrix{unsafe.Pointer(&c[0]), n, 1}, nil)
			}
		})
	}
}

func TestSumBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	for _, n := range []int{0, 1, 7, 8, 9, 511, 512, 513, 5000} {
		x, want := bytesOf(rng, n), int32(0)
		for _, v := range x {
			want += int32(v)
		}
		if got := SumBytes(x); got != want {
			t.Errorf("%d bytes: %d, want %d", n, got, want)
		}
	}
}
