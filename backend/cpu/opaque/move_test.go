package opaque

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

func TestCat(t *testing.T) {
	rng := newRand()
	for _, dtype := range ir.ClassAll.List() {
		for _, layout := range someLayouts(rng) {
			for axis := range 3 {
				out := []int{4, 5, 6}
				out[axis] = 0
				var in []ir.View
				for _, n := range []int{2, 0, 1, 3} {
					shape := append([]int(nil), 4, 5, 6)
					shape[axis] = n
					out[axis] += n
					in = append(in, cputest.Fill(cputest.NewView(dtype, layout, shape...), rng, 0, 1))
				}
				dst := cputest.NewView(dtype, anyOf(rng, resultLayouts), out...)
				must(t, Cat, call(dtype, []ir.Value{num(axis - 3)}, []ir.View{dst}, in...))
				want := make([]complex128, dst.NumElements())
				for i := range want {
					c := coords(out, i)
					k := 0
					for c[axis] >= in[k].Shape[axis] {
						c[axis] -= in[k].Shape[axis]
						k++
					}
					want[i] = cputest.Get(in[k], at(in[k].Shape, c...))
				}
				checkExact(t, dtype.String()+" "+layout, dst, want)
			}
		}
	}
	// Dtypes promote, and an operand of shape [0] joins any.
	dst := cputest.NewView(ir.Float32, "contiguous", 2, 2)
	must(t, Cat, call(ir.Float32, []ir.Value{num(1)}, []ir.View{dst},
		cputest.From(ir.Int16, []int{2, 1}, 1, 2), cputest.NewView(ir.Float32, "contiguous", 0), cputest.From(ir.Float16, []int{2, 1}, 3, 4)))
	checkExact(t, "promoted", dst, []complex128{1, 3, 2, 4})
}

func TestPadConstant(t *testing.T) {
	rng := newRand()
	for _, dtype := range []ir.DType{ir.Bool, ir.Uint8, ir.Int64, ir.Float16, ir.Float32, ir.Complex128} {
		for _, c := range []struct{ shape, padding []int }{
			{[]int{3}, []int{1, 2}}, {[]int{3}, []int{-1, 2}}, {[]int{3, 4}, []int{1, 1, -2, -1}}, {[]int{2, 3, 4}, []int{-1, -1, 2, 0, 0, 3}},
			{[]int{0, 2}, []int{0, 0, 1, 1}}, {[]int{3}, []int{-3, 0}}, {[]int{3}, []int{-4, 5}}, {[]int{2, 3}, nil},
		} {
			for _, layout := range someLayouts(rng) {
				x := cputest.Fill(cputest.NewView(dtype, layout, c.shape...), rng, 0, 1)
				out := append([]int(nil), c.shape...)
				for i := range len(c.padding) / 2 {
					out[len(out)-1-i] += c.padding[2*i] + c.padding[2*i+1]
				}
				dst := cputest.NewView(dtype, anyOf(rng, resultLayouts), out...)
				must(t, PadConstant, call(dtype, []ir.Value{ints(c.padding...), ir.ScalarValue(ir.IntScalar(1))}, []ir.View{dst}, x))
				want := make([]complex128, dst.NumElements())
				for i := range want {
					p, inside := coords(out, i), true
					for a := range p {
						if k := len(out) - 1 - a; 2*k < len(c.padding) {
							p[a] -= c.padding[2*k]
						}
						inside = inside && p[a] >= 0 && p[a] < c.shape[a]
					}
					if want[i] = 1; inside {
						want[i] = cputest.Get(x, at(c.shape, p...))
					}
				}
				checkExact(t, dtype.String()+" "+layout, dst, want)
			}
		}
	}
}

func TestPadValue(t *testing.T) {
	for _, c := range []struct {
		dtype ir.DType
		value ir.Scalar
		want  complex128
	}{
		{ir.Uint8, ir.IntScalar(257), 1}, {ir.Bool, ir.FloatScalar(0.5), 1}, {ir.Int32, ir.FloatScalar(-2.7), -2},
		{ir.BFloat16, ir.FloatScalar(1.00390625), 1}, {ir.Complex64, ir.ComplexScalar(1 + 2i), 1 + 2i}, {ir.Int64, ir.IntScalar(1<<53 + 1), 1 << 53},
	} {
		dst := cputest.NewView(c.dtype, "contiguous", 1)
		must(t, PadConstant, call(c.dtype, []ir.Value{ints(1, 0), ir.ScalarValue(c.value)}, []ir.View{dst}, cputest.NewView(c.dtype, "contiguous", 0)))
		checkExact(t, c.dtype.String(), dst, []complex128{c.want})
	}
}

