package optim_test

import (
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
)

// spread returns parameters with the given gradients on different devices, and
// one without a gradient.
func spread(t testing.TB, grads []array) []*nn.Parameter {
	t.Helper()
	var params []*nn.Parameter
	for i, g := range grads {
		d := []device.Device{device.CPU, device.Sim(1)}[i%2]
		p := nn.NewParameter(tensor.Zeros(g.Shape, tensor.On(d), tensor.OfType(tensor.Float64)))
		must(t, p.SetGrad(g.tensor(tensor.Float64, d)))
		params = append(params, p)
	}
	return append(params, nn.NewParameter(tensor.Zeros([]int{2})))
}

func compareGradients(t testing.TB, what string, params []*nn.Parameter, want []array) {
	t.Helper()
	for i, w := range want {
		g, ok := params[i].Grad()
		if !ok {
			t.Fatalf("%s: parameter %d has no gradient", what, i)
		}
		near(t, what, g, w, 1e-13)
	}
}

func TestClip(t *testing.T) {
	for _, c := range load(t).Clip {
		params := spread(t, c.Before)
		norm, err := optim.ClipGradNorm(params, c.Limit)
		must(t, err)
		if math.Abs(norm-c.Norm) > 1e-13 {
			t.Errorf("norm %v, want %v", norm, c.Norm)
		}
		compareGradients(t, "by norm", params, c.After)
		if clipped, err := optim.GradNorm(params); err != nil || clipped > c.Limit {
			t.Errorf("norm %v, %v after clipping to %v", clipped, err, c.Limit)
		}
		params = spread(t, c.Before)
		must(t, optim.ClipGradValue(params, c.Limit))
		compareGradients(t, "by value", params, c.ByValue)
		if _, ok := params[2].Grad(); ok {
			t.Error("clipping made a gradient")
		}
	}
}

func TestClipSpecialCases(t *testing.T) {
	grad := func(dt tensor.DType, v ...float64) []*nn.Parameter {
		p := nn.NewParameter(tensor.Zeros([]int{len(v)}, tensor.OfType(dt)))
		must(t, p.SetGrad(tensor.From(v).ToType(dt)))
		return []*nn.Parameter{p}
	}
	half := grad(tensor.Float16, 30000, 40000) // whose squares are no half
	if norm, err := optim.ClipGradNorm(half, 5); err != nil || math.Abs(norm-50000) > 50 {
		t.Errorf("norm of float16 gradients %v, %v, want 50000", norm, err)
	}
	complexes := nn.NewParameter(tensor.Zeros([]int{1}, tensor.OfType(tensor.Complex64)))
	must(t, complexes.SetGrad(tensor.From([]complex64{3 + 4i})))
	if norm, err := optim.GradNorm([]*nn.Parameter{complexes}); err != nil || norm != 5 {
		t.Errorf("norm of 3+4i is %v, %v", norm, err)
	}
	if norm, err := optim.ClipGradNorm([]*nn.Parameter{nn.NewParameter(tensor.Ones([]int{2}))}, 1); err != nil || norm != 0 {
		t.Errorf("norm without gradients %v, %v", norm, err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		params := grad(tensor.Float32, 1, v)
		if _, err := optim.ClipGradNorm(params, 1); err == nil || !strings.Contains(err.Error(), "norm is") {
			t.Errorf("a gradient with %v: %v", v, err)
		}
		if g, _ := params[0].Grad(); values(t, g)[0] != 1 {
			t.Errorf("a gradient with %v was changed", v)
		}
	}
	for _, limit := range []float64{0, -1, math.NaN()} {
		if _, err := optim.ClipGradNorm(nil, limit); err == nil {
			t.Errorf("a limit of %g gives no error", limit)
		}
		if err := optim.ClipGradValue(nil, limit); err == nil {
			t.Errorf("a limit of %g gives no error", limit)
		}
	}
}
