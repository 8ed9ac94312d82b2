package opaque

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// A convCase is a convolution.
type convCase struct {
	x, weight, stride, padding, dilation []int
	groups                               int
}

var convCases = []convCase{
	{[]int{2, 3, 8}, []int{4, 3, 3}, []int{1}, []int{1}, []int{1}, 1},
	{[]int{2, 4, 6, 5}, []int{6, 2, 3, 2}, []int{2, 1}, []int{1, 0}, []int{1, 2}, 2},
	{[]int{1, 2, 4, 4, 4}, []int{2, 1, 2, 2, 2}, []int{2, 2, 2}, []int{0, 0, 0}, []int{1, 1, 1}, 2},
	{[]int{3, 5, 6, 7}, []int{4, 5, 1, 1}, []int{1, 1}, []int{0, 0}, []int{1, 1}, 1},
	{[]int{2, 3, 9, 8}, []int{3, 1, 3, 3}, []int{3, 2}, []int{2, 1}, []int{2, 1}, 3},
	{[]int{1, 1, 300}, []int{2, 1, 5}, []int{3}, []int{4}, []int{2}, 1},
	{[]int{1, 2, 3, 100}, []int{1, 2, 3, 3}, []int{1, 1}, []int{2, 3}, []int{1, 1}, 1},
	{[]int{0, 2, 4}, []int{3, 2, 2}, []int{1}, []int{0}, []int{1}, 1},
	{[]int{17, 2, 6, 12}, []int{3, 2, 3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, 1},
	{[]int{2, 3, 8}, []int{4, 3, 3}, []int{math.MaxInt}, []int{1}, []int{1}, 1},
	{[]int{2, 2, 5, 4}, []int{3, 2, 2, 1}, []int{math.MaxInt >> 13, math.MaxInt}, []int{1, 0}, []int{2, math.MaxInt}, 1},
	{[]int{2, 4, 5, 4}, []int{6, 2, 1, 1}, []int{math.MaxInt, math.MaxInt >> 13}, []int{0, 0}, []int{1, 1}, 2},
	{[]int{2, 3, 7}, []int{2, 3, 2}, []int{math.MaxInt >> 13}, []int{math.MaxInt >> 13}, []int{1}, 1},
	{[]int{2, 2, 6, 5}, []int{2, 2, 3, 2}, []int{1, 1}, []int{math.MaxInt >> 14, 1}, []int{math.MaxInt >> 14, 1}, 1},
	{[]int{1, 2, 4, 6}, []int{3, 2, 2, 3}, []int{2, 1}, []int{1, math.MaxInt >> 3}, []int{1, math.MaxInt >> 3}, 1},
	{[]int{1, 2, 3, 4, 6}, []int{2, 2, 3, 1, 3}, []int{1, math.MaxInt >> 23, 1}, []int{math.MaxInt >> 3, math.MaxInt >> 23, math.MaxInt >> 3}, []int{math.MaxInt >> 3, 7, math.MaxInt >> 3}, 1},
	{[]int{2, 2, 5}, []int{3, 2, 1}, []int{math.MaxInt}, []int{math.MaxInt >> 13}, []int{1}, 1},
	{[]int{2, 3, 8, 1}, []int{4, 3, 3, 1}, []int{1, 2}, []int{1, 0}, []int{1, 3}, 1},
	{[]int{2, 4, 1, 8}, []int{6, 2, 1, 3}, []int{1, 2}, []int{0, 1}, []int{1, 1}, 2},
	{[]int{2, 2, 1, 5, 1}, []int{3, 2, 1, 2, 1}, []int{1, 1, 1}, []int{0, 0, 0}, []int{1, 1, 1}, 1},
	{[]int{3, 4, 1, 1}, []int{2, 4, 1, 1}, []int{1, 1}, []int{0, 0}, []int{1, 1}, 1},
	{[]int{3, 4, 1, 1}, []int{2, 4, 1, 3}, []int{1, 1}, []int{0, 1}, []int{1, 1}, 1},
}

// result returns the shape of the convolution.
func (c convCase) result() []int {
	out := []int{c.x[0], c.weight[0]}
	for i := range c.stride {
		out = append(out, (c.x[2+i]+2*c.padding[i]-c.dilation[i]*(c.weight[2+i]-1)-1)/c.stride[i]+1)
	}
	return out
}

// each calls f for every term of every element of the result: the places in x,
// in the weight and in the result.
func (c convCase) each(f func(x, w, out int)) {
	out, groups := c.result(), c.groups
	channels, outs := c.weight[1], c.weight[0]/groups
	for o := range ir.NumElements(out) {
		p := coords(out, o)
		for k := range ir.NumElements(c.weight[1:]) {
			q := coords(c.weight[1:], k)
			from := []int{p[0], p[1]/outs*channels + q[0]}
			inside := true
			for i := range c.stride {
				at := p[2+i]*c.stride[i] - c.padding[i] + q[1+i]*c.dilation[i]
				inside = inside && at >= 0 && at < c.x[2+i]
				from = append(from, at)
			}
			if inside {
				f(at(c.x, from...), at(c.weight, append([]int{p[1]}, q...)...), o)
			}
		}
	}
}

func (c convCase) attrs(first ...ir.Value) []ir.Value {
	return append(first, ints(c.stride...), ints(c.padding...), ints(c.dilation...), num(c.groups))
}

func TestConvolution(t *testing.T) {
	rng := newRand()
	for _, dtype := range floatDTypes {
		for _, c := range convCases {
			for _, layout := range someLayouts(rng) {
				x := cputest.Fill(cputest.NewView(dtype, layout, c.x...), rng, -1, 2)
				w := cputest.Fill(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.weight...), rng, -1, 1)
				g := cputest.Fill(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.result()...), rng, -1, 1)
				out, dx, dw := make([]float64, g.NumElements()), make([]float64, x.NumElements()), make([]float64, w.NumElements())
				c.each(func(i, k, o int) {
					xv, wv, gv := real(cputest.Get(x, i)), real(cputest.Get(w, k)), real(cputest.Get(g, o))
					out[o] += xv * wv
					dx[i] += gv * wv
					dw[k] += gv * xv
				})
				view := func(shape []int) ir.View { return cputest.NewView(dtype, anyOf(rng, resultLayouts), shape...) }
				name := fmt.Sprint(dtype, " ", layout, " ", c)
				got := []ir.View{view(c.result()), view(c.x), view(c.weight)}
				must(t, Convolution, call(dtype, c.attrs(), got[:1], x, w))
				must(t, ConvolutionGradInput, call(dtype, c.attrs(ints(c.x...)), got[1:2], g, w))
				must(t, ConvolutionGradWeight, call(dtype, c.attrs(ints(c.weight...)), got[2:], g, x))
				checkNear(t, name, got[0], out)
				checkNear(t, "gradient of input: "+name, got[1], dx)
				checkNear(t, "gradient of weight: "+name, got[2], dw)
			}
		}
	}
}

