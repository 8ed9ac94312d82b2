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
	{[]int{5, 6}, []int{1, 0}, []int{1, 1}, []int{math.MaxInt, math.MaxInt >> 13}, []int{2, 3}, []int{1, 1}},
	{[]int{7}, []int{math.MaxInt >> 13}, []int{3}, []int{math.MaxInt >> 13}, []int{4}, []int{1}},
	{[]int{4, 5}, []int{1, 3}, []int{1, 1}, []int{math.MaxInt >> 13, 2}, []int{1, 1}, []int{math.MaxInt >> 13, math.MaxInt}},
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
	distance := size*step + rng.IntN(3)
	memory := make([]uint64, images*channels*distance)
	for c := range images * channels {
		for i := range size {
			v := float64(rng.IntN(17) - 8)
			l.values = append(l.values, v)
			to := unsafe.Add(unsafe.Pointer(&memory[0]), (c*distance+i*step)*from.Size())
			switch from {
			case ir.Float32:
				*(*float32)(to) = float32(v)
			case ir.Float64:
				*(*float64)(to) = v
			case ir.BFloat16:
				*(*ir.BF16)(to) = ir.BF16From(float32(v))
			}
		}
	}
	l.frame.Fill(l.data, unsafe.Pointer(&memory[0]), &source, images*channels, distance)
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
	for _, level := range simd.Usable() {
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

// TestCut checks that pieces have every window once, and groups follow one another.
func TestCut(t *testing.T) {
	for _, level := range simd.Levels() {
		for width := 1; width <= 60; width++ {
			for _, narrow := range []bool{false, true} {
				testCut(t, level, width, narrow)
			}
		}
	}
}

func testCut(t *testing.T, level simd.Level, width int, narrow bool) {
	g := geometry{in: []int{2, 5, width}, lead: []int{0, 1, 1}, out: []int{2, 5, width}, stride: []int{1, 1, 1}, kernel: []int{1, 3, 3}, dilation: []int{1, 1, 1}}
	f := conv.NewFrame(g.in, g.lead, g.out, g.stride, g.places(), 4)
	rows := f.Rows(g.out)
	next, c := 0, conv.Cut(level, f, g.out, g.places(), narrow)
	for _, group := range c.Groups {
		var got []int
		for _, p := range group {
			half, most := p.Count, conv.MostRows(level)
			if p.Paired {
				half, most = p.Count/2, 2*conv.MostPaired(level, narrow)
			}
			if p.Count > most || p.Window < group[0].Window || p.From != rows[p.Window/width]+p.Window%width*4 {
				t.Fatalf("%v, rows of %d, narrow %t: piece %+v", level, width, narrow, p)
			}
			for i := range p.Count {
				got = append(got, p.Window+i%half+i/half*width)
			}
			if p.Paired && rows[p.Window/width+1]-rows[p.Window/width] != c.Jump {
				t.Fatalf("%v, rows of %d, narrow %t: rows of piece %+v are not a jump apart", level, width, narrow, p)
			}
		}
		slices.Sort(got)
		for _, w := range got {
			if w != next {
				t.Fatalf("%v, rows of %d, narrow %t: group %+v has window %d, want %d", level, width, narrow, group, w, next)
			}
			next++
		}
	}
	if next != len(rows)*width {
		t.Fatalf("%v, rows of %d, narrow %t: %d windows", level, width, narrow, next)
	}
}

// TestReaches counts the products that pieces leave out: where a row or a column of
// windows reads padding they have no terms.
func TestReaches(t *testing.T) {
	for _, c := range []struct {
		name                                string
		in, lead, out, stride, kernel, want []int // of which want is the terms of each piece: for all but its first window, for all, and for all but its last
	}{
		{"a row and its ends", []int{1, 5}, []int{0, 1}, []int{1, 5}, []int{1, 1}, []int{1, 3}, []int{1, 1, 1}},
		{"no padding", []int{1, 7}, []int{0, 0}, []int{1, 5}, []int{1, 1}, []int{1, 3}, []int{0, 3, 0}},
		{"rows above and below", []int{3, 5}, []int{1, 1}, []int{3, 5}, []int{1, 1}, []int{3, 3}, []int{2, 2, 2, 3, 3, 3, 2, 2, 2}},
		{"padding in front alone", []int{4, 6}, []int{1, 1}, []int{2, 3}, []int{2, 2}, []int{3, 3}, []int{2, 4, 0, 3, 6, 0}},
		{"padding of two", []int{1, 5}, []int{0, 2}, []int{1, 5}, []int{1, 1}, []int{1, 5}, []int{1, 3, 1}},
		{"nothing but padding", []int{1, 1}, []int{0, 1}, []int{1, 1}, []int{1, 1}, []int{1, 3}, []int{0, 1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := geometry{in: c.in, lead: c.lead, out: c.out, stride: c.stride, kernel: c.kernel, dilation: []int{1, 1}}
			f := conv.NewFrame(g.in, g.lead, g.out, g.stride, g.places(), 4)
			cut, all := conv.Cut(simd.AVX512, f, g.out, g.places(), false), make([]int, ir.NumElements(c.kernel))
			var got []int
			for _, p := range slices.Concat(cut.Groups...) {
				n := cut.Reaches[p.Reach].Terms(all, 0, len(all), 1, 1)
				got = append(got, n.First, len(n.List)-n.First-n.Last, n.Last)
			}
			diff(t, "terms", c.want, got)
		})
	}
}

// testTiles computes tiles of windows, in rows that are lanes apart by more than they
// need.
func testTiles[T conv.Float](t *testing.T, l *laid[T], level simd.Level, rng *rand.Rand) {
	elem, lanes := l.frame.Elem, conv.Lanes(level, l.frame.Elem)
	width, windows := l.out[len(l.out)-1], ir.NumElements(l.out)
	weights := make([]T, len(l.terms)*lanes)
	for i := range weights {
		weights[i] = T(rng.IntN(9) - 4)
	}
	for _, narrow := range []bool{false, true} {
		ld, used := lanes+rng.IntN(3), lanes
		cut := conv.Cut(level, l.frame, l.out, l.places(), narrow)
		if narrow {
			used = lanes / 2
		}
		got, at := panel[T](images*windows, ld)
		want, _ := panel[T](images*windows, ld)
		p0 := rng.IntN(len(l.terms) + 1)
		for _, terms := range [][2]int{{0, p0}, {p0, len(l.terms)}} {
			if terms[0] == terms[1] {
				continue
			}
			for _, p := range slices.Concat(cut.Groups...) {
				c := conv.Tiles[T]{
					Level: level, Narrow: narrow, Add: terms[0] > 0, Src: l.data, Step: elem, Jump: cut.Jump, Dst: at, Pitch: ld * elem, Leap: width * ld * elem,
					Terms: cut.Reaches[p.Reach].Terms(l.terms, terms[0], terms[1], 1, lanes*elem), Weights: unsafe.Pointer(&weights[terms[0]*lanes]),
				}
				var pieces []int
				for u := range images {
					pieces = append(pieces, u*channels*l.frame.Size*elem+p.From, (u*windows+p.Window)*ld*elem)
				}
				c.Run(p.Count, p.Paired, pieces)
			}
		}
		for w := range images * windows {
			for i := range used {
				sum := T(0)
				for k := range l.terms {
					sum += weights[k*lanes+i] * l.want(w, k)
				}
				want[guard+w*ld+i] = sum
			}
			for i := used; i < lanes; i++ { // not used
				got[guard+w*ld+i] = guard
			}
		}
		diff(t, fmt.Sprint("narrow: ", narrow), want, got)
	}
}

func TestTiles(t *testing.T) {
	each(t, ir.Float32, testTiles[float32])
	each(t, ir.Float64, testTiles[float64])
}

// TestTileRows takes tiles of every height, whose rows are far apart and whose sums
// are long.
func TestTileRows(t *testing.T) {
	for _, level := range simd.Usable() {
		for _, narrow := range []bool{false, true} {
			for rows := 1; rows <= conv.MostRows(level); rows++ {
				testTileRows[float32](t, level, narrow, rows, false)
				testTileRows[float64](t, level, narrow, rows, false)
			}
			for half := 1; half <= conv.MostPaired(level, narrow); half++ {
				testTileRows[float32](t, level, narrow, 2*half, true)
				testTileRows[float64](t, level, narrow, 2*half, true)
			}
		}
	}
}

func testTileRows[T conv.Float](t *testing.T, level simd.Level, narrow bool, rows int, paired bool) {
	const step, n, tiles, jump = 7, 300, 3, 150
	rng, elem := rand.New(rand.NewPCG(5, 6)), int(unsafe.Sizeof(T(0)))
	lanes := conv.Lanes(level, elem)
	used := lanes
	if narrow {
		used = lanes / 2
	}
	src, weights := make([]T, jump+(rows+tiles)*step+n), make([]T, n*lanes)
	for _, list := range [][]T{src, weights} {
		for i := range list {
			list[i] = T(rng.IntN(9) - 4)
		}
	}
	terms := make([]conv.Term, n)
	for k := range terms {
		terms[k] = conv.Term{At: rng.IntN(n) * elem, Weight: rng.IntN(n) * lanes * elem}
	}
	some := conv.Terms{List: terms} // which rows need
	if level > simd.Portable && (rows > 2 || rows == 2 && !paired) {
		some.First, some.Last = rng.IntN(n/2), rng.IntN(n/2)
	}
	gap := rows // between tiles, and between halves
	got, at := panel[T](tiles*2*gap, lanes)
	want, _ := panel[T](tiles*2*gap, lanes)
	c := conv.Tiles[T]{
		Level: level, Narrow: narrow, Src: unsafe.Pointer(&src[0]), Step: step * elem, Jump: jump * elem, Terms: some,
		Weights: unsafe.Pointer(&weights[0]), Dst: at, Pitch: lanes * elem, Leap: gap * lanes * elem,
	}
	var pieces []int
	for i := range tiles {
		pieces = append(pieces, i*step*elem, i*2*gap*lanes*elem)
	}
	c.Run(rows, paired, pieces)
	for i := range tiles * rows * lanes {
		tile, row, lane := i/lanes/rows, i/lanes%rows, i%lanes
		from, to, at, end := row*step, (tile*2*gap+row)*lanes+lane, row, rows
		if half := rows / 2; paired {
			at, end = row%half, half
			if row >= half {
				from, to = jump+at*step, to+(gap-half)*lanes
			}
		}
		sum := T(0)
		for k, term := range terms {
			if at == 0 && k < some.First || at == end-1 && k >= n-some.Last {
				continue
			}
			sum += src[tile*step+from+term.At/elem] * weights[term.Weight/elem+lane]
		}
		if want[guard+to] = sum; lane >= used {
			got[guard+to] = sum // not used
		}
	}
	diff(t, fmt.Sprint(rows, " rows at ", level, ", paired: ", paired, ", narrow: ", narrow), want, got)
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
	step := 1
	if testing.Short() {
		step += rng.IntN(4)
	}
	for rows := 1; rows <= 2*conv.Rows+1; rows += step {
		w := make([]T, rows*len(l.terms))
		for i := range w {
			w[i] = T(rng.IntN(9) - 4)
		}
		p := conv.Product[T]{Plane: plane, Rows: rows, Terms: l.terms, Band: rng.IntN(3), Pitch: rng.IntN(2) * (n + rng.IntN(3))}
		pitch := max(n, p.Pitch)
		got, at := panel[T](rows, pitch)
		want, _ := panel[T](rows, pitch)
		portions := 1 + rng.IntN(plane.Pieces())
		done := make([]T, len(got)) // elements as they are when they are said to be finished
		copy(done, got)
		for _, i := range rng.Perm(portions) {
			p.Run(at, unsafe.Pointer(&w[0]), l.data, i, portions, func(r0, r1, w0, w1 int) {
				for r := r0; r < r1; r++ {
					copy(done[guard+r*pitch+w0:guard+r*pitch+w1], got[guard+r*pitch+w0:])
				}
			})
		}
		for r := range rows {
			for j := range n {
				sum := T(0)
				for k := range l.terms {
					sum += w[r*len(l.terms)+k] * l.want(j, k)
				}
				want[guard+r*pitch+j] = sum
			}
		}
		diff(t, fmt.Sprintf("%d rows, %d apart, %d at once", rows, pitch, p.Band), want, got)
		diff(t, fmt.Sprintf("%d rows, %d apart, %d at once, when they are done", rows, pitch, p.Band), want, done)
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
	for _, level := range simd.Usable() {
		testElements[float32](t, ir.Float32, level)
		testElements[float64](t, ir.Float64, level)
	}
}
