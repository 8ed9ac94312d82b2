package fold

import (
	"math/cmplx"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// TestHalves compares folds of 16-bit floats, of all bits that there are, with the
// portable folds of the same numbers as float32, bit for bit.
func TestHalves(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, dtype := range []ir.DType{ir.Float16, ir.BFloat16} {
		for _, kind := range []Kind{Sum, Prod, Max, Min} {
			plain := At(simd.Portable, kind, ir.Float32)
			if HalvesOf(plain, dtype) != nil {
				t.Errorf("%s of %s: folds without assembly", names[kind], dtype)
			}
			for _, level := range simd.UsableVectors()[1:] {
				h := HalvesOf(At(level, kind, ir.Float32), dtype)
				if (h == nil) != (kind == Prod) {
					t.Fatalf("%s of %s, %s: %v", names[kind], dtype, level, h)
				}
				if h == nil {
					continue
				}
				for n := HalfLanes; n <= Block; n += HalfLanes {
					const rows = 5
					testHalfLines(t, h, plain, halfRows(dtype, rng, n%3 == 0, rows, n+3), rows, n)
				}
				for count := 1; count <= maxBlocks; count *= 2 {
					x := halfRows(dtype, rng, false, count, Block)
					wide := widened(x)
					got, want := cputest.NewView(ir.Float32, "contiguous", 1), cputest.NewView(ir.Float32, "contiguous", 1)
					h.Blocks(count, got.Ptr, x.Ptr)
					plain.Blocks(count, want.Ptr, wide.Ptr, nil)
					if a, b := scalar(got, 0), scalar(want, 0); !same(a, b) {
						t.Fatalf("%s of %d blocks of %s, %s: %v, want %v", names[kind], count, dtype, level, a, b)
					}
				}
			}
		}
	}
}

// testHalfLines folds the first n elements of each row of x.
func testHalfLines(t *testing.T, h *Halves, plain *vector.FoldFuncs, x ir.View, rows, n int) {
	t.Helper()
	wide, width := widened(x), x.Shape[1]
	got, want := cputest.NewView(ir.Float32, "contiguous", rows+1), cputest.NewView(ir.Float32, "contiguous", 1)
	guard := scalar(got, rows)
	h.Lines(rows, n, width*2, got.Ptr, x.Ptr)
	for i := range rows {
		plain.Init(1, want.Ptr, nil)
		plain.Fold(n, want.Ptr, unsafe.Add(wide.Ptr, i*width*4), nil)
		if a, b := scalar(got, i), scalar(want, 0); !same(a, b) {
			t.Fatalf("row %d of %d of %s: %v, want %v", i, n, x.DType, a, b)
		}
	}
	if scalar(got, rows) != guard {
		t.Fatalf("wrote behind the results of %d rows", rows)
	}
}

// halfRows returns a matrix of a 16-bit dtype: of any bits, a few NaN among them, or of
// numbers between -1 and 1.
func halfRows(dtype ir.DType, rng *rand.Rand, anyBits bool, rows, n int) ir.View {
	v := cputest.NewView(dtype, "contiguous", rows, n)
	if !anyBits {
		return cputest.FillFloat(v, rng, -1, 1)
	}
	bits := unsafe.Slice((*uint16)(v.Ptr), rows*n)
	special := map[ir.DType]uint16{ir.Float16: 0x7c00, ir.BFloat16: 0x7f80}[dtype]
	for i := range bits {
		if bits[i] = uint16(rng.Uint32()); bits[i]&special == special && rng.IntN(100) > 0 {
			bits[i] &^= special & -special
		}
	}
	return v
}

// widened returns the elements of x as float32.
func widened(x ir.View) ir.View {
	v := cputest.NewView(ir.Float32, "contiguous", x.Shape...)
	for i := range x.NumElements() {
		cputest.Set(v, i, cputest.Get(x, i))
	}
	return v
}

// same reports whether two numbers are equal, or both NaN.
func same(a, b complex128) bool { return a == b || cmplx.IsNaN(a) && cmplx.IsNaN(b) }
