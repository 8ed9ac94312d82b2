package lower

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/ir/num"
	"github.com/sinter-go/sinter/tests/brief"
)

var binaryEnv = expr.Env{Operands: []expr.Operand{{Name: "x"}, {Name: "y"}}}

var binaryInputs = func(g *expr.Graph) []Input {
	var in []Input
	for _, v := range g.Values {
		if v.Op == expr.OpName {
			in = append(in, Input{Name: v.Name, Kind: v.Kind, Index: int(v.Name[0] - 'x')})
		}
	}
	return in
}

// quotients has no function but Quotient.
func quotients(p *lane.Prog, name string, args ...lane.V) lane.V {
	if name == Quotient {
		return LongQuotient(p, args[0], args[1])
	}
	return 0
}

// program lowers an expression of x and y.
func program(t *testing.T, src string, d ir.DType) *lane.Prog {
	t.Helper()
	e, err := expr.Parse(src, binaryEnv)
	if err != nil {
		t.Fatal(err)
	}
	g, err := e.Check(d)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Program(g, binaryInputs(g), quotients)
	if err != nil {
		t.Fatalf("%s of %s: %v", src, d, err)
	}
	return p
}

// evaluate runs a program on two values, as bits.
func evaluate(p *lane.Prog, x, y uint64) uint64 { return lane.Eval(Neutral(p), x, y)[0] }

var floatCases = []struct {
	src  string
	want func(x, y float32) float32
}{
	{"x*y + x", func(x, y float32) float32 { return float32(x*y) + x }},
	{"-x/y", func(x, y float32) float32 { return -x / y }},
	{"x/65536", func(x, _ float32) float32 { return x / 65536 }},
	{"x/-0.25", func(x, _ float32) float32 { return x / -0.25 }},
	{"x/3", func(x, _ float32) float32 { return x / 3 }},
	{"x/8.507059173023462e+37", func(x, _ float32) float32 { return x / 0x1p126 }},
	{"x/1.7014118346046923e+38", func(x, _ float32) float32 { return x / 0x1p127 }},
	{"x/1.1754943508222875e-38", func(x, _ float32) float32 { return x / 0x1p-126 }},
	{"x/1.401298464324817e-45", func(x, _ float32) float32 { return x / 0x1p-149 }},
	{"truncdiv(x, 4)", func(x, _ float32) float32 { return num.TruncDiv[float32](x, 4) }},
	{"min(x, y)", num.Min[float32]},
	{"max(x, y)", num.Max[float32]},
	{"min(x, 0)", func(x, _ float32) float32 { return num.Min(x, 0) }},
	{"max(0, x)", func(x, _ float32) float32 { return num.Max(x, 0) }},
	{"max(x, -2.5)", func(x, _ float32) float32 { return num.Max(x, -2.5) }},
	{"fmin(x, y)", num.FMin[float32]},
	{"fmax(x, y)", num.FMax[float32]},
	{"fmod(x, y)", num.FMod[float32]},
	{"remainder(x, y)", num.Remainder[float32]},
	{"floordiv(x, y)", num.FloorDiv[float32]},
	{"truncdiv(x, y)", num.TruncDiv[float32]},
	{"sign(x)", func(x, _ float32) float32 { return num.Sign(x) }},
	{"angle(x)", func(x, _ float32) float32 { return num.Angle(x) }},
	{"copysign(x, y)", num.Copysign[float32]},
	{"round(x) + ceil(y)", func(x, y float32) float32 { return num.Round(x) + num.Ceil(y) }},
	{"where(signbit(x), 1, where(isfinite(y), 2, 3))", func(x, y float32) float32 {
		return num.Where(num.Signbit(x), 1, num.Where[float32](num.IsFinite(y), 2, 3))
	}},
	{"fma(x, y, x)", func(x, y float32) float32 { return num.FMA(x, y, x) }},
}