// A poolCase is a pooling; out is the result's spatial extents.
type poolCase struct {
	x, kernel, stride, padding, dilation, out []int
}

var poolCases = []poolCase{
	{[]int{2, 3, 8}, []int{2}, []int{2}, []int{0}, []int{1}, []int{4}},
	{[]int{2, 7, 6}, []int{3, 2}, []int{2, 1}, []int{1, 1}, []int{1, 1}, []int{4, 7}},
	{[]int{1, 2, 5, 5}, []int{2, 2}, []int{2, 2}, []int{0, 0}, []int{1, 1}, []int{3, 3}}, // as with ceil_mode
	{[]int{5, 4, 3}, []int{2, 1, 2}, []int{1, 1, 1}, []int{1, 0, 1}, []int{1, 1, 1}, []int{6, 4, 4}},
	{[]int{12, 20, 10}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}, []int{10, 5}},
	{[]int{3, 11, 45}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}, []int{6, 23}},
	{[]int{2, 6, 70}, []int{2, 2}, []int{2, 2}, []int{0, 0}, []int{1, 1}, []int{3, 35}},
	{[]int{2, 5, 37}, []int{2, 3}, []int{1, 1}, []int{0, 1}, []int{1, 1}, []int{4, 37}},
	{[]int{2, 9}, []int{3}, []int{math.MaxInt}, []int{1}, []int{1}, []int{1}},
	{[]int{2, 9, 6}, []int{3, 2}, []int{math.MaxInt >> 13, math.MaxInt}, []int{1, 0}, []int{1, 1}, []int{1, 1}},
	{[]int{2, 5, 40}, []int{2, 2}, []int{math.MaxInt >> 13, 2}, []int{0, 0}, []int{1, 1}, []int{1, 20}},
}

