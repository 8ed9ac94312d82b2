package fold

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

var names = [...]string{"sum", "prod", "max", "min", "any", "all"}

// sizes are lengths of blocks: all short ones, and what is around whole rows.
func sizes() (n []int) {
	for i := range 301 {
		if testing.Short() && i > 20 && i%13 != 0 {
			continue
		}
		n = append(n, i)
	}
	return append(n, 511, 512, 513, 1000, 1023, 1024)
}

// folded returns the fold of the n elements of v from at on.
func folded(l *vector.FoldFuncs, v ir.View, at, n int) complex128 {
	acc := cputest.NewView(l.Acc, "contiguous", 1)
	l.Init(1, acc.Ptr, nil)
	if n > 0 {
		l.Fold(n, acc.Ptr, unsafe.Add(v.Ptr, at*v.DType.Size()), nil)
	}
	return scalar(acc, 0)
}

func scalar(v ir.View, i int) complex128 { return cputest.Get(v, i) }

// oracle folds the n elements of v from at on one after the other, in 300 bits.
func oracle(kind Kind, v ir.View, at, n int) complex128 {
	re, im := new(big.Float).SetPrec(300), new(big.Float).SetPrec(300)
	if kind == Prod {
		re.SetInt64(1)
	}
	best := math.Inf(-1)
	if kind == Min {
		best = math.Inf(1)
	}
	some, every := false, true
	for i := at; i < at+n; i++ {
		c := cputest.Get(v, i)
		a, b := new(big.Float).SetFloat64(real(c)), new(big.Float).SetFloat64(imag(c))
		switch kind {
		case Sum:
			re.Add(re, a)
			im.Add(im, b)
		case Prod:
			p, q := new(big.Float).SetPrec(300), new(big.Float).SetPrec(300)
			p.Sub(p.Mul(re, a), new(big.Float).SetPrec(300).Mul(im, b))
			q.Add(q.Mul(re, b), new(big.Float).SetPrec(300).Mul(im, a))
			re, im = p, q
		case Max:
			best = math.Max(best, real(c))
		case Min:
			best = math.Min(best, real(c))
		default:
			some = some || c != 0
			every = every && c != 0
		}
	}
	truth := map[bool]complex128{true: 1}
	switch kind {
	case Max, Min:
		return complex(best, 0)
	case Any:
		return truth[some]
	case All:
		return truth[every]
	}
	x, _ := re.Float64()
	y, _ := im.Float64()
	return complex(x, y)
}

// near reports whether two values of a dtype are the same up to rounding of n steps.
func near(got, want complex128, dtype ir.DType, n int) bool {
	unit := 0x1p-52
	if dtype == ir.Float32 || dtype == ir.Complex64 {
		unit = 0x1p-23
	}
	if !dtype.IsFloat() && !dtype.IsComplex() {
		unit = 0
	}
	limit := unit * math.Sqrt(float64(n)+1) * 4 * (1 + math.Hypot(real(want), imag(want)))
	return math.Abs(real(got)-real(want)) <= limit && math.Abs(imag(got)-imag(want)) <= limit
}

var dtypes = []ir.DType{ir.Bool, ir.Uint8, ir.Int8, ir.Int16, ir.Int32, ir.Int64, ir.Float32, ir.Float64, ir.Complex64, ir.Complex128}

// values fills a view with what folds of the kind do not overflow on.
func values(kind Kind, v ir.View, rng *rand.Rand) ir.View {
	switch {
	case kind == Any:
		return v // zeros, which a caller changes
	case kind == Prod && (v.DType.IsFloat() || v.DType.IsComplex()):
		return cputest.FillFloat(v, rng, 0.97, 1.03)
	case kind == Prod || kind == All:
		return cputest.Fill(v, rng, 1, 1)
	case v.DType.IsFloat() || v.DType.IsComplex():
		return cputest.FillFloat(v, rng, -1, 1)
	case kind == Sum:
		return cputest.Fill(v, rng, 0, 0)
	case v.DType == ir.Bool || v.DType == ir.Uint8:
		return cputest.Fill(v, rng, 0, 99)
	}
	return cputest.Fill(v, rng, -99, 99)
}

