package edges_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/random"
)

// batchNormOf is batch norm over images [n, channels, height, width] by its definition.
func batchNormOf(x, weight, bias tensor.Tensor) (out, mean, variance tensor.Tensor) {
	over, shape := tensor.Dim(0, 2, 3), []int{1, x.Size(1), 1, 1}
	mean = x.Mean(over)
	d := x.Sub(mean.Reshape(shape...))
	variance = d.Square().Mean(over)
	y := d.Mul(variance.AddScalar(1e-5).Rsqrt().Reshape(shape...))
	return y.Mul(weight.Reshape(shape...)).Add(bias.Reshape(shape...)), mean, variance
}

// TestBatchNormGradients compares batch norms with one by definition: planes that the
// CPU's kernels take and smaller ones, gradients of the result alone and of the
// statistics, and gradients of gradients.
func TestBatchNormGradients(t *testing.T) {
	near := cmpopts.EquateApprox(1e-5, 1e-6)
	sum := func(list ...tensor.Tensor) tensor.Tensor {
		total := list[0].Sin().Sum()
		for _, x := range list[1:] {
			total = total.Add(x.Sin().Sum())
		}
		return total
	}
	for _, c := range []struct {
		name    string
		shape   []int
		reached int // how many of x, weight and bias the loss depends on
		loss    func(out, mean, variance tensor.Tensor) tensor.Tensor
		plain   bool // neither weight nor bias is given
	}{
		{"result", []int{3, 2, 4, 5}, 3, func(out, _, _ tensor.Tensor) tensor.Tensor { return sum(out) }, false},
		{"result, plain", []int{3, 2, 4, 5}, 1, func(out, _, _ tensor.Tensor) tensor.Tensor { return sum(out) }, true},
		{"all", []int{3, 2, 4, 5}, 3, func(out, mean, variance tensor.Tensor) tensor.Tensor { return sum(out, mean, variance) }, false},
		{"statistics", []int{3, 2, 4, 5}, 1, func(_, mean, variance tensor.Tensor) tensor.Tensor { return sum(mean, variance) }, false},
		{"small planes", []int{3, 2, 2, 3}, 3, func(out, mean, variance tensor.Tensor) tensor.Tensor { return sum(out, mean, variance) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			random.Seed(1)
			float64s := tensor.OfType(tensor.Float64)
			x := tensor.Randn(c.shape, float64s).AddScalar(3).Detach().RequireGrad()
			weight, bias := tensor.Randn([]int{2}, float64s).RequireGrad(), tensor.Randn([]int{2}, float64s).RequireGrad()
			options := []tensor.Option{tensor.Weight(weight), tensor.Bias(bias)}
			if c.plain {
				weight, bias, options = tensor.Ones([]int{2}, float64s), tensor.Zeros([]int{2}, float64s), nil
			}
			in := []tensor.Tensor{x, weight, bias}[:c.reached]
			var first, second [2][][]float64
			for i, norm := range []func() (out, mean, variance tensor.Tensor){
				func() (out, mean, variance tensor.Tensor) { return x.BatchNormTrain(options...) },
				func() (out, mean, variance tensor.Tensor) { return batchNormOf(x, weight, bias) },
			} {
				plain, err := tensor.Gradients([]tensor.Tensor{c.loss(norm())}, in)
				must(t, err)
				recorded, err := tensor.Gradients([]tensor.Tensor{c.loss(norm())}, in, tensor.CreateGraph())
				must(t, err)
				again, err := tensor.Gradients([]tensor.Tensor{sum(recorded...)}, in)
				must(t, err)
				for k := range in {
					first[i] = append(first[i], values(t, plain[k]), values(t, recorded[k]))
					second[i] = append(second[i], values(t, again[k]))
				}
			}
			if diff := cmp.Diff(first[1], first[0], near); diff != "" {
				t.Errorf("gradients (-by definition +got):\n%s", diff)
			}
			if diff := cmp.Diff(second[1], second[0], near); diff != "" {
				t.Errorf("gradients of gradients (-by definition +got):\n%s", diff)
			}
		})
	}
}

// TestRMSNormEps gives norms without Eps numbers so small that it decides, and wants what
// PyTorch 2.11 has: the eps of the dtype that is computed in.
func TestRMSNormEps(t *testing.T) {
	for _, c := range []struct {
		dtype tensor.DType
		want  float64
	}{{tensor.Float32, 0.27819743752479553}, {tensor.Float64, 0.9999999888977699}, {tensor.BFloat16, 0.279296875}} {
		x := tensor.Full([]int{4}, 1e-4, tensor.OfType(c.dtype))
		got, err := x.RMSNorm([]int{4}).Index(0).Item()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateApprox(1e-6, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.dtype, diff)
		}
		layer, err := nn.NewRMSNorm([]int{4}, tensor.OfType(c.dtype)).Forward(x).Index(0).Item()
		if err != nil || layer != got {
			t.Errorf("%s: the layer gives %v, want %v (%v)", c.dtype, layer, got, err)
		}
	}
}
