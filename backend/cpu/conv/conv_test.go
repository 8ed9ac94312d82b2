package conv_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// A geometry is images and the windows over them.
type geometry struct {
	in, lead, out, stride, kernel, dilation []int
}

var geometries = []geometry{
	{[]int{5}, []int{0}, []int{5}, []int{1}, []int{1}, []int{1}},
	{[]int{300}, []int{1}, []int{300}, []int{1}, []int{3}, []int{1}},
	{[]int{41}, []int{2}, []int{21}, []int{2}, []int{5}, []int{1}},
	{[]int{64}, []int{0}, []int{32}, []int{2}, []int{1}, []int{1}},
	{[]int{100}, []int{3}, []int{33}, []int{3}, []int{4}, []int{2}},
	{[]int{9}, []int{-2}, []int{5}, []int{1}, []int{1}, []int{1}},
	{[]int{7, 7}, []int{1, 1}, []int{7, 7}, []int{1, 1}, []int{3, 3}, []int{1, 1}},
	{[]int{8, 8}, []int{1, 1}, []int{8, 8}, []int{1, 1}, []int{3, 3}, []int{1, 1}},
	{[]int{14, 14}, []int{1, 1}, []int{14, 14}, []int{1, 1}, []int{3, 3}, []int{1, 1}},
	{[]int{6, 33}, []int{0, 4}, []int{5, 36}, []int{1, 1}, []int{2, 3}, []int{1, 3}},
	{[]int{23, 50}, []int{3, 3}, []int{12, 25}, []int{2, 2}, []int{7, 7}, []int{1, 1}},
	{[]int{12, 34}, []int{0, 0}, []int{6, 17}, []int{2, 2}, []int{1, 1}, []int{1, 1}},
	{[]int{6, 5}, []int{1, 0}, []int{3, 3}, []int{2, 1}, []int{3, 2}, []int{1, 2}},
	{[]int{9, 21}, []int{1, 1}, []int{3, 11}, []int{3, 2}, []int{2, 2}, []int{1, 1}},
	{[]int{9, 9}, []int{0, 0}, []int{3, 9}, []int{3, 1}, []int{1, 1}, []int{1, 1}},
	{[]int{4, 3}, []int{5, 2}, []int{13, 6}, []int{1, 1}, []int{2, 2}, []int{1, 1}},
	{[]int{9}, []int{1}, []int{1}, []int{math.MaxInt}, []int{3}, []int{2}},
	{[]int{5, 6}, []int{1, 0}, []int{1, 1}, []int{math.MaxInt, 1 << 50}, []int{2, 3}, []int{1, 1}},
	{[]int{7}, []int{1 << 50}, []int{3}, []int{1 << 50}, []int{4}, []int{1}},
	{[]int{4, 5}, []int{1, 3}, []int{1, 1}, []int{1 << 50, 2}, []int{1, 1}, []int{1 << 50, math.MaxInt}},
	{[]int{3, 5, 18}, []int{1, 0, 1}, []int{3, 4, 9}, []int{1, 1, 2}, []int{3, 2, 3}, []int{1, 1, 1}},
}

const channels, images = 3, 2

// at returns the element that a place of a window reads, or 0.
func (g *geometry) at(image []float64, window, place int) float64 {
	i, step := 0, 1
	for a := len(g.in) - 1; a >= 0; a-- {
		x := window%g.out[a]*g.stride[a] + place%g.kernel[a]*g.dilation[a] - g.lead[a]
		if x < 0 || x >= g.in[a] {
			return 0
		}
		i, step = i+x*step, step*g.in[a]
		window, place = window/g.out[a], place/g.kernel[a]
	}
	return image[i]
}

// places are those of the kernel along each axis.
func (g *geometry) places() [][]int {
	list := make([][]int, len(g.in))
	for a, n := range g.kernel {
		for k := range n {
			list[a] = append(list[a], k*g.dilation[a])
		}
	}
	return list
}

// A laid is images in frames, and the numbers in them.
type laid[T conv.Float] struct {
	geometry
	frame  *conv.Frame
	data   unsafe.Pointer
	terms  []int
	values []float64
	free   func()
}

