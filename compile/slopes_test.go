package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
)

// slopes are gradients of normalizations of the rows of x, from that of their results, which is made
// of g and followed by a neighbour; the kernel that computes them where rows are not folded, and how
// many steps there are where they are.
var slopes = []struct {
	name, kernel string
	steps        int
	f            func(g, x tensor.Tensor) ([]tensor.Tensor, error)
}{
	{"softmax", "softmax_pull", 2, func(g, x tensor.Tensor) ([]tensor.Tensor, error) {
		x = x.Detach().RequireGrad()
		return gradientOf(x.Softmax(-1), g.MulScalar(2), x)
	}},
	{"rms norm", "rms_norm_pull", 3, func(g, x tensor.Tensor) ([]tensor.Tensor, error) {
		x = x.Detach().RequireGrad()
		w := tensor.Ones([]int{x.Size(-1)}, tensor.OfType(x.DType())).RequireGrad()
		return gradientOf(x.RMSNorm([]int{x.Size(-1)}, tensor.Weight(w)), g.MulScalar(2), x, w)
	}},
}

// gradientOf returns the gradients of y from its own, g, where the first has a neighbour.
func gradientOf(y, g tensor.Tensor, x ...tensor.Tensor) ([]tensor.Tensor, error) {
	d, err := tensor.Gradients([]tensor.Tensor{y}, x, tensor.WithGradient(g))
	if err != nil {
		return nil, err
	}
	d[0] = d[0].AddScalar(1)
	return d, nil
}

// TestSlopes: where programs fold rows on the CPU, gradients of softmax and of RMS norm are parts,
// which become steps with what is around, and kernels of their own elsewhere. Programs that are not
// fused give the same bits, and eager code gives what is near.
func TestSlopes(t *testing.T) {
	for _, tt := range []struct {
		shape  []int
		dtype  tensor.DType
		folded bool
	}{
		{[]int{64, 96}, tensor.Float32, true},
		{[]int{5, 40, 32}, tensor.Float64, true},
		{[]int{64, 31}, tensor.Float32, false},   // short rows
		{[]int{15, 96}, tensor.Float32, false},   // few rows
		{[]int{16, 4096}, tensor.Float32, false}, // rows of which there must be more
	} {
		g, x := tensor.Randn(tt.shape, tensor.OfType(tt.dtype)), tensor.Randn(tt.shape, tensor.OfType(tt.dtype))
		for _, c := range slopes {
			t.Run(fmt.Sprint(c.name, tt.shape, tt.dtype), func(t *testing.T) {
				f := func(x ...tensor.Tensor) ([]tensor.Tensor, error) { return c.f(x[0], x[1]) }
				fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
				defer fused.Close()
				defer apart.Close()
				got, err := fused.Call(g, x)
				must(t, err)
				same, err := apart.Call(g, x)
				must(t, err)
				sameBits(t, got, same, fused.Program())
				eager, err := f(g, x)
				must(t, err)
				for i := range eager {
					if !near(got[i].Handle(), eager[i].Handle()) {
						t.Errorf("result %d differs by %v from eager code's", i, apartBy(t, got[i], eager[i]))
					}
				}
				if kernel := strings.Contains(fused.Program().String(), c.kernel); kernel == tt.folded {
					t.Errorf("a kernel of its own: %t\n%s", kernel, fused.Program())
				}
				want := c.steps
				if c.name == "rms norm" && tt.dtype == tensor.Float32 {
					want += 2 // the statistic goes to float64 and back
				}
				if s := fused.Stats(); tt.folded && s.Steps != want {
					t.Errorf("%d steps, want %d\n%s", s.Steps, want, fused.Program())
				}
			})
		}
	}
}