// each calls f for every place of every window, with whether it is inside x.
func (c poolCase) each(f func(out, x, spatial int, inside, padding bool)) {
	lead := len(c.x) - len(c.kernel)
	shape := append(append([]int(nil), c.x[:lead]...), c.out...)
	for o := range ir.NumElements(shape) {
		p := coords(shape, o)
		for k := range ir.NumElements(c.kernel) {
			q := coords(c.kernel, k)
			from, inside, padding := append([]int(nil), p...), true, true
			for i := range q {
				v := p[lead+i]*c.stride[i] - c.padding[i] + q[i]*c.dilation[i]
				inside = inside && v >= 0 && v < c.x[lead+i]
				padding = padding && v < c.x[lead+i]+c.padding[i]
				from[lead+i] = v
			}
			f(o, at(c.x, from...), at(c.x[lead:], from[lead:]...), inside, padding)
		}
	}
}

func (c poolCase) shape() []int {
	return append(append([]int(nil), c.x[:len(c.x)-len(c.kernel)]...), c.out...)
}

func TestMaxPool(t *testing.T) {
	rng := newRand()
	cases := append([]poolCase{
		{[]int{2, 7, 6}, []int{3, 2}, []int{2, 1}, []int{1, 1}, []int{1, 2}, []int{4, 6}},
		{[]int{2, 7, 6}, []int{1, 2}, []int{2, math.MaxInt >> 13}, []int{0, 0}, []int{math.MaxInt, 1}, []int{4, 1}},
		{[]int{2, 6}, []int{3}, []int{1}, []int{math.MaxInt >> 13}, []int{math.MaxInt >> 13}, []int{6}},
		{[]int{2, 9, 13}, []int{3, 4}, []int{2, 4}, []int{1, 0}, []int{2, 1}, []int{4, 3}}, // apart along rows
		{[]int{2, 3, 6, 17}, []int{2, 3, 5}, []int{1, 3, 6}, []int{0, 0, 0}, []int{1, 1, 1}, []int{2, 2, 3}},
		{[]int{3, 5, 7}, []int{1, 7}, []int{1, 1}, []int{0, 0}, []int{1, 1}, []int{5, 1}},
	}, poolCases...)
	for width := 2; width <= 40; width++ {
		cases = append(cases, poolCase{[]int{3, 4 + width%3, width}, []int{2, 2}, []int{2, 2}, []int{0, 0}, []int{1, 1}, []int{2 + width%3/2, width / 2}})
	}
	for _, dtype := range orderedDTypes {
		for _, c := range cases {
			for _, layout := range someLayouts(rng) {
				x := special(cputest.NewView(dtype, layout, c.x...), rng)
				shape := c.shape()
				values, index := cputest.NewView(dtype, anyOf(rng, resultLayouts), shape...), cputest.NewView(ir.Int64, anyOf(rng, resultLayouts), shape...)
				attrs := []ir.Value{ints(c.kernel...), ints(c.stride...), ints(c.padding...), ints(c.dilation...), flag(true)}
				must(t, MaxPool, call(dtype, attrs, []ir.View{values, index}, x))
				want, places := make([]complex128, values.NumElements()), make([]complex128, values.NumElements())
				found := make([]bool, len(want))
				c.each(func(o, i, spatial int, inside, _ bool) {
					if !inside {
						return
					}
					if v := cputest.Get(x, i); !found[o] || before(real(want[o]), real(v)) {
						want[o], places[o], found[o] = v, complex(float64(spatial), 0), true
					}
				})
				checkExact(t, fmt.Sprint("places ", dtype, layout, c), index, places)
				checkExact(t, fmt.Sprint(dtype, layout, c), values, want)
				if dtype.IsFloat() {
					testMaxUnpool(t, rng, dtype, c, index)
				}
			}
		}
	}
	low := cputest.From(ir.Float32, []int{1, 2}, math.Inf(-1), math.Inf(-1))
	values, index := cputest.NewView(ir.Float32, "contiguous", 1, 1), cputest.NewView(ir.Int64, "contiguous", 1, 1)
	must(t, MaxPool, call(ir.Float32, []ir.Value{ints(2), ints(2), ints(0), ints(1), flag(false)}, []ir.View{values, index}, low))
	checkExact(t, "all -Inf", index, []complex128{0})
}

