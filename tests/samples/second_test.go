package samples

import (
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/tests/brief"
)

// kinks are parts of the names of vectors where first derivatives jump.
var kinks = []string{"ties", "constant", "of zero", "sort stable", "special", "infinities", "zero"}

// TestSecondDerivatives differentiates a weighted sum of every vector's gradients
// and compares with central differences of that sum.
func TestSecondDerivatives(t *testing.T) {
vectors:
	for i, v := range readVectors(t) {
		if brief.Skip(i) {
			continue
		}
		for _, k := range kinks {
			if strings.Contains(v.Name, k) {
				continue vectors
			}
		}
		if v.Grad != nil {
			t.Run(v.Name, func(t *testing.T) { checkSecond(t, v) })
		}
	}
}

func checkSecond(t *testing.T, v vector) {
	const step = 1e-5
	at := make([][]float64, len(v.In))
	for i, x := range v.In {
		for _, d := range x.Data {
			at[i] = append(at[i], float64(d))
		}
	}
	leaves, s := slopes(t, v, at)
	var got []tensor.Tensor
	if s.RequiresGrad() {
		var err error
		if got, err = tensor.Gradients([]tensor.Tensor{s}, leaves); err != nil {
			t.Fatal(err)
		}
	}
	leaf := -1
	for i, want := range v.Grad {
		if want == nil {
			continue
		}
		leaf++
		analytic := make([]float64, len(at[i]))
		if got != nil && got[leaf] != (tensor.Tensor{}) {
			analytic = settings[0].data(t, got[leaf])
		}
		for j := 0; j < len(at[i]); j += 1 + len(at[i])/7 {
			x := at[i][j]
			value := func(moved float64) float64 {
				at[i][j] = moved
				defer func() { at[i][j] = x }()
				_, s := slopes(t, v, at)
				return settings[0].data(t, s)[0]
			}
			want := (value(x+step) - value(x-step)) / (2 * step)
			if math.Abs(analytic[j]-want) > 1e-5*max(1, math.Abs(want)) {
				t.Fatalf("operand %d, element %d: second derivative %v, differences give %v", i, j, analytic[j], want)
			}
		}
	}
}

// slopes returns the operands that have gradients, and the weighted sum of these
// gradients as something to differentiate.
func slopes(t *testing.T, v vector, at [][]float64) (leaves []tensor.Tensor, sum tensor.Tensor) {
	t.Helper()
	s := settings[0]
	in := make([]tensor.Tensor, len(v.In))
	for i, x := range v.In {
		moved := values{Shape: x.Shape, Int: x.Int}
		for _, d := range at[i] {
			moved.Data = append(moved.Data, number(d))
		}
		if in[i] = s.tensor(moved); v.Grad[i] != nil {
			in[i] = in[i].RequireGrad()
			leaves = append(leaves, in[i])
		}
	}
	loss := tensor.Zeros([]int{}, tensor.OfType(s.float))
	for i, r := range named(v.Name)(in) {
		if !v.Out[i].Int {
			loss = loss.Add(r.Mul(s.tensor(weights(v.Out[i].Shape))).Sum())
		}
	}
	gs, err := tensor.Gradients([]tensor.Tensor{loss}, leaves, tensor.CreateGraph())
	if err != nil {
		t.Fatal(err)
	}
	sum = tensor.Zeros([]int{}, tensor.OfType(s.float))
	for _, g := range gs {
		if g != (tensor.Tensor{}) {
			sum = sum.Add(g.Mul(s.tensor(weights(g.Shape())).AddScalar(0.3)).Sum())
		}
	}
	return leaves, sum
}
