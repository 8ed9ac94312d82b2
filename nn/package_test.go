package nn_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// simulated provides sim:0, which has little memory, and sim:1.
var simulated = sim.New(sim.Config{Devices: 2, Memory: 1 << 20, Async: true})

// TestMain switches the caching of device memory off, so that a device's counters,
// faults and room are about tensors.
func TestMain(m *testing.M) {
	os.Setenv("SINTER_NO_MEMORY_CACHING", "1")
	device.Install(simulated)
	os.Exit(m.Run())
}

// array is a tensor in the vectors' file.
type array struct {
	Shape []int     `json:"shape"`
	Data  []float64 `json:"data"`
}

func (a array) tensor() tensor.Tensor { return tensor.From(a.Data, a.Shape...) }

func tensors(m map[string]array) map[string]tensor.Tensor {
	out := map[string]tensor.Tensor{}
	for k, v := range m {
		out[k] = v.tensor()
	}
	return out
}

// vectors are PyTorch's numbers, which tests/vectors/nn.py wrote.
type vectors struct {
	Layers []struct {
		Name  string           `json:"name"`
		X     array            `json:"x"`
		State map[string]array `json:"state"`
		Y     array            `json:"y"`
		Grads map[string]array `json:"grads"`
	} `json:"layers"`
	BatchNorm struct {
		State map[string]array `json:"state"`
		Steps []struct{ X, Y, Mean, Var array }
		Eval  struct{ X, Y array }
	} `json:"batchnorm"`
	Inits map[string]map[string]float64 `json:"inits"`
}

func load(t testing.TB) (v vectors) {
	t.Helper()
	raw, err := os.ReadFile("../tests/vectors/nn.json")
	must(t, err)
	must(t, json.Unmarshal(raw, &v))
	return v
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// near compares a tensor with what it should be, up to rounding in float64.
func near(t testing.TB, what string, got tensor.Tensor, want array) {
	t.Helper()
	if err := got.Err(); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if !slices.Equal(got.Shape(), want.Shape) {
		t.Errorf("%s: shape %v, want %v", what, got.Shape(), want.Shape)
		return
	}
	for i, g := range values(t, got) {
		if w := want.Data[i]; math.Abs(g-w) > 1e-12*(1+math.Abs(w)) {
			t.Errorf("%s: element %d is %v, want %v", what, i, g, w)
			return
		}
	}
}

// values returns the elements of x, row-major, as float64.
func values(t testing.TB, x tensor.Tensor) []float64 {
	t.Helper()
	data, err := tensor.Data[float64](x.Detach().ToType(tensor.Float64))
	must(t, err)
	return data
}