// testMaxUnpool checks the gradient of a pooling that gave index.
func testMaxUnpool(t *testing.T, rng *rand.Rand, dtype ir.DType, c poolCase, index ir.View) {
	g := cputest.FillFloat(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape()...), rng, -1, 1)
	dx := cputest.NewView(dtype, anyOf(rng, resultLayouts), c.x...)
	lead := len(c.x) - len(c.kernel)
	size, positions := ir.NumElements(c.x[lead:]), ir.NumElements(c.out)
	want := make([]float64, dx.NumElements())
	for i := range g.NumElements() {
		want[i/positions*size+int(real(cputest.Get(index, i)))] += real(cputest.Get(g, i))
	}
	must(t, MaxUnpool, call(dtype, []ir.Value{ints(c.x...), num(len(c.kernel))}, []ir.View{dx}, g, index))
	checkNear(t, fmt.Sprint("gradient ", dtype, c), dx, want)
}

func TestMaxUnpoolOfWrongIndices(t *testing.T) {
	for _, place := range []float64{-1, 3} {
		g, index := cputest.From(ir.Float32, []int{1, 2}, 1, 2), cputest.From(ir.Int64, []int{1, 2}, 0, place)
		dx := cputest.NewView(ir.Float32, "contiguous", 1, 3)
		err := MaxUnpool(call(ir.Float32, []ir.Value{ints(1, 3), num(1)}, []ir.View{dx}, g, index))
		if err == nil || !strings.Contains(err.Error(), "out of range") {
			t.Errorf("index %v: %v", place, err)
		}
	}
}

func TestAvgPool(t *testing.T) {
	rng := newRand()
	for _, dtype := range floatDTypes {
		for _, c := range poolCases {
			for _, layout := range someLayouts(rng) {
				for _, padded := range []bool{false, true} {
					x := cputest.FillFloat(cputest.NewView(dtype, layout, c.x...), rng, -1, 1)
					shape := c.shape()
					g := cputest.FillFloat(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), shape...), rng, -1, 1)
					sums, counts, dx := make([]float64, g.NumElements()), make([]float64, g.NumElements()), make([]float64, x.NumElements())
					c.each(func(o, i, _ int, inside, padding bool) {
						if inside {
							sums[o] += real(cputest.Get(x, i))
						}
						if inside || padded && padding {
							counts[o]++
						}
					})
					c.each(func(o, i, _ int, inside, _ bool) {
						if inside {
							dx[i] += real(cputest.Get(g, o)) / counts[o]
						}
					})
					for i := range sums {
						sums[i] /= counts[i]
					}
					attrs := []ir.Value{ints(c.kernel...), ints(c.stride...), ints(c.padding...), flag(true), flag(padded)}
					dst, grad := cputest.NewView(dtype, anyOf(rng, resultLayouts), shape...), cputest.NewView(dtype, anyOf(rng, resultLayouts), c.x...)
					must(t, AvgPool, call(dtype, attrs, []ir.View{dst}, x))
					must(t, AvgPoolGrad, call(dtype, append([]ir.Value{ints(c.x...)}, attrs...), []ir.View{grad}, g))
					checkNear(t, fmt.Sprint(dtype, layout, c), dst, sums)
					checkNear(t, fmt.Sprint("gradient ", dtype, layout, c), grad, dx)
				}
			}
		}
	}
}

// BenchmarkConvolution runs the second layer of a small network for 8x8 images
// and its gradients, 64 images at a time.
func BenchmarkConvolution(b *testing.B) {
	c := convCase{[]int{64, 16, 8, 8}, []int{32, 16, 3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, 1}
	var v [3]ir.View
	for i, shape := range [][]int{c.x, c.weight, c.result()} {
		v[i] = cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", shape...), newRand(), -1, 1)
	}
	x, w, g := v[0], v[1], v[2]
	for name, run := range map[string]func() error{
		"forward":    func() error { return Convolution(call(ir.Float32, c.attrs(), []ir.View{g}, x, w)) },
		"grad input": func() error { return ConvolutionGradInput(call(ir.Float32, c.attrs(ints(c.x...)), []ir.View{x}, g, w)) },
		"grad weight": func() error {
			return ConvolutionGradWeight(call(ir.Float32, c.attrs(ints(c.weight...)), []ir.View{w}, g, x))
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*2*64*16*9*32*64/float64(b.Elapsed().Nanoseconds()), "GF/s")
		})
	}
}
