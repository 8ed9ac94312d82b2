package fft

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// definition is the sum itself, in float64.
func definition(x []complex128, inverse bool) []complex128 {
	n := len(x)
	roots := make([]complex128, n)
	for k := range roots {
		s, c := math.Sincos(2 * math.Pi * float64(k) / float64(n))
		if roots[k] = complex(c, -s); inverse {
			roots[k] = complex(c, s)
		}
	}
	out := make([]complex128, n)
	for k := range out {
		var sum, lost complex128 // Kahan's sum, so that the error does not grow with n
		for j, v := range x {
			term := v*roots[j*k%n] - lost
			next := sum + term
			lost = next - sum - term
			sum = next
		}
		out[k] = sum
	}
	return out
}

func random(n int, seed uint64) []complex128 {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([]complex128, n)
	for i := range x {
		x[i] = complex(float64(float32(rng.NormFloat64())), float64(float32(rng.NormFloat64())))
	}
	return x
}

// worst returns the largest distance of two lists relative to their norm by number.
func worst(got, want []complex128) float64 {
	far, norm := 0.0, 0.0
	for i, v := range want {
		far = max(far, cmplx.Abs(got[i]-v))
		norm += real(v)*real(v) + imag(v)*imag(v)
	}
	return far / math.Sqrt(norm/float64(len(want)))
}

// view returns memory and a view of all of it, with one element to spare.
func view[E any](dt ir.DType, shape, strides []int) ([]E, ir.View) {
	_, end := ir.Layout{Shape: shape, Strides: strides}.Span()
	memory := make([]E, end+1)
	return memory, ir.View{Ptr: unsafe.Pointer(&memory[0]), DType: dt, Shape: shape, Strides: strides}
}

var lengths = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 20, 25, 27, 30, 32, 49, 59, 61, 64, 67, 71, 77, 96, 97, 100, 121, 128, 134, 135, 143, 210, 240, 256, 331, 360, 500, 509, 512, 720, 1009, 1024, 1155, 1250}

// bounds are in units of the last place of a number's size, by log2 of the length:
// a Stockham transform's error is about 0.5 of them a pass, rarely more than 3.
func bound(n int, eps float64) float64 { return eps * (4 + 2*math.Log2(float64(n))) }

func TestC2CAgainstDefinition(t *testing.T) {
	for _, n := range lengths {
		x := random(n, uint64(n))
		for _, inverse := range []bool{false, true} {
			want := definition(x, inverse)
			for i := range want {
				want[i] /= 3
			}
			mem, in := view[complex128](ir.Complex128, []int{n}, []int{1})
			copy(mem, x)
			got, out := view[complex128](ir.Complex128, []int{n}, []int{1})
			if err := C2C(out, in, []int{0}, inverse, 1./3); err != nil {
				t.Fatal(err)
			}
			if far := worst(got[:n], want); !(far <= bound(n, 0x1p-52)) {
				t.Errorf("complex128, n = %d, inverse %v: off by %.3g", n, inverse, far)
			}
			small, in := view[complex64](ir.Complex64, []int{n}, []int{1})
			for i, v := range x {
				small[i] = complex64(v)
			}
			if err := C2C(in, in, []int{0}, inverse, 1./3); err != nil {
				t.Fatal(err)
			}
			wide := make([]complex128, n)
			for i := range wide {
				wide[i] = complex128(small[i])
			}
			if far := worst(wide, want); !(far <= bound(n, 0x1p-23)) {
				t.Errorf("complex64 in place, n = %d, inverse %v: off by %.3g", n, inverse, far)
			}
		}
	}
}

