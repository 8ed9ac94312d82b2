package opaque

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/channel"
	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

// TestSoftmaxPull has lines of less than a vector and of more than a call takes, and more columns and
// rows than are computed at once.
func TestSoftmaxPull(t *testing.T) {
	rng := newRand()
	for d, dtype := range floatDTypes {
		for i, c := range []struct {
			shape []int
			axis  int
		}{
			{[]int{}, 0}, {[]int{0, 4}, 0}, {[]int{5, 1}, 1}, {[]int{7, 3}, -1}, {[]int{3, 40}, 1}, {[]int{channel.Longest + 3}, 0}, {[]int{7, 3}, 0},
			{[]int{2, 5, 40}, 1}, {[]int{300, pullRows, 3}, 1}, {[]int{70, pullRows + 1, pullNarrow - 1}, 1}, {[]int{9, 4, pullNarrow}, 1}, {[]int{2, pullRows*(pullWrapped/7) + 3, 7}, 1}, {[]int{2*pullRows + 1, pullColumns + 5}, 0},
		} {
			if brief.Skip(d, i) {
				continue
			}
			outer, n, inner := around(c.shape, front(c.axis, c.shape))
			g := cputest.FillFloat(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...), rng, -1, 1)
			y := cputest.FillFloat(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...), rng, 0, 2/float64(n+1))
			want := make([]float64, y.NumElements())
			for l := range outer * inner {
				if len(want) == 0 {
					break
				}
				place := func(k int) int { return l/inner*n*inner + k*inner + l%inner }
				sum := 0.0
				for k := range n {
					sum += real(cputest.Get(g, place(k))) * real(cputest.Get(y, place(k)))
				}
				for k := range n {
					want[place(k)] = real(cputest.Get(y, place(k))) * (real(cputest.Get(g, place(k))) - sum)
				}
			}
			for _, layout := range resultLayouts {
				to := cputest.NewView(dtype, layout, c.shape...)
				must(t, SoftmaxPull, call(dtype.Compute(), []ir.Value{num(c.axis)}, []ir.View{to}, g, y))
				checkNear(t, fmt.Sprint(dtype, c, layout), to, want)
			}
		}
	}
}

// BenchmarkSoftmaxPull is the gradient along the middle axis.
func BenchmarkSoftmaxPull(b *testing.B) {
	for _, shape := range [][]int{{200000, 4, 2}, {100000, 4, 8}, {20000, 16, 32}, {2000, 64, 16}, {64, 128, 512}} {
		b.Run(fmt.Sprint(shape), func(b *testing.B) {
			rng := newRand()
			g := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", shape...), rng, -1, 1)
			y := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", shape...), rng, 0, 1)
			to := cputest.NewView(ir.Float32, "contiguous", shape...)
			for b.Loop() {
				_ = SoftmaxPull(call(ir.Float32, []ir.Value{num(1)}, []ir.View{to}, g, y))
			}
		})
	}
}
