package onnx

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
)

// numbers is an initializer of float32.
func numbers(name string, dims []int64, values ...float32) msg {
	raw := []byte{}
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return initializer(name, 1, dims, msg{}.bytes(9, raw...))
}

// rewriteCases are nodes that end in y, one a line as "operator: operands -> result", and
// how many steps are left of them.
var rewriteCases = []struct {
	name, nodes string
	steps       int
}{
	{"hardswish, divided last", "Add: x three -> a; Clip: a zero six -> b; Mul: x b -> c; Div: c six -> y", 1},
	{"hardswish, divided first", "Add: three x -> a; Clip: a zero six -> b; Div: b six -> c; Mul: c x -> y", 1},
	{"hardswish, multiplied", "Add: x three -> a; Clip: a zero six -> b; Mul: b sixth -> c; Mul: x c -> y", 1},
	{"hardswish with another factor", "Add: x three -> a; Clip: a zero six -> b; Mul: x b -> c; Div: c three -> y", 4},
	{"hardswish with other limits", "Add: x three -> a; Clip: a one six -> b; Mul: x b -> c; Div: c six -> y", 4},
	{"hardswish with another shift", "Add: x one -> a; Clip: a zero six -> b; Mul: x b -> c; Div: c six -> y", 4},
	{"hardswish of another operand", "Neg: x -> z; Add: z three -> a; Clip: a zero six -> b; Mul: x b -> c; Div: c six -> y", 5},
	{"hardswish that is read inside", "Add: x three -> a; Clip: a zero six -> b; Mul: x b -> c; Div: c six -> d; Add: c d -> y", 5},
	{"hardswish that gives more axes", "Add: x cube -> a; Clip: a zero six -> b; Mul: x b -> c; Div: c six -> y", 1},
	{"silu", "Sigmoid: x -> a; Mul: x a -> y", 1},
	{"silu of a sum", "Add: x x -> z; Sigmoid: z -> a; Mul: a z -> y", 2},
	{"a gate", "Add: x x -> z; Sigmoid: z -> a; Mul: x a -> y", 3},
	{"gelu", "Div: x root -> a; Erf: a -> b; Add: b one -> c; Mul: x c -> d; Mul: d half -> y", 1},
	{"gelu, halved first", "Div: x root -> a; Erf: a -> b; Add: b one -> c; Mul: x half -> d; Mul: d c -> y", 1},
	{"gelu of another argument", "Div: x three -> a; Erf: a -> b; Add: b one -> c; Mul: x c -> d; Mul: d half -> y", 5},
	{"gelu by tanh", "Mul: small x -> a; Mul: a x -> b; Mul: b x -> c; Add: x c -> d; Mul: d pi -> e; Tanh: e -> f; Add: f one -> g; Mul: half g -> h; Mul: x h -> y", 1},
	{"gelu by tanh and a power", "Pow: x three -> a; Mul: a small -> c; Add: x c -> d; Mul: d pi -> e; Tanh: e -> f; Add: f one -> g; Mul: x g -> h; Mul: h half -> y", 1},
	{"gelu by tanh with a sign", "Mul: small x -> a; Mul: a x -> b; Mul: b x -> c; Sub: x c -> d; Mul: d pi -> e; Tanh: e -> f; Add: f one -> g; Mul: half g -> h; Mul: x h -> y", 9},
	{"a normalized convolution", "Reshape: x four -> a; Conv: a weight -> b; BatchNormalization: b scale shift mean spread -> c; Relu: c -> y", 2},
	{"a convolution with bias", "Reshape: x four -> a; Conv: a weight shift -> b; BatchNormalization: b scale shift mean spread -> c; Sigmoid: c -> y", 2},
	{"a convolution and sums", "Reshape: x four -> a; Conv: a weight -> b; Add: b channels -> c; Mul: channels c -> d; Add: d three -> e; Tanh: e -> y", 2},
	{"a convolution and hardswish", "Reshape: x four -> a; Conv: a weight -> b; Add: b three -> c; Clip: c zero six -> d; Mul: b d -> e; Div: e six -> y", 2},
	{"a convolution of a sum", "Reshape: x four -> a; Mul: a pair -> b; Add: pair b -> c; Conv: c weight shift -> d; Relu: d -> y", 2},
	{"a convolution of a sum that is read twice", "Reshape: x four -> a; Mul: a three -> b; Add: six b -> c; Conv: c weight -> d; Conv: c weight shift -> e; Mul: d e -> y", 6},
	{"a convolution less numbers", "Reshape: x four -> a; Conv: a weight -> b; Sub: b channels -> c; Tanh: c -> y", 2},
	{"numbers less a convolution", "Reshape: x four -> a; Conv: a weight -> b; Sub: channels b -> c; Tanh: c -> y", 4},
	{"a convolution of groups", "Reshape: x four -> a; Mul: a pair -> b; Add: b pair -> c; Conv: c grouped row -> d [group 2]; Relu: d -> y", 2},
	{"a convolution with padding", "Reshape: x four -> a; Add: a six -> b; Mul: b pair -> c; Conv: c weight -> d [pads 1 0 1 0]; Relu: d -> y", 3},
	{"a convolution that is read twice", "Reshape: x four -> a; Conv: a weight -> b; Relu: b -> c; Add: b c -> y", 4},
	{"a sum along another axis", "Reshape: x four -> a; Conv: a weight -> b; Add: b row -> y", 3},
	{"channels last between convolutions", "Reshape: x four -> a; Conv: a weight -> b; Transpose: b -> c [perm 0 2 3 1]; Add: c last -> d; Mul: last d -> e; Relu: e -> f; Transpose: f -> g [perm 0 3 1 2]; Conv: g thrice -> y", 3},
	{"channels last beside a convolution", "Reshape: x four -> a; Transpose: a -> b [perm 0 2 3 1]; Relu: b -> c; Transpose: c -> d [perm 0 3 1 2]; Conv: d even -> e; Transpose: e -> f [perm 0 2 3 1]; Add: f b -> y", 5},
	{"channels last in the end", "Reshape: x four -> a; Conv: a weight -> b; Transpose: b -> c [perm 0 2 3 1]; Sub: c last -> d; Tanh: d -> y", 3},
	{"channels last that are read inside", "Reshape: x four -> a; Transpose: a -> b [perm 0 2 3 1]; Sigmoid: b -> c; Transpose: c -> d [perm 0 3 1 2]; Conv: d weight -> e; ReduceSum: c -> f; Mul: e f -> y", 6},
	{"a weight that varies", "Reshape: x four -> a; ReduceSum: x -> s; Mul: weight s -> v; Conv: a v -> b; Sigmoid: b -> y", 4},
}

