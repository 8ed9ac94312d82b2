package samples

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// values are an array as the script writes it.
type values struct {
	Shape []int
	Data  []number
	Int   bool
}

// A number is a JSON number, or one of the strings inf, -inf and nan.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"inf"`:
		*n = number(math.Inf(1))
	case `"-inf"`:
		*n = number(math.Inf(-1))
	case `"nan"`:
		*n = number(math.NaN())
	default:
		var f float64
		err := json.Unmarshal(text, &f)
		*n = number(f)
		return err
	}
	return nil
}

// A setting is where the operators run and with which floats. Results may differ
// from the vectors by near, relative to the larger of 1 and their size.
type setting struct {
	name  string
	on    device.Device
	float tensor.DType
	near  float64
}

var settings = []setting{
	{"cpu float64", device.CPU, tensor.Float64, 1e-10},
	{"cpu float32", device.CPU, tensor.Float32, 5e-5},
	{"sim float64", device.Sim(0), tensor.Float64, 1e-10},
}

func (s setting) tensor(v values) tensor.Tensor {
	list := make([]float64, len(v.Data))
	for i, d := range v.Data {
		list[i] = float64(d)
	}
	dt := s.float
	if v.Int {
		dt = tensor.Int64
	}
	return tensor.FromSlice(list, v.Shape, tensor.OfType(dt), tensor.On(s.on))
}

type vector struct {
	Name string
	In   []values
	Out  []values
	Grad []*values
}

func TestMain(m *testing.M) {
	device.Install(sim.New(sim.Config{Devices: 1}))
	os.Exit(m.Run())
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("../vectors/structured.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

func TestPyTorch(t *testing.T) {
	seen := map[string]bool{}
	for i, v := range readVectors(t) {
		seen[v.Name] = true
		t.Run(v.Name, func(t *testing.T) {
			f := named(v.Name)
			if f == nil {
				t.Fatal("there is no operator for this vector")
			}
			for k, s := range settings {
				if v.inRange(s) && !(testing.Short() && (i+k)%2 != 0) {
					t.Run(s.name, func(t *testing.T) { s.check(t, v, f) })
				}
			}
		})
	}
	for _, table := range tables {
		for name := range table {
			if !seen[name] {
				t.Errorf("there is no vector %q", name)
			}
		}
	}
}

// inRange reports whether s can have the vector: those without operands make
// float64 tensors on the host.
func (v vector) inRange(s setting) bool { return len(v.In) > 0 || s == settings[0] }

func (s setting) check(t *testing.T, v vector, f func(x []tensor.Tensor) []tensor.Tensor) {
	in := make([]tensor.Tensor, len(v.In))
	for i, x := range v.In {
		in[i] = s.tensor(x)
		if v.Grad != nil && v.Grad[i] != nil {
			in[i] = in[i].RequireGrad()
		}
	}
	out := f(in)
	if len(out) != len(v.Out) {
		t.Fatalf("%d results, want %d", len(out), len(v.Out))
	}
	loss := tensor.Zeros([]int{}, tensor.OfType(s.float), tensor.On(s.on))
	for i, r := range out {
		s.compare(t, "result", i, r, v.Out[i])
		if v.Grad == nil || v.Out[i].Int {
			continue
		}
		loss = loss.Add(r.Mul(s.tensor(weights(v.Out[i].Shape))).Sum())
	}
	if v.Grad == nil || t.Failed() {
		return
	}
	if err := loss.Backward(); err != nil {
		t.Fatalf("backward: %v", err)
	}
	for i, want := range v.Grad {
		if want == nil {
			continue
		}
		g, ok := in[i].Grad()
		if !ok {
			t.Errorf("operand %d has no gradient", i)
			continue
		}
		s.compare(t, "gradient", i, g, *want)
	}
}

// weights returns 1/n, 2/n and so on to 1, in the given shape of n elements.
func weights(shape []int) values {
	w := values{Shape: shape}
	n := ir.NumElements(shape)
	for i := range n {
		w.Data = append(w.Data, number(float64(i+1)/float64(n)))
	}
	return w
}

func (s setting) compare(t *testing.T, what string, i int, got tensor.Tensor, want values) {
	t.Helper()
	if err := got.Err(); err != nil {
		t.Fatalf("%s %d: %v", what, i, err)
	}
	if !slices.Equal(got.Shape(), want.Shape) {
		t.Fatalf("%s %d has shape %v, want %v", what, i, got.Shape(), want.Shape)
	}
	dt := s.float
	if want.Int {
		dt = tensor.Int64
	}
	if got.DType() != dt || got.Device() != s.on {
		t.Errorf("%s %d is %v on %s, want %v on %s", what, i, got.DType(), got.Device(), dt, s.on)
	}
	data := s.data(t, got)
	for j, w := range want.Data {
		w, g := float64(w), data[j]
		same := g == w || math.Abs(g-w) <= s.near*max(1, math.Abs(w)) || math.IsNaN(g) && math.IsNaN(w)
		if !same {
			t.Fatalf("%s %d: element %d of %v is %v, want %v", what, i, j, want.Shape, g, w)
		}
	}
}

// data returns the elements of x as float64.
func (setting) data(t *testing.T, x tensor.Tensor) []float64 {
	t.Helper()
	data, err := tensor.Data[float64](x.Detach().ToType(tensor.Float64))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
