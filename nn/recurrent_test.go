package nn_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// families are PyTorch's numbers, which tests/vectors/families.py wrote.
type families struct {
	Recurrent []struct {
		Name       string
		X, Y       array
		State      map[string]array
		First      []array
		Last       []array
		Grads      map[string]array
		FirstGrads []array
	}
	Adaptive []struct {
		X, Target, Y, Loss, LogProb, Predict array
		State                                map[string]array
		Grads                                map[string]array
	}
}

func loadFamilies(t testing.TB) (f families) {
	t.Helper()
	raw, err := os.ReadFile("../tests/vectors/families.json")
	must(t, err)
	must(t, json.Unmarshal(raw, &f))
	return f
}

// runner is a recurrent layer over a list of states.
type runner func(x tensor.Tensor, first []tensor.Tensor) (y tensor.Tensor, last []tensor.Tensor)

func given(list []tensor.Tensor, i int) tensor.Tensor {
	if i < len(list) {
		return list[i]
	}
	return tensor.Tensor{}
}

func lstm(m *nn.LSTM) (any, runner) {
	return m, func(x tensor.Tensor, first []tensor.Tensor) (tensor.Tensor, []tensor.Tensor) {
		y, s := m.Run(x, nn.LSTMState{H: given(first, 0), C: given(first, 1)})
		return y, []tensor.Tensor{s.H, s.C}
	}
}

func single(m interface {
	Run(x, from tensor.Tensor) (out, to tensor.Tensor)
}) (any, runner) {
	return m, func(x tensor.Tensor, first []tensor.Tensor) (tensor.Tensor, []tensor.Tensor) {
		y, s := m.Run(x, given(first, 0))
		return y, []tensor.Tensor{s}
	}
}

// recurrents are the layers of the vectors' cases.
var recurrents = map[string]func() (any, runner){
	"lstm":        func() (any, runner) { return lstm(nn.NewLSTM(3, 4)) },
	"lstm states": func() (any, runner) { return lstm(nn.NewLSTM(3, 4, nn.Layers(2))) },
	"lstm both ways": func() (any, runner) {
		return lstm(nn.NewLSTM(3, 4, nn.Layers(2), nn.Bidirectional(), nn.BatchFirst(), nn.LayerDropout(0.5)))
	},
	"lstm without bias or batch": func() (any, runner) { return lstm(nn.NewLSTM(2, 3, nn.NoBias())) },
	"gru":                        func() (any, runner) { return single(nn.NewGRU(3, 4)) },
	"gru both ways": func() (any, runner) {
		return single(nn.NewGRU(3, 4, nn.Layers(2), nn.Bidirectional(), nn.BatchFirst()))
	},
	"gru without bias or batch": func() (any, runner) { return single(nn.NewGRU(2, 3, nn.NoBias())) },
	"rnn":                       func() (any, runner) { return single(nn.NewRNN(3, 4, nn.Layers(2))) },
	"rnn relu":                  func() (any, runner) { return single(nn.NewRNN(3, 4, tensor.Rectified(), nn.Bidirectional())) },
}

// weighted returns the sum of the elements of x times 1/n, 2/n and so on.
func weighted(x tensor.Tensor) tensor.Tensor {
	n := x.NumElements()
	w := tensor.Arange(1, n+1, 1, tensor.OfType(tensor.Float64), tensor.On(x.Device())).DivScalar(n).Reshape(x.Shape()...)
	return x.Mul(w).Sum()
}

// gradients returns the gradients of m's parameters by name, and that of x as "".
func gradients(t *testing.T, m any, x tensor.Tensor) map[string]tensor.Tensor {
	t.Helper()
	got := map[string]tensor.Tensor{}
	for name, p := range nn.Named(m) {
		if g, ok := p.Grad(); ok {
			got[name] = g
		} else {
			got[name] = tensor.ZerosLike(p.Detach()) // a cluster without targets
		}
	}
	if g, ok := x.Grad(); ok {
		got[""] = g
	}
	return got
}

func nearAll(t *testing.T, what string, got map[string]tensor.Tensor, want map[string]array) {
	t.Helper()
	for name, w := range want {
		g, ok := got[name]
		if !ok {
			t.Errorf("%s of %q is missing", what, name)
			continue
		}
		near(t, what+" of "+name, g, w)
	}
	if len(got) != len(want) {
		t.Errorf("%d of %s, want %d", len(got), what, len(want))
	}
}

// TestRecurrent compares outputs, last states and all gradients with PyTorch's,
// with its parameters loaded by its names.
func TestRecurrent(t *testing.T) {
	cases := loadFamilies(t).Recurrent
	if len(cases) != len(recurrents) {
		t.Errorf("%d cases for %d layers", len(cases), len(recurrents))
	}
	for _, c := range cases {
		for _, d := range []device.Device{device.CPU, device.Sim(1)} {
			t.Run(c.Name+" "+d.String(), func(t *testing.T) {
				m, run := recurrents[c.Name]()
				must(t, nn.ToType(m, tensor.Float64))
				must(t, nn.To(m, d))
				must(t, nn.LoadStateDict(m, tensors(c.State)))
				nn.Eval(m)
				x := c.X.tensor().To(d).RequireGrad()
				var first []tensor.Tensor
				for _, s := range c.First {
					first = append(first, s.tensor().To(d).RequireGrad())
				}
				y, last := run(x, first)
				near(t, "output", y, c.Y)
				loss := weighted(y)
				for i, s := range last {
					near(t, "last state", s, c.Last[i])
					loss = loss.Add(weighted(s))
				}
				must(t, loss.Backward())
				nearAll(t, "gradient", gradients(t, m, x), c.Grads)
				for i, s := range first {
					g, _ := s.Grad()
					near(t, "gradient of a first state", g, c.FirstGrads[i])
				}
			})
		}
	}
}