// lay puts numbers in dtype, with a stride of step elements, into frames.
func lay[T conv.Float](g geometry, rng *rand.Rand, dtype, from ir.DType, step int) *laid[T] {
	size := ir.NumElements(g.in)
	l := &laid[T]{geometry: g, frame: conv.NewFrame(g.in, g.lead, g.out, g.stride, g.places(), dtype.Size())}
	block := scratch.Get(images * channels * l.frame.Size * l.frame.Elem)
	l.data, l.free = block.Ptr(), block.Put
	for i := range scratch.Slice[byte](block, images*channels*l.frame.Size*l.frame.Elem) {
		*(*byte)(unsafe.Add(l.data, i)) = 0xff // NaN
	}
	source := conv.Source{DType: from, Want: dtype, Strides: make([]int, len(g.in))}
	for a, s := len(g.in)-1, step; a >= 0; a-- {
		source.Strides[a], s = s, s*g.in[a]
	}
	for c := range images * channels {
		memory := make([]uint64, size*step)
		for i := range size {
			v := float64(rng.IntN(17) - 8)
			l.values = append(l.values, v)
			to := unsafe.Add(unsafe.Pointer(&memory[0]), i*step*from.Size())
			switch from {
			case ir.Float32:
				*(*float32)(to) = float32(v)
			case ir.Float64:
				*(*float64)(to) = v
			case ir.BFloat16:
				*(*ir.BF16)(to) = ir.BF16From(float32(v))
			}
		}
		l.frame.Fill(unsafe.Add(l.data, c*l.frame.Size*l.frame.Elem), unsafe.Pointer(&memory[0]), &source)
	}
	for c := range channels {
		for k := range ir.NumElements(g.kernel) {
			place, rest := make([]int, len(g.in)), k
			for a := len(g.in) - 1; a >= 0; a-- {
				place[a] = rest % g.kernel[a] * g.dilation[a]
				rest /= g.kernel[a]
			}
			l.terms = append(l.terms, (c*l.frame.Size+l.frame.Offset(place))*l.frame.Elem)
		}
	}
	return l
}

// want returns a term of a window; windows of the second image follow the first's.
func (l *laid[T]) want(window, term int) T {
	places, windows, size := ir.NumElements(l.kernel), ir.NumElements(l.out), ir.NumElements(l.in)
	image := l.values[(window/windows*channels+term/places)*size:]
	return T(l.at(image, window%windows, term%places))
}

// each runs f on every geometry at every level.
func each[T conv.Float](t *testing.T, dtype ir.DType, f func(t *testing.T, l *laid[T], level simd.Level, rng *rand.Rand)) {
	for level := simd.Portable; level <= simd.Available(); level++ {
		for _, g := range geometries {
			t.Run(fmt.Sprint(level, dtype, g), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 2))
				l := lay[T](g, rng, dtype, dtype, 1)
				defer l.free()
				f(t, l, level, rng)
			})
		}
	}
}

func diff[T comparable](t *testing.T, what string, want, got []T) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Fatalf("%s:\n%s", what, cmp.Diff(want, got))
	}
}

// guard is what lies around panels.
const guard = 77

// panel returns memory for rows of ld numbers between guards.
func panel[T conv.Float](rows, ld int) (whole []T, at unsafe.Pointer) {
	whole = make([]T, rows*ld+2*guard)
	for i := range whole {
		whole[i] = guard
	}
	return whole, unsafe.Pointer(&whole[guard])
}

func testPack[T conv.Float](t *testing.T, l *laid[T], level simd.Level, rng *rand.Rand) {
	c := conv.NewColumns(l.frame, l.data, channels*l.frame.Size*l.frame.Elem, l.terms, l.out)
	c.Level = level
	ld := 32 / l.frame.Elem * 2
	if level >= simd.AVX512 {
		ld *= 2
	}
	windows := images * ir.NumElements(l.out)
	for range 40 {
		j0 := rng.IntN(windows)
		j1 := min(windows, j0+1+rng.IntN(ld))
		p0 := rng.IntN(len(l.terms))
		p1 := p0 + 1 + rng.IntN(len(l.terms)-p0)
		got, at := panel[T](p1-p0, ld)
		want, _ := panel[T](p1-p0, ld)
		c.Pack(at, ld, j0, j1, p0, p1)
		for p := p0; p < p1; p++ {
			row := guard + (p-p0)*ld
			for j := j0; j < j1; j++ {
				want[row+j-j0] = l.want(j, p)
			}
			clear(want[row+j1-j0 : row+ld]) // not used
			clear(got[row+j1-j0 : row+ld])
		}
		diff(t, fmt.Sprint("terms ", p0, p1, " columns ", j0, j1), want, got)
	}
}

