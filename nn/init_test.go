package nn_test

import (
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// TestInit compares the spread of what initialisers draw with PyTorch's, whose
// numbers are of other random sequences.
func TestInit(t *testing.T) {
	want := load(t).Inits
	random.With(random.New(1), func() error {
		shape := []int{64, 24, 3, 2}
		fill := func(f func(tensor.Tensor) error) tensor.Tensor {
			w := tensor.Empty(shape, tensor.On(device.Sim(0)))
			must(t, f(w))
			return w
		}
		for name, w := range map[string]tensor.Tensor{
			"kaiming uniform in":   fill(func(w tensor.Tensor) error { return nn.KaimingUniform(w, nn.GainReLU, nn.FanIn) }),
			"kaiming uniform out":  fill(func(w tensor.Tensor) error { return nn.KaimingUniform(w, nn.GainTanh, nn.FanOut) }),
			"kaiming normal in":    fill(func(w tensor.Tensor) error { return nn.KaimingNormal(w, nn.GainLinear, nn.FanIn) }),
			"xavier uniform":       fill(func(w tensor.Tensor) error { return nn.XavierUniform(w, 2) }),
			"xavier normal":        fill(func(w tensor.Tensor) error { return nn.XavierNormal(w, 0.5) }),
			"layer linear":         nn.NewLinear(24, 64).Weight.Tensor,
			"layer conv":           nn.NewConv2d(24, 64, 3, tensor.Groups(2)).Weight.Tensor,
			"layer conv transpose": nn.NewConvTranspose2d(24, 64, 3, tensor.Groups(2)).Weight.Tensor,
			"layer embedding":      nn.NewEmbedding(64, 24).Weight.Tensor,
		} {
			var largest, sum, squares float64
			data := values(t, w)
			for _, v := range data {
				largest = max(largest, math.Abs(v))
				sum += v
				squares += v * v
			}
			n := float64(len(data))
			deviation := math.Sqrt(squares/n - sum*sum/n/n)
			// The deviation of n samples varies by 1/sqrt(2n) of itself, and the
			// largest of a normal distribution by more.
			if d := want[name]["std"]; math.Abs(deviation-d) > 5*d/math.Sqrt(n) {
				t.Errorf("%s: deviation %g, want %g", name, deviation, d)
			}
			if m := want[name]["max"]; !strings.Contains(name, "normal") && !strings.Contains(name, "embedding") && math.Abs(largest-m) > 0.01*m {
				t.Errorf("%s: largest %g, want %g", name, largest, m)
			}
		}
		return nil
	})
	gains := map[string]float64{"linear": nn.GainLinear, "tanh": nn.GainTanh, "relu": nn.GainReLU, "leaky": nn.GainLeakyReLU(0.3), "selu": nn.GainSELU}
	for name, g := range gains {
		if w := want["gains"][name]; math.Abs(g-w) > 1e-15 {
			t.Errorf("gain of %s is %v, want %v", name, g, w)
		}
	}
}

func TestInitInPlace(t *testing.T) {
	p := nn.NewParameter(tensor.Zeros([]int{2, 3}))
	must(t, nn.Constant(p.Tensor, 1.5))
	if got := values(t, p.Tensor); got[0] != 1.5 || got[5] != 1.5 || !p.RequiresGrad() || !p.IsLeaf() {
		t.Errorf("a constant parameter is %v", got)
	}
	must(t, nn.Uniform(p.Detach().Select(0, 1), 2, 3)) // a view
	got := values(t, p.Tensor)
	if got[2] != 1.5 || got[3] < 2 || got[3] >= 3 {
		t.Errorf("half a uniform parameter is %v", got)
	}
	random.With(random.New(4), func() error { must(t, nn.Normal(p.Tensor, 100, 0.1)); return nil })
	if got := values(t, p.Tensor); math.Abs(got[0]-100) > 1 {
		t.Errorf("a normal parameter is %v", got)
	}
	for name, f := range map[string]func(tensor.Tensor) error{
		"kaiming": func(w tensor.Tensor) error { return nn.KaimingNormal(w, 1, nn.FanIn) },
		"xavier":  func(w tensor.Tensor) error { return nn.XavierUniform(w, 1) },
	} {
		if err := f(tensor.Zeros([]int{3})); err == nil || !strings.Contains(err.Error(), "[3]") {
			t.Errorf("%s of a vector: %v", name, err)
		}
		if err := f(tensor.Tensor{}); err == nil {
			t.Errorf("%s of the zero tensor gives no error", name)
		}
		if err := f(tensor.Zeros([]int{0, 4})); err != nil {
			t.Errorf("%s of no elements: %v", name, err)
		}
	}
	row := nn.NewEmbedding(4, 2, tensor.PaddingIdx(1))
	if got := values(t, row.Weight.Tensor); got[2] != 0 || got[3] != 0 || got[0] == 0 || !row.Weight.RequiresGrad() {
		t.Errorf("an embedding with a padding index is %v", got)
	}
}