func TestRealAgainstDefinition(t *testing.T) {
	for _, n := range lengths {
		const scale, inner = 0.5, 3.0
		x := random(n, uint64(n))
		for i := range x {
			x[i] = complex(real(x[i]), 0)
		}
		weight := func(k int) complex128 {
			if k == 0 || 2*k == n {
				return scale
			}
			return scale * inner
		}
		want := definition(x, false)[:n/2+1]
		for k := range want {
			want[k] *= weight(k)
		}
		mem, in := view[float64](ir.Float64, []int{n}, []int{1})
		for i := range x {
			mem[i] = real(x[i])
		}
		half, out := view[complex128](ir.Complex128, []int{n/2 + 1}, []int{1})
		if err := R2C(out, in, 0, scale, inner); err != nil {
			t.Fatal(err)
		}
		if far := worst(half[:n/2+1], want); !(far <= bound(n, 0x1p-52)) {
			t.Errorf("r2c, n = %d: off by %.3g", n, far)
		}
		// The other way, from numbers that are no transform: imaginary parts of the
		// ends do not count.
		z := random(n/2+1, uint64(n+1))
		copy(half, z)
		full := make([]complex128, n)
		for k, v := range z {
			v *= weight(k)
			if k == 0 || 2*k == n {
				full[k] = complex(real(v), 0)
				continue
			}
			full[k], full[n-k] = v, cmplx.Conj(v)
		}
		want = definition(full, true)
		if err := C2R(in, out, 0, scale, inner); err != nil {
			t.Fatal(err)
		}
		got := make([]complex128, n)
		for i := range got {
			got[i] = complex(mem[i], 0)
		}
		if far := worst(got, want); !(far <= bound(n, 0x1p-52)) {
			t.Errorf("c2r, n = %d: off by %.3g", n, far)
		}
	}
}

// TestLayouts transforms along each axis of tensors laid out in several ways, and
// sees that lines do not depend on how they lie.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		shape, in, out []int
		axis           int
	}{
		{[]int{5, 6, 7}, []int{42, 7, 1}, []int{42, 7, 1}, 0},
		{[]int{5, 6, 7}, []int{42, 7, 1}, []int{42, 7, 1}, 1},
		{[]int{5, 6, 7}, []int{42, 7, 1}, []int{42, 7, 1}, 2},
		{[]int{5, 6, 7}, []int{1, 5, 30}, []int{42, 7, 1}, 1},
		{[]int{5, 6, 7}, []int{42, 7, 1}, []int{2, 10, 60}, 2},
		{[]int{40, 6}, []int{0, 1}, []int{6, 1}, 1},
		{[]int{33, 67}, []int{67, 1}, []int{67, 1}, 0},
		{[]int{67, 33}, []int{33, 1}, []int{33, 1}, 0},
		{[]int{3, 100}, []int{201, 2}, []int{100, 1}, 1},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			mem, in := view[complex128](ir.Complex128, c.shape, c.in)
			copy(mem, random(len(mem), 5))
			got, out := view[complex128](ir.Complex128, c.shape, c.out)
			if err := C2C(out, in, []int{c.axis}, false, 1); err != nil {
				t.Fatal(err)
			}
			l, n := linesOf(out, in, c.axis), c.shape[c.axis]
			for i := range l.count {
				at := l.at(i)
				x, y := make([]complex128, n), make([]complex128, n)
				for j := range n {
					x[j], y[j] = mem[at.in+j*c.in[c.axis]], got[at.out+j*c.out[c.axis]]
				}
				if far := worst(y, definition(x, false)); !(far <= bound(n, 0x1p-52)) {
					t.Fatalf("line %d is off by %.3g", i, far)
				}
			}
		})
	}
}

// TestLong shares passes of one line among processors, and transforms a wave, whose
// transform is one number.
func TestLong(t *testing.T) {
	for _, n := range []int{1 << 17, 3 << 15, 100003} {
		const wave = 4321
		mem, v := view[complex128](ir.Complex128, []int{n}, []int{1})
		for j := range n {
			s, c := math.Sincos(2 * math.Pi * float64(j*wave%n) / float64(n))
			mem[j] = complex(c, s)
		}
		if err := C2C(v, v, []int{0}, false, 1/float64(n)); err != nil {
			t.Fatal(err)
		}
		for k, x := range mem[:n] {
			want := complex128(0)
			if k == wave {
				want = 1
			}
			if !(cmplx.Abs(x-want) <= 1e-13) {
				t.Fatalf("n = %d: number %d is %v, want %v", n, k, x, want)
			}
		}
	}
}