func TestFold(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for kind := range kinds {
		for _, dtype := range dtypes {
			for _, level := range simd.UsableVectors() {
				l := At(level, kind, dtype)
				if l == nil {
					continue
				}
				for _, n := range sizes() {
					v := values(kind, cputest.NewView(dtype, "contiguous", n+2), rng)
					if n > 0 && (kind >= Any || kind == Sum && !dtype.IsFloat() && !dtype.IsComplex()) && rng.IntN(2) == 0 {
						cputest.Set(v, 1+rng.IntN(n), complex(map[bool]float64{true: 1}[kind != All], 0))
					}
					got, want := folded(l, v, 1, n), oracle(kind, v, 1, n)
					if n == 0 && kind < Any && (kind == Max || kind == Min) {
						continue // the identity
					}
					if !near(got, want, dtype, n) {
						t.Fatalf("%s of %d %s, %s: %v, want %v", names[kind], n, dtype, level, got, want)
					}
				}
			}
		}
	}
}

// TestSameAtAllLevels checks that rounding does not depend on vectors: folds of
// blocks, of several blocks, and of rows.
func TestSameAtAllLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, kind := range []Kind{Sum, Prod} {
		for _, dtype := range []ir.DType{ir.Int64, ir.Float32, ir.Float64, ir.Complex64, ir.Complex128} {
			v := values(kind, cputest.NewView(dtype, "contiguous", 16*Block), rng)
			var want []complex128
			for _, level := range simd.UsableVectors() {
				l := At(level, kind, dtype)
				var got []complex128
				for _, n := range sizes() {
					got = append(got, folded(l, v, 3, n))
				}
				acc := cputest.NewView(l.Acc, "contiguous", 1)
				for _, count := range []int{1, 2, 4, 8, 16} {
					l.Blocks(count, acc.Ptr, v.Ptr, nil)
					got = append(got, scalar(acc, 0))
				}
				for _, n := range []int{1, 7, 33, 300} {
					accs := cputest.NewView(l.Acc, "contiguous", n+1)
					l.Init(n+1, accs.Ptr, nil)
					guard := scalar(accs, n)
					for r := range 40 {
						l.Rows(n, accs.Ptr, unsafe.Add(v.Ptr, r*301*dtype.Size()), nil)
					}
					for i := range n {
						got = append(got, scalar(accs, i))
					}
					if scalar(accs, n) != guard {
						t.Fatalf("%s of %s, %s: wrote past %d accumulators", names[kind], dtype, level, n)
					}
					if l.Grid == nil {
						continue
					}
					l.Init(n, accs.Ptr, nil)
					l.Grid(40, n, 301*dtype.Size(), accs.Ptr, v.Ptr, nil)
					for i := range n {
						if s := got[len(got)-n+i]; scalar(accs, i) != s {
							t.Fatalf("%s of %s, %s: column %d of %d by grid is %v, by rows %v", names[kind], dtype, level, i, n, scalar(accs, i), s)
						}
					}
				}
				if want == nil {
					want = got
				}
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("%s of %s: case %d is %v at %s, %v in plain Go", names[kind], dtype, i, got[i], level, want[i])
					}
				}
			}
		}
	}
}

// TestOrder checks the order of additions that the package states.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	v := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", 4*Block), rng, -1, 1)
	x := unsafe.Slice((*float32)(v.Ptr), 4*Block)
	block := func(x []float32) float32 {
		var lane [64]float32
		for i, e := range x {
			lane[i%64] += e
		}
		for n := 32; n > 0; n /= 2 {
			for j := range n {
				lane[j] += lane[j+n]
			}
		}
		return lane[0]
	}
	for _, level := range simd.UsableVectors() {
		l := At(level, Sum, ir.Float32)
		for _, n := range sizes() {
			if got, want := float32(real(folded(l, v, 0, n))), block(x[:n]); got != want {
				t.Fatalf("%d elements, %s: %v, want %v", n, level, got, want)
			}
		}
		var got float32
		l.Blocks(4, unsafe.Pointer(&got), v.Ptr, nil)
		if want := (block(x[:1024]) + block(x[1024:2048])) + (block(x[2048:3072]) + block(x[3072:])); got != want {
			t.Fatalf("4 blocks, %s: %v, want %v", level, got, want)
		}
	}
}

