package opaque

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// TestLongLines checks rows and columns that are worked on in several groups, by
// several processors, and converted on the way.
func TestLongLines(t *testing.T) {
	rng := newRand()
	for _, dtype := range floatDTypes {
		for _, c := range []struct {
			shape []int
			axis  int
		}{{[]int{70, 300}, 1}, {[]int{300, 70}, 0}, {[]int{3, 130, 70}, 1}, {[]int{2, 20000}, 1}} {
			x := cputest.FillFloat(cputest.NewView(dtype, "contiguous", c.shape...), rng, -9, 9)
			outer, n, inner := around(c.shape, c.axis)
			soft, logs := make([]float64, x.NumElements()), make([]float64, x.NumElements())
			for line := range outer * inner {
				first := line/inner*n*inner + line%inner
				top, sum := math.Inf(-1), 0.0
				for i := range n {
					top = math.Max(top, real(cputest.Get(x, first+i*inner)))
				}
				for i := range n {
					sum += math.Exp(real(cputest.Get(x, first+i*inner)) - top)
				}
				for i := range n {
					d := real(cputest.Get(x, first+i*inner)) - top
					soft[first+i*inner], logs[first+i*inner] = math.Exp(d)/sum, d-math.Log(sum)
				}
			}
			for want, f := range map[*[]float64]ir.KernelFunc{&soft: Softmax, &logs: LogSoftmax} {
				for _, layout := range resultLayouts {
					dst := cputest.NewView(dtype, layout, c.shape...)
					must(t, f, call(dtype, []ir.Value{num(c.axis)}, []ir.View{dst}, x))
					checkNear(t, fmt.Sprint(dtype, c, layout), dst, *want)
				}
			}
		}
	}
}

// TestLongArg checks the search in one line of several stretches.
func TestLongArg(t *testing.T) {
	rng := newRand()
	for _, n := range []int{stretch, stretch + 1, 3*stretch + 5} {
		for _, special := range [][]float64{nil, {7}, {7, 7}, {math.NaN(), 7}, {math.Inf(1), math.NaN(), math.NaN()}} {
			x := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", n), rng, -1, 1)
			want, best := 0, math.Inf(-1)
			for _, v := range special {
				cputest.Set(x, rng.IntN(n), complex(v, 0))
			}
			for i := range n {
				v := real(cputest.Get(x, i))
				if v > best || v != v && best == best {
					want, best = i, v
				}
			}
			index := cputest.NewView(ir.Int64, "contiguous", 1)
			must(t, ArgMax, call(ir.Float32, []ir.Value{{}, {}}, []ir.View{index}, x))
			if got := int(real(cputest.Get(index, 0))); got != want {
				t.Errorf("%d elements with %v: %d, want %d", n, special, got, want)
			}
		}
	}
}

// TestCrossEntropyAndGradient checks losses of rows and of columns against float64.
func TestCrossEntropyAndGradient(t *testing.T) {
	rng := newRand()
	for _, dtype := range []ir.DType{ir.Float16, ir.Float32, ir.Float64} {
		for _, shape := range [][]int{{300, 70}, {5, 3, 130}, {40, 2500}} {
			checkCrossEntropy(t, rng, dtype, shape)
		}
	}
}

func checkCrossEntropy(t *testing.T, rng *rand.Rand, dtype ir.DType, shape []int) {
	t.Helper()
	const ignored = 1
	x := cputest.FillFloat(cputest.NewView(dtype, "contiguous", shape...), rng, -9, 9)
	outer, classes, inner := around(shape, 1)
	targets := append(append([]int(nil), shape[:1]...), shape[2:]...)
	target := cputest.Fill(cputest.NewView(ir.Int64, "contiguous", targets...), rng, 0, classes-1)
	n, counted := outer*inner, 0.0
	losses, lses, grad := make([]float64, n), make([]float64, n), make([]float64, x.NumElements())
	for row := range n {
		if real(cputest.Get(target, row)) != ignored {
			counted++
		}
	}
	mean := 0.0
	for row := range n {
		first, sum := row/inner*classes*inner+row%inner, 0.0
		for k := range classes {
			sum += math.Exp(real(cputest.Get(x, first+k*inner)))
		}
		lses[row] = math.Log(sum)
		k := int(real(cputest.Get(target, row)))
		if k == ignored {
			continue
		}
		losses[row] = lses[row] - real(cputest.Get(x, first+k*inner))
		mean += losses[row] / counted
		for j := range classes {
			p := math.Exp(real(cputest.Get(x, first+j*inner)) - lses[row])
			if j == k {
				p--
			}
			grad[first+j*inner] = 2 * p / counted
		}
	}
	attrs := []ir.Value{num(ignored), num(reduceMean)}
	loss, lse, total := cputest.NewView(dtype, "contiguous"), cputest.NewView(ir.Float64, "contiguous", targets...), cputest.NewView(ir.Float64, "contiguous")
	must(t, CrossEntropy, call(dtype, attrs, []ir.View{loss, lse, total}, x, target, ir.View{}))
	checkNear(t, fmt.Sprint("loss ", dtype, shape), loss, []float64{mean})
	for i, want := range lses {
		if got := real(cputest.Get(lse, i)); math.Abs(got-want) > 1e-5 {
			t.Fatalf("%s %v: lse of row %d is %v, want %v", dtype, shape, i, got, want)
		}
	}
	g, d := cputest.From(dtype, []int{}, 2), cputest.NewView(dtype, "contiguous", shape...)
	must(t, CrossEntropyGrad, call(dtype, attrs, []ir.View{d}, g, x, target, lse, total, ir.View{}))
	checkNear(t, fmt.Sprint("gradient ", dtype, shape), d, grad)
}