// attributeOf returns an attribute of one integer, or of four.
func attributeOf(text string) []msg {
	list := strings.Fields(text)
	if len(list) == 0 {
		return nil
	}
	m, number, kind := msg{}.text(1, list[0]), 3, int64(2)
	if len(list) > 2 {
		number, kind = 8, 7
	}
	for _, s := range list[1:] {
		m = m.int(number, int64(s[0]-'0'))
	}
	return []msg{m.int(20, kind)}
}

// rewritten returns the model of nodes, with all results as outputs if they are wanted.
func rewritten(t *testing.T, list string, all bool) *Model {
	parts := []msg{
		numbers("zero", nil, 0), numbers("one", nil, 1), numbers("three", []int64{1}, 3), numbers("six", nil, 6), numbers("sixth", nil, 1/6.0),
		numbers("half", nil, 0.5), numbers("root", nil, math.Sqrt2), numbers("small", nil, 0.044715), numbers("pi", nil, float32(math.Sqrt(2/math.Pi))),
		numbers("cube", []int64{1, 1, 1}, 3), numbers("weight", []int64{3, 2, 1, 1}, 1, -2, 3, 4, -5, 6),
		numbers("scale", []int64{3}, 1, -2, 0.5), numbers("shift", []int64{3}, 0.25, 3, -1), numbers("mean", []int64{3}, 0.5, 1, -1),
		numbers("spread", []int64{3}, 1, 4, 0.25), numbers("row", []int64{4}, 1, 2, 3, 4), numbers("pair", []int64{2, 1, 1}, 3, -0.5), numbers("grouped", []int64{4, 1, 1, 1}, 1, 2, -3, 4), numbers("channels", []int64{3, 1, 1}, 2, -1, 0.5),
		numbers("last", []int64{1, 1, 1, 3}, 2, -1, 0.5), numbers("thrice", []int64{2, 3, 1, 1}, 1, 2, 3, -1, 0.5, 2), numbers("even", []int64{2, 2, 1, 1}, 1, 2, 3, -1),
		initializer("four", 7, []int64{4}, msg{}.bytes(7, 1, 2, 1, 4)),
	}
	for _, line := range strings.Split(list, "; ") {
		operator, rest, _ := strings.Cut(line, ": ")
		in, out, _ := strings.Cut(rest, " -> ")
		out, attribute, _ := strings.Cut(strings.TrimSuffix(out, "]"), " [")
		parts = append(parts, nodes(nodeOf(operator, in, out, attributeOf(attribute)...)))
		if all && out != "y" {
			parts = append(parts, msg{}.bytes(12, msg{}.text(1, out)...))
		}
	}
	m, err := LoadBytes(model(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What is rewritten computes the same as what is not, because all results are wanted.
func TestRewrite(t *testing.T) {
	x := map[string]tensor.Tensor{"x": tensor.From([]float32{-4, -3, -2.5, -0.75, 0.125, 2, 3.5, 80}, 4, 2)}
	for _, c := range rewriteCases {
		t.Run(c.name, func(t *testing.T) {
			short, long := rewritten(t, c.nodes, false), rewritten(t, c.nodes, true)
			if got := len(short.program.steps); got != c.steps {
				t.Errorf("%d steps, want %d", got, c.steps)
			}
			if got, want := len(long.program.steps), strings.Count(c.nodes, ";")+1; got != want {
				t.Fatalf("%d steps where all results are wanted, want %d", got, want)
			}
			got, err := short.Run(context.Background(), x, "y")
			if err != nil {
				t.Fatal(err)
			}
			want, err := long.Run(context.Background(), x, "y")
			if err != nil {
				t.Fatal(err)
			}
			if alike, err := tensor.AllClose(got["y"], want["y"], tensor.Rtol(1e-5), tensor.Atol(1e-5)).Item(); err != nil || alike == 0 {
				t.Errorf("got %v, want %v, %v", got["y"], want["y"], err)
			}
		})
	}
}

// What falls off like e^x has no numbers that processors are slow with, and none far from the truth.
func TestNothingSubnormal(t *testing.T) {
	list := []float32{float32(math.NaN()), float32(math.Inf(-1)), float32(math.Inf(1)), -math.MaxFloat32}
	for x := float32(-120); x < 120; x += 0.125 {
		list = append(list, x)
	}
	x := map[string]tensor.Tensor{"x": tensor.From(list, len(list)/2, 2)}
	for _, nodes := range []string{"Sigmoid: x -> y", "Sigmoid: x -> a; Mul: x a -> y", "Neg: x -> b; Sigmoid: x -> a; Mul: b a -> y"} {
		out, err := rewritten(t, nodes, false).Run(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tensor.Data[float32](out["y"])
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range list {
			want := 1 / (1 + math.Exp(-float64(v)))
			if strings.Contains(nodes, "Mul") && v > -1e9 {
				want *= float64(v)
			}
			if strings.Contains(nodes, "Neg") {
				want = 1 / (1 + math.Exp(-float64(v))) * -float64(v) // 0 of the least number
			}
			y := float64(got[i])
			if y != 0 && math.Abs(y) < 0x1p-126 || !(math.Abs(y-want) <= 1e-24+1e-5*math.Abs(want)) && !(math.IsNaN(want) && math.IsNaN(y)) && y != want {
				t.Errorf("%s of %g is %g, want %g", nodes, v, y, want)
			}
		}
	}
}
