package element

import (
	"math"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/ir"
)

func TestConvert(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		from ir.Scalar
		to   ir.DType
		want complex128
	}{
		{ir.FloatScalar(nan), ir.Bool, 1},
		{ir.ComplexScalar(1i), ir.Bool, 1},
		{ir.FloatScalar(math.Copysign(0, -1)), ir.Bool, 0},
		{ir.BoolScalar(true), ir.Int16, 1},
		{ir.IntScalar(300), ir.Uint8, 44},
		{ir.IntScalar(-1), ir.Uint8, 255},
		{ir.IntScalar(200), ir.Int8, -56},
		{ir.IntScalar(1<<31 + 5), ir.Int32, -1<<31 + 5},
		{ir.FloatScalar(300.7), ir.Uint8, 255},
		{ir.FloatScalar(-2.9), ir.Uint8, 0},
		{ir.FloatScalar(-2.9), ir.Int8, -2},
		{ir.FloatScalar(nan), ir.Int64, 0},
		{ir.FloatScalar(-inf), ir.Int16, -32768},
		{ir.FloatScalar(1e30), ir.Int32, math.MaxInt32},
		{ir.ComplexScalar(3.5 + 2i), ir.Int32, 3},
		{ir.IntScalar(1<<24 + 1), ir.Float32, 1 << 24},
		{ir.IntScalar(1<<24 + 3), ir.Float32, 1<<24 + 4},
		// 2^60 + 2^36 + 1 lies above a tie of float32: through float64 it would be the tie.
		{ir.IntScalar(1<<60 + 1<<36 + 1), ir.Float32, 1<<60 + 1<<37},
		{ir.IntScalar(2049), ir.Float16, 2048},
		{ir.IntScalar(70000), ir.Float16, complex(inf, 0)},
		// Just above the tie between 1 and 1 + 2^-10: through float32 it would be the tie.
		{ir.FloatScalar(1 + 0x1p-11 + 0x1p-40), ir.Float16, 1 + 0x1p-10},
		{ir.FloatScalar(1 + 0x1p-8 + 0x1p-40), ir.BFloat16, 1 + 0x1p-7},
		{ir.FloatScalar(65519.999), ir.Float16, 65504},
		{ir.FloatScalar(65520), ir.Float16, complex(inf, 0)},
		{ir.FloatScalar(0x1p-25), ir.Float16, 0},
		{ir.FloatScalar(0x1.8p-25), ir.Float16, 0x1p-24},
		{ir.FloatScalar(-inf), ir.BFloat16, complex(-inf, 0)},
		{ir.FloatScalar(nan), ir.Float16, complex(nan, 0)},
		{ir.ComplexScalar(complex(0.1, inf)), ir.Complex64, complex(float64(float32(0.1)), inf)},
		{ir.ComplexScalar(1 + 2i), ir.Float64, 1},
		{ir.IntScalar(7), ir.Complex128, 7},
	} {
		got := Convert(c.from, c.to).Complex()
		parts := func(z complex128) [2]float64 { return [2]float64{real(z), imag(z)} }
		if d := cmp.Diff(parts(c.want), parts(got), cmpopts.EquateNaNs()); d != "" {
			t.Errorf("Convert(%v %d, %s): %s", c.from, c.from.Category(), c.to, d)
		}
	}
}

// TestRoundTrip stores the numbers of every dtype that test convert nothing.
func TestRoundTrip(t *testing.T) {
	values := map[ir.Category][]complex128{
		ir.CategoryBool:    {0, 1},
		ir.CategoryInt:     {0, 1, 100},
		ir.CategoryFloat:   {0, -1.5, 0x1p-14, complex(math.Inf(-1), 0)},
		ir.CategoryComplex: {0, 1 - 2i, complex(math.Inf(1), -0.5)},
	}
	for _, d := range ir.ClassAll.List() {
		memory := make([]uint64, 16)
		// Two rows, the second first in memory.
		v := ir.View{Ptr: unsafe.Add(unsafe.Pointer(&memory[0]), 3*d.Size()), DType: d, Shape: []int{1, 4}, Strides: []int{0, 1}}
		for i, x := range values[d.Category()] {
			Store(v, i, ir.ComplexScalar(x))
			s := Load(v, i)
			if got := s.Complex(); got != x || s.Category() != d.Category() {
				t.Errorf("%s: stored %v, loaded %v of category %d", d, x, got, s.Category())
			}
		}
	}
}

func TestStoreFrom(t *testing.T) {
	for _, c := range []struct {
		compute, to ir.DType
		want        float64
	}{
		{ir.Float32, ir.Float32, float64(float32(1 + 0x1p-11 + 0x1p-40))},
		{ir.Float32, ir.Float64, float64(float32(1 + 0x1p-11 + 0x1p-40))},
		{ir.Float32, ir.Float16, 1 + 0x1p-10},
		{ir.Float64, ir.Float64, 1 + 0x1p-11 + 0x1p-40},
	} {
		memory := make([]uint64, 1)
		v := ir.View{Ptr: unsafe.Pointer(&memory[0]), DType: c.to}
		StoreFrom(v, 0, ir.FloatScalar(1+0x1p-11+0x1p-40), c.compute)
		if got := Load(v, 0).Float(); got != c.want {
			t.Errorf("%s to %s: %v, want %v", c.compute, c.to, got, c.want)
		}
	}
}

func TestOffset(t *testing.T) {
	if got := Offset([]int{2, 3, 4}, []int{100, 10, 1}, 17); got != 111 {
		t.Errorf("Offset of [1 1 1] = %d, want 111", got)
	}
}

// TestRepeat fills views of all dtypes with their first element, and nothing beside them.
func TestRepeat(t *testing.T) {
	for _, v := range []ir.View{
		{}, // a scalar
		{Shape: []int{0}, Strides: []int{1}},
		{Shape: []int{1}, Strides: []int{7}},
		{Shape: []int{2}, Strides: []int{1}},
		{Shape: []int{7}, Strides: []int{1}},
		{Shape: []int{2, 1, 4}, Strides: []int{4, 9, 1}},
		{Shape: []int{2, 3}, Strides: []int{1, 2}},
		{Shape: []int{3, 2}, Strides: []int{4, 2}},
		{Shape: []int{2, 3}, Strides: []int{5, 1}},
	} {
		for _, d := range ir.ClassAll.List() {
			const ahead, all = 2, 14 // elements before the view, and of the memory
			got, want := make([]byte, all*16), make([]byte, all*16)
			for i := range got {
				got[i] = byte(i + 1)
			}
			copy(want, got)
			size := d.Size()
			first := want[ahead*size : (ahead+1)*size]
			for i := range ir.NumElements(v.Shape) {
				place := ahead
				for a, rest := len(v.Shape)-1, i; a >= 0; a-- {
					place += rest % v.Shape[a] * v.Strides[a]
					rest /= v.Shape[a]
				}
				copy(want[place*size:], first)
			}
			v.DType, v.Ptr = d, unsafe.Pointer(&got[ahead*size])
			Repeat(v)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %v %v (-want +got):\n%s", d, v.Shape, v.Strides, diff)
			}
		}
	}
}
