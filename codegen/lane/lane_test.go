package lane_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/codegen/lane"
)

func f32(x float32) uint64 { return uint64(math.Float32bits(x)) }

// TestFMA32 compares the single rounding with exact arithmetic.
func TestFMA32(t *testing.T) {
	var p lane.Prog
	p.Out(p.FMA(p.Arg(0, lane.F32), p.Arg(1, lane.F32), p.Arg(2, lane.F32)))
	e := lane.NewEvaluator(&p)
	rng := rand.New(rand.NewPCG(1, 2))
	val := func(spread int) float32 {
		return float32(math.Ldexp(1+rng.Float64(), rng.IntN(2*spread)-spread)) * float32(1-2*rng.IntN(2))
	}
	for range 20000 {
		a, b := val(4), val(4)
		c := val(30)
		if rng.IntN(4) == 0 {
			c = -a * b
		}
		exact := new(big.Float).SetPrec(400).Mul(big.NewFloat(float64(a)), big.NewFloat(float64(b)))
		exact.Add(exact, big.NewFloat(float64(c)))
		want, _ := exact.Float32()
		if got := math.Float32frombits(uint32(e.Eval([]uint64{f32(a), f32(b), f32(c)}, nil, 0)[0])); got != want {
			t.Fatalf("fma(%g, %g, %g) = %g, want %g", a, b, c, got, want)
		}
	}
}

func TestMisuse(t *testing.T) {
	tests := []struct {
		name string
		use  func(p *lane.Prog)
		want string
	}{
		{"types differ", func(p *lane.Prog) { p.Out(p.Add(p.Arg(0, lane.F32), p.Arg(1, lane.F64))) }, "add: operand 1 is f64 beside f32"},
		{"float shifted", func(p *lane.Prog) { p.Out(p.Shl(p.Arg(0, lane.F32), 1)) }, "shl: f32 by 1"},
		{"mask as result", func(p *lane.Prog) { a := p.Arg(0, lane.I8); p.Out(p.Cmp(lane.LT, a, a)) }, "result 0 is mask8"},
		{"input of two types", func(p *lane.Prog) { p.Arg(0, lane.I8); p.Arg(0, lane.I16) }, "arg: 0 is i8 already"},
		{"first of two errors", func(p *lane.Prog) { p.Out(p.Sqrt(p.Div(p.Index(), p.Index()))) }, "div: operand 0 is i64"},
		{"long table", func(p *lane.Prog) { p.Out(p.Lookup(p.Arg(0, lane.I32), lane.F32, make([]uint64, 3))) }, "lookup: 3 values"},
		{"long table of doubles", func(p *lane.Prog) { p.Out(p.Lookup(p.Arg(0, lane.I64), lane.F64, make([]uint64, 32))) }, "lookup: 32 values"},
		{"significand from a half", func(p *lane.Prog) { p.Out(p.GetMant(p.Arg(0, lane.F64), 0.5)) }, "getmant: f64 from 0.5 on"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var p lane.Prog
			test.use(&p)
			if p.Err() == nil || !strings.Contains(p.Err().Error(), test.want) {
				t.Errorf("error %v, want one with %q", p.Err(), test.want)
			}
		})
	}
}

func TestInline(t *testing.T) {
	var sub, p lane.Prog
	x := sub.Arg(0, lane.F32)
	sub.Out(sub.Mul(x, sub.Add(x, sub.ConstF32(1))))
	y := p.Arg(0, lane.F32)
	p.Out(p.Inline(&sub, p.Add(y, y))[0])
	p.Out(p.Inline(&sub, p.Add(y, y))[0])
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	if p.Outs()[0] != p.Outs()[1] {
		t.Error("the same program of the same value gives two values")
	}
	if got := lane.Eval(&p, f32(1.5)); got[0] != f32(12) {
		t.Errorf("got %g, want 12", math.Float32frombits(uint32(got[0])))
	}
}

// TestParts holds the operations on parts of floats that only some processors have to
// their definitions.
func TestParts(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		name       string
		use        func(p *lane.Prog, a, b lane.V) lane.V
		a, b, want float64
	}{
		{"significand from 3/4", func(p *lane.Prog, a, _ lane.V) lane.V { return p.GetMant(a, 0.75) }, 1.75 * 64, 0, 0.875},
		{"significand from 3/4", func(p *lane.Prog, a, _ lane.V) lane.V { return p.GetMant(a, 0.75) }, 0.75, 0, 0.75},
		{"significand from 1", func(p *lane.Prog, a, _ lane.V) lane.V { return p.GetMant(a, 1) }, 1.75 * 64, 0, 1.75},
		{"significand from 1", func(p *lane.Prog, a, _ lane.V) lane.V { return p.GetMant(a, 1) }, 0x1p-140, 0, 1},
		{"significand of 0", func(p *lane.Prog, a, _ lane.V) lane.V { return p.GetMant(a, 1) }, 0, 0, 1},
		{"significand of -2", func(p *lane.Prog, a, _ lane.V) lane.V { return p.GetMant(a, 1) }, -2, 0, nan},
		{"lesser magnitude", (*lane.Prog).MinMag, -3, 4, 3},
		{"lesser magnitude", (*lane.Prog).MinMag, 5, -4, 4},
		{"lesser magnitude beside NaN", (*lane.Prog).MinMag, nan, -4, 4},
		{"reciprocal of a power of two", func(p *lane.Prog, a, _ lane.V) lane.V { return p.Recip14(a) }, 8, 0, 0.125},
		{"reciprocal of a root", func(p *lane.Prog, a, _ lane.V) lane.V { return p.Rsqrt14(a) }, 16, 0, 0.25},
		{"reciprocal of a root of 0", func(p *lane.Prog, a, _ lane.V) lane.V { return p.Rsqrt14(a) }, 0, 0, inf},
		{"reciprocal of a root of infinity", func(p *lane.Prog, a, _ lane.V) lane.V { return p.Rsqrt14(a) }, inf, 0, 0},
		{"reciprocal of a root of -1", func(p *lane.Prog, a, _ lane.V) lane.V { return p.Rsqrt14(a) }, -1, 0, nan},
		{"scale by a fraction", (*lane.Prog).Scale2, 1.5, 3.75, 12},
		{"scale by a negative one", (*lane.Prog).Scale2, 1.5, -0.25, 0.75},
		{"scale without end", (*lane.Prog).Scale2, 1.5, inf, inf},
		{"scale away", (*lane.Prog).Scale2, 1.5, -inf, 0},
		{"scale of 0", (*lane.Prog).Scale2, 0, inf, nan},
	}
	for _, test := range tests {
		for _, ft := range []lane.Type{lane.F32, lane.F64} {
			var p lane.Prog
			p.Out(test.use(&p, p.ConstF(ft, test.a), p.ConstF(ft, test.b)))
			if err := p.Err(); err != nil {
				t.Fatal(err)
			}
			bits := lane.Eval(&p)[0]
			got := math.Float64frombits(bits)
			if ft == lane.F32 {
				got = float64(math.Float32frombits(uint32(bits)))
			}
			if got != test.want && (got == got || test.want == test.want) {
				t.Errorf("%s of %v: %g and %g give %g, want %g", test.name, ft, test.a, test.b, got, test.want)
			}
		}
	}
}
