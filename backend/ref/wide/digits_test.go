package wide

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/tests/brief"
)

// TestArithmetic: sums, products, quotients and comparisons are those of big.Float of as many bits,
// rounded once, and so is what is rounded to fewer.
func TestArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	random := func(exp int) Float {
		d := digits{r.Uint64(), r.Uint64(), r.Uint64()}
		for i := range r.IntN(4) { // few digits, which give ties and exact results, too
			d[2-min(i, 2)] = 0
		}
		if r.IntN(8) == 0 {
			d[0] |= math.MaxUint64 << r.IntN(40)
		}
		return pack(r.IntN(2) == 0, exp, d, Prec)
	}
	text := func(x Float) string { return x.big().Text('p', 0) }
	for i := range brief.Times(40_000) {
		exp := r.IntN(400) - 200
		x, y := random(exp), random(exp+[]int{0, 1, 2, r.IntN(500) - 250}[i%4])
		switch i % 16 {
		case 5: // what is left of a difference is small
			y = x.Add(FromInt64(1).copySign(r.IntN(2) == 0).scaledBy(exp - r.IntN(170)))
		case 6: // a tie, and what is a hair beside it
			y = FromInt64(1).scaledBy(int(x.exp) - 161 - r.IntN(2)).Add(FromInt64(int64(r.IntN(3) - 1)).scaledBy(int(x.exp) - 161 - r.IntN(150)))
		case 7:
			y = x.copySign(y.neg)
		}
		a, b := x.big(), y.big()
		want := new(big.Float).SetPrec(Prec)
		if got := text(x.Add(y)); got != want.Add(a, b).Text('p', 0) {
			t.Fatalf("%s + %s = %s, want %s", text(x), text(y), got, want.Text('p', 0))
		}
		if got := text(x.Mul(y)); got != want.Mul(a, b).Text('p', 0) {
			t.Fatalf("%s * %s = %s, want %s", text(x), text(y), got, want.Text('p', 0))
		}
		if !y.IsZero() && !x.IsZero() {
			if got := text(x.Quo(y)); got != want.Quo(a, b).Text('p', 0) {
				t.Fatalf("%s / %s = %s, want %s", text(x), text(y), got, want.Text('p', 0))
			}
		}
		if got, _ := x.Cmp(y); got != a.Cmp(b) {
			t.Fatalf("%s against %s is %d", text(x), text(y), got)
		}
		for n, got := range map[uint]Float{11: x.Rounded(11, -9000, 9000), 53: x.Rounded(53, -9000, 9000), 160: rounded(new(big.Float).SetPrec(320).Set(a))} {
			if w := want.SetPrec(n).Set(a).Text('p', 0); text(got) != w {
				t.Fatalf("%s of %d bits is %s, want %s", text(x), n, text(got), w)
			}
			want.SetPrec(0).SetPrec(Prec)
		}
	}
}

// scaledBy returns x * 2^exp.
func (x Float) scaledBy(exp int) Float { return rounded(new(big.Float).SetMantExp(x.big(), exp)) }

// TestFloat64 is to and from float64 and float32, to the bit: subnormal numbers, ties and what
// is too large among them.
func TestFloat64(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 40_000 {
		f := math.Float64frombits(r.Uint64())
		if i%2 == 0 {
			f = math.Ldexp(1+r.Float64(), []int{-1080 + r.IntN(70), -155 + r.IntN(40), 120 + r.IntN(10)}[i/2%3])
		}
		if got := FromFloat64(f).Float64(); math.Float64bits(got) != math.Float64bits(f) && f == f {
			t.Fatalf("%x became %x", f, got)
		}
		if got, want := FromFloat64(f).Float32(), float32(f); math.Float32bits(got) != math.Float32bits(want) && f == f {
			t.Fatalf("%x is %x of float32, want %x", f, got, want)
		}
		if f != f || math.IsInf(f, 0) {
			continue
		}
		x := FromFloat64(f).Add(FromFloat64(f).Mul(FromFloat64(math.Ldexp(float64(r.IntN(9)-4), -54-r.IntN(2)*80))))
		if want, _ := x.big().Float64(); math.Float64bits(x.Float64()) != math.Float64bits(want) {
			t.Fatalf("%v is %x, want %x", x, x.Float64(), want)
		}
		if n := int64(r.Uint64()) >> r.IntN(64); FromInt64(n).big().Cmp(new(big.Float).SetInt64(n)) != 0 {
			t.Fatalf("%d became %v", n, FromInt64(n))
		}
	}
}
