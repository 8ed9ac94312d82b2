package rows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/tests/brief"
)

// each runs a test at every level that this processor has, for both types.
func each(t *testing.T, f32 func(t *testing.T, f *Funcs[float32]), f64 func(t *testing.T, f *Funcs[float64])) {
	for level := range simd.Available().Vectors() + 1 {
		t.Run(fmt.Sprintf("float32/%s", level), func(t *testing.T) { f32(t, At[float32](level)) })
		t.Run(fmt.Sprintf("float64/%s", level), func(t *testing.T) { f64(t, At[float64](level)) })
	}
}

// unit is the distance from 1 to the next number of T.
func unit[T Float]() float64 {
	var z T
	if _, ok := any(z).(float32); ok {
		return 0x1p-23
	}
	return 0x1p-52
}

// guarded returns n elements between others that must stay as they are, and a
// check that they did.
func guarded[T Float](t *testing.T, n int) (x []T, check func()) {
	const margin = 19
	all := make([]T, n+2*margin)
	for i := range all {
		all[i] = 77
	}
	return all[margin : margin+n : margin+n], func() {
		t.Helper()
		for i, v := range all {
			if (i < margin || i >= margin+n) && v != 77 {
				t.Fatalf("wrote %v at %d around %d elements", v, i-margin, n)
			}
		}
	}
}

func fill[T Float](x []T, rng *rand.Rand, scale float64) {
	for i := range x {
		x[i] = T(rng.NormFloat64() * scale)
	}
}

// isNear is near without a text, which takes longer than a comparison.
func isNear[T Float](got T, want, ulp, size float64) bool {
	g := float64(got)
	return math.IsNaN(want) && math.IsNaN(g) || g == want || math.Abs(g-want) <= ulp*unit[T]()*max(math.Abs(want), size)
}

// near checks got against want to some units of the last place of numbers of at
// least the given size.
func near[T Float](t *testing.T, what string, got T, want, ulp, size float64) {
	t.Helper()
	if isNear(got, want, ulp, size) {
		return
	}
	g := float64(got)
	t.Fatalf("%s: %v, want %v (off by %.3g ulp, allowed %g)", what, got, want, math.Abs(g-want)/unit[T]()/max(math.Abs(want), size), ulp)
}

// shapes are rows and their lengths: all short lengths, some long ones.
func shapes(f func(rows, n int)) {
	for n := 1; n <= 300; n++ {
		if n < 40 || !brief.Skip(n) {
			f(3, n)
		}
	}
	for _, n := range []int{509, 1024, 2048, 2049, 2053, 4097, 40000} {
		f(2, n)
	}
	f(700, 7)
}

func testSoftmax[T Float](t *testing.T, f *Funcs[T]) {
	rng := rand.New(rand.NewPCG(1, 2))
	shapes(func(rows, n int) {
		x, _ := guarded[T](t, rows*n)
		fill(x, rng, 6)
		out, check := guarded[T](t, rows*n)
		logs, checkLogs := guarded[T](t, rows*n)
		f.Softmax(out, x, n)
		f.LogSoftmax(logs, x, n)
		check()
		checkLogs()
		for r := range rows {
			top, sum := softmaxOf(x[r*n : (r+1)*n])
			for i, v := range x[r*n : (r+1)*n] {
				d := float64(v) - top
				want, wantLog := math.Exp(d)/sum, d-math.Log(sum)
				if isNear(out[r*n+i], want, 20-d, 0) && isNear(logs[r*n+i], wantLog, 20, 1) {
					continue // to say which one it is takes longer
				}
				what := fmt.Sprintf("%d of row %d of %d elements", i, r, n)
				near(t, what, out[r*n+i], want, 20-d, 0)
				near(t, "log, "+what, logs[r*n+i], wantLog, 20, 1)
			}
		}
		f.Softmax(x, x, n) // in place
		for i, v := range x {
			if v != out[i] {
				t.Fatalf("in place, %d of %d elements: %v, not %v", i, n, v, out[i])
			}
		}
	})
}