func TestManyAxes(t *testing.T) {
	shape := []int{3, 4, 5}
	mem, in := view[complex128](ir.Complex128, shape, []int{20, 5, 1})
	copy(mem, random(60, 9))
	one, a := view[complex128](ir.Complex128, shape, []int{20, 5, 1})
	all, b := view[complex128](ir.Complex128, shape, []int{20, 5, 1})
	if err := C2C(a, in, []int{0, 2}, true, 0.25); err != nil {
		t.Fatal(err)
	}
	if err := C2C(b, in, []int{2}, true, 1); err != nil {
		t.Fatal(err)
	}
	if err := C2C(b, b, []int{0}, true, 0.25); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, one); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// levels are those of this processor.
func levels() []simd.Level {
	list := simd.Usable()
	if testing.Short() && len(list) > 2 { // what is between has much in common with both
		return []simd.Level{list[0], list[len(list)-1]}
	}
	return list
}

// testLevel transforms interleaved lines at a level, with one processor and with
// several, which must not make a difference.
func testLevel[F float](t *testing.T, level simd.Level, n, lanes int, eps float64) {
	p := newPlan[F](n, level)
	lines, x := make([][]complex128, lanes), make([]point[F], n*lanes+1)
	for l := range lines {
		lines[l] = random(n, uint64(n+l))
		for j, v := range lines[l] {
			x[j*lanes+l] = point[F]{F(real(v)), F(imag(v))}
		}
	}
	guard := point[F]{12345, 54321}
	x[n*lanes] = guard
	var first []point[F]
	for _, processors := range []int{1, 4} {
		runtime.GOMAXPROCS(processors)
		work := make([]byte, p.bytes(lanes)+16)
		b := p.buffer(lanes, unsafe.Pointer(&work[0]))
		out := make([]point[F], n*lanes+1)
		out[n*lanes] = guard
		got := p.transform(x, out[:n*lanes], &b, lanes, processors > 1)
		if x[n*lanes] != guard || out[n*lanes] != guard || [16]byte(work[len(work)-16:]) != [16]byte{} {
			t.Fatalf("%s, n = %d, %d lanes: written beside", level, n, lanes)
		}
		if first == nil {
			first = slices.Clone(got)
		} else if !slices.Equal(first, got) {
			t.Fatalf("%s, n = %d, %d lanes: %d processors make a difference", level, n, lanes, processors)
		}
	}
	for l, line := range lines {
		if n > 4000 && l > 0 {
			break // the definition takes long
		}
		got := make([]complex128, n)
		for k := range got {
			got[k] = complex(float64(first[k*lanes+l].re), float64(first[k*lanes+l].im))
		}
		if far := worst(got, definition(line, false)); !(far <= bound(n, eps)) {
			t.Fatalf("%s, n = %d, line %d of %d: off by %.3g", level, n, l, lanes, far)
		}
	}
}

func TestLevels(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, level := range levels() {
		for i, n := range lengths {
			if testing.Short() && i%12 != 0 {
				continue
			}
			for _, lanes := range []int{1, 3, 4, 5, 8, 16} {
				if newPlan[float32](n, level).chirp != nil && lanes > 1 || n > 300 && lanes > 3 {
					continue
				}
				testLevel[float32](t, level, n, lanes, 0x1p-23)
				testLevel[float64](t, level, n, lanes, 0x1p-52)
			}
		}
	}
	for _, level := range levels()[1:] {
		for _, n := range []int{4096, 4500} { // more than one call a pass
			testLevel[float32](t, level, n, 9, 0x1p-23)
			testLevel[float64](t, level, n, 9, 0x1p-52)
		}
	}
}

