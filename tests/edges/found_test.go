package edges_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestValuesAtEdges has values that were once wrong without an error, on the processor and
// by the reference.
func TestValuesAtEdges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	ints := func(v ...int8) tensor.Tensor { return tensor.From(v) }
	bytes := func(v ...uint8) tensor.Tensor { return tensor.From(v) }
	singles := func(v ...float32) tensor.Tensor { return tensor.From(v) }
	doubles := func(v ...float64) tensor.Tensor { return tensor.From(v) }
	for _, c := range []struct {
		name string
		f    func() tensor.Tensor
		want []float64
	}{
		{"linspace of one", func() tensor.Tensor { return tensor.Linspace(3, 7, 1) }, []float64{3}},
		{"logspace of one", func() tensor.Tensor { return tensor.Logspace(3, 7, 1, 10) }, []float64{1000}},
		{"logsumexp of small integers", func() tensor.Tensor { return ints(100, 100).Logsumexp([]int{0}) }, []float64{100 + math.Ln2}},
		{"logsumexp of nothing", func() tensor.Tensor { return singles().Logsumexp([]int{0}) }, []float64{-inf}},
		{"imaginary part that is infinite", func() tensor.Tensor { return doubles(1).Complex(doubles(inf)).Real() }, []float64{1}},
		{"logit outside of [0, 1]", func() tensor.Tensor { return singles(-1, 2).Logit() }, []float64{nan, nan}},
		{"std of large numbers", func() tensor.Tensor { return singles(1e30, -1e30).Std() }, []float64{math.Sqrt2 * 1e30}},
		{"fmax of integers beyond float32", func() tensor.Tensor {
			return tensor.From([]int64{1<<53 + 1}).Fmax(tensor.From([]int64{1 << 53})).SubScalar(int64(1 << 53))
		}, []float64{1}},
		{"einsum that sums bytes", func() tensor.Tensor { return tensor.Einsum("i->", []tensor.Tensor{bytes(200, 100)}) }, []float64{300}},
		{"sinh and cosh", func() tensor.Tensor { return doubles(710).Sinh().Div(doubles(710).Cosh()) }, []float64{1}},
		{"sinh", func() tensor.Tensor { return doubles(709.7).Sinh() }, []float64{math.Exp(709.7 - math.Ln2)}},
		{"cosine similarity of halves", func() tensor.Tensor {
			return singles(300, 300).ToType(tensor.Float16).CosineSimilarity(singles(300, 300).ToType(tensor.Float16), 0)
		}, []float64{1}},
		{"cosine similarity of a row with rows", func() tensor.Tensor {
			return tensor.From([]float64{1, 0}, 1, 2).CosineSimilarity(tensor.From([]float64{3, 4, 0, 2}, 2, 2), 1)
		}, []float64{0.6, 0}},
		{"addmm without its operand", func() tensor.Tensor {
			return tensor.From([]float64{nan}, 1, 1).AddMM(tensor.From([]float64{2}, 1, 1), tensor.From([]float64{3}, 1, 1), tensor.Beta(0))
		}, []float64{6}},
		{"addmm of halves", func() tensor.Tensor { // the product alone is beyond float16
			h := func(v float64) tensor.Tensor { return tensor.From([]float64{v}, 1, 1).ToType(tensor.Float16) }
			return h(-60000).AddMM(h(300), h(300)) // -60000 + 90000
		}, []float64{30000}},
	} {
		for _, d := range []device.Device{device.CPU, device.Sim(0)} {
			must(t, tensor.WithDefaults(tensor.Defaults{Device: d}, func() error {
				if diff := cmp.Diff(c.want, values(t, c.f()), cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-3, 0)); diff != "" {
					t.Errorf("%s on %s (-want +got):\n%s", c.name, d, diff)
				}
				return nil
			}))
		}
	}
}

// TestLossOfBytes: a difference that bytes do not hold is refused, and not wrapped.
func TestLossOfBytes(t *testing.T) {
	x, y := tensor.From([]uint8{1}), tensor.From([]uint8{3})
	if err := x.L1Loss(y).Err(); err == nil || !strings.Contains(err.Error(), "l1_loss: invalid dtype: not implemented for uint8") {
		t.Error(err)
	}
}

// TestSlopesAtEdges has gradients that were once wrong or missing.
func TestSlopesAtEdges(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(x tensor.Tensor) tensor.Tensor
		x    []float64
		want []float64
	}{
		{"logcumsumexp", func(x tensor.Tensor) tensor.Tensor { return x.Logcumsumexp(0) }, []float64{-1000, 1000}, []float64{1, 1}},
		{"atan2", func(x tensor.Tensor) tensor.Tensor { return x.Atan2(tensor.ZerosLike(x)) }, []float64{0}, []float64{0}},
		{"norm below 1", func(x tensor.Tensor) tensor.Tensor { return x.Norm(tensor.P(0.5)) }, []float64{0, 4}, []float64{0, 1}},
		{"norm that counts", func(x tensor.Tensor) tensor.Tensor { return x.Norm(tensor.P(0)) }, []float64{0, 4}, []float64{0, 0}},
		{"digamma", tensor.Tensor.Digamma, []float64{1}, []float64{math.Pi * math.Pi / 6}},
		{"floor division", func(x tensor.Tensor) tensor.Tensor { return x.FloorDivideScalar(2.0) }, []float64{7, -7}, []float64{0, 0}},
		{"truncated division", func(x tensor.Tensor) tensor.Tensor { return x.TruncDivideScalar(2.0) }, []float64{7, -7}, []float64{0, 0}},
	} {
		for _, d := range []device.Device{device.CPU, device.Sim(0)} {
			must(t, tensor.WithDefaults(tensor.Defaults{Device: d}, func() error {
				x := tensor.From(c.x).RequireGrad()
				must(t, c.f(x).Sum().Backward())
				g, _ := x.Grad()
				if diff := cmp.Diff(c.want, values(t, g), cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-9, 1e-12)); diff != "" {
					t.Errorf("%s on %s (-want +got):\n%s", c.name, d, diff)
				}
				return nil
			}))
		}
	}
}