func TestNaN(t *testing.T) {
	for _, level := range simd.UsableVectors() {
		for _, kind := range []Kind{Max, Min, Sum, Prod} {
			for _, dtype := range []ir.DType{ir.Float32, ir.Float64} {
				l := At(level, kind, dtype)
				for at := range 300 {
					v := cputest.NewView(dtype, "contiguous", 300)
					cputest.Set(v, at, complex(math.NaN(), 0))
					if got := real(folded(l, v, 0, 300)); !math.IsNaN(got) {
						t.Fatalf("%s of %s with NaN at %d, %s: %v", names[kind], dtype, at, level, got)
					}
				}
				if l.Prefix != nil {
					x, out := cputest.NewView(dtype, "contiguous", 40), cputest.NewView(dtype, "contiguous", 40)
					cputest.Set(x, 21, complex(math.NaN(), 0))
					acc := cputest.NewView(dtype, "contiguous", 1)
					l.Init(1, acc.Ptr, nil)
					l.Prefix(40, out.Ptr, acc.Ptr, x.Ptr, nil)
					for i := range 40 {
						if got := math.IsNaN(real(cputest.Get(out, i))); got != (i >= 21) {
							t.Fatalf("%s of prefixes of %s, %s: NaN at %d: %t", names[kind], dtype, level, i, got)
						}
					}
				}
				acc, row := cputest.NewView(dtype, "contiguous", 9), cputest.NewView(dtype, "contiguous", 9)
				cputest.Set(acc, 2, complex(math.NaN(), 0))
				cputest.Set(row, 5, complex(math.NaN(), 0))
				l.Rows(9, acc.Ptr, row.Ptr, nil)
				for i := range 9 {
					if got := math.IsNaN(real(cputest.Get(acc, i))); got != (i == 2 || i == 5) {
						t.Fatalf("%s of rows of %s, %s: NaN at %d: %t", names[kind], dtype, level, i, got)
					}
				}
			}
		}
	}
}

func TestTruthOfZeros(t *testing.T) {
	for _, dtype := range []ir.DType{ir.Float32, ir.Float64, ir.Complex64, ir.Complex128} {
		v := cputest.NewView(dtype, "contiguous", 40)
		for i := range 40 {
			cputest.Set(v, i, complex(math.Copysign(0, -1), math.Copysign(0, -1)))
		}
		some, every := At(simd.Portable, Any, dtype), At(simd.Portable, All, dtype)
		if folded(some, v, 0, 40) != 0 {
			t.Errorf("any of %s: a zero with a sign counts", dtype)
		}
		for i := range 40 {
			if folded(every, v, 0, 40) != 0 {
				t.Errorf("all of %s: a zero counts", dtype)
			}
			cputest.Set(v, i, complex(math.NaN(), 0))
		}
		if folded(every, v, 0, 40) == 0 || folded(some, v, 39, 1) == 0 {
			t.Errorf("%s: NaN counts as zero", dtype)
		}
	}
}

// TestTruthOfBytes: one element that differs is found wherever it stands, whatever the
// bits of the others, in a line and among columns.
func TestTruthOfBytes(t *testing.T) {
	some, every := At(simd.Portable, Any, ir.Uint8), At(simd.Portable, All, ir.Uint8)
	for _, fill := range []byte{1, 0x7f, 0x80, 0x81, 0xff} {
		for n := 1; n < 70; n++ {
			for at := range n + 1 {
				x := bytes.Repeat([]byte{fill}, n+1)
				y := make([]byte, n+1)
				x[at], y[at] = 0, fill // at n nothing differs
				one := func(l *vector.FoldFuncs, start byte, x []byte) byte {
					acc := start
					l.Fold(n, unsafe.Pointer(&acc), unsafe.Pointer(&x[0]), nil)
					return acc
				}
				if got, want := one(every, 1, x) == 1, at == n; got != want {
					t.Fatalf("all of %d bytes of %#x, zero at %d: %t", n, fill, at, got)
				}
				if got, want := one(some, 0, y) == 1, at < n; got != want {
					t.Fatalf("any of %d bytes, %#x at %d: %t", n, fill, at, got)
				}
				a, b := bytes.Repeat([]byte{1}, n+1), make([]byte, n+1)
				every.Rows(n, unsafe.Pointer(&a[0]), unsafe.Pointer(&x[0]), nil)
				some.Rows(n, unsafe.Pointer(&b[0]), unsafe.Pointer(&y[0]), nil)
				for i := range n {
					if a[i] != 1 && i != at || a[i] != 0 && i == at || b[i] != 0 && i != at || b[i] != 1 && i == at {
						t.Fatalf("%d columns of %#x: %d is %d and %d, the other at %d", n, fill, i, a[i], b[i], at)
					}
				}
				if a[n] != 1 || b[n] != 0 {
					t.Fatalf("%d columns: wrote past the end", n)
				}
			}
		}
	}
}