// softmaxOf returns the largest element of x and the sum of exp(x - largest).
func softmaxOf[T Float](x []T) (top, sum float64) {
	top = math.Inf(-1)
	for _, v := range x {
		top = math.Max(top, float64(v))
	}
	return top, sumExactly(x, func(v float64) float64 { return math.Exp(v - top) })
}

func TestSoftmax(t *testing.T) { each(t, testSoftmax[float32], testSoftmax[float64]) }

func testSpecial[T Float](t *testing.T, f *Funcs[T]) {
	inf, nan := math.Inf(1), math.NaN()
	payload := math.Float64frombits(0x7ff8000200000001) // keeps bits in float32 too
	for _, c := range []struct {
		name string
		set  map[int]float64
		rest float64
	}{
		{"-Inf", nil, -inf}, {"one -Inf", map[int]float64{3: -inf}, 1}, {"+Inf", map[int]float64{0: inf}, 1}, {"NaN", map[int]float64{5: nan}, 1},
		{"payload", map[int]float64{5: payload}, 1}, {"-Inf but one", map[int]float64{5: 2}, -inf}, {"all NaN", nil, nan}, {"far apart", map[int]float64{5: 3e30}, -3e30},
		{"subnormal", map[int]float64{2: 0}, -100}, {"lowest", map[int]float64{2: 0}, -708.9},
	} {
		for _, n := range []int{7, 8, 33, 2500} {
			x, out := make([]T, n), make([]T, n)
			for i := range x {
				x[i] = T(c.rest)
				if v, ok := c.set[i]; ok {
					x[i] = T(v)
				}
			}
			top, sum := softmaxOf(x)
			f.Softmax(out, x, n)
			checkBetween(t, f, c.name, x, out)
			columns := make([]T, n)
			f.SoftmaxColumns(columns, x, n, 1, 1)
			for i, v := range x {
				want := math.Exp(float64(v)-top) / sum
				if want != 0 && want < float64(tiny[T]()) { // spacing is that of subnormal numbers
					if math.Abs(float64(out[i])-want) > 2*float64(tiny[T]())*unit[T]() {
						t.Fatalf("%s: %v, want %v", c.name, out[i], want)
					}
					continue
				}
				near(t, c.name, out[i], want, 150, 0)
				near(t, c.name+", columns", columns[i], want, 150, 0)
			}
		}
	}
}

// checkBetween checks that softmax of row x is out also between other rows, and that
// theirs do not depend on it.
func checkBetween[T Float](t *testing.T, f *Funcs[T], what string, x, out []T) {
	t.Helper()
	n, rng := len(x), rand.New(rand.NewPCG(7, 8))
	other, alone := make([]T, n), make([]T, n)
	fill(other, rng, 6)
	f.Softmax(alone, other, n)
	rows, want := slices.Concat(other, x, other), slices.Concat(alone, out, alone)
	f.Softmax(rows, rows, n)
	for i, v := range rows {
		if v != want[i] && (v == v || want[i] == want[i]) {
			t.Fatalf("%s between other rows: %d of row %d of %d elements is %v, want %v", what, i%n, i/n, n, v, want[i])
		}
	}
}

// tiny returns the smallest normal number.
func tiny[T Float]() T {
	var z T
	if _, ok := any(z).(float32); ok {
		return 0x1p-126
	}
	return T(math.Float64frombits(1 << 52))
}

func TestSpecial(t *testing.T) { each(t, testSpecial[float32], testSpecial[float64]) }

