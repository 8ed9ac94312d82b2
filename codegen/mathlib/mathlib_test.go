package mathlib

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/ir/num/numtest"
	"github.com/sinter-go/sinter/tests/brief"
)

// versions are a function's programs, with the magnitude below which each is right.
func versions(t *testing.T, f Func) map[string]version {
	t.Helper()
	all := map[string]version{}
	for _, set := range []Set{AVX2, AVX512} {
		full, err := f.Prog(set)
		if err != nil {
			t.Fatal(err)
		}
		name := []string{"AVX2", "AVX512"}[set]
		all[name] = version{lane.NewEvaluator(full), math.Inf(1)}
		fast, limit, err := f.Fast(set)
		if err != nil {
			t.Fatal(err)
		}
		if fast != nil {
			all[name+" fast"] = version{lane.NewEvaluator(fast), limit}
		}
	}
	return all
}

type version struct {
	*lane.Evaluator
	limit float64
}

// TestFloat32 interprets the programs of one argument at float32 of all sizes.
func TestFloat32(t *testing.T) {
	var x []float32
	for _, c := range []float64{0, 0x1p-126, 0x1p-25, 0.5, 2. / 3, 0.75, 0.875, 31. / 32, 1, 33. / 32, 4. / 3, 1.4375, 1.5, 2, 3.9, 8, 9.01,
		10, 13, 14.35, 88.72, 89.4, 103.97, 128, 149, 0x1p15,
		0x1p23, math.MaxFloat32, math.Inf(1), math.NaN()} {
		at := int64(math.Float32bits(float32(c)))
		for b := max(0, at-20); b < min(1<<31, at+20); b++ {
			x = append(x, math.Float32frombits(uint32(b)), math.Float32frombits(uint32(b)|1<<31))
		}
	}
	for b := uint64(0); b < 1<<32; b += 150001 {
		if brief.Skip(int(b / 150001)) {
			continue
		}
		x = append(x, math.Float32frombits(uint32(b)))
	}
	for _, f := range Table() {
		if f.Type != lane.F32 || f.Arity != 1 {
			continue
		}
		for name, v := range versions(t, f) {
			for _, x := range x {
				if f.Name == "expneg" && x > 0 || v.limit < math.Inf(1) && !(math.Abs(float64(x)) < v.limit) {
					continue
				}
				got := math.Float32frombits(uint32(v.Eval([]uint64{uint64(math.Float32bits(x))}, nil, 0)[0]))
				want := numtest.Exact1[f.Name](float64(x))
				if rounded := float32(want); rounded == got && (rounded != 0 || want != 0) {
					continue
				}
				if u := numtest.ULPs(float64(got), want, 24, -149); u > f.ULP {
					t.Errorf("%s, %s: of %x is %x, want %x: off by %.3g units, %g are allowed", f.Name, name, x, got, want, u, f.ULP)
					break
				}
			}
		}
	}
}

