package onnx

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// misfits returns what a tensor may be given as by mistake: with other axes, with fewer or more
// elements along its last axis, and integers with numbers that are no index, size or axis.
func misfits(x tensor.Tensor) map[string]tensor.Tensor {
	out := map[string]tensor.Tensor{
		"another axis": x.Unsqueeze(0),
		"flat":         x.Reshape(-1),
		"nothing":      tensor.Zeros([]int{0}, tensor.OfType(x.DType())),
	}
	if x.NumElements() > 0 {
		out["one element"] = x.Reshape(-1).Select(0, 0)
	}
	if last := x.Rank() - 1; last >= 0 {
		out["an axis less"] = x.Flatten(tensor.Start(max(last-1, 0)), tensor.End(last))
		out["empty"] = x.Narrow(last, 0, 0)
		out["longer"] = tensor.Cat([]tensor.Tensor{x, x}, last)
		if n := x.Size(last); n > 1 {
			out["shorter"] = x.Narrow(last, 0, n-1)
		}
	}
	if isInt(x) {
		least, most := limits(x.DType())
		if x.DType().Size() == 4 {
			most = 1 << 20 // a size that a machine has the memory for
		}
		out["least"], out["most"] = tensor.FullLike(x, least), tensor.FullLike(x, most)
	}
	return out
}

// A budget is a context that ends after so many operators, so that a loop of 2^63 rounds does.
type budget struct {
	context.Context
	left int
}

func (b *budget) Err() error {
	if b.left--; b.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// refusedMisfits are operands with which numbers could be computed, but not those that the
// operator stands for.
var refusedMisfits = []string{
	"test_basic_conv_with_padding W longer", "test_batchnorm_epsilon_training_mode mean one element", "test_compress_0 condition another axis",
	"test_convtranspose_kernel_shape W shorter", "test_deform_conv_with_mask_bias B longer", "test_gemm_all_attributes c another axis",
	"test_gru_bidirectional R shorter", "test_instancenorm_example s shorter", "test_layer_normalization_2d_axis0 W another axis",
	"test_lstm_with_initial_bias B longer", "test_lstm_with_peepholes sequence_lens most", "test_maxpool_1d_default x flat",
	"test_maxunpool_export_with_output_shape xI flat", "test_onehot_negative_indices values longer", "test_qlinearconv w_scale longer",
	"test_qlinearmatmul_2D_uint8_float32 b_scale longer", "test_qlinearmatmul_3D_uint8_float32 y_scale longer",
	"test_quantizelinear_axis y_scale shorter", "test_reversesequence_batch sequence_lens shorter", "test_rms_normalization_2d_axis0 W another axis",
	"test_rotary_embedding cos_cache flat", "test_scatter_elements_with_axis updates longer", "test_scatternd updates flat",
}

// TestMisfits gives every node of the standard's tests operands that do not fit it, one at a
// time: it is an error or a result, never a panic that Run has caught.
func TestMisfits(t *testing.T) {
	refused := map[string]bool{}
	for i, c := range nodeCases(t) {
		among := slices.ContainsFunc(refusedMisfits, func(m string) bool { return strings.HasPrefix(m, c.name+" ") })
		if testing.Short() && i%16 != 0 && !among || !strings.Contains(c.name, *only) || strings.Contains(c.name, "_expanded") {
			continue
		}
		if err := c.misfit(t, refused); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, m := range refusedMisfits {
		if *only == "" && !refused[m] {
			t.Errorf("%s: is taken, or was not tried", m)
		}
	}
}

// misfit runs the node with each operand in the forms of misfits, and notes what is refused.
func (c nodeCase) misfit(t *testing.T, refused map[string]bool) error {
	model, err := LoadBytes(c.files["model.onnx"], Plans(0))
	if err != nil {
		return nil // TestNodes looks at what is refused
	}
	for i := range model.inputs {
		model.inputs[i].Known = false
	}
	file, err := format.ReadModel(c.files["model.onnx"])
	if err != nil {
		return err
	}
	return tensor.Scope(func() error {
		inputs, err := c.inputs(model, file, "test_data_set_0")
		if err != nil {
			return err
		}
		for name, v := range inputs {
			if v.form != formTensor {
				continue
			}
			for how, x := range misfits(v.t) {
				if x.Err() != nil {
					return fmt.Errorf("%s: %w", how, x.Err())
				}
				inputs[name] = lent(&value{t: x, elem: v.elem})
				_, err := model.run(&budget{context.Background(), 5000}, inputs, nil)
				refused[c.name+" "+name+" "+how] = err != nil
				if err != nil && strings.Contains(err.Error(), "internal error") {
					t.Errorf("%s: %q %s, %v: %v", c.name, name, how, x.Shape(), err)
				}
			}
			inputs[name] = v
		}
		return nil
	})
}