func testColumns[T Float](t *testing.T, f *Funcs[T]) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range [][2]int{{1, 1}, {5, 3}, {17, 8}, {33, 16}, {300, 31}, {16, 600}, {3000, 5}, {129, 1000}} {
		rows, n := c[0], c[1]
		stride := n + rng.IntN(3)
		x, _ := guarded[T](t, rows*stride)
		fill(x, rng, 6)
		out, check := guarded[T](t, rows*stride)
		logs, checkLogs := guarded[T](t, rows*stride)
		tops, lses := make([]T, n), make([]float64, n)
		copy(out, x)
		f.SoftmaxColumns(out, x, rows, n, stride)
		f.LogSoftmaxColumns(logs, x, rows, n, stride)
		f.LogSumColumns(x, rows, n, stride, tops, lses)
		check()
		checkLogs()
		for j := range n {
			line := make([]T, rows)
			gather(line, x[j:], stride)
			top, sum := softmaxOf(line)
			near(t, "largest", tops[j], top, 0, 0)
			near(t, "log of sum", T(lses[j]), math.Log(sum), 20, 1)
			for i, v := range line {
				d := float64(v) - top
				if !isNear(out[i*stride+j], math.Exp(d)/sum, 20-d, 0) {
					near(t, fmt.Sprintf("row %d of column %d of %v", i, j, c), out[i*stride+j], math.Exp(d)/sum, 20-d, 0)
				}
				if !isNear(logs[i*stride+j], d-math.Log(sum), 20, 1) {
					near(t, fmt.Sprintf("log of row %d of column %d of %v", i, j, c), logs[i*stride+j], d-math.Log(sum), 20, 1)
				}
			}
		}
		for i := range out {
			if i%stride >= n && out[i] != x[i] {
				t.Fatalf("%v: wrote between rows", c)
			}
		}
	}
}

func TestColumns(t *testing.T) { each(t, testColumns[float32], testColumns[float64]) }

func testExpScale[T Float](t *testing.T, f *Funcs[T]) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n := range 70 {
		x, _ := guarded[T](t, n)
		fill(x, rng, 20)
		out, check := guarded[T](t, n)
		shift, factor := float64(rng.NormFloat64()*10), rng.Float64() // rounded: d below is of the same shift
		f.ExpScale(out, x, shift, factor)
		check()
		for i, v := range x {
			d := float64(v) - shift
			if !isNear(out[i], math.Exp(d)*float64(T(factor)), 4+math.Abs(d), 0) {
				near(t, fmt.Sprintf("exp(%v - %v)*%v", v, shift, factor), out[i], math.Exp(d)*float64(T(factor)), 4+math.Abs(d), 0)
			}
		}
	}
	x := []T{T(math.Inf(1)), T(math.Inf(-1)), T(math.NaN()), 1000, -1000, 88.5}
	out := make([]T, len(x))
	f.ExpScale(out, x, 0, 1)
	for i, want := range []float64{math.Inf(1), 0, math.NaN(), math.Inf(1), 0, math.Exp(88.5)} {
		if !isNear(out[i], want, 4, 0) {
			near(t, fmt.Sprintf("exp(%v)", x[i]), out[i], want, 4, 0)
		}
	}
}

func TestExpScale(t *testing.T) { each(t, testExpScale[float32], testExpScale[float64]) }

func testNorms[T Float](t *testing.T, f *Funcs[T]) {
	rng := rand.New(rand.NewPCG(7, 8))
	check := func(rows, n int, offset, scale float64) {
		x, _ := guarded[T](t, rows*n)
		fill(x, rng, scale)
		for i := range x {
			x[i] += T(offset)
		}
		weight, bias := make([]T, n), make([]T, n)
		fill(weight, rng, 1)
		fill(bias, rng, 1)
		for _, affine := range []bool{false, true} {
			w, b := weight, bias
			if !affine {
				w, b = nil, nil
			}
			out, checkOut := guarded[T](t, rows*n)
			means, checkMeans := guarded[T](t, rows)
			rstds, checkRstds := guarded[T](t, rows)
			f.LayerNorm(out, x, w, b, means, rstds, n, 1e-5)
			checkNorm(t, x, out, w, b, means, rstds, n, true)
			f.RMSNorm(out, x, w, rstds, n, 1e-5)
			checkNorm(t, x, out, w, nil, nil, rstds, n, false)
			checkOut()
			checkMeans()
			checkRstds()
		}
	}
	shapes(func(rows, n int) { check(rows, n, 0, 1) })
	check(3, 77, 1000, 1)
	check(2, 70000, 3, 1)
	if unit[T]() > 1e-10 { // float64 overflows in the portable code too
		root := math.Sqrt(float64(tiny[T]())) // squares of numbers beyond 1/root overflow
		check(2, 40, 0, 4/root)
		check(2, 40, 0, root)
	}
}

