package cudnn

import (
	"errors"
	"fmt"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/ir"
)

var must = librarytest.Must

// machine returns this machine's GPU and skips the test without one, or without
// the library.
func machine(t testing.TB, bytes int64) *librarytest.GPU {
	t.Helper()
	return librarytest.NewFor(t, bytes, func(*librarytest.GPU) error {
		_, err := process()
		return err
	})
}

// naive calls f with the row-major places in x, weight and y of every product
// that a convolution sums.
func (p problem) naive(f func(x, weight, y int)) {
	shapeY := p.y()
	sx, sw, sy := ir.ContiguousStrides(p.x), ir.ContiguousStrides(p.weight), ir.ContiguousStrides(shapeY)
	in, out := p.weight[1], p.weight[0]/p.groups
	librarytest.Each(shapeY, func(y []int) {
		librarytest.Each(p.weight[1:], func(tap []int) {
			x := y[0]*sx[0] + (y[1]/out*in+tap[0])*sx[1]
			for i := range p.stride {
				at := y[2+i]*p.stride[i] - p.padding[i] + tap[1+i]*p.dilation[i]
				if at < 0 || at >= p.x[2+i] {
					return
				}
				x += at * sx[2+i]
			}
			f(x, y[1]*sw[0]+librarytest.Offset(tap, sw[1:]), librarytest.Offset(y, sy))
		})
	})
}

// small returns values whose products and sums all dtypes have exactly, mostly 0.
func small(n int, rng *rand.Rand) []complex128 {
	m := make([]complex128, n)
	for i := range m {
		m[i] = complex(float64(max(rng.IntN(5)-2, -1)), 0)
	}
	return m
}

func TestGPUConvolutions(t *testing.T) {
	g := machine(t, 4<<30)
	for _, dt := range []ir.DType{ir.Float32, ir.Float64, ir.Float16, ir.BFloat16} {
		for _, p := range problems {
			for direction := range directions {
				t.Run(fmt.Sprint(dt, "/", p.name, "/", direction), func(t *testing.T) {
					g.Reset()
					rng := rand.New(rand.NewPCG(1, 2))
					v := p.convolution(dt)
					x, w, y := small(v.X.NumElements(), rng), small(v.Weight.NumElements(), rng), small(v.Y.NumElements(), rng)
					v.X = g.Tensor(dt, x, v.X.Shape, v.X.Strides)
					v.Weight = g.Tensor(dt, w, v.Weight.Shape, v.Weight.Strides)
					v.Y = g.Tensor(dt, y, v.Y.Shape, v.Y.Strides)
					result := [...]*ir.View{Forward: &v.Y, GradInput: &v.X, GradWeight: &v.Weight}[direction]
					want := make([]complex128, result.NumElements())
					p.naive(func(i, j, k int) {
						switch direction {
						case Forward:
							want[k] += x[i] * w[j]
						case GradInput:
							want[i] += y[k] * w[j]
						case GradWeight:
							want[j] += y[k] * x[i]
						}
					})
					for _, v.Last = range []bool{false, true} {
						err := Convolve(g, direction, v)
						if errors.Is(err, ErrUnsupported) {
							t.Log("channels last ", v.Last, ": ", err)
							continue
						}
						must(t, err)
						got := g.Values(*result)
						for i := range want {
							if cmplx.Abs(got[i]-want[i]) > 1e-2*(1+cmplx.Abs(want[i])) { // transforms, as Winograd's, round
								t.Fatalf("channels last %v, element %d: %v, want %v", v.Last, i, got[i], want[i])
							}
						}
					}
				})
			}
		}
	}
}

// TestGPUStrided has operands and a result that are not dense.
func TestGPUStrided(t *testing.T) {
	g := machine(t, 1<<30)
	p := problems[2]
	rng := rand.New(rand.NewPCG(1, 2))
	v := p.convolution(ir.Float64)
	x, w := small(v.X.NumElements(), rng), small(v.Weight.NumElements(), rng)
	want := make([]complex128, v.Y.NumElements())
	p.naive(func(i, j, k int) { want[k] += x[i] * w[j] })
	last := func(s []int) []int { // channels last: the memory of [n, h, w, c]
		return []int{s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]}
	}
	spread := make([]complex128, len(x))
	i := 0
	librarytest.Each(p.x, func(at []int) {
		spread[librarytest.Offset(at, last(p.x))] = x[i]
		i++
	})
	v.X = g.Tensor(ir.Float64, spread, p.x, last(p.x))
	v.Weight = g.Tensor(ir.Float64, w, p.weight, v.Weight.Strides)
	v.Y = g.Tensor(ir.Float64, make([]complex128, len(want)), v.Y.Shape, last(v.Y.Shape))
	must(t, Convolve(g, Forward, v))
	if diff := cmp.Diff(want, g.Values(v.Y)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGPUPrecision is S18 and S23 for convolutions. The errors are the largest of
// all elements, relative to the mean magnitude. Operands rounded to TF32 err by
// 3e-4 of a product, and so does a sum of any length n, which grows as its error
// does: by √n. Sums in float32 err by 2^-24 of what is summed so far, √n times as
// much in the end: about 1e-5 at the most where n is 6272, as for the weight, and
// several times that by algorithms that transform their operands.
func TestGPUPrecision(t *testing.T) {
	g := machine(t, 4<<30)
	p := problem{"", []int{8, 64, 28, 28}, []int{64, 64, 3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, 1}
	rng := rand.New(rand.NewPCG(1, 2))
	normal := func(n int) []complex128 {
		m := make([]complex128, n)
		for i := range m {
			m[i] = complex(float64(float32(rng.NormFloat64())), 0)
		}
		return m
	}
	for direction := range directions {
		x, w, y := normal(ir.NumElements(p.x)), normal(ir.NumElements(p.weight)), normal(ir.NumElements(p.y()))
		run := func(dt ir.DType, tf32 bool) []complex128 {
			g.Reset()
			v := p.convolution(dt)
			v.TF32 = tf32
			v.X, v.Weight, v.Y = g.Tensor(dt, x, v.X.Shape, v.X.Strides), g.Tensor(dt, w, v.Weight.Shape, v.Weight.Strides), g.Tensor(dt, y, v.Y.Shape, v.Y.Strides)
			must(t, Convolve(g, direction, v))
			return g.Values([...]ir.View{Forward: v.Y, GradInput: v.X, GradWeight: v.Weight}[direction])
		}
		truth := run(ir.Float64, false)
		for _, c := range []struct {
			tf32      bool
			low, high float64
		}{{true, 5e-4, 1e-2}, {false, 0, 2e-4}} {
			worst, mean := 0.0, 0.0
			for i, v := range run(ir.Float32, c.tf32) {
				worst = max(worst, cmplx.Abs(v-truth[i]))
				mean += cmplx.Abs(truth[i]) / float64(len(truth))
			}
			if e := worst / mean; !(e >= c.low && e <= c.high) {
				t.Errorf("direction %d, TF32 %t: relative error %g, want %g to %g", direction, c.tf32, e, c.low, c.high)
			}
		}
	}
}
