package opaque

import (
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// TestEachColumns: however many processors there are, each column is in one group, and groups begin
// where their first column does.
func TestEachColumns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 3, 5, 8, 16, 64} {
		runtime.GOMAXPROCS(procs)
		for _, outer := range []int{1, 2, 7, 70} {
			for _, rows := range []int{1, 3, 1000} {
				for _, columns := range []int{1, 2, 3, 15, 16, 17, 31, 63, 64, 65, 127, 129, 255, 1000} {
					got := make([]int, outer*columns)
					eachColumns(outer, rows, columns, func(off, column, n int) {
						if want := column/columns*rows*columns + column%columns; off != want || column%columns+n > columns {
							t.Errorf("%d processors, %d of %d times %d: %d columns from %d on begin at %d, want %d", procs, outer, rows, columns, n, column, off, want)
						}
						for i := column; i < column+n; i++ {
							got[i]++
						}
					})
					if i := slices.IndexFunc(got, func(times int) bool { return times != 1 }); i >= 0 {
						t.Fatalf("%d processors, %d of %d times %d: column %d is taken %d times", procs, outer, rows, columns, i, got[i])
					}
				}
			}
		}
	}
}

// TestColumnsOfProcessors: what columns give is the same to the bit with any number of processors.
func TestColumnsOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rng := newRand()
	for _, dtype := range floatDTypes {
		for _, shape := range [][]int{{2, 100, 33}, {1, 300, 129}, {3, 7, 65}, {1, 1000, 15}} {
			x := cputest.FillFloat(cputest.NewView(dtype, "contiguous", shape...), rng, -9, 9)
			for name, f := range map[string]ir.KernelFunc{"softmax": Softmax, "log_softmax": LogSoftmax} {
				var want []complex128
				for _, procs := range []int{1, 3, 8, 64} {
					runtime.GOMAXPROCS(procs)
					out := cputest.NewView(dtype, "contiguous", shape...)
					must(t, f, call(dtype, []ir.Value{num(1)}, []ir.View{out}, x))
					got := make([]complex128, out.NumElements())
					for i := range got {
						got[i] = cputest.Get(out, i)
					}
					if want == nil {
						want = got
					}
					if !slices.Equal(want, got) {
						t.Errorf("%s of %s%v with %d processors (-want +got):\n%s", name, dtype, shape, procs, cmp.Diff(want, got))
					}
				}
			}
		}
	}
}
