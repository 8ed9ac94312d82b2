package nn_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/random"
)

// left is all that two steps of training leave.
type left struct {
	Tensors  map[string][]byte
	Versions map[string]int64
	Random   random.State
}

// twoSteps trains a layer for two steps and returns what is left.
func twoSteps(t *testing.T, make func() nn.Module, x tensor.Tensor, compiled bool) left {
	t.Helper()
	random.Seed(11)
	m := make()
	var sgd optim.Optimizer
	if len(nn.Parameters(m)) > 0 {
		var err error
		sgd, err = optim.NewSGD(nn.Parameters(m), 0.1, optim.Momentum(0.9))
		must(t, err)
	}
	call := func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := m.Forward(x[0])
		if !y.RequiresGrad() {
			return y, y.Err()
		}
		if sgd != nil {
			if err := sgd.ZeroGrad(); err != nil {
				return y, err
			}
		}
		if err := y.Square().Sum().Backward(); err != nil {
			return y, err
		}
		if sgd != nil {
			if err := sgd.Step(); err != nil {
				return y, err
			}
		}
		return y.Detach(), nil
	}
	if compiled {
		state := []any{m}
		if sgd != nil {
			state = append(state, sgd)
		}
		step := compile.Step(call, compile.State(state...))
		call = step.Call
		defer func() {
			if s := step.Stats(); s.Traces != 1 {
				t.Errorf("recorded %d times, for %s", s.Traces, s.Retraced)
			}
		}()
	}
	l := left{map[string][]byte{}, map[string]int64{}, random.State{}}
	keep := func(name string, x tensor.Tensor) {
		raw, err := x.Bytes()
		must(t, err)
		l.Tensors[name], l.Versions[name] = raw, x.Version()
	}
	for i := range 2 {
		y, err := call(x)
		must(t, err)
		keep("result "+string(rune('0'+i)), y)
	}
	for name, p := range nn.Named(m) {
		keep(name, p.Tensor)
		if g, ok := p.Grad(); ok {
			keep(name+" gradient", g)
		}
	}
	for name, b := range nn.NamedBuffers(m) {
		keep(name, b.Tensor)
	}
	if sgd != nil {
		state, err := sgd.State()
		must(t, err)
		for name, s := range state {
			keep("optimizer "+name, s)
		}
	}
	l.Random = random.Current().State()
	return l
}

// TestCompiled: two compiled steps of every layer leave what two eager steps leave.
func TestCompiled(t *testing.T) {
	inputs := map[string]tensor.Tensor{}
	for _, c := range load(t).Layers {
		inputs[c.Name] = tensor.From(c.X.Data, c.X.Shape...).ToType(tensor.Float32)
		if strings.HasPrefix(c.Name, "embedding") {
			inputs[c.Name] = inputs[c.Name].ToType(tensor.Int64)
		}
	}
	all := maps.Clone(layers)
	sequence := tensor.Randn([]int{4, 2, 3})
	all["dropout"], inputs["dropout"] = func() nn.Module { return nn.NewDropout(0.4) }, sequence
	all["lstm"], inputs["lstm"] = func() nn.Module { return nn.NewLSTM(3, 4) }, sequence
	all["gru"], inputs["gru"] = func() nn.Module { return nn.NewGRU(3, 4) }, sequence
	all["rnn"], inputs["rnn"] = func() nn.Module { return nn.NewRNN(3, 4) }, sequence
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			want, got := twoSteps(t, all[name], inputs[name], false), twoSteps(t, all[name], inputs[name], true)
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
