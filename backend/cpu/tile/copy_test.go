package tile

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

// narrowed returns a view of shape inside of memory for larger axes, in a random order
// of axes, and all of that memory.
func narrowed(rng *rand.Rand, dtype ir.DType, shape []int) (v, all ir.View) {
	order := rng.Perm(len(shape))
	if rng.IntN(2) == 0 {
		for i := range order {
			order[i] = i
		}
	}
	larger := make([]int, len(shape))
	for i, a := range order {
		larger[i] = shape[a] + rng.IntN(2)*rng.IntN(20)
	}
	all = cputest.NewView(dtype, "contiguous", larger...)
	v = ir.View{DType: dtype, Shape: shape, Strides: make([]int, len(shape))}
	first := 0
	for i, a := range order {
		v.Strides[a] = all.Strides[i]
		first += rng.IntN(larger[i]-shape[a]+1) * all.Strides[i]
	}
	v.Ptr = unsafe.Add(all.Ptr, first*dtype.Size())
	return v, all
}

// TestCopyAnywhere copies between parts of memory whose axes are in any order, and
// checks that nothing else is written, by and past the caches.
func TestCopyAnywhere(t *testing.T) {
	usual := lastCache
	t.Cleanup(func() { lastCache = usual })
	rng := rand.New(rand.NewPCG(5, 6))
	for i, shape := range [][]int{{1}, {70}, {40000}, {3, 40}, {70, 90}, {300, 20}, {2, 3, 100}, {9, 40, 33}, {1, 5000}, {5, 2, 3, 40}, {130, 130}, {64, 1}} {
		for k, dtypes := range [][2]ir.DType{{ir.Uint8, ir.Uint8}, {ir.Float16, ir.Float16}, {ir.Float32, ir.Float32}, {ir.Int64, ir.Int64}, {ir.Complex128, ir.Complex128}, {ir.Float32, ir.Int16}, {ir.Float16, ir.Float64}} {
			if brief.Skip(i, k) {
				continue
			}
			for range 4 {
				lastCache = []func() int{usual, func() int { return 1 }}[i%2]
				dst, all := narrowed(rng, dtypes[0], shape)
				src, _ := narrowed(rng, dtypes[1], shape)
				cputest.Fill(src, rng, 0, 9)
				before := cputest.Values(all)
				Copy(dst, src)
				for i := range dst.NumElements() {
					if got, want := cputest.Get(dst, i), cputest.Get(src, i); got != want {
						t.Fatalf("%v %v, strides %v from %v: element %d is %v, want %v", shape, dtypes, dst.Strides, src.Strides, i, got, want)
					}
					cputest.Set(dst, i, 0)
				}
				after := cputest.Values(all)
				for i := range after {
					if after[i] != before[i] && after[i] != 0 {
						t.Fatalf("%v %v, strides %v from %v: wrote between the elements", shape, dtypes, dst.Strides, src.Strides)
					}
				}
			}
		}
	}
}
