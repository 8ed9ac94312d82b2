package opaque

import (
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/channel"
	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

// A normCase is a channel norm by definition, in float64.
type normCase struct {
	shape                      []int
	x, g, weight, bias         ir.View
	mean, variance             []float64
	out, dx, dWeight, dBias    []float64
	normalized, scaled, counts []float64 // by element: the normalized x; by channel: 1/deviation, elements
}

const normEps = 1e-5

func (c *normCase) channel(i int) int { return i / ir.NumElements(c.shape[2:]) % c.shape[1] }

// expect fills in the results.
func (c *normCase) expect() {
	n := c.shape[1]
	sums := func(f func(i int) float64) []float64 {
		v := make([]float64, n)
		for i := range ir.NumElements(c.shape) {
			v[c.channel(i)] += f(i)
		}
		return v
	}
	get := func(v ir.View, i int) float64 { return real(cputest.Get(v, i)) }
	c.counts = sums(func(int) float64 { return 1 })
	c.mean = make([]float64, n)
	for range 2 { // the second time adds what rounding took
		for ch, rest := range sums(func(i int) float64 { return (get(c.x, i) - c.mean[c.channel(i)]) / c.counts[c.channel(i)] }) {
			c.mean[ch] += rest
		}
	}
	c.variance = sums(func(i int) float64 { d := get(c.x, i) - c.mean[c.channel(i)]; return d * d / c.counts[c.channel(i)] })
	c.normalized, c.out, c.dx = make([]float64, c.x.NumElements()), make([]float64, c.x.NumElements()), make([]float64, c.x.NumElements())
	c.scaled = make([]float64, n)
	for ch := range c.scaled {
		c.scaled[ch] = 1 / math.Sqrt(c.variance[ch]+normEps)
		if c.counts[ch] == 0 {
			c.mean[ch], c.variance[ch] = math.NaN(), math.NaN()
		}
	}
	for i := range c.out {
		ch := c.channel(i)
		c.normalized[i] = (get(c.x, i) - c.mean[ch]) * c.scaled[ch]
		c.out[i] = c.normalized[i]*get(c.weight, ch) + get(c.bias, ch)
	}
	c.dBias = sums(func(i int) float64 { return get(c.g, i) })
	c.dWeight = sums(func(i int) float64 { return get(c.g, i) * c.normalized[i] })
	for i := range c.dx {
		ch := c.channel(i)
		d := get(c.g, i) - c.dBias[ch]/c.counts[ch] - c.normalized[i]*c.dWeight[ch]/c.counts[ch]
		c.dx[i] = d * c.scaled[ch] * get(c.weight, ch)
	}
}

func TestChannelNorm(t *testing.T) {
	rng := newRand()
	long := channel.Longest
	for n, shape := range [][]int{{4, 3}, {2, 3, 5}, {3, 2, 7, 9}, {5, 2, 2 * 16, 11}, {3, 1, long/2 + 1}, {1, 2, long + 17}, {long + 3, 1}, {0, 2, 3}, {2, 0, 3}, {2, 3, 0}} {
		for d, dtype := range floatDTypes {
			if brief.Skip(n, d) {
				continue
			}
			layouts := cputest.Layouts
			if ir.NumElements(shape) > 1000 { // all elements alike would make sums of rounding
				layouts = []string{"contiguous", "transposed"}
			}
			for _, layout := range layouts {
				fill := func(lo, hi float64, layout string, shape ...int) ir.View {
					return cputest.FillFloat(cputest.NewView(dtype, layout, shape...), rng, lo, hi)
				}
				c := normCase{
					shape: shape, x: fill(2, 4, layout, shape...), g: fill(-1, 1, anyOf(rng, layouts), shape...),
					weight: fill(0.5, 2, "contiguous", shape[1]), bias: fill(-1, 1, "contiguous", shape[1]),
				}
				c.expect()
				name := fmt.Sprint(dtype, " ", layout, " ", shape)
				view := func(layout string, shape ...int) ir.View { return cputest.NewView(dtype, layout, shape...) }
				attrs := []ir.Value{real64(normEps)}
				out := []ir.View{view(anyOf(rng, resultLayouts), shape...), view("contiguous", shape[1]), view("contiguous", shape[1])}
				must(t, ChannelNorm, call(dtype, attrs, out, c.x, c.weight, c.bias))
				for i, want := range [][]float64{c.out, c.mean, c.variance} {
					checkNear(t, fmt.Sprint(name, " result ", i), out[i], want)
				}
				// The statistics of 16 bits are too coarse: the gradient is given exact ones.
				mean, variance := cputest.From(ir.Float64, []int{shape[1]}, c.mean...), cputest.From(ir.Float64, []int{shape[1]}, c.variance...)
				grads := []ir.View{view(anyOf(rng, resultLayouts), shape...), view("contiguous", shape[1]), view("contiguous", shape[1])}
				must(t, ChannelNormGrad, call(dtype, attrs, grads, c.g, c.x, c.weight, mean, variance))
				checkNear(t, fmt.Sprint(name, " gradient"), grads[0], c.dx)
				for i, want := range [][]float64{c.dWeight, c.dBias} {
					for ch, w := range want { // sums whose terms may cancel
						if got := real(cputest.Get(grads[1+i], ch)); !near(got, w, bounds[dtype]*(1+math.Sqrt(c.counts[ch])/8)) {
							t.Fatalf("%s: gradient %d of channel %d is %v, want %v", name, 1+i, ch, got, w)
						}
					}
				}
			}
		}
	}
}

// TestChannelNormFarFromZero: neither a large mean nor one distant number spoils the
// variance.
func TestChannelNormFarFromZero(t *testing.T) {
	const n = 40000
	x := cputest.NewView(ir.Float32, "contiguous", 2, 1, n)
	rng := newRand()
	for _, first := range []float64{1e4, 3e6} {
		values := make([]float64, 2*n)
		mean, variance := 0.0, 0.0
		for i := range values {
			values[i] = float64(float32(1e4 + rng.NormFloat64()))
			if i == 0 {
				values[0] = first
			}
			cputest.Set(x, i, complex(values[i], 0))
			mean += values[i] / (2 * n)
		}
		for _, v := range values {
			variance += (v - mean) * (v - mean) / (2 * n)
		}
		one, zero := cputest.From(ir.Float32, []int{1}, 1), cputest.From(ir.Float32, []int{1}, 0)
		out := []ir.View{cputest.NewView(ir.Float32, "contiguous", 2, 1, n), cputest.NewView(ir.Float32, "contiguous", 1), cputest.NewView(ir.Float32, "contiguous", 1)}
		must(t, ChannelNorm, call(ir.Float32, []ir.Value{real64(normEps)}, out, x, one, zero))
		for i, want := range []float64{mean, variance} {
			if got := real(cputest.Get(out[1+i], 0)); math.Abs(got-want) > 1e-4*want {
				t.Errorf("first element %v: statistic %d is %v, want %v", first, i, got, want)
			}
		}
	}
}
