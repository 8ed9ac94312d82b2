package wide

import (
	"bufio"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vector is a line of testdata/wide.tsv, which tests/vectors/wide.py writes.
type vector struct {
	line int
	name string
	args []Float
	want *big.Float
}

func vectors(t testing.TB) []vector {
	f, err := os.Open("testdata/wide.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []vector
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Split(lines.Text(), "\t")
		v := vector{line: n, name: fields[0]}
		for _, s := range fields[1 : len(fields)-1] {
			x, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatalf("line %d: %v", n, err)
			}
			v.args = append(v.args, FromFloat64(x))
		}
		v.want, _, err = big.ParseFloat(fields[len(fields)-1], 10, 200, big.ToNearestEven)
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// bitsAgreeing returns the number of bits to which got and want agree.
func bitsAgreeing(got, want *big.Float) int {
	d := new(big.Float).SetPrec(300).Sub(got, want)
	if d.Sign() == 0 {
		return 1 << 20
	}
	return want.MantExp(nil) - d.MantExp(nil)
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		got := Funcs[v.name](v.args...)
		if !got.finite() || bitsAgreeing(got.big(), v.want) < 156 {
			t.Errorf("line %d: %s%v = %v, want %.40g", v.line, v.name, v.args, got, v.want)
		}
	}
}

// Every intrinsic has vectors, save those that are exact and checked below.
func TestVectorsCoverFuncs(t *testing.T) {
	exact := "neg abs sign add sub mul div rem fma min max fmin fmax copysign floor ceil trunc round"
	seen := map[string]bool{}
	for _, name := range strings.Fields(exact) {
		seen[name] = true
	}
	for _, v := range vectors(t) {
		seen[v.name] = true
	}
	for name := range Funcs {
		if !seen[name] {
			t.Errorf("no vector for %s", name)
		}
	}
}

// text formats a float64 with the sign of zero.
func text(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func TestSpecialValues(t *testing.T) {
	for _, c := range specialCases {
		fields := strings.Fields(c)
		var args []Float
		for _, s := range fields[1 : len(fields)-1] {
			args = append(args, parse(t, s))
		}
		got := text(Funcs[fields[0]](args...).Float64())
		want := text(parse(t, fields[len(fields)-1]).Float64())
		if got != want {
			t.Errorf("%s: got %s", c, got)
		}
	}
}

func parse(t *testing.T, s string) Float {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return FromFloat64(f)
}

func TestUnaryNaN(t *testing.T) {
	for name, f := range Funcs {
		switch name {
		case "fmin", "fmax", "pow", "hypot":
			continue
		}
		if got := f(NaN(), FromInt64(2), FromInt64(3)); !got.IsNaN() {
			t.Errorf("%s(NaN, ...) = %v", name, got)
		}
	}
}

// Exact operations on random float64 values round to what the hardware gives.
func TestExactOperations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() float64 { return math.Ldexp(r.Float64()-0.5, r.IntN(60)-30) }
	hardware := map[string]func(x, y, z float64) float64{
		"add": func(x, y, _ float64) float64 { return x + y }, "sub": func(x, y, _ float64) float64 { return x - y },
		"mul": func(x, y, _ float64) float64 { return x * y }, "div": func(x, y, _ float64) float64 { return x / y },
		"fma": math.FMA, "rem": func(x, y, _ float64) float64 { return math.Mod(x, y) },
		"sqrt": func(x, _, _ float64) float64 { return math.Sqrt(x) }, "neg": func(x, _, _ float64) float64 { return -x },
		"floor": func(x, _, _ float64) float64 { return math.Floor(x) }, "ceil": func(x, _, _ float64) float64 { return math.Ceil(x) },
		"trunc": func(x, _, _ float64) float64 { return math.Trunc(x) }, "round": func(x, _, _ float64) float64 { return math.RoundToEven(x) },
		"min": func(x, y, _ float64) float64 { return min(x, y) }, "max": func(x, y, _ float64) float64 { return max(x, y) },
		"fmin": func(x, y, _ float64) float64 { return min(x, y) }, "fmax": func(x, y, _ float64) float64 { return max(x, y) },
		"copysign": func(x, y, _ float64) float64 { return math.Copysign(x, y) }, "abs": func(x, _, _ float64) float64 { return math.Abs(x) },
		"sign": func(x, _, _ float64) float64 { return math.Copysign(1, x) },
	}
	for range 2000 {
		x, y, z := random(), random(), random()
		for name, f := range hardware {
			got := Funcs[name](FromFloat64(x), FromFloat64(y), FromFloat64(z)).Float64()
			if want := f(x, y, z); text(got) != text(want) {
				t.Errorf("%s(%v, %v, %v) = %v, want %v", name, x, y, z, got, want)
			}
		}
	}
}

// The exact sum lies a hair off the middle between two float64 values.
func TestFMARoundsOnce(t *testing.T) {
	x, tiny := 1+0x1p-30, 0x1p-300
	for _, z := range []float64{tiny, -tiny} {
		got := FMA(FromFloat64(x), FromFloat64(1-0x1p-30+0x1p-52), FromFloat64(z)).Float64()
		if want := math.FMA(x, 1-0x1p-30+0x1p-52, z); got != want {
			t.Errorf("z = %g: got %x, want %x", z, got, want)
		}
	}
	middle := 0x1p-53 // 1*1 + middle is a tie; z cannot be seen but decides
	for _, z := range []float64{tiny, -tiny} {
		a := FMA(FromFloat64(1), FromFloat64(middle), FromFloat64(1))
		got := FMA(FromFloat64(1+0x1p-52), FromFloat64(1-0x1p-53), FromFloat64(z)).Float64()
		want := math.FMA(1+0x1p-52, 1-0x1p-53, z)
		if got != want || a.Float64() != 1 {
			t.Errorf("z = %g: got %x, want %x", z, got, want)
		}
	}
}

func TestRounded(t *testing.T) {
	cases := []struct{ x, half, bfloat float64 }{
		{1, 1, 1}, {0, 0, 0}, {-1.0 / 3, -0.333251953125, -0.333984375},
		{65504, 65504, 65536}, {65519.999, 65504, 65536}, {65520, math.Inf(1), 65536}, {-1e39, math.Inf(-1), math.Inf(-1)},
		{0x1p-24, 0x1p-24, 0x1p-24}, {0x1p-25, 0, 0x1p-25}, {0x1.8p-25, 0x1p-24, 0x1.8p-25}, {0x1.000001p-25, 0x1p-24, 0x1p-25},
		{-0x1p-26, math.Copysign(0, -1), -0x1p-26}, {0x1p-133, 0, 0x1p-133}, {0x1p-134, 0, 0}, {0x1.8p-134, 0, 0x1p-133},
		{1 + 0x1p-11, 1, 1}, {1 + 3*0x1p-11, 1 + 0x1p-9, 1}, {math.Inf(1), math.Inf(1), math.Inf(1)}, {math.NaN(), math.NaN(), math.NaN()},
	}
	for _, c := range cases {
		x := FromFloat64(c.x)
		got := []string{text(x.Rounded(11, -14, 15).Float64()), text(x.Rounded(8, -126, 127).Float64())}
		if diff := cmp.Diff([]string{text(c.half), text(c.bfloat)}, got); diff != "" {
			t.Errorf("%g (-want +got):\n%s", c.x, diff)
		}
		if d := x.Rounded(53, -1022, 1023).Float64(); text(d) != text(c.x) {
			t.Errorf("%g rounded to float64 is %g", c.x, d)
		}
	}
}

// Identities at random 160-bit arguments, which no float64 vector reaches.
func TestIdentities(t *testing.T) {
	call := func(name string, x ...Float) Float { return Funcs[name](x...) }
	oneF := FromInt64(1)
	identities := map[string]func(x Float) (left, right Float){
		"log exp":     func(x Float) (Float, Float) { return call("log", call("exp", x)), x },
		"exp log":     func(x Float) (Float, Float) { return call("exp", call("log", abs(x))), abs(x) },
		"log1p expm1": func(x Float) (Float, Float) { return call("log1p", call("expm1", x)), x },
		"sin2 + cos2": func(x Float) (Float, Float) {
			s, c := call("sin", x), call("cos", x)
			return s.Mul(s).Add(c.Mul(c)), oneF
		},
		"tan atan":   func(x Float) (Float, Float) { return call("tan", call("atan", x)), x },
		"sin asin":   func(x Float) (Float, Float) { y := call("tanh", x); return call("sin", call("asin", y)), y },
		"cos acos":   func(x Float) (Float, Float) { y := call("tanh", x); return call("cos", call("acos", y)), y },
		"asinh sinh": func(x Float) (Float, Float) { return call("asinh", call("sinh", x)), x },
		"acosh cosh": func(x Float) (Float, Float) { return call("acosh", call("cosh", x)), abs(x) },
		"erf erfinv": func(x Float) (Float, Float) { y := call("tanh", x); return call("erf", call("erfinv", y)), y },
		"erf + erfc": func(x Float) (Float, Float) { return call("erf", x).Add(call("erfc", x)), oneF },
		"lgamma(x+1) = lgamma(x) + log x": func(x Float) (Float, Float) {
			y := abs(x)
			return call("lgamma", y.Add(oneF)), call("lgamma", y).Add(call("log", y))
		},
		"digamma(x+1) = digamma(x) + 1/x": func(x Float) (Float, Float) {
			return call("digamma", x.Add(oneF)), call("digamma", x).Add(oneF.Quo(x))
		},
		"cube of cbrt": func(x Float) (Float, Float) { c := call("cbrt", x); return c.Mul(c).Mul(c), x },
		"x = q y + r": func(x Float) (Float, Float) {
			y := FromFloat64(0.7)
			return FMA(call("floordiv", x, y), y, call("remainder", x, y)), x
		},
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		x := FromFloat64(6*r.Float64() - 3).Quo(FromInt64(7))
		for name, f := range identities {
			if left, right := f(x); bitsAgreeing(left.big(), right.big()) < 140 {
				t.Errorf("%s at %v: %v and %v", name, x, left, right)
			}
		}
	}
}

func TestComparesAndInt(t *testing.T) {
	got := ""
	values := []Float{NaN(), Inf(true), FromInt64(-1), FromFloat64(math.Copysign(0, -1)), {}, Inf(false)}
	for _, name := range []string{"lt", "le", "gt", "ge", "eq", "ne"} {
		n := 0
		for _, x := range values {
			for _, y := range values {
				if Compares[name](x, y) {
					n++
				}
			}
		}
		got += fmt.Sprint(name, n, " ")
	}
	if want := "lt9 le16 gt9 ge16 eq7 ne29 "; got != want {
		t.Errorf("true comparisons: got %q, want %q", got, want)
	}
	for _, c := range []struct {
		x    Float
		want int64
		ok   bool
	}{
		{FromFloat64(-2.9), -2, true}, {FromFloat64(math.MinInt64), math.MinInt64, true}, {FromInt64(math.MaxInt64), math.MaxInt64, true},
		{FromFloat64(0x1p63), 0, false}, {NaN(), 0, false}, {Inf(true), 0, false}, {Float{}, 0, true},
	} {
		if i, ok := c.x.Int(); ok != c.ok || ok && i != c.want {
			t.Errorf("%v.Int() = %d, %v", c.x, i, ok)
		}
	}
}

func BenchmarkFuncs(b *testing.B) {
	for _, name := range []string{"exp", "log", "sin", "tanh", "erf", "erfinv", "lgamma", "pow"} {
		x, y := FromFloat64(0.7310585786300049), FromFloat64(2.3)
		b.Run(name, func(b *testing.B) {
			x, step := x, FromFloat64(0x1p-60)
			for b.Loop() {
				x = x.Add(step) // what was computed is remembered
				Funcs[name](x, y)
			}
		})
	}
}
