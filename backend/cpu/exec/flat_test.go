package exec

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/allocations"
)

// flatCall returns axpy over n elements of dtype; x counts from 0, y is 1.
func flatCall(dtype ir.DType, n int) *ir.Call {
	out, x, y := cputest.NewView(dtype, "contiguous", n), cputest.NewView(dtype, "contiguous", n), cputest.NewView(dtype, "contiguous", n)
	for i := range n {
		cputest.Set(x, i, complex(float64(i%100), 0))
		cputest.Set(y, i, 1)
	}
	return &ir.Call{Kernel: axpy.Kernel(0, dtype), Space: []int{n}, Flat: true, Out: []ir.View{out}, In: []ir.View{x, y}}
}

// TestFlat: calls that say they are flat are computed by the short way up to its
// size, where views have the loop's dtypes, and by the long way otherwise: the
// results are the same, and nothing beside them is written.
func TestFlat(t *testing.T) {
	for _, dtype := range []ir.DType{ir.Int8, ir.Float16, ir.BFloat16, ir.Float32, ir.Float64, ir.Complex64} {
		for _, n := range []int{1, 2, 31, flatSize, flatSize + 1} {
			c := flatCall(dtype, n)
			short := runFlat(c)
			if want := n <= flatSize && dtype.Compute() == dtype; short != want {
				t.Errorf("%s, %d elements: the short way taken: %v, want %v", dtype, n, short, want)
			}
			if err := Run(c); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				want := complex(float64(2*(i%100)+1), 0)
				if dtype == ir.Int8 {
					want = complex(float64(int8(2*(i%100)+1)), 0)
				}
				if got := cputest.Get(c.Out[0], i); got != want {
					t.Fatalf("%s, %d elements: element %d is %v, want %v", dtype, n, i, got, want)
				}
			}
		}
	}
	if runFlat(flatCall(ir.Float32, 0)) {
		t.Error("no elements: the short way taken")
	}
}

// TestFlatOnMovingStacks runs the short way at many depths of the stack, which Go
// moves to larger memory meanwhile.
func TestFlatOnMovingStacks(t *testing.T) {
	grow := ir.Op{
		Name: "grow", Kind: ir.Elementwise, In: axpy.In, Out: axpy.Out,
		Code: []ir.Code{{For: "cpu", Of: &vector.Code{Loops: []*[ir.NumDTypes]vector.Func{{ir.Float32: deepLoop}}}}},
	}
	for range 20 {
		done := make(chan error)
		go func() {
			c := flatCall(ir.Float32, 5)
			c.Kernel = grow.Kernel(0, c.DType)
			err := Run(c)
			for i := range 5 {
				if got := cputest.Get(c.Out[0], i); err == nil && got != complex(float64(2*i+1), 0) {
					err = fmt.Errorf("element %d is %v", i, got)
				}
			}
			done <- err
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// TestFlatAllocates: a small flat call allocates nothing.
func TestFlatAllocates(t *testing.T) {
	c := flatCall(ir.Float32, 1)
	allocations.AtMost(t, 0, func() {
		if err := Run(c); err != nil {
			t.Fatal(err)
		}
	})
}

// deepLoop is axpyLoop that takes much stack first.
func deepLoop(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
	if descend(2000) != 1 {
		panic("descend")
	}
	axpyLoop[float32](n, p, s, index)
}

// descend takes stack and comes back.
func descend(depth int) int {
	var room [128]int
	for i := range room {
		room[i] = depth + i
	}
	if depth == 0 {
		runtime.GC()
		return room[1]
	}
	return descend(depth-1) + room[depth%128] - room[depth%128]
}

// BenchmarkRun measures the way from a call of one element to its loop and back.
func BenchmarkRun(b *testing.B) {
	c := flatCall(ir.Float32, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := Run(c); err != nil {
			b.Fatal(err)
		}
	}
}