func TestFloats(t *testing.T) {
	special := []float32{0, 1, 2, 3, 2.5, 1e-3, 0x1p-126, 0x1p-149, math.MaxFloat32, 0x1p24 + 2, float32(math.Inf(1)), float32(math.NaN())}
	for _, f := range special {
		special = append(special, -f)
	}
	r := rand.New(rand.NewPCG(1, 2))
	value := func() float32 {
		switch r.IntN(3) {
		case 0:
			return special[r.IntN(len(special))]
		case 1:
			return float32(r.NormFloat64() * 10)
		}
		return math.Float32frombits(r.Uint32())
	}
	for _, test := range floatCases {
		p := program(t, test.src, ir.Float32)
		for range brief.Times(20000) {
			x, y := value(), value()
			got := math.Float32frombits(uint32(evaluate(p, uint64(math.Float32bits(x)), uint64(math.Float32bits(y)))))
			want := test.want(x, y)
			if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
				t.Errorf("%s of %v and %v = %v, want %v", test.src, x, y, got, want)
				break
			}
		}
	}
}

// integers runs integer cases for one type.
func integers[T num.Int](t *testing.T, d ir.DType) {
	cases := []struct {
		src  string
		want func(x, y T) T
	}{
		{"x*y - x", func(x, y T) T { return x*y - x }},
		{"x&^y | ^x", func(x, y T) T { return x&^y | ^x }},
		{"x/y", num.IDiv[T]},
		{"x%y", num.ITruncRem[T]},
		{"floordiv(x, y)", num.IFloorDiv[T]},
		{"remainder(x, y)", num.IRemainder[T]},
		{"x<<y", num.IShl[T, T]},
		{"x>>y", num.IShr[T, T]},
		{"abs(x) + sign(y)", func(x, y T) T { return num.IAbs(x) + num.ISign(y) }},
		{"min(x, max(y, 3))", func(x, y T) T { return num.IMin(x, num.IMax(y, 3)) }},
		{"where(x < y || signbit(x), x, y)", func(x, y T) T { return num.Where(x < y || num.ISignbit(x), x, y) }},
	}
	r := rand.New(rand.NewPCG(3, 4))
	mask := ^uint64(0) >> (64 - 8*d.Size())
	value := func() T {
		switch r.IntN(3) {
		case 0:
			return []T{0, 1, 2, T(mask >> 1), T(mask>>1) + 1, T(mask&(1<<63-1)) | 1<<(8*d.Size()-1)}[r.IntN(6)]
		case 1:
			return T(r.IntN(30) - 10)
		}
		return T(r.Uint64()) >> r.IntN(8*d.Size()) // of all magnitudes
	}
	for _, test := range cases {
		e, err := expr.Parse(test.src, binaryEnv)
		if err != nil {
			t.Fatal(err)
		}
		g, err := e.Check(d)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Program(g, binaryInputs(g), quotients)
		if err != nil {
			t.Errorf("%s of %s: %v", test.src, d, err)
			continue
		}
		for range 4000 {
			x, y := value(), value()
			switch r.IntN(8) {
			case 0: // quotients that are whole, or almost
				x = y*value() + T(r.IntN(3)) - 1
			case 1:
				x = y + T(r.IntN(3)) - 1
			}
			got := evaluate(p, uint64(x)&mask, uint64(y)&mask) & mask
			if want := uint64(test.want(x, y)) & mask; got != want {
				t.Errorf("%s of %s %v and %v = %#x, want %#x", test.src, d, x, y, got, want)
				break
			}
		}
	}
}

func TestIntegers(t *testing.T) {
	integers[uint8](t, ir.Uint8)
	integers[int8](t, ir.Int8)
	integers[int16](t, ir.Int16)
	integers[int32](t, ir.Int32)
	integers[int64](t, ir.Int64)
}

func TestBools(t *testing.T) {
	for src, want := range map[string]func(x, y bool) bool{
		"x & y": func(x, y bool) bool { return x && y }, "x | y": func(x, y bool) bool { return x || y },
		"x ^ y": func(x, y bool) bool { return x != y }, "x == y": func(x, y bool) bool { return x == y },
		"!x": func(x, _ bool) bool { return !x }, "x <= y": func(x, y bool) bool { return !x || y },
		"where(x, y, !y)": func(x, y bool) bool { return num.Where(x, y, !y) },
	} {
		p := program(t, src, ir.Bool)
		for i := range uint64(4) {
			x, y := i&1 != 0, i&2 != 0
			if got := evaluate(p, i&1, i>>1); got > 1 || got == 1 != want(x, y) {
				t.Errorf("%s of %t and %t = %d", src, x, y, got)
			}
		}
	}
}

