package opaque

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/channel"
	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

// TestNormPullAffine has rows of less than a vector and of more than a call takes, and fewer and more
// of them than add up by themselves, of norms with and without a mean.
func TestNormPullAffine(t *testing.T) {
	rng := newRand()
	for d, dtype := range floatDTypes {
		for i, shape := range [][2]int{{0, 4}, {3, 0}, {1, 1}, {5, 3}, {affineRows, 16}, {2*affineRows + 1, 20}, {5, 2*channel.Longest + 5}} {
			for _, centred := range []bool{false, true} {
				for _, affine := range []bool{false, true} {
					if shape[0]*shape[1] > 100 && brief.Skip(d, i) {
						continue
					}
					rows, n := shape[0], shape[1]
					some := func(dtype ir.DType, low, high float64, shape ...int) ir.View {
						return cputest.FillFloat(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), shape...), rng, low, high)
					}
					in := []ir.View{some(dtype, -1, 1, rows, n), some(dtype, -1, 1, rows, n), some(dtype, 0.5, 1, n)}
					out, length := []ir.View{cputest.NewView(dtype, anyOf(rng, resultLayouts), rows, n)}, 0
					if affine {
						length = n
					}
					if centred {
						in = append(in, some(ir.Float64, -0.5, 0.5, rows, 1))
						out = append(out, cputest.NewView(dtype, "contiguous", length))
					}
					in = append(in, some(ir.Float64, 0.5, 1, rows, 1))
					out = append(out, cputest.NewView(dtype, anyOf(rng, resultLayouts), length))
					must(t, NormPullAffine, call(dtype.Compute(), []ir.Value{num(1), flag(affine)}, out, in...))
					want := normPullAffineOf(in, rows, n)
					for i, to := range out {
						if i == 0 || affine {
							checkNear(t, fmt.Sprint(dtype, shape, centred, i), to, want[i])
						}
					}
				}
			}
		}
	}
}

// normPullAffineOf returns the gradients by x, weight and bias by their definition.
func normPullAffineOf(in []ir.View, rows, n int) (want [3][]float64) {
	value := func(i, at int) float64 { return real(cputest.Get(in[i], at)) }
	want = [3][]float64{make([]float64, rows*n), make([]float64, n), make([]float64, n)}
	for r := range rows {
		mean, rstd, centred := 0.0, value(len(in)-1, r), len(in) == 5
		if centred {
			mean = value(3, r)
		}
		normal := func(c int) float64 { return (value(1, r*n+c) - mean) * rstd }
		m, slope := 0.0, 0.0
		for c := range n {
			g := value(0, r*n+c)
			want[1][c], want[2][c] = want[1][c]+g*normal(c), want[2][c]+g
			if centred {
				m += g * value(2, c) / float64(n)
			}
			slope += g * value(2, c) * normal(c) / float64(n)
		}
		for c := range n {
			want[0][r*n+c] = rstd * (value(0, r*n+c)*value(2, c) - m - normal(c)*slope)
		}
	}
	return want
}
