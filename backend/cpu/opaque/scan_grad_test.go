package opaque

import (
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

// scanShapes are lines that are neighbours and lines that are beside each other, of fewer and more
// elements than blocks and pieces have.
var scanShapes = []struct {
	shape []int
	axis  int
}{{[]int{}, 0}, {[]int{0, 3}, 0}, {[]int{1}, 0}, {[]int{6}, 0}, {[]int{3, 7}, -1}, {[]int{5, 40, 3}, 1}, {[]int{2, 9, 16}, 1}, {[]int{30, 35}, 0}, {[]int{2, 70}, 1}, {[]int{70, 2}, 0}}

// checkScanGrad compares a kernel with slope, which is the gradient at place k of a line of operands.
func checkScanGrad(t *testing.T, f ir.KernelFunc, shape []int, axis int, in []ir.View, slope func(line [][]float64, k int) float64) {
	t.Helper()
	n := in[0].NumElements()
	want := make([]float64, n)
	if n > 0 {
		outer, along, inner := around(shape, front(axis, shape))
		for l := range outer * inner {
			line := make([][]float64, len(in))
			place := func(k int) int { return l/inner*along*inner + k*inner + l%inner }
			for i, v := range in {
				for k := range along {
					line[i] = append(line[i], real(cputest.Get(v, place(k))))
				}
			}
			for k := range along {
				want[place(k)] = slope(line, k)
			}
		}
	}
	for _, layout := range resultLayouts {
		to := cputest.NewView(in[0].DType, layout, shape...)
		must(t, f, call(ir.Float32, []ir.Value{num(axis)}, []ir.View{to}, in...))
		checkNear(t, fmt.Sprint(in[0].DType, shape, axis, layout), to, want)
	}
}

// cumprodSlope is the gradient by the definition, with the products that were made.
func cumprodSlope(line [][]float64, k int) (sum float64) {
	g, y, x := line[0], line[1], line[2]
	for _, v := range x[:k] {
		if v == 0 {
			return 0
		}
	}
	product := 1.0
	for j, v := range x {
		if j != k {
			product *= v
		}
		if j >= k && x[k] == 0 {
			sum += g[j] * product
		} else if j >= k {
			sum += g[j] * y[j] / x[k]
		}
	}
	return sum
}

// TestCumprodGrad has lines with no zero, one and two, which are the first elements and others.
func TestCumprodGrad(t *testing.T) {
	rng := newRand()
	for _, dtype := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float32} {
		for _, c := range scanShapes {
			for _, zeros := range []int{0, 1, 4} {
				x := cputest.FillFloat(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...), rng, 0.5, 1.5)
				y := cputest.FillFloat(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...), rng, 0.5, 1)
				g := cputest.FillFloat(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...), rng, 0.5, 1)
				for range min(zeros, x.NumElements()) {
					cputest.Set(x, rng.IntN(x.NumElements()), 0)
				}
				checkScanGrad(t, CumprodGrad, c.shape, c.axis, []ir.View{g, y, x}, cumprodSlope)
			}
		}
	}
}

// logcumsumexpSlope is the gradient by the definition: the share that an element has of each sum.
func logcumsumexpSlope(line [][]float64, k int) (sum float64) {
	g, x := line[0], line[1]
	for j := k; j < len(x); j++ {
		largest, all := math.Inf(-1), 0.0
		for _, v := range x[:j+1] {
			largest = max(largest, v)
		}
		for _, v := range x[:j+1] {
			all += math.Exp(v - largest)
		}
		sum += g[j] / all * math.Exp(x[k]-largest)
	}
	return sum
}

// TestLogcumsumexpGrad has elements whose exponentials float64 holds and others, in any order, rising
// and falling.
func TestLogcumsumexpGrad(t *testing.T) {
	rng := newRand()
	for d, dtype := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float32} {
		for n, c := range scanShapes {
			for m, most := range []float64{1, 30, 3000} {
				for s, slope := range []float64{0, 1, -1} {
					if brief.Skip(d, n, m, s) {
						continue
					}
					x := cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...)
					g := cputest.FillFloat(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...), rng, 0.5, 1)
					for i := range x.NumElements() {
						cputest.Set(x, i, complex(most*(2*rng.Float64()-1)+slope*float64(i), 0))
					}
					checkScanGrad(t, LogcumsumexpGrad, c.shape, c.axis, []ir.View{g, x}, logcumsumexpSlope)
				}
			}
		}
	}
}