// TestSigns holds the programs that set signs in 16 bits to those that convert.
func TestSigns(t *testing.T) {
	for src, want := range map[string]bool{
		"-x": true, "abs(x)": true, "copysign(x, y)": true, "-abs(x)": true,
		"x + y": false, "-x*y": false, "max(x, y)": false, "where(x > 0, x, y)": false, "x": true,
	} {
		p := program(t, src, ir.Float32)
		signs := Signs(p)
		if signs != nil != want {
			t.Errorf("%s: more than signs %t, want %t", src, signs == nil, !want)
		}
		if signs == nil {
			continue
		}
		for _, d := range []ir.DType{ir.Float16, ir.BFloat16} {
			converted, quiet := Stored(p, d), uint64(0x200)
			if d == ir.BFloat16 {
				quiet = 0x40
			}
			for x := range uint64(1 << 16) {
				if brief.Skip(int(x)) {
					continue
				}
				y := x * 0x9E37 & 0xffff
				got, want := lane.Eval(signs, x, y)[0], lane.Eval(converted, x, y)[0]
				if got != want && got|quiet != want { // NaN that was not quiet
					t.Fatalf("%s of %s %#x and %#x = %#x, want %#x", src, d, x, y, got, want)
				}
			}
		}
	}
}

func TestRandom(t *testing.T) {
	env := expr.Env{Params: []expr.Param{{Name: "seed", Kind: expr.IntParam}, {Name: "offset", Kind: expr.IntParam}}}
	inputs := []Input{{"seed", expr.IntKind, true, 0}, {"offset", expr.IntKind, true, 1}, {"index", expr.IntKind, false, -1}}
	for _, test := range []struct {
		src  string
		d    ir.DType
		want func(seed, offset, index int64) uint64
	}{
		{"uniform(seed, offset)", ir.Float32, func(s, o, i int64) uint64 {
			return uint64(math.Float32bits(num.Uniform[float32](s, o, i)))
		}},
		{"uniform(seed, offset)", ir.Float64, func(s, o, i int64) uint64 { return math.Float64bits(num.Uniform[float64](s, o, i)) }},
		{"random_bits(seed, offset)", ir.Int64, func(s, o, i int64) uint64 { return uint64(num.RandomBits(s, o, i)) }},
	} {
		e, err := expr.Parse(test.src, env)
		if err != nil {
			t.Fatal(err)
		}
		g, err := e.Check(test.d)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Program(g, inputs, quotients)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(5, 6))
		ev := lane.NewEvaluator(p)
		for range 2000 {
			s, o, i := int64(r.Uint64()), int64(r.Uint64()>>r.IntN(64)), int64(r.Uint64()>>r.IntN(64))
			if got, want := ev.Eval(nil, []uint64{uint64(s), uint64(o)}, i)[0], test.want(s, o, i); got != want {
				t.Fatalf("%s of %s, seed %d, offset %d, index %d = %#x, want %#x", test.src, test.d, s, o, i, got, want)
			}
		}
	}
}

func TestNeutral(t *testing.T) {
	for _, test := range []struct {
		src  string
		a, b ir.DType
		same bool
	}{
		{"x + y*x", ir.Uint8, ir.Int8, true},
		{"x<<y", ir.Uint8, ir.Int8, true},
		{"x", ir.Float32, ir.Int32, true},
		{"x == y", ir.Uint8, ir.Int8, true},
		{"x < y", ir.Uint8, ir.Int8, false},
		{"x == y", ir.Float32, ir.Int32, false},
		{"x + y", ir.Int16, ir.Int8, false},
	} {
		a, b := Key(Neutral(program(t, test.src, test.a))), Key(Neutral(program(t, test.src, test.b)))
		if (a == b) != test.same {
			t.Errorf("%s of %s and %s: one program %t, want %t", test.src, test.a, test.b, a == b, test.same)
		}
	}
}

// TestQuotients: a division by a power of two is none, where its reciprocal is a normal number.
func TestQuotients(t *testing.T) {
	for src, want := range map[string]bool{"x/2": false, "x/-0.25": false, "truncdiv(x, 8)": false, "x/3": true, "x/y": true, "2/x": true, "x/1.401298464324817e-45": true} {
		p, divides := program(t, src, ir.Float32), false
		for i := range p.Len() {
			divides = divides || p.Node(lane.V(i)).Op == lane.OpDiv
		}
		if divides != want {
			t.Errorf("%s divides: %t, want %t", src, divides, want)
		}
	}
}