func TestFlip(t *testing.T) {
	rng := newRand()
	for _, dtype := range []ir.DType{ir.Bool, ir.Int16, ir.Float32, ir.Float64, ir.Complex128} {
		for _, dims := range [][]int{nil, {0}, {-1}, {1, 0}, {0, 1, 2}} {
			for _, layout := range someLayouts(rng) {
				shape := []int{3, 4, 50}
				x := cputest.Fill(cputest.NewView(dtype, layout, shape...), rng, 0, 1)
				dst := cputest.NewView(dtype, anyOf(rng, resultLayouts), shape...)
				must(t, Flip, call(dtype, []ir.Value{ints(dims...)}, []ir.View{dst}, x))
				want := make([]complex128, dst.NumElements())
				for i := range want {
					c := coords(shape, i)
					for _, d := range dims {
						d = (d + 3) % 3
						c[d] = shape[d] - 1 - c[d]
					}
					want[i] = cputest.Get(x, at(shape, c...))
				}
				checkExact(t, dtype.String()+" "+layout, dst, want)
			}
		}
	}
	empty := cputest.NewView(ir.Int8, "contiguous", 0, 3)
	must(t, Flip, call(ir.Int8, []ir.Value{ints(0)}, []ir.View{empty}, empty))
}

func TestBand(t *testing.T) {
	rng := newRand()
	for _, dtype := range ir.ClassAll.List() {
		for _, shape := range [][]int{{3, 4}, {2, 5, 3}, {0, 3}, {3, 0}, {1, 1}, {2, 2, 70, 40}} {
			for _, band := range [][2]int{{0, 0}, {-1, 2}, {2, 1}, {-100, 0}, {1, 100}, {math.MinInt, math.MaxInt}, {math.MaxInt, math.MaxInt}, {math.MinInt, -5}} {
				for _, layout := range someLayouts(rng) {
					x := cputest.Fill(cputest.NewView(dtype, layout, shape...), rng, 1, 2)
					dst := cputest.NewView(dtype, anyOf(rng, resultLayouts), shape...)
					must(t, Band, call(dtype, []ir.Value{num(band[0]), num(band[1])}, []ir.View{dst}, x))
					want := make([]complex128, dst.NumElements())
					for i := range want {
						c := coords(shape, i)
						if d := c[len(c)-1] - c[len(c)-2]; d >= band[0] && d <= band[1] {
							want[i] = cputest.Get(x, i)
						}
					}
					checkExact(t, fmt.Sprint(dtype, " ", layout, " ", shape, band), dst, want)
				}
			}
		}
	}
	vector := cputest.NewView(ir.Int8, "contiguous", 3)
	if err := Band(call(ir.Int8, []ir.Value{num(0), num(0)}, []ir.View{vector}, vector)); err == nil {
		t.Error("no error for one axis")
	}
}

func TestNonzeroSized(t *testing.T) {
	rng := newRand()
	test := func(dtype ir.DType, layout string, shape ...int) {
		x := cputest.Fill(cputest.NewView(dtype, layout, shape...), rng, 0, 1)
		var want []complex128
		for i := range x.NumElements() {
			if cputest.Get(x, i) != 0 {
				for _, c := range coords(x.Shape, i) {
					want = append(want, complex(float64(c), 0))
				}
			}
		}
		n := len(want) / len(shape)
		dst := cputest.NewView(ir.Int64, anyOf(rng, resultLayouts), n, len(shape))
		must(t, NonzeroSized, call(dtype, []ir.Value{num(n)}, []ir.View{dst}, x))
		checkExact(t, fmt.Sprint(dtype, " ", layout, " ", shape), dst, want)
		err := NonzeroSized(call(dtype, []ir.Value{num(n + 1)}, []ir.View{dst}, x))
		if err == nil || !strings.Contains(err.Error(), "nonzero elements, not") {
			t.Errorf("wrong count: %v", err)
		}
	}
	for _, dtype := range ir.ClassAll.List() {
		for _, layout := range someLayouts(rng) {
			test(dtype, layout, 5, 3, 4)
		}
	}
	for _, shape := range [][]int{{0}, {0, 3}, {1}, {7}, {8}, {17}, {2*nonzeroPiece + 5}, {nonzeroPiece/100 + 30, 100}, {nonzeroPiece + 9, 1}, {2, nonzeroPiece - 1, 1}} {
		test(ir.Bool, "contiguous", shape...)
	}
	must(t, NonzeroSized, call(ir.Int8, []ir.Value{num(1)}, []ir.View{cputest.NewView(ir.Int64, "contiguous", 1, 0)}, cputest.From(ir.Int8, nil, 3)))
}
