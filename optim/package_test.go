package optim_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

var simulated = sim.New(sim.Config{Devices: 2, Memory: 512 << 10})

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

// tensor returns the array in dtype dt on device d.
func (a array) tensor(dt tensor.DType, d device.Device) tensor.Tensor {
	return tensor.From(a.Data, a.Shape...).ToType(dt).To(d)
}

// vectors are PyTorch's numbers, which tests/vectors/nn.py wrote.
type vectors struct {
	Optimizers struct {
		Start []array              `json:"start"`
		Grads [][]*array           `json:"grads"` // by step and parameter; nil for none
		After map[string][][]array `json:"after"` // by step and parameter
	} `json:"optimizers"`
	Schedules map[string][]float64 `json:"schedules"`
	Clip      []struct {
		Limit, Norm            float64
		Before, After, ByValue []array
	} `json:"clip"`
	Training struct {
		State   map[string]array
		Batches []struct {
			X, Y array
			Loss float64
		}
		After map[string]array
	} `json:"training"`
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

// near reports whether a tensor is what it should be, up to a relative error.
func near(t testing.TB, what string, got tensor.Tensor, want array, tolerance float64) bool {
	t.Helper()
	data := values(t, got)
	if !slices.Equal(got.Shape(), want.Shape) {
		t.Errorf("%s: shape %v, want %v", what, got.Shape(), want.Shape)
		return false
	}
	for i, g := range data {
		if w := want.Data[i]; !(math.Abs(g-w) <= tolerance*(1+math.Abs(w))) {
			t.Errorf("%s: element %d is %v, want %v", what, i, g, w)
			return false
		}
	}
	return true
}

// values returns the elements of x, row-major, as float64.
func values(t testing.TB, x tensor.Tensor) []float64 {
	t.Helper()
	data, err := tensor.Data[float64](x.Detach().ToType(tensor.Float64))
	must(t, err)
	return data
}

// parameters returns one parameter for each array.
func parameters(arrays []array, dt tensor.DType, d device.Device) []*nn.Parameter {
	var out []*nn.Parameter
	for _, a := range arrays {
		out = append(out, nn.NewParameter(a.tensor(dt, d)))
	}
	return out
}
