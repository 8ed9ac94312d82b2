package move

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

func memory(rng *rand.Rand, n int) []byte {
	mem := make([]byte, n)
	for i := range mem {
		mem[i] = byte(rng.Uint32())
	}
	return mem
}

// TestTranspose copies blocks of every shape around the squares' sides, with gaps
// between rows, at every level.
func TestTranspose(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	extents := []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 63}
	for _, level := range simd.Usable() {
		for _, size := range []int{1, 2, 4, 8, 16} {
			turn := Transpose(level, size)
			for i, rows := range extents {
				for k, cols := range extents {
					if brief.Skip(i, k) {
						continue
					}
					srcStride, dstStride := size*(cols+rng.IntN(3)), size*(rows+rng.IntN(3))
					src := memory(rng, rows*srcStride)
					got := memory(rng, cols*dstStride+2*Line)
					want := bytes.Clone(got)
					for r := range rows {
						for c := range cols {
							copy(want[Line+c*dstStride+r*size:][:size], src[r*srcStride+c*size:])
						}
					}
					turn(unsafe.Pointer(&got[Line]), unsafe.Pointer(&src[0]), dstStride, srcStride, rows, cols)
					if !bytes.Equal(got, want) {
						t.Fatalf("%s: %d x %d elements of %d bytes differ", level, rows, cols, size)
					}
				}
			}
		}
	}
}

func TestUncached(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, level := range simd.Usable() {
		s := UncachedAt(level)
		if !s.Usable() {
			if level > simd.Portable {
				t.Errorf("%s has none", level)
			}
			continue
		}
		for lines := range 70 {
			src := memory(rng, lines*Line+Line)
			got := memory(rng, (lines+3)*Line)
			lo := int(-uintptr(unsafe.Pointer(&got[0]))&(Line-1)) + Line/2
			lo += int(-uintptr(unsafe.Pointer(&got[lo])) & (Line - 1))
			want := bytes.Clone(got)
			from := rng.IntN(Line)
			copy(want[lo:], src[from:][:lines*Line])
			s.Prefetch(unsafe.Pointer(&src[0]), 1<<20, lines*Line)
			s.Write(unsafe.Pointer(&got[lo]), unsafe.Pointer(&src[from]), lines*Line, unsafe.Pointer(&src[0]), unsafe.Pointer(&got[0]), 1<<30)
			s.Fence()
			if !bytes.Equal(got, want) {
				t.Fatalf("%s: %d lines differ", level, lines)
			}
		}
	}
}

// TestCopyRows copies rows of every length up to 600 bytes, and of some for which it takes
// several calls, between any addresses, and writes nothing else.
func TestCopyRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, level := range simd.Usable() {
		for i := range 650 {
			if brief.Skip(i) {
				continue
			}
			n := i
			if i >= 600 {
				n = copyOnce/2 + rng.IntN(2*copyOnce)
			}
			rows, to, from := 1+rng.IntN(5), n+rng.IntN(200), n+rng.IntN(200)
			src, got := memory(rng, rows*from+Line), memory(rng, rows*to+Line)
			want := bytes.Clone(got)
			d, s := rng.IntN(Line), rng.IntN(Line)
			for r := range rows {
				copy(want[d+r*to:][:n], src[s+r*from:])
			}
			CopyRows(level, unsafe.Pointer(&got[d]), unsafe.Pointer(&src[s]), rows, n, to, from)
			if !bytes.Equal(got, want) {
				t.Fatalf("%s: %d rows of %d bytes differ", level, rows, n)
			}
			Copy(level, unsafe.Pointer(&got[d]), unsafe.Pointer(&src[s]), rows*n)
			if !bytes.Equal(got[d:d+rows*n], src[s:][:rows*n]) {
				t.Fatalf("%s: %d bytes differ", level, rows*n)
			}
		}
	}
}

// TestFill fills every number of elements up to 300, at any address.
func TestFill(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, level := range simd.Usable() {
		for _, size := range []int{1, 2, 4, 8, 16} {
			f := Fill(level, size)
			for n := range 301 {
				value := memory(rng, size)
				lo := size * (1 + rng.IntN(9))
				got := memory(rng, lo+n*size+Line)
				want := bytes.Clone(got)
				for i := range n {
					copy(want[lo+i*size:], value)
				}
				f(unsafe.Pointer(&got[lo]), unsafe.Pointer(&value[0]), n)
				if !bytes.Equal(got, want) {
					t.Fatalf("%s: %d elements of %d bytes differ", level, n, size)
				}
			}
		}
	}
}

func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, level := range simd.Usable() {
		for _, size := range []int{1, 2, 4, 8, 16} {
			for n := range 100 {
				rows, step := rng.IntN(40), rng.IntN(4)
				src := memory(rng, (1+rows*step)*size)
				got := memory(rng, rows*n*size+2*Line)
				want := bytes.Clone(got)
				for i := range rows * n {
					copy(want[Line+i*size:], src[i/n*step*size:][:size])
				}
				Spread(level, size)(unsafe.Pointer(&got[Line]), unsafe.Pointer(&src[0]), step, rows, n)
				if !bytes.Equal(got, want) {
					t.Fatalf("%s: %d rows of %d elements of %d bytes differ", level, rows, n, size)
				}
			}
		}
	}
}

func TestReverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, level := range simd.Usable() {
		for _, size := range []int{1, 2, 4, 8, 16} {
			for n := range 301 {
				src := memory(rng, n*size+Line)
				got := memory(rng, n*size+2*Line)
				want := bytes.Clone(got)
				for i := range n {
					copy(want[Line+i*size:], src[(n-1-i)*size:][:size])
				}
				Reverse(level, size)(unsafe.Pointer(&got[Line]), unsafe.Pointer(&src[0]), n)
				if !bytes.Equal(got, want) {
					t.Fatalf("%s: %d elements of %d bytes differ", level, n, size)
				}
			}
		}
	}
}

// TestEvens copies from memory that ends with the last element that is wanted.
func TestEvens(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, level := range simd.Usable() {
		for _, size := range []int{1, 2, 4, 8, 16} {
			evens := Evens(level, size)
			if evens == nil {
				if level > simd.Portable && (size == 4 || size == 8) {
					t.Errorf("%s has none for %d bytes", level, size)
				}
				continue
			}
			for n := Step; n <= 300; n++ {
				src := memory(rng, (2*n-1)*size)
				got := memory(rng, n*size+2*Line)
				want := bytes.Clone(got)
				for i := range n {
					copy(want[Line+i*size:], src[2*i*size:][:size])
				}
				evens(unsafe.Pointer(&got[Line]), unsafe.Pointer(&src[0]), n)
				if !bytes.Equal(got, want) {
					t.Fatalf("%s: %d elements of %d bytes differ", level, n, size)
				}
			}
		}
	}
}

// TestIndexed takes and adds up elements and rows that an index names.
func TestIndexed(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	const extent = 9
	for _, level := range simd.Usable() {
		for n := range 70 {
			index := make([]int64, n)
			for i := range index {
				index[i] = rng.Int64N(extent)
			}
			for _, size := range []int{1, 2, 4, 8, 16, 31, 32, 33, 60, 64, 96, 100, 257} {
				src := memory(rng, extent*size)
				got := memory(rng, n*size+2*Line)
				want := bytes.Clone(got)
				for i, from := range index {
					copy(want[Line+i*size:], src[int(from)*size:][:size])
				}
				again := bytes.Clone(got)
				TakeRows(level, unsafe.Pointer(&got[Line]), unsafe.Pointer(&src[0]), index, size)
				if !bytes.Equal(got, want) {
					t.Fatalf("%s: %d rows of %d bytes differ", level, n, size)
				}
				if bits.OnesCount(uint(size)) == 1 && size <= 16 {
					Take(level, size, unsafe.Pointer(&again[Line]), unsafe.Pointer(&src[0]), index)
					if !bytes.Equal(again, want) {
						t.Fatalf("%s: %d elements of %d bytes differ", level, n, size)
					}
				}
			}
			addRowsOf[float32](t, rng, level, ir.Float32, index, extent)
			addRowsOf[float64](t, rng, level, ir.Float64, index, extent)
		}
		if AddRows(level, ir.Int8, nil, nil, nil, 1) {
			t.Errorf("%s: there are no vectors for int8", level)
		}
	}
}

// addRowsOf compares AddRows for one length of rows with a plain loop.
func addRowsOf[T float32 | float64](t *testing.T, rng *rand.Rand, level simd.Level, dtype ir.DType, index []int64, extent int) {
	t.Helper()
	size, row := int(unsafe.Sizeof(T(0))), 1+rng.IntN(70)
	src, got := make([]T, len(index)*row+1), make([]T, extent*row+2)
	for i := range src {
		src[i] = T(rng.Float64())
	}
	for i := range got {
		got[i] = T(rng.Float64())
	}
	want := slices.Clone(got)
	done := AddRows(level, dtype, unsafe.Pointer(&got[1]), unsafe.Pointer(&src[0]), index, row*size)
	if done != (level >= simd.AVX2) {
		t.Fatalf("%s, %s: done: %v", level, dtype, done)
	}
	for k, i := range index {
		for j := range row {
			want[1+int(i)*row+j] += src[k*row+j]
		}
	}
	if done && !slices.Equal(got, want) {
		t.Fatalf("%s: %d rows of %d %s differ", level, len(index), row, dtype)
	}
}

func BenchmarkTranspose(b *testing.B) {
	for _, level := range simd.Usable() {
		for _, size := range []int{1, 2, 4, 8} {
			src, dst := make([]byte, 32*32*size), make([]byte, 32*32*size)
			turn := Transpose(level, size)
			b.Run(fmt.Sprintf("%s/%d", level, size), func(b *testing.B) {
				b.SetBytes(int64(2 * len(src)))
				for b.Loop() {
					turn(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), 32*size, 32*size, 32, 32)
				}
			})
		}
	}
}