// testHalf transforms real points at a level, and back.
func testHalf[F float](t *testing.T, level simd.Level, n int, eps float64) {
	h := newHalf[F](n, level)
	const edge, inner = 0.5, 1.5
	points, x := random(n, uint64(n)), make([]F, n)
	for j := range points {
		x[j] = F(real(points[j]))
		points[j] = complex(float64(x[j]), 0)
	}
	work := make([]byte, h.bytes(1))
	b := h.buffer(1, unsafe.Pointer(&work[0]))
	spectrum := make([]point[F], n/2+2)
	guard := point[F]{12345, 54321}
	spectrum[n/2+1] = guard
	h.split(spectrum, 1, h.transform(h.pairs(b.x, x, []line{{}}, 1), nil, &b, 1, false), 1, n, edge, inner)
	want, got := definition(points, false)[:n/2+1], make([]complex128, n/2+1)
	for k := range want {
		if want[k] *= inner; k == 0 || 2*k == n {
			want[k] *= edge / inner
		}
		got[k] = complex(float64(spectrum[k].re), float64(spectrum[k].im))
	}
	if far := worst(got, want); !(far <= bound(n, eps)) || spectrum[n/2+1] != guard {
		t.Fatalf("%s, split, n = %d: off by %.3g, guard %v", level, n, far, spectrum[n/2+1])
	}
	back, same := make([]F, n+1), make([]complex128, n)
	back[n] = 12345
	h.join(b.x, 1, spectrum, 1, n, F(1/edge/float64(n)), F(1/inner/float64(n)))
	h.unpair(back, h.transform(b.x, nil, &b, 1, false), []line{{}}, 1)
	for j := range same {
		same[j] = complex(float64(back[j]), 0)
	}
	if far := worst(same, points); !(far <= 2*bound(n, eps)) || back[n] != 12345 {
		t.Fatalf("%s, join, n = %d: off by %.3g, guard %v", level, n, far, back[n])
	}
}

func TestHalves(t *testing.T) {
	for _, level := range levels() {
		for n := 2; n <= 300; n += 2 {
			testHalf[float32](t, level, n, 0x1p-23)
			testHalf[float64](t, level, n, 0x1p-52)
		}
	}
}

func testWeigh[F float](t *testing.T, level simd.Level) {
	v := vectorsOf[F](level)
	for n := range 300 {
		x := make([]point[F], n+1)
		for i := range x {
			x[i] = point[F]{F(i + 1), F(-i)}
		}
		if n > 2 {
			x[1] = point[F]{F(math.Inf(-1)), F(math.Copysign(0, -1))}
		}
		for _, exchange := range []bool{false, true} {
			for _, inPlace := range []bool{false, true} {
				from := slices.Clone(x)
				dst := from
				if !inPlace {
					dst = make([]point[F], n+1)
					dst[n] = x[n]
				}
				v.weigh(dst, from[:n], 0.5, exchange)
				for i, p := range x {
					want := point[F]{p.re * 0.5, p.im * 0.5}
					if exchange {
						want.re, want.im = want.im, want.re
					}
					if i == n {
						want = p
					}
					if dst[i] != want || math.Signbit(float64(dst[i].im)) != math.Signbit(float64(want.im)) {
						t.Fatalf("%s, point %d of %d, exchange %v: %v, want %v", level, i, n, exchange, dst[i], want)
					}
				}
			}
		}
	}
}

func TestWeigh(t *testing.T) {
	for _, level := range levels() {
		testWeigh[float32](t, level)
		testWeigh[float64](t, level)
	}
}

func TestFactors(t *testing.T) {
	for _, c := range []struct {
		n       int
		radices []int
		rest    int
	}{
		{1, nil, 1}, {8, []int{4, 2}, 1}, {360, []int{4, 5, 3, 3, 2}, 1}, {48, []int{4, 3, 4}, 1}, {61 * 7, []int{61, 7}, 1}, {67 * 4, []int{4}, 67},
	} {
		radices, rest := factors(c.n)
		if diff := cmp.Diff(c.radices, radices); diff != "" || rest != c.rest {
			t.Errorf("%d: rest %d, want %d (-want +got):\n%s", c.n, rest, c.rest, diff)
		}
	}
}

func BenchmarkC2C(b *testing.B) {
	for _, n := range []int{256, 4096, 65536, 1 << 20, 1009} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rows := max(1, 1<<20/n)
			_, v := view[complex64](ir.Complex64, []int{rows, n}, []int{n, 1})
			b.SetBytes(int64(8 * rows * n))
			for b.Loop() {
				if err := C2C(v, v, []int{1}, false, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
