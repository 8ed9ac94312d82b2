package opaque

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// A padCase is a shape, and for each of the ways to pad it whether it can be.
type padCase struct {
	shape, padding []int
	how            []int
}

var padCases = []padCase{
	{[]int{4}, []int{3, 2}, []int{0, 1, 2}},
	{[]int{1}, []int{0, 4}, []int{1}},
	{[]int{5, 33}, []int{-3, 9}, []int{0, 1}},
	{[]int{3, 5}, []int{7, -4, 0, 2}, []int{1}},
	{[]int{2, 3, 4}, []int{1, 2, 2, 0}, []int{0, 1, 2}},
	{[]int{2, 3, 5}, []int{-1, 2, 2, -2}, []int{0, 1}},
	{[]int{2, 4, 3, 5}, []int{4, 1, 0, 2, 3, 3}, []int{0, 1, 2}},
	{[]int{2, 4, 3, 5}, []int{-2, -2, -1, 0, -3, 4}, []int{1}},
	{[]int{2, 1, 3, 1}, []int{5, 0, 9, 9, 1, 2}, []int{1}},
	{[]int{0, 3, 5}, []int{1, 1, 1, 1}, []int{0, 1, 2}},
	{[]int{3, 5}, nil, []int{0, 1, 2}},
	{[]int{}, nil, []int{0, 1, 2}},
	{[]int{6, 40, 71}, []int{3, 11, 5, 1}, []int{0, 1, 2}},         // rows dealt to several
	{[]int{3, 7, 400, 9}, []int{1, 2, 0, 3, 2, 1}, []int{0, 1, 2}}, // and pieces of planes
	{[]int{2, 9000}, []int{70, 5, 1, 0}, []int{0, 1, 2}},
}

// shown returns what position k of an axis of n elements shows.
func shown(k, n, before, how int) int {
	k -= before
	switch how {
	case 0:
		for k < 0 || k >= n {
			k = max(-k, min(k, 2*(n-1)-k))
		}
	case 1:
		k = max(0, min(k, n-1))
	default:
		k = (k%n + n) % n
	}
	return k
}

func paddedShape(shape, padding []int) []int {
	out := slices.Clone(shape)
	for i, n := range padding {
		out[len(out)-1-i/2] += n
	}
	return out
}

// eachPadCase calls f for every case, layout and number of processors.
func eachPadCase(t *testing.T, dtypes []ir.DType, f func(what string, dtype ir.DType, c *padCase, how int, layout, target string)) {
	rng := newRand()
	for _, procs := range []int{1, 4} {
		old := runtime.GOMAXPROCS(procs)
		t.Cleanup(func() { runtime.GOMAXPROCS(old) })
		for i := range padCases {
			c := &padCases[i]
			for _, how := range c.how {
				some := dtypes
				if ir.NumElements(c.shape) > 1000 {
					some = dtypes[:2]
				}
				for d, dtype := range some {
					if testing.Short() && (i+how+procs+d)%3 != 0 { // other cases have the other dtypes
						continue
					}
					for _, layout := range someLayouts(rng) {
						f(fmt.Sprintf("%s %s %v by %v, way %d, %d processors", dtype, layout, c.shape, c.padding, how, procs), dtype, c, how, layout, anyOf(rng, resultLayouts))
					}
				}
			}
		}
	}
}

func TestPadEdges(t *testing.T) {
	rng := newRand()
	dtypes := append([]ir.DType{ir.Float32, ir.Complex128}, ir.ClassAll.List()...)
	eachPadCase(t, dtypes, func(what string, dtype ir.DType, c *padCase, how int, layout, target string) {
		x := cputest.Fill(cputest.NewView(dtype, layout, c.shape...), rng, 0, 1)
		dst := cputest.NewView(dtype, target, paddedShape(c.shape, c.padding)...)
		must(t, PadEdges, call(dtype, []ir.Value{ints(c.padding...), num(how)}, []ir.View{dst}, x))
		want := make([]complex128, dst.NumElements())
		for i := range want {
			p := coords(dst.Shape, i)
			for k := 0; k < len(c.padding); k += 2 {
				a := len(p) - 1 - k/2
				p[a] = shown(p[a], c.shape[a], c.padding[k], how)
			}
			want[i] = cputest.Get(x, at(c.shape, p...))
		}
		checkExact(t, what, dst, want)
	})
}

// unpadded adds up an axis in the order of its positions, each sum rounded.
func unpadded(shape []int, g []complex128, axis, before, after, how int, round func(complex128) complex128) ([]int, []complex128) {
	to := slices.Clone(shape)
	to[axis] -= before + after
	out := make([]complex128, ir.NumElements(to))
	for i, v := range g {
		p := coords(shape, i)
		p[axis] = shown(p[axis], to[axis], before, how)
		k := at(to, p...)
		out[k] = round(out[k] + v)
	}
	return to, out
}

// The gradient is added up in the order that the composition has, to the last bit.
func TestPadEdgesGrad(t *testing.T) {
	rng := newRand()
	exact := func(v complex128) complex128 { return v }
	rounded := func(v complex128) complex128 { return complex128(complex64(v)) }
	dtypes := append([]ir.DType{ir.Float32, ir.Complex64}, ir.ClassNum.List()...)
	eachPadCase(t, dtypes, func(what string, dtype ir.DType, c *padCase, how int, layout, target string) {
		g := cputest.NewView(dtype, layout, paddedShape(c.shape, c.padding)...)
		want, round, compute := make([]complex128, g.NumElements()), exact, dtype
		for i := range want {
			want[i] = complex(float64(rng.IntN(8)/7), 0) // few, so that sums of bytes do not wrap
			if dtype == ir.Float32 || dtype == ir.Complex64 {
				want[i], round = complex128(complex64(complex(rng.NormFloat64(), 0))), rounded
			}
			cputest.Set(g, i, want[i])
		}
		for i := range want { // some layouts have one place for several elements
			want[i] = cputest.Get(g, i)
		}
		if dtype.IsFloat() && dtype.Size() < 4 {
			compute = ir.Float32
		}
		shape := g.Shape
		for k := 2 * (len(c.padding)/2 - 1); k >= 0; k -= 2 {
			shape, want = unpadded(shape, want, len(shape)-1-k/2, c.padding[k], c.padding[k+1], how, round)
		}
		less := make([]int, len(c.padding))
		for i, n := range c.padding {
			less[i] = -n
		}
		dst := cputest.NewView(dtype, target, c.shape...)
		must(t, PadEdgesGrad, call(compute, []ir.Value{ints(less...), num(how)}, []ir.View{dst}, g))
		checkExact(t, what, dst, want)
	})
}

func TestPadEdgesOutside(t *testing.T) {
	x, out := cputest.From(ir.Float32, []int{2}, 1, 2), cputest.NewView(ir.Float32, "contiguous", 8)
	if err := PadEdges(call(ir.Float32, []ir.Value{ints(6, 0), num(0)}, []ir.View{out}, x)); err == nil {
		t.Error("mirrored three times: no error")
	}
	if err := PadEdgesGrad(call(ir.Float32, []ir.Value{ints(-6, 0), num(0)}, []ir.View{x}, out)); err == nil {
		t.Error("gradient of what is mirrored three times: no error")
	}
}