func testPackT[T conv.Float](t *testing.T, l *laid[T], level simd.Level, rng *rand.Rand) {
	c := conv.NewColumns(l.frame, l.data, channels*l.frame.Size*l.frame.Elem, l.terms, l.out)
	c.Level = level
	ld := 32 / l.frame.Elem * 2
	if level >= simd.AVX512 {
		ld *= 2
	}
	windows := images * ir.NumElements(l.out)
	for range 40 {
		p0 := rng.IntN(windows)
		p1 := p0 + 1 + rng.IntN(windows-p0)
		j0 := rng.IntN(len(l.terms))
		j1 := min(len(l.terms), j0+1+rng.IntN(ld))
		got, at := panel[T](p1-p0, ld)
		want, _ := panel[T](p1-p0, ld)
		c.PackT(at, ld, j0, j1, p0, p1)
		for p := p0; p < p1; p++ {
			row := guard + (p-p0)*ld
			for j := j0; j < j1; j++ {
				want[row+j-j0] = l.want(p, j)
			}
			clear(want[row+j1-j0 : row+ld]) // not used
			clear(got[row+j1-j0 : row+ld])
		}
		diff(t, fmt.Sprint("columns ", p0, p1, " terms ", j0, j1), want, got)
	}
}

func testPackRows[T conv.Float](t *testing.T, l *laid[T], level simd.Level, rng *rand.Rand) {
	c := conv.NewColumns(l.frame, l.data, channels*l.frame.Size*l.frame.Elem, l.terms, l.out)
	c.Level = level
	windows := images * ir.NumElements(l.out)
	for range 40 {
		p0 := rng.IntN(windows)
		p1 := p0 + 1 + rng.IntN(windows-p0)
		i0 := rng.IntN(len(l.terms))
		i1 := i0 + 1 + rng.IntN(len(l.terms)-i0)
		ld := p1 - p0 + rng.IntN(3)
		got, at := panel[T](i1-i0, ld)
		want, _ := panel[T](i1-i0, ld)
		c.PackRows(at, ld, i0, i1, p0, p1)
		for i := i0; i < i1; i++ {
			for p := p0; p < p1; p++ {
				want[guard+(i-i0)*ld+p-p0] = l.want(p, i)
			}
		}
		diff(t, fmt.Sprint("terms ", i0, i1, " columns ", p0, p1), want, got)
	}
}

func TestPackRows(t *testing.T) {
	each(t, ir.Float32, testPackRows[float32])
	each(t, ir.Float64, testPackRows[float64])
}

func TestPack(t *testing.T) {
	each(t, ir.Float32, testPack[float32])
	each(t, ir.Float64, testPack[float64])
}

func TestPackT(t *testing.T) {
	each(t, ir.Float32, testPackT[float32])
	each(t, ir.Float64, testPackT[float64])
}

// TestFill lays out images that are strided and of another dtype.
func TestFill(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, g := range geometries {
		for _, from := range []ir.DType{ir.Float32, ir.BFloat16, ir.Float64} {
			for _, step := range []int{1, 2} {
				l := lay[float32](g, rng, ir.Float32, from, step)
				for w := range images * ir.NumElements(g.out) {
					u := w / ir.NumElements(g.out)
					base := unsafe.Add(l.data, u*channels*l.frame.Size*l.frame.Elem)
					rest, at := w%ir.NumElements(g.out), 0
					for a := len(g.out) - 1; a >= 0; a-- {
						at += rest % g.out[a] * l.frame.Step(a)
						rest /= g.out[a]
					}
					for p, term := range l.terms {
						if got, want := *(*float32)(unsafe.Add(base, at*4+term)), l.want(w, p); got != want {
							t.Fatalf("%v of %s, stride %d: term %d of window %d is %v, want %v", g, from, step, p, w, got, want)
						}
					}
				}
				l.free()
			}
		}
	}
}

func testProduct[T conv.Float](t *testing.T, l *laid[T], level simd.Level, rng *rand.Rand) {
	plane := conv.NewPlane(l.frame, l.out, level)
	n := ir.NumElements(l.out)
	for rows := 1; rows <= 2*conv.Rows+1; rows++ {
		w := make([]T, rows*len(l.terms))
		for i := range w {
			w[i] = T(rng.IntN(9) - 4)
		}
		got, at := panel[T](rows, n)
		want, _ := panel[T](rows, n)
		p := conv.Product[T]{Plane: plane, Rows: rows, Terms: l.terms}
		portions := 1 + rng.IntN(plane.Pieces())
		for _, i := range rng.Perm(portions) {
			p.Run(at, unsafe.Pointer(&w[0]), l.data, i, portions)
		}
		for r := range rows {
			for j := range n {
				sum := T(0)
				for k := range l.terms {
					sum += w[r*len(l.terms)+k] * l.want(j, k)
				}
				want[guard+r*n+j] = sum
			}
		}
		diff(t, fmt.Sprint(rows, " rows"), want, got)
	}
}

