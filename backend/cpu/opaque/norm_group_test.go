package opaque

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/channel"
	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

var groupCases = []struct {
	shape  []int
	groups int
}{
	{[]int{2, 4, 3}, 2}, {[]int{2, 6, 5, 7}, 1}, {[]int{1, 6, 33}, 6}, {[]int{3, 4, 1}, 2}, {[]int{2, 3}, 1}, {[]int{0, 4, 2}, 2}, {[]int{2, 4, 0}, 2}, {[]int{2, 0, 3}, 1},
	{[]int{1, 2, channel.Longest + 3}, 1},   // pieces of a channel, few groups
	{[]int{1, 8, 8200}, 4},                  // groups of more than a piece, dealt by pieces
	{[]int{4, 8, 8200}, 4},                  // and by groups
	{[]int{1, 3, 2*channel.Longest + 1}, 3}, // a group is a channel of several pieces
}

// groupStats returns the mean and rstd of each group.
func groupStats(x []float64, count int, eps float64) (means, rstds []float64) {
	for g := range count {
		n := len(x) / count
		sum, squares := 0.0, 0.0
		for _, v := range x[g*n : (g+1)*n] {
			sum += v
		}
		mean := sum / float64(n)
		for _, v := range x[g*n : (g+1)*n] {
			squares += (v - mean) * (v - mean)
		}
		means, rstds = append(means, mean), append(rstds, 1/math.Sqrt(squares/float64(n)+eps))
	}
	return means, rstds
}

func allOf(v ir.View) []float64 {
	out := make([]float64, v.NumElements())
	for i := range out {
		out[i] = real(cputest.Get(v, i))
	}
	return out
}

// Weights are of usual size, zero, and so small that nothing divided by them is finite.
func groupWeights(v ir.View) {
	for i := range v.NumElements() {
		cputest.Set(v, i, complex([]float64{0.5, 0, -2, 1e-38}[i%4], 0))
	}
}

func TestGroupNorm(t *testing.T) {
	rng := newRand()
	for k, dtype := range []ir.DType{ir.Float32, ir.Float64} {
		for i, c := range groupCases {
			if testing.Short() && (i+k)%2 != 0 { // each case in one of them
				continue
			}
			what := fmt.Sprint(dtype, c.shape, c.groups)
			stats := []int{c.shape[0], c.groups}
			x := cputest.Fill(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...), rng, 3, 5)
			g := cputest.Fill(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...), rng, -1, 2)
			weight, bias := cputest.NewView(dtype, "contiguous", c.shape[1]), cputest.Fill(cputest.NewView(dtype, "contiguous", c.shape[1]), rng, -1, 1)
			groupWeights(weight)
			var first [][]float64
			for _, procs := range []int{1, 4} {
				old := runtime.GOMAXPROCS(procs)
				out := []ir.View{cputest.NewView(dtype, anyOf(rng, resultLayouts), c.shape...), cputest.NewView(dtype, "contiguous", stats...), cputest.NewView(dtype, "contiguous", stats...)}
				must(t, GroupNorm, call(dtype, []ir.Value{num(c.groups), real64(0.1)}, out, x, weight, bias))
				grads := []ir.View{
					cputest.NewView(dtype, anyOf(rng, resultLayouts), c.shape...), cputest.NewView(dtype, "contiguous", c.shape[1]), cputest.NewView(dtype, "contiguous", c.shape[1]),
				}
				must(t, GroupNormGrad, call(dtype, []ir.Value{num(c.groups)}, grads, g, x, weight, out[1], out[2]))
				runtime.GOMAXPROCS(old)
				var all [][]float64
				for _, v := range append(out, grads...) {
					all = append(all, allOf(v))
				}
				if first == nil {
					first = all
					checkGroups(t, what, append(out, grads...), allOf(x), allOf(g), allOf(weight), allOf(bias), c.shape, c.groups)
					continue
				}
				for i := range all {
					if !slices.EqualFunc(first[i], all[i], sameBits) {
						t.Fatalf("%s: with %d processors (-with one +have):\n%s", what, procs, cmp.Diff(first[i], all[i], cmp.Comparer(sameBits)))
					}
				}
			}
		}
	}
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// checkGroups compares results and gradients with those by the formulas.
func checkGroups(t *testing.T, what string, got []ir.View, x, g, weight, bias []float64, shape []int, groups int) {
	t.Helper()
	count, size := shape[0]*groups, ir.NumElements(shape[2:])
	means, rstds := groupStats(x, max(count, 1), 0.1)
	means, rstds = means[:count], rstds[:count]
	out, dx, dWeight, dBias := make([]float64, len(x)), make([]float64, len(x)), make([]float64, shape[1]), make([]float64, shape[1])
	for q := range count {
		n := len(x) / count
		sum, product := 0.0, 0.0
		for i := q * n; i < (q+1)*n; i++ {
			ch, y := i/size%shape[1], (x[i]-means[q])*rstds[q]
			out[i] = y*weight[ch] + bias[ch]
			sum, product = sum+g[i]*weight[ch], product+g[i]*weight[ch]*y
			dWeight[ch] += g[i] * y
			dBias[ch] += g[i]
		}
		for i := q * n; i < (q+1)*n; i++ {
			dx[i] = rstds[q] * (g[i]*weight[i/size%shape[1]] - sum/float64(n) - (x[i]-means[q])*rstds[q]*product/float64(n))
		}
	}
	for i, want := range [][]float64{out, means, rstds, dx, dWeight, dBias} {
		if i > 3 {
			continue // sums of many, below
		}
		checkNear(t, fmt.Sprint(what, ", result ", i), got[i], want)
	}
	for i, want := range [][]float64{dWeight, dBias} {
		for ch, w := range want {
			if v := real(cputest.Get(got[4+i], ch)); math.Abs(v-w) > bounds[got[0].DType]*(1+math.Abs(w))*math.Sqrt(float64(1+len(x)/shape[1])) {
				t.Fatalf("%s: gradient %d of channel %d is %v, want %v", what, i, ch, v, w)
			}
		}
	}
}

// An infinity makes the mean of its group infinite, and nothing of others.
func TestGroupNormInfinite(t *testing.T) {
	shape := []int{1, 2, 20}
	x := cputest.Fill(cputest.NewView(ir.Float32, "contiguous", shape...), newRand(), 0, 1)
	cputest.Set(x, 3, complex(math.Inf(1), 0))
	one := cputest.From(ir.Float32, []int{2}, 1, 1)
	out := []ir.View{cputest.NewView(ir.Float32, "contiguous", shape...), cputest.NewView(ir.Float32, "contiguous", 1, 2), cputest.NewView(ir.Float32, "contiguous", 1, 2)}
	must(t, GroupNorm, call(ir.Float32, []ir.Value{num(2), real64(0.1)}, out, x, one, one))
	if mean := allOf(out[1]); !math.IsInf(mean[0], 1) || math.IsInf(mean[1], 0) {
		t.Errorf("means are %v", mean)
	}
	for i, v := range allOf(out[0]) {
		if math.IsNaN(v) != (i < 20) {
			t.Fatalf("element %d is %v", i, v)
		}
	}
}