// TestRecurrentDropout drops between layers in training alone.
func TestRecurrentDropout(t *testing.T) {
	m := nn.NewLSTM(3, 4, nn.Layers(2), nn.LayerDropout(0.5))
	x := tensor.Randn([]int{5, 2, 3})
	once, again := values(t, m.Forward(x)), values(t, m.Forward(x))
	if cmp.Equal(once, again) {
		t.Error("training: two passes are equal")
	}
	nn.Eval(m)
	once, again = values(t, m.Forward(x)), values(t, m.Forward(x))
	if diff := cmp.Diff(once, again); diff != "" {
		t.Errorf("evaluation: two passes differ: %s", diff)
	}
}

func TestRecurrentErrors(t *testing.T) {
	m := nn.NewGRU(3, 4, nn.Layers(2))
	for _, c := range []struct {
		name string
		got  tensor.Tensor
		want string
	}{
		{"width", m.Forward(tensor.Zeros([]int{5, 2, 4})), "takes [steps, batch, 3]"},
		{"rank", m.Forward(tensor.Zeros([]int{3})), "not [3]"},
		{"state", first(m.Run(tensor.Zeros([]int{5, 2, 3}), tensor.Zeros([]int{1, 2, 4}))), "a state of shape [1 2 4], want [2 2 4]"},
		{"steps", m.Forward(tensor.Zeros([]int{0, 2, 3})), "has no step"},
		{"layers", nn.NewLSTM(3, 4, nn.Layers(0)).Forward(tensor.Zeros([]int{5, 2, 3})), "0 layers"},
		{"too many layers", nn.NewLSTM(3, 4, nn.Layers(math.MaxInt)).Forward(tensor.Zeros([]int{5, 2, 3})), "layers"},
		{"weight taken out", without("weight_hh_l1").Forward(tensor.Zeros([]int{5, 2, 3})), "no parameter weight_hh_l1"},
		{"zero value", new(nn.LSTM).Forward(tensor.Zeros([]int{5, 2, 3})), "no parameter weight_ih_l0"},
	} {
		if err := c.got.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func first(a, _ tensor.Tensor) tensor.Tensor { return a }

// without returns a GRU of which a weight is missing.
func without(name string) *nn.GRU {
	m := nn.NewGRU(3, 4, nn.Layers(2))
	delete(m.Weights, name)
	return m
}

// TestAdaptiveLogSoftmax compares results and gradients with PyTorch's.
func TestAdaptiveLogSoftmax(t *testing.T) {
	options := [][]nn.Option{nil, {nn.DivValue(2), nn.HeadBias()}}
	cases := loadFamilies(t).Adaptive
	if len(cases) != len(options) {
		t.Fatalf("%d cases for %d layers", len(cases), len(options))
	}
	for i, c := range cases {
		for _, d := range []device.Device{device.CPU, device.Sim(1)} {
			t.Run(d.String(), func(t *testing.T) {
				m := nn.NewAdaptiveLogSoftmaxWithLoss(8, 12, []int{3, 5, 9}, options[i]...)
				must(t, nn.ToType(m, tensor.Float64))
				must(t, nn.To(m, d))
				must(t, nn.LoadStateDict(m, tensors(c.State)))
				x, target := c.X.tensor().To(d).RequireGrad(), c.Target.tensor().ToType(tensor.Int64).To(d)
				y, loss := m.Forward(x, target)
				near(t, "output", y, c.Y)
				near(t, "loss", loss, c.Loss)
				must(t, loss.Backward())
				nearAll(t, "gradient", gradients(t, m, x), c.Grads)
				near(t, "LogProb", m.LogProb(x), c.LogProb)
				near(t, "Predict", m.Predict(x), c.Predict)
			})
		}
	}
}

func TestAdaptiveLogSoftmaxErrors(t *testing.T) {
	m := nn.NewAdaptiveLogSoftmaxWithLoss(4, 6, []int{2, 4})
	x := tensor.Zeros([]int{2, 4})
	output := func(x, target tensor.Tensor) tensor.Tensor { return first(m.Forward(x, target)) }
	for _, c := range []struct {
		name string
		got  tensor.Tensor
		want string
	}{
		{"class", output(x, tensor.From([]int64{0, 6}, 2)), "out of range"},
		{"negative class", output(x, tensor.From([]int64{0, -1}, 2)), "out of range"},
		{"targets", output(x, tensor.From([]int64{0}, 1)), "one target a row, not [1]"},
		{"width", m.LogProb(tensor.Zeros([]int{2, 5})), "takes [n, 4], not [2 5]"},
		{"cutoffs", nn.NewAdaptiveLogSoftmaxWithLoss(4, 6, []int{4, 2}).LogProb(x), "must increase"},
		{"zero value", new(nn.AdaptiveLogSoftmaxWithLoss).LogProb(x), "not made with"},
		{"no cutoff", nn.NewAdaptiveLogSoftmaxWithLoss(4, 6, nil).LogProb(x), "at least one cutoff"},
	} {
		if err := c.got.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if got := new(nn.AdaptiveLogSoftmaxWithLoss).String(); got != "AdaptiveLogSoftmaxWithLoss()" {
		t.Error(got)
	}
}
