// Package structured compares operators whose meaning is in how elements meet,
// such as convolution, indexing and losses, with what PyTorch gave to
// tests/vectors/structured.py: results, and gradients with respect to every
// operand.
package structured

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
)

// values are an array as the script writes it.
type values struct {
	Shape []int
	Data  []number
	Int   bool
}

// A number is a JSON number, or one of the strings inf, -inf and nan.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"inf"`:
		*n = number(math.Inf(1))
	case `"-inf"`:
		*n = number(math.Inf(-1))
	case `"nan"`:
		*n = number(math.NaN())
	default:
		var f float64
		err := json.Unmarshal(text, &f)
		*n = number(f)
		return err
	}
	return nil
}

func (v values) tensor() tensor.Tensor {
	if v.Int {
		list := make([]int64, len(v.Data))
		for i, d := range v.Data {
			list[i] = int64(d)
		}
		return tensor.From(list, v.Shape...)
	}
	list := make([]float64, len(v.Data))
	for i, d := range v.Data {
		list[i] = float64(d)
	}
	return tensor.From(list, v.Shape...)
}

type vector struct {
	Name string
	In   []values
	Out  []values
	Grad []*values
}

func TestPyTorch(t *testing.T) {
	text, err := os.ReadFile("../vectors/structured.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, v := range vectors {
		seen[v.Name] = true
		t.Run(v.Name, func(t *testing.T) {
			f, ok := operators[v.Name]
			if !ok {
				t.Fatal("there is no operator for this vector")
			}
			check(t, v, f)
		})
	}
	for name := range operators {
		if !seen[name] {
			t.Errorf("there is no vector %q", name)
		}
	}
}

func check(t *testing.T, v vector, f func(x []tensor.Tensor) []tensor.Tensor) {
	in := make([]tensor.Tensor, len(v.In))
	for i, x := range v.In {
		in[i] = x.tensor()
		if v.Grad != nil && v.Grad[i] != nil {
			in[i] = in[i].RequireGrad()
		}
	}
	out := f(in)
	if len(out) != len(v.Out) {
		t.Fatalf("%d results, want %d", len(out), len(v.Out))
	}
	var loss tensor.Tensor
	for i, r := range out {
		compare(t, "result", i, r, v.Out[i])
		if v.Grad == nil || v.Out[i].Int {
			continue
		}
		l := r.Mul(weights(v.Out[i].Shape)).Sum()
		if loss.Handle() != nil && loss.Err() == nil {
			l = loss.Add(l)
		}
		loss = l
	}
	if v.Grad == nil || t.Failed() {
		return
	}
	if err := loss.Backward(); err != nil {
		t.Fatalf("backward: %v", err)
	}
	for i, want := range v.Grad {
		if want == nil {
			continue
		}
		g, ok := in[i].Grad()
		if !ok {
			t.Errorf("operand %d has no gradient", i)
			continue
		}
		compare(t, "gradient", i, g, *want)
	}
}

// weights returns 1/n, 2/n and so on to 1, in the given shape of n elements.
func weights(shape []int) tensor.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	w := make([]float64, n)
	for i := range w {
		w[i] = float64(i+1) / float64(n)
	}
	return tensor.From(w, shape...)
}

func compare(t *testing.T, what string, i int, got tensor.Tensor, want values) {
	t.Helper()
	if err := got.Err(); err != nil {
		t.Fatalf("%s %d: %v", what, i, err)
	}
	if !slices.Equal(got.Shape(), want.Shape) {
		t.Fatalf("%s %d has shape %v, want %v", what, i, got.Shape(), want.Shape)
	}
	if want.Int && got.DType() != tensor.Int64 {
		t.Errorf("%s %d has dtype %v, want int64", what, i, got.DType())
	}
	data, err := tensor.Data[float64](got.ToDType(tensor.Float64))
	if err != nil {
		t.Fatalf("%s %d: %v", what, i, err)
	}
	for j, w := range want.Data {
		w, g := float64(w), data[j]
		same := g == w || math.Abs(g-w) <= 1e-12+1e-10*math.Abs(w) || math.IsNaN(g) && math.IsNaN(w)
		if !same {
			t.Fatalf("%s %d: element %d of %v is %v, want %v", what, i, j, want.Shape, g, w)
		}
	}
}
