package edges_test

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
)

// TestParameters gives parameters of other lengths than what they belong to, which could be
// broadcast: it is an error, as in PyTorch.
func TestParameters(t *testing.T) {
	x, four := tensor.Ones([]int{2, 4, 3, 3}), tensor.Ones([]int{4})
	kernel := tensor.Ones([]int{3, 4, 2, 2})
	calls := map[string]func(p tensor.Tensor) tensor.Tensor{
		"batch_norm, mean":       func(p tensor.Tensor) tensor.Tensor { return tensor.BatchNorm(x, p, four) },
		"batch_norm, variance":   func(p tensor.Tensor) tensor.Tensor { return tensor.BatchNorm(x, four, p) },
		"batch_norm, weight":     func(p tensor.Tensor) tensor.Tensor { return tensor.BatchNorm(x, four, four, tensor.Weight(p)) },
		"batch_norm, bias":       func(p tensor.Tensor) tensor.Tensor { return tensor.BatchNorm(x, four, four, tensor.Bias(p)) },
		"batch_norm_train":       func(p tensor.Tensor) tensor.Tensor { y, _, _ := tensor.BatchNormTrain(x, tensor.Weight(p)); return y },
		"batch_norm_train, bias": func(p tensor.Tensor) tensor.Tensor { y, _, _ := tensor.BatchNormTrain(x, tensor.Bias(p)); return y },
		"group_norm":             func(p tensor.Tensor) tensor.Tensor { return tensor.GroupNorm(x, 2, tensor.Weight(p)) },
		"group_norm, bias":       func(p tensor.Tensor) tensor.Tensor { return tensor.GroupNorm(x, 2, tensor.Bias(p)) },
		"instance_norm":          func(p tensor.Tensor) tensor.Tensor { return tensor.InstanceNorm(x, tensor.Weight(p)) },
		"layer_norm":             func(p tensor.Tensor) tensor.Tensor { return tensor.LayerNorm(x, []int{3}, tensor.Weight(p)) },
		"layer_norm, bias":       func(p tensor.Tensor) tensor.Tensor { return tensor.LayerNorm(x, []int{3}, tensor.Bias(p)) },
		"rms_norm":               func(p tensor.Tensor) tensor.Tensor { return tensor.RMSNorm(x, []int{3}, tensor.Weight(p)) },
		"conv2d":                 func(p tensor.Tensor) tensor.Tensor { return tensor.Conv2d(x, kernel, tensor.Bias(p)) },
		"conv2d of complex":      func(p tensor.Tensor) tensor.Tensor { return complexConv(x, kernel, p) },
		"conv_transpose2d": func(p tensor.Tensor) tensor.Tensor {
			return tensor.ConvTranspose2d(x, kernel.Transpose(0, 1), tensor.Bias(p))
		},
		"conv_transpose2d behind": func(p tensor.Tensor) tensor.Tensor { return transposed(x, kernel, p) },
		"deform_conv2d": func(p tensor.Tensor) tensor.Tensor {
			return tensor.DeformConv2d(x, tensor.Zeros([]int{2, 8, 2, 2}), kernel, tensor.Bias(p))
		},
	}
	for name, call := range calls {
		for _, p := range []tensor.Tensor{tensor.Ones([]int{1}), tensor.Ones([]int{}), tensor.Ones([]int{0}), tensor.Ones([]int{5})} {
			if y := call(p); !errors.Is(y.Err(), tensor.ErrShape) {
				t.Errorf("%s with a parameter of shape %v: %v, %v", name, p.Shape(), y.Shape(), y.Err())
			}
		}
	}
}

// complexConv is a convolution of complex numbers.
func complexConv(x, weight, bias tensor.Tensor) tensor.Tensor {
	c := func(t tensor.Tensor) tensor.Tensor { return t.ToType(tensor.Complex64) }
	return tensor.Conv2d(c(x), c(weight), tensor.Bias(c(bias)))
}

// transposed is a transposed convolution with as much output padding as a stride has.
func transposed(x, weight, bias tensor.Tensor) tensor.Tensor {
	return tensor.ConvTranspose2d(x, weight.Transpose(0, 1), tensor.Stride(2), tensor.Dilation(3), tensor.OutputPadding(2), tensor.Bias(bias))
}