func testDots[T conv.Float](t *testing.T, l *laid[T], level simd.Level, rng *rand.Rand) {
	d := conv.NewDots[T](conv.NewPlane(l.frame, l.out, level), l.terms)
	n := ir.NumElements(l.out)
	g := make([]T, images*n)
	for i := range g {
		g[i] = T(rng.IntN(9) - 4)
	}
	got, want := make([]T, len(l.terms)), make([]T, len(l.terms))
	sums := make([]T, d.Len())
	for u := range images {
		d.Add(sums, unsafe.Pointer(&g[u*n]), unsafe.Add(l.data, u*channels*l.frame.Size*l.frame.Elem))
	}
	d.Sums(got, sums)
	for k := range want {
		for j := range g {
			want[k] += g[j] * l.want(j, k)
		}
	}
	diff(t, "sums", want, got)
}

func TestProduct(t *testing.T) {
	each(t, ir.Float32, testProduct[float32])
	each(t, ir.Float64, testProduct[float64])
}

func TestDots(t *testing.T) {
	each(t, ir.Float32, testDots[float32])
	each(t, ir.Float64, testDots[float64])
}

func TestInterleave(t *testing.T) {
	for turns := 1; turns <= 3; turns++ {
		for n := range 60 {
			rows, at := make([][]float32, turns), make([]unsafe.Pointer, turns)
			want := make([]float32, n)
			for r := range rows {
				rows[r] = make([]float32, n+1)
				at[r] = unsafe.Pointer(&rows[r][0])
			}
			for i := range want {
				want[i] = float32(i + 1)
				rows[i%turns][i/turns] = want[i]
			}
			got := make([]float32, n+guard)
			conv.Interleave(got[:n], at)
			diff(t, fmt.Sprint(turns, " rows, ", n, " elements"), append(want, make([]float32, guard)...), got)
		}
	}
}

func TestSwapped(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for level := simd.Portable; level <= simd.Available(); level++ {
		for _, n := range [][3]int{{1, 1, 1}, {1, 5, 9}, {7, 3, 9}, {40, 33, 25}, {3, 2, 49}, {4, 6, 1}, {2, 3, 600}} {
			src := make([]float32, n[0]*n[1]*n[2])
			for i := range src {
				src[i] = float32(i + 1)
			}
			s := conv.Swapped{Level: level, Weight: unsafe.Pointer(&src[0]), Outs: n[0], Channels: n[1], Places: n[2], Elem: 4}
			for range 30 {
				p0, i0 := rng.IntN(s.Outs*s.Places), rng.IntN(s.Channels)
				p1, i1 := p0+1+rng.IntN(s.Outs*s.Places-p0), i0+1+rng.IntN(s.Channels-i0)
				ld := p1 - p0 + rng.IntN(3)
				got, at := panel[float32](i1-i0, ld)
				want, _ := panel[float32](i1-i0, ld)
				s.Pack(at, ld, i0, i1, p0, p1)
				for c := i0; c < i1; c++ {
					for p := p0; p < p1; p++ {
						want[guard+(c-i0)*ld+p-p0] = src[(p/s.Places*s.Channels+c)*s.Places+p%s.Places]
					}
				}
				diff(t, fmt.Sprint(level, n, " rows ", i0, i1, " terms ", p0, p1), want, got)
			}
		}
	}
}

func testElements[T conv.Float](t *testing.T, dtype ir.DType, level simd.Level) {
	for n := range 300 {
		x, y := make([]T, n+1), make([]T, n+1)
		for i := range x {
			x[i], y[i] = T(i%50+1), T(i%7+1)
		}
		quotient, sum := make([]T, n+1), append([]T(nil), y...)
		quotient[n] = guard
		want, more := append([]T(nil), quotient...), append([]T(nil), y...)
		for i := range n {
			want[i] = x[i] / y[i]
			more[i] += x[i]
		}
		conv.Divide(level, dtype.Size(), n, unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), unsafe.Pointer(&quotient[0]))
		conv.Add(level, x[:n], sum)
		diff(t, fmt.Sprint(n, " quotients at ", level), want, quotient)
		diff(t, fmt.Sprint(n, " sums at ", level), more, sum)
	}
}

func TestElements(t *testing.T) {
	for level := simd.Portable; level <= simd.Available(); level++ {
		testElements[float32](t, ir.Float32, level)
		testElements[float64](t, ir.Float64, level)
	}
}
