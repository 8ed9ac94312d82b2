package cofactor

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A draw makes n elements of a kind.
var draws = []struct {
	name string
	one  func(rng *rand.Rand) float32
}{
	{"normal", func(rng *rand.Rand) float32 { return float32(rng.NormFloat64()) }},
	{"any bits", func(rng *rand.Rand) float32 { return math.Float32frombits(rng.Uint32()) }},
	{"least", func(*rand.Rand) float32 { return math.SmallestNonzeroFloat32 }},
	{"greatest", func(*rand.Rand) float32 { return -math.MaxFloat32 }},
	{"few zeros", func(rng *rand.Rand) float32 { return float32(rng.IntN(300)) }},
	{"few infinities", func(rng *rand.Rand) float32 { return 1 / float32(rng.IntN(300)) }},
}

func drawn(rng *rand.Rand, one func(*rand.Rand) float32, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = one(rng)
	}
	return x
}

// exact multiplies in numbers without bounds, and counts.
func exact(x []float32) (all *big.Float, c Counted) {
	all = big.NewFloat(1).SetPrec(200)
	for _, v := range x {
		switch f := float64(v); {
		case f == 0:
			c.Zeros++
		case math.IsNaN(f):
			c.Lost++
		case math.IsInf(f, 0):
			c.Wild++
			all.Mul(all, big.NewFloat(math.Copysign(1, f)))
		default:
			all.Mul(all, big.NewFloat(f))
		}
	}
	return all, c
}

func check(t *testing.T, what string, x []float32, got Counted) {
	t.Helper()
	all, want := exact(x)
	want.Product = got.Product
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s: what is counted of %v (-want +got):\n%s", what, x, d)
	}
	value := new(big.Float).SetMantExp(big.NewFloat(got.Factor), int(got.Exponent))
	off, _ := new(big.Float).Quo(new(big.Float).Sub(value, all), all).Float64()
	if math.Abs(off) > 0x1p-52*float64(len(x)+2) {
		t.Fatalf("%s: %v, want %v", what, value, all)
	}
}

// TestProducts holds lines and columns of any length to exact products, and every level to the
// bits of the portable one.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, d := range draws {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 47, 48, 49, 63, 64, 65, 255, 256, 257, 300, 1000, 1024, 3001} {
			x := drawn(rng, d.one, n)
			var want Counted
			for _, level := range simd.UsableVectors() {
				got := NewLine(Of(level)).Of(x)
				check(t, d.name+" at "+level.String(), x, got)
				if want == (Counted{}) {
					want = got
				}
				if got != want {
					t.Fatalf("%d of %s: %v at %s, %v in plain Go", n, d.name, got, level, want)
				}
			}
		}
		for _, columns := range []int{1, 2, 3, 7, 8, 9, 70} {
			for _, rows := range []int{1, 2, 3, 4, 5, 8, 33} {
				const beside = 3
				x := drawn(rng, d.one, rows*(columns+beside))
				want := make([]Counted, columns)
				for i, level := range simd.UsableVectors() {
					for c, got := range NewColumns(Of(level), columns+1).Of(x, columns, rows, columns+beside) {
						var column []float32
						for r := range rows {
							column = append(column, x[r*(columns+beside)+c])
						}
						check(t, d.name+" at "+level.String(), column, got)
						if i == 0 {
							want[c] = got
						}
						if got != want[c] {
							t.Fatalf("column of %s: %v at %s, %v in plain Go", d.name, got, level, want[c])
						}
					}
				}
			}
		}
	}
}

// TestOthers: what is left when one element is taken out, by every level and by the number itself.
func TestOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for _, n := range []int{1, 5, 15, 16, 17, 40, 1000, 20000} {
		x, g := drawn(rng, draws[0].one, n), drawn(rng, draws[0].one, n)
		all := make([]float64, n)
		for i := range all {
			p := Product{1 + rng.Float64(), int64(rng.IntN(1000) - 500)}
			if rng.IntN(2) == 0 {
				p.Factor = -p.Factor
			}
			all[i] = p.Float64()
		}
		want, one := make([]float32, n), make([]float32, n)
		for i := range x {
			want[i] = g[i] * float32(all[i]/float64(x[i]))
			one[i] = g[0] * float32(all[0]/float64(x[i]))
		}
		for _, level := range simd.UsableVectors() {
			got := make([]float32, n)
			by := Of(level).NewDivider()
			by.Others(got, x, all, g)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%d at %s (-want +got):\n%s", n, level, d)
			}
			by.OthersOf(got, x, all[0], g[0])
			if d := cmp.Diff(one, got); d != "" {
				t.Fatalf("%d of one product at %s (-want +got):\n%s", n, level, d)
			}
			if a := testing.AllocsPerRun(10, func() { by.Others(got, x, all, g); by.OthersOf(got, x, all[0], g[0]) }); a > 0 {
				t.Errorf("%d at %s: %v allocations", n, level, a)
			}
		}
	}
}

// TestWithout states what is left beside elements that are no numbers.
func TestWithout(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ x, want []float32 }{
		{[]float32{2, 3}, []float32{3, 2}},
		{[]float32{2, 0, 3}, []float32{0, 6, 0}},
		{[]float32{0, 0, 3}, []float32{0, 0, 0}},
		{[]float32{-2, inf, 3}, []float32{inf, -6, -inf}},
		{[]float32{-2, -inf, inf}, []float32{-inf, -inf, inf}},
		{[]float32{0, inf, 3}, []float32{inf, 0, nan}},
		{[]float32{nan, 2, 3}, []float32{6, nan, nan}},
		{[]float32{nan, nan}, []float32{nan, nan}},
	} {
		all := NewLine(Of(simd.Portable)).Of(c.x)
		for i, v := range c.x {
			if got := all.Without(v); got != c.want[i] && !(got != got && c.want[i] != c.want[i]) {
				t.Errorf("%v without %v: %v, want %v", c.x, v, got, c.want[i])
			}
		}
	}
}