// checkNorm compares with sums in float64.
func checkNorm[T Float](t *testing.T, x, out, w, b, means, rstds []T, n int, centre bool) {
	t.Helper()
	for r := range rstds {
		row := x[r*n : (r+1)*n]
		mean, largest := 0.0, 0.0
		for _, v := range row {
			largest = math.Max(largest, math.Abs(float64(v)))
		}
		if centre {
			mean = sumExactly(row, func(v float64) float64 { return v }) / float64(n)
			near(t, "mean", means[r], mean, 8, largest)
		}
		part := largest * 0x1p-20 // squares of quotients neither overflow nor vanish
		square := sumExactly(row, func(v float64) float64 { return (v - mean) / part * ((v - mean) / part) })
		rstd := 1 / math.Hypot(part*math.Sqrt(square/float64(n)), math.Sqrt(1e-5))
		ulp := 16 + math.Sqrt(float64(n))/4
		near(t, "rstd", rstds[r], rstd, ulp, 0)
		for i, v := range row {
			y := (float64(v) - mean) * rstd
			size := 1 + math.Abs(y)
			if w != nil {
				y *= float64(w[i])
				size += math.Abs(y)
			}
			if b != nil {
				y += float64(b[i])
			}
			if centre {
				size += math.Abs(mean*rstd) * unit[float64]() / unit[T]()
			}
			if !isNear(out[r*n+i], y, ulp, size) {
				near(t, fmt.Sprintf("%d of row %d of %d elements", i, r, n), out[r*n+i], y, ulp, size)
			}
		}
	}
}

// sumExactly adds up f of every element, keeping what additions lose.
func sumExactly[T Float](x []T, f func(v float64) float64) float64 {
	sum, lost := 0.0, 0.0
	for _, v := range x {
		a, b := sum, f(float64(v))
		if sum = a + b; math.Abs(a) >= math.Abs(b) {
			lost += a - sum + b
		} else {
			lost += b - sum + a
		}
	}
	return sum + lost
}

func TestNorms(t *testing.T) { each(t, testNorms[float32], testNorms[float64]) }

func testArg[T Float](t *testing.T, f *Funcs[T]) {
	rng := rand.New(rand.NewPCG(9, 10))
	some := []float64{0, math.Copysign(0, -1), 1, -1, 2, math.Inf(1), math.Inf(-1), math.NaN(), 3, -3, 4, 5, 6}
	shapes(func(rows, n int) {
		x := make([]T, rows*n)
		kinds := 1 + rng.IntN(len(some))
		for i := range x {
			x[i] = T(some[rng.IntN(kinds)])
			if n%2 == 0 {
				x[i] = T(rng.NormFloat64())
			}
		}
		for _, least := range []bool{false, true} {
			index := make([]int64, rows+1)
			index[rows] = -7
			f.Arg(x, n, index[:rows], least)
			for r := range rows {
				if want := argOf(x[r*n:(r+1)*n], least); index[r] != want {
					t.Fatalf("row %d of %d elements, least %t: %d, want %d", r, n, least, index[r], want)
				}
			}
			if index[rows] != -7 {
				t.Fatal("wrote past the end")
			}
			testArgColumns(t, f, x, n, rows, least)
			testArgColumns(t, f, x, rows, n, least)
		}
	})
}

func testArgColumns[T Float](t *testing.T, f *Funcs[T], x []T, rows, n int, least bool) {
	index := make([]int64, n+1)
	index[n] = -7
	f.ArgColumns(x, rows, n, n, index[:n], least)
	line := make([]T, rows)
	for j := range n {
		gather(line, x[j:], n)
		if want := argOf(line, least); index[j] != want {
			t.Fatalf("column %d of %d of %d elements, least %t: %d, want %d", j, n, rows, least, index[j], want)
		}
	}
	if index[n] != -7 {
		t.Fatal("wrote past the end")
	}
}

// argOf finds the first NaN, else the first of the best.
func argOf[T Float](x []T, least bool) int64 {
	at := 0
	for i, v := range x {
		if v != v {
			return int64(i)
		}
		if least && v < x[at] || !least && v > x[at] {
			at = i
		}
	}
	return int64(at)
}

func TestArg(t *testing.T) { each(t, testArg[float32], testArg[float64]) }
