package edges_test

import (
	"math"
	"testing"

	. "github.com/sinter-go/sinter/generated/tensor"
)

// norms are the normalizations, of an x of shape [4, 4, 8] and weight and bias of its
// channels, or of its last axis where rows says so.
var norms = []struct {
	name string
	rows bool
	of   func(x, weight, bias Tensor) Tensor
}{
	{"layer_norm", true, func(x, w, b Tensor) Tensor { return x.LayerNorm([]int{8}, Weight(w), Bias(b)) }},
	{"layer_norm, weight alone", true, func(x, w, _ Tensor) Tensor { return x.LayerNorm([]int{8}, Weight(w)) }},
	{"layer_norm, bias alone", true, func(x, _, b Tensor) Tensor { return x.LayerNorm([]int{8}, Bias(b)) }},
	{"rms_norm", true, func(x, w, _ Tensor) Tensor { return x.RMSNorm([]int{8}, Weight(w)) }},
	{"group_norm", false, func(x, w, b Tensor) Tensor { return x.GroupNorm(2, Weight(w), Bias(b)) }},
	{"instance_norm", false, func(x, w, b Tensor) Tensor { return x.InstanceNorm(Weight(w), Bias(b)) }},
	{"batch_norm", false, func(x, w, b Tensor) Tensor { return x.BatchNorm(b.Detach(), w.Detach(), Weight(w), Bias(b)) }},
	{"batch_norm_train", false, func(x, w, b Tensor) Tensor {
		out, _, _ := x.BatchNormTrain(Weight(w), Bias(b))
		return out
	}},
}

// TestMixedNorms gives normalizations of 16-bit floats a weight and a bias of float32, and
// of float32 such of 16 bits. The result has the dtype of x, as PyTorch's, and is what
// float64 gives of the same numbers, rounded once; gradients have the operands' dtypes.
func TestMixedNorms(t *testing.T) {
	cotangent := Linspace(0, 9, 128).Sin().MulScalar(8).Round().ToType(Float64) // numbers of any dtype
	for _, c := range norms {
		for _, d := range [][2]DType{{Float16, Float32}, {BFloat16, Float32}, {Float32, Float16}, {Float32, BFloat16}, {Float16, Float64}} {
			t.Run(c.name+" "+d[0].String()+" "+d[1].String(), func(t *testing.T) {
				n := 4
				if c.rows {
					n = 8
				}
				operands := func(wide bool) (x, w, b Tensor) {
					shared := func(x Tensor, d DType) Tensor {
						x = x.ToType(d)
						if wide {
							x = x.ToType(Float64)
						}
						return x.Detach().RequireGrad()
					}
					x = shared(Linspace(-3, 300, 128).Cos().Reshape(4, 4, 8), d[0])
					return x, shared(Linspace(0.5, 1.7, n), d[1]), shared(Linspace(-1, 1.3, n), d[1])
				}
				run := func(wide bool) (y Tensor, grads []Tensor, there []bool) {
					x, w, b := operands(wide)
					y = c.of(x, w, b)
					must(t, y.ToType(Float64).Mul(cotangent.Reshape(4, 4, 8)).Sum().Backward())
					for _, x := range []Tensor{x, w, b} {
						g, ok := x.Grad()
						grads, there = append(grads, g), append(there, ok)
					}
					return y, grads, there
				}
				got, grads, there := run(false)
				want, wants, _ := run(true)
				alike(t, "result", got, want, d[0])
				for i, name := range []string{"x", "weight", "bias"} {
					if !there[i] {
						continue
					}
					alike(t, "gradient of "+name, grads[i], wants[i], d[min(i, 1)])
				}
			})
		}
	}
}

// alike compares what was rounded to a dtype with what float64 gives.
func alike(t *testing.T, what string, got, want Tensor, d DType) {
	t.Helper()
	if got.DType() != d {
		t.Errorf("%s has dtype %s, want %s", what, got.DType(), d)
		return
	}
	eps := map[DType]float64{Float16: 0x1p-10, BFloat16: 0x1p-7, Float32: 0x1p-16}[d]
	w := numbers(t, want)
	largest := 0.0
	for _, v := range w {
		largest = max(largest, math.Abs(v))
	}
	for i, v := range numbers(t, got) {
		if off := math.Abs(v - w[i]); !(off <= eps*largest) {
			t.Errorf("%s: element %d is %v, want %v", what, i, v, w[i])
			return
		}
	}
}