// TestFloat64 interprets the programs for float64 at values that mpmath computed.
func TestFloat64(t *testing.T) {
	file, err := os.Open("../../backend/cpu/vmath/testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	programs := map[string]map[string]version{}
	bounds := map[string]float64{}
	for _, f := range Table() {
		if f.Type == lane.F64 {
			programs[f.Name], bounds[f.Name] = versions(t, f), f.ULP+0.5 // and the rounding of the vectors
		}
	}
	for sc := bufio.NewScanner(file); sc.Scan(); {
		words := strings.Fields(sc.Text())
		var values []float64
		var bits []uint64
		for _, s := range words[1:] {
			x, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			values, bits = append(values, x), append(bits, math.Float64bits(x))
		}
		want := values[len(values)-1]
		for name, v := range programs[words[0]] {
			if math.Abs(values[0]) >= v.limit {
				continue
			}
			got := math.Float64frombits(v.Eval(bits[:len(bits)-1], nil, 0)[0])
			if u := numtest.ULPs(got, want, 53, -1074); u > bounds[words[0]] {
				t.Errorf("%s: %s is %x: off by %.3g units, %g are allowed", name, sc.Text(), got, u, bounds[words[0]])
			}
		}
	}
}

func TestLookup(t *testing.T) {
	if f, ok := Lookup("sin", lane.F32); !ok || f.Inlinable() {
		t.Errorf("sin of f32 is %+v, %v; want one with a fast program", f, ok)
	}
	if f, ok := Lookup("exp", lane.F64); !ok || !f.Inlinable() {
		t.Errorf("exp of f64 is %+v, %v; want one without a fast program", f, ok)
	}
	if f, ok := Lookup("exp", lane.I32); ok {
		t.Errorf("exp of i32 is %+v; want none", f)
	}
}

func TestIdiom(t *testing.T) {
	for _, test := range []struct {
		src  string
		d    ir.DType
		want string
	}{
		{"0.5*x*erfc(-x*Sqrt1_2)", ir.Float32, "gelu"},
		{"erfc(-x*Sqrt1_2)*(x*0.5)", ir.Float32, "gelu"},
		{"0.5*x*erfc(-x*Sqrt1_2)", ir.Float64, ""},
		{"0.5*x*erfc(x*Sqrt1_2)", ir.Float32, ""},
		{"0.25*x*erfc(-x*Sqrt1_2)", ir.Float32, ""},
		{"0.5*x*erf(-x*Sqrt1_2)", ir.Float32, ""},
		{"x", ir.Float32, ""},
	} {
		e, err := expr.Parse(test.src, expr.Env{Operands: []expr.Operand{{Name: "x"}}})
		if err != nil {
			t.Fatal(err)
		}
		g, err := e.Check(test.d)
		if err != nil {
			t.Fatal(err)
		}
		call := func(p *lane.Prog, name string, args ...lane.V) lane.V { return p.Call(name, args...) }
		p, err := lower.Program(g, []lower.Input{{Name: "x", Kind: expr.TKind}}, call)
		if err != nil {
			t.Fatal(err)
		}
		f, ok := Idiom(p)
		if f.Name != test.want || ok != (test.want != "") {
			t.Errorf("%s of %v: the idiom is %q, %v; want %q", test.src, test.d, f.Name, ok, test.want)
		}
	}
}

// TestIdioms: a function that is composed inside a program is called there.
func TestIdioms(t *testing.T) {
	p := &lane.Prog{}
	x, y := p.Arg(0, lane.F32), p.Arg(1, lane.F32)
	gelu := func(x lane.V) lane.V {
		return p.Mul(p.Mul(p.ConstF32(0.5), x), p.Call("erfc", p.Mul(p.Neg(x), p.ConstF32(math.Sqrt2/2))))
	}
	p.Out(p.Mul(gelu(p.Add(x, y)), y))
	p.Out(gelu(gelu(x)))
	got, ok := Idioms(p)
	if !ok {
		t.Fatal("no idiom")
	}
	want := &lane.Prog{}
	x, y = want.Arg(0, lane.F32), want.Arg(1, lane.F32)
	want.Out(want.Mul(want.Call("gelu", want.Add(x, y)), y))
	want.Out(want.Call("gelu", want.Call("gelu", x)))
	var text func(p *lane.Prog, v lane.V) string
	text = func(p *lane.Prog, v lane.V) string {
		n := p.Node(v)
		s := fmt.Sprint(n.Op, n.Type, n.Imm, n.Name)
		for _, a := range n.Args {
			if a != 0 {
				s += "(" + text(p, a) + ")"
			}
		}
		return s
	}
	for i, v := range want.Outs() {
		if d := cmp.Diff(text(want, v), text(got, got.Outs()[i])); d != "" {
			t.Errorf("result %d:\n%s", i, d)
		}
	}
	if _, ok := Idioms(want); ok {
		t.Error("an idiom where there is none")
	}
}