func TestPrefix(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, kind := range []Kind{Sum, Prod, Max, Min} {
		for _, dtype := range []ir.DType{ir.Int32, ir.Int64, ir.Float32, ir.Float64, ir.Complex64} {
			for _, level := range simd.UsableVectors() {
				l := At(level, kind, dtype)
				if l == nil {
					continue
				}
				for _, n := range sizes() {
					v := values(kind, cputest.NewView(dtype, "contiguous", n), rng)
					out, acc := cputest.NewView(dtype, "contiguous", n+1), cputest.NewView(dtype, "contiguous", 1)
					l.Init(1, acc.Ptr, nil)
					guard := cputest.Get(out, n)
					half := n / 3
					l.Prefix(half, out.Ptr, acc.Ptr, v.Ptr, nil)
					l.Prefix(n-half, unsafe.Add(out.Ptr, half*dtype.Size()), acc.Ptr, unsafe.Add(v.Ptr, half*dtype.Size()), nil)
					for i := 0; i < n; i += 1 + n/9 {
						if got, want := cputest.Get(out, i), oracle(kind, v, 0, i+1); !near(got, want, dtype, n) {
							t.Fatalf("%s of %d %s, %s: prefix %d is %v, want %v", names[kind], n, dtype, level, i, got, want)
						}
					}
					if got := cputest.Get(out, n); got != guard {
						t.Fatalf("%s of %d %s, %s: wrote past the end", names[kind], n, dtype, level)
					}
				}
			}
		}
	}
}

func TestNext(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, kind := range []Kind{Sum, Prod, Max, Min} {
		for _, dtype := range []ir.DType{ir.Int64, ir.Float32, ir.Float64, ir.Complex64} {
			for _, level := range simd.UsableVectors() {
				l := At(level, kind, dtype)
				if l == nil || l.Next == nil {
					continue
				}
				for _, n := range []int{1, 7, 8, 33, 150} {
					what := fmt.Sprintf("%s of %d columns of %s, %s", names[kind], n, dtype, level)
					v := values(kind, cputest.NewView(dtype, "contiguous", 21, n), rng)
					out, acc := cputest.NewView(dtype, "contiguous", 21, n+1), cputest.NewView(dtype, "contiguous", n)
					l.Init(n, acc.Ptr, nil)
					check := cputest.NewView(dtype, "contiguous", n)
					l.Init(n, check.Ptr, nil)
					guard := cputest.Get(out, n)
					l.Next(21, n, (n+1)*dtype.Size(), n*dtype.Size(), out.Ptr, acc.Ptr, v.Ptr, nil)
					for r := range 21 {
						l.Rows(n, check.Ptr, unsafe.Add(v.Ptr, r*n*dtype.Size()), nil)
						for i := range n {
							if got, want := cputest.Get(out, r*(n+1)+i), cputest.Get(check, i); got != want {
								t.Fatalf("%s: row %d, column %d is %v, want %v", what, r, i, got, want)
							}
						}
						if cputest.Get(out, r*(n+1)+n) != guard {
							t.Fatalf("%s: wrote between rows", what)
						}
					}
					for i := range n {
						if got, want := cputest.Get(acc, i), cputest.Get(check, i); got != want {
							t.Fatalf("%s: accumulator %d is %v, want %v", what, i, got, want)
						}
					}
				}
			}
		}
	}
}
