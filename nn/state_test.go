package nn_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

type gate struct {
	GateWeight *nn.Parameter
	hidden     *nn.Parameter `nn:"-"` // not exported: not part of the model
}

type blocks struct {
	gate                         // embedded by an unexported name
	FC1     *nn.Linear           // shares its bias with Again
	Again   *nn.Parameter        `nn:"tied"`
	LSTMIn  nn.Linear            // by value
	Heads   map[string]nn.Module // by key
	Stack   [2]*nn.PReLU         // by number
	Renamed any                  `nn:"other"`
	None    *nn.Linear
	Empty   nn.Module
	Plain   []float64
	Table   map[int]nn.Module
}

func (b *blocks) Forward(x tensor.Tensor) tensor.Tensor { return x }

func newBlocks() *blocks {
	b := &blocks{
		FC1: nn.NewLinear(2, 3), LSTMIn: *nn.NewLinear(1, 1, nn.NoBias()),
		Heads: map[string]nn.Module{"b": nn.NewBatchNorm(1), "a": nn.NewEmbedding(2, 1)},
		Stack: [2]*nn.PReLU{nn.NewPReLU(1), nn.NewPReLU(2)}, Renamed: nn.NewSequential(nn.ReLU(), nn.NewLinear(1, 2)),
	}
	b.GateWeight, b.hidden = nn.NewParameter(tensor.Ones([]int{2})), nn.NewParameter(tensor.Ones([]int{2}))
	b.Again = b.FC1.Bias
	return b
}

var blockNames = []string{
	"gate_weight", "fc1.weight", "fc1.bias", "lstm_in.weight", "heads.a.weight", "heads.b.weight", "heads.b.bias",
	"stack.0.weight", "stack.1.weight", "other.1.weight", "other.1.bias",
}

func TestNames(t *testing.T) {
	b := newBlocks()
	var names []string
	for name := range nn.Named(b) {
		names = append(names, name)
	}
	if diff := cmp.Diff(blockNames, names); diff != "" {
		t.Error(diff)
	}
	var buffers []string
	for name := range nn.NamedBuffers(b) {
		buffers = append(buffers, name)
	}
	want := []string{"heads.b.running_mean", "heads.b.running_var"}
	if diff := cmp.Diff(want, buffers); diff != "" {
		t.Error(diff)
	}
	want = append(slices.Clone(blockNames), want...)
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(nn.StateDict(b)))); diff != "" {
		t.Error(diff)
	}
	var modules []string
	for name, m := range nn.NamedModules(b) {
		modules = append(modules, fmt.Sprintf("%s %T", name, m))
	}
	want = []string{" *nn_test.blocks", "fc1 *nn.Linear", "lstm_in *nn.Linear", "heads.a *nn.Embedding", "heads.b *nn.BatchNorm",
		"stack.0 *nn.PReLU", "stack.1 *nn.PReLU", "other *nn.Sequential", "other.0 nn.fixed", "other.1 *nn.Linear"}
	if diff := cmp.Diff(want, modules); diff != "" {
		t.Error(diff)
	}
	for range nn.Named(b) {
		break
	}
	for _, m := range []any{nil, 3, (*blocks)(nil), []int{1}, struct{ X int }{}} {
		if n := len(nn.Parameters(m)); n != 0 {
			t.Errorf("%v has %d parameters", m, n)
		}
	}
}

// layer is a user's layer that behaves differently in training.
type layer struct{ training bool }

func (l *layer) Forward(x tensor.Tensor) tensor.Tensor { return x }
func (l *layer) SetTraining(on bool)                   { l.training = on }

func TestModes(t *testing.T) {
	type holder struct {
		ByValue layer
		Inner   []nn.Module
	}
	h := &holder{Inner: []nn.Module{&layer{}, nn.NewDropout(0.5)}}
	for _, on := range []bool{true, false, true} {
		if on {
			nn.Train(h)
		} else {
			nn.Eval(h)
		}
		if h.ByValue.training != on || h.Inner[0].(*layer).training != on {
			t.Errorf("after a switch to %t: %+v", on, h)
		}
	}
}

func randomState(m any) map[string]tensor.Tensor {
	out := map[string]tensor.Tensor{}
	for name, v := range nn.StateDict(m) {
		out[name] = tensor.RandLike(v)
	}
	return out
}

// state returns all numbers of a model, by name.
func state(t testing.TB, m any) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	for name, v := range nn.StateDict(m) {
		out[name] = values(t, v)
	}
	return out
}

func TestStateDictRoundTrip(t *testing.T) {
	for _, d := range []device.Device{device.CPU, device.Sim(1)} {
		m := newBlocks()
		must(t, nn.To(m, d))
		weight, version := m.FC1.Weight.Tensor, m.FC1.Weight.Version()
		want := randomState(m)
		for name, v := range want {
			want[name] = v.CPU()
		}
		must(t, nn.LoadStateDict(m, want))
		for name, v := range nn.StateDict(m) {
			if v.Device() != d || v.RequiresGrad() {
				t.Errorf("%s is on %s, requires gradients: %t", name, v.Device(), v.RequiresGrad())
			}
			if diff := cmp.Diff(values(t, want[name]), values(t, v)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if m.FC1.Weight.Tensor != weight || weight.Version() != version+1 || !weight.RequiresGrad() {
			t.Error("a load does not write the tensors that are there, once")
		}
		if nn.StateDict(m)["fc1.weight"].SharesStorage(weight) == false {
			t.Error("a state dict does not share storage with the model")
		}
	}
}

func TestLoadStateDictErrors(t *testing.T) {
	m := newBlocks()
	before := state(t, m)
	for _, c := range []struct {
		name  string
		spoil func(map[string]tensor.Tensor)
		texts []string
	}{
		{"missing", func(s map[string]tensor.Tensor) { delete(s, "fc1.bias") }, []string{`"fc1.bias" is missing`}},
		{"unexpected", func(s map[string]tensor.Tensor) { s["fc2.bias"] = s["fc1.bias"] }, []string{`"fc2.bias" is not in the model`}},
		{"shape", func(s map[string]tensor.Tensor) { s["fc1.weight"] = tensor.Zeros([]int{2, 3}) }, []string{`"fc1.weight" is float32 [2 3], the model has float32 [3 2]`}},
		{"dtype", func(s map[string]tensor.Tensor) { s["fc1.bias"] = s["fc1.bias"].ToType(tensor.Float64) }, []string{`is float64 [3], the model has float32`}},
		{"error", func(s map[string]tensor.Tensor) { s["fc1.bias"] = tensor.Zeros([]int{-1}) }, []string{`"fc1.bias": `, "-1"}},
		{"zero tensor", func(s map[string]tensor.Tensor) { s["fc1.bias"] = tensor.Tensor{} }, []string{"zero Tensor"}},
		{"released", func(s map[string]tensor.Tensor) { s["fc1.bias"].Release() }, []string{"released"}},
		{"all at once", func(s map[string]tensor.Tensor) { clear(s) }, []string{`"gate_weight" is missing`, `"other.1.bias" is missing`}},
	} {
		s := randomState(m)
		c.spoil(s)
		err := nn.LoadStateDict(m, s)
		for _, text := range c.texts {
			if !errors.Is(err, nn.ErrState) || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: error %v, want one with %q", c.name, err, text)
			}
		}
		if diff := cmp.Diff(before, state(t, m)); diff != "" {
			t.Errorf("%s: a load that failed changed the model: %s", c.name, diff)
		}
	}
}

// TestLoadStateDictFault has a device fail in the middle of a load.
// TestLoadStateDictPrefix: where a prefix is all that names differ by, the error names it and
// does not list the names; what it does not explain is listed.
func TestLoadStateDictPrefix(t *testing.T) {
	small := func() nn.Module { return nn.NewSequential(nn.NewLinear(2, 3), nn.NewBatchNorm(3)) }
	fitting := func(to string) map[string]tensor.Tensor {
		out := map[string]tensor.Tensor{}
		for name, v := range nn.StateDict(small()) {
			out[to+name] = v
		}
		out[to+"1.num_batches_tracked"] = tensor.Zeros(nil, tensor.OfType(tensor.Int64))
		return out
	}
	type within struct{ Net nn.Module }
	cut := "the model's names are there with \"net.module.\" in front: cut it off"
	add := "its names are the model's without \"net.\" in front: add it"
	for name, c := range map[string]struct {
		model any
		state map[string]tensor.Tensor
		more  string // a name beside those of the model
		want  string
	}{
		"in the state":              {small(), fitting("net.module."), "", cut},
		"in the state, with others": {small(), fitting("net.module."), "epoch.x", cut + "\n\"epoch.x\" is not in the model"},
		"in the model":              {&within{small()}, fitting(""), "", add},
		"in the model, with others": {&struct {
			Net  nn.Module
			Head *nn.PReLU
		}{small(), nn.NewPReLU(1)}, fitting(""), "", add + "\n\"head.weight\" is missing"},
		"no whole name":        {nn.NewPReLU(1), map[string]tensor.Tensor{"my_weight": tensor.Ones([]int{1})}, "", "\"weight\" is missing\n\"my_weight\" is not in the model"},
		"nothing in the state": {nn.NewPReLU(1), nil, "", "\"weight\" is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.more != "" {
				c.state[c.more] = tensor.Ones(nil)
			}
			err := nn.LoadStateDict(c.model, c.state)
			if !errors.Is(err, nn.ErrState) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff("nn: "+nn.ErrState.Error()+": "+c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoadStateDictFault(t *testing.T) {
	d := device.Sim(1)
	m := newBlocks()
	must(t, nn.To(m, d))
	before := state(t, m)
	values := randomState(m)
	fault := errors.New("bus error")
	must(t, simulated.Fail(d.Index, sim.FaultLaunch, 4, fault))
	if err := nn.LoadStateDict(m, values); !errors.Is(err, fault) {
		t.Fatalf("error %v, want the device's", err)
	}
	if diff := cmp.Diff(before, state(t, m)); diff != "" {
		t.Errorf("a load that failed changed the model: %s", diff)
	}
	must(t, nn.LoadStateDict(m, values))
}

// TestLoadOwnState loads what shares memory with the model.
func TestLoadOwnState(t *testing.T) {
	m := &struct{ A, B *nn.Parameter }{
		nn.NewParameter(tensor.From([]float32{1, 2, 3, 4}, 2, 2)), nn.NewParameter(tensor.From([]float32{5, 6, 7, 8}, 2, 2)),
	}
	own := nn.StateDict(m)
	must(t, nn.LoadStateDict(m, map[string]tensor.Tensor{"a": own["b"].Transpose(0, 1), "b": own["a"]}))
	want := map[string][]float64{"a": {5, 7, 6, 8}, "b": {1, 2, 3, 4}}
	if diff := cmp.Diff(want, state(t, m)); diff != "" {
		t.Error(diff)
	}
	must(t, nn.LoadStateDict(m, nn.StateDict(m)))
	if diff := cmp.Diff(want, state(t, m)); diff != "" {
		t.Error(diff)
	}
}

func TestLoadMatching(t *testing.T) {
	m := nn.NewSequential(nn.NewLinear(2, 1), nn.NewLinear(1, 1))
	missing, unexpected, err := nn.LoadMatching(m, map[string]tensor.Tensor{
		"0.weight": tensor.From([]float32{3, 4}, 1, 2), "0.bias": tensor.From([]float32{5}), "9.num_batches_tracked": tensor.FromScalar(7),
	})
	must(t, err)
	if !slices.Equal(missing, []string{"1.weight", "1.bias"}) || !slices.Equal(unexpected, []string{"9.num_batches_tracked"}) {
		t.Errorf("missing %v, unexpected %v", missing, unexpected)
	}
	if y, err := m.Modules[0].Forward(tensor.From([]float32{1, 10}, 1, 2)).Item(); err != nil || y != 48 {
		t.Errorf("result %v, %v, want 48", y, err)
	}
	if _, _, err := nn.LoadMatching(m, map[string]tensor.Tensor{"0.bias": tensor.Zeros([]int{2})}); !errors.Is(err, nn.ErrState) {
		t.Errorf("a shape that does not fit: %v", err)
	}
}

func TestAmbiguousNames(t *testing.T) {
	m := &struct {
		A *nn.Linear    `nn:"x"`
		B *nn.Parameter `nn:"x.weight"`
	}{nn.NewLinear(1, 1), nn.NewParameter(tensor.Ones([]int{1, 1}))}
	if err := nn.StateDict(m)["x.weight"].Err(); !errors.Is(err, nn.ErrState) {
		t.Errorf("state dict of a model with a name twice: %v", err)
	}
	if err := nn.LoadStateDict(m, nn.StateDict(nn.NewLinear(1, 1))); !errors.Is(err, nn.ErrState) || !strings.Contains(err.Error(), "two tensors") {
		t.Errorf("load into a model with a name twice: %v", err)
	}
}

func TestTo(t *testing.T) {
	m := newBlocks()
	must(t, nn.SetRequireGrad(m.Stack, false))
	x := tensor.Ones([]int{1, 2})
	must(t, m.FC1.Forward(x).Sum().Backward())
	before, bias := state(t, m), m.FC1.Bias
	d := device.Sim(1)
	must(t, tensor.Scope(func() error { return nn.To(m, d) })) // what was moved outlives the scope
	if diff := cmp.Diff(before, state(t, m)); diff != "" {
		t.Error(diff)
	}
	for name, p := range nn.Named(m) {
		if p.Device() != d || p.RequiresGrad() == strings.HasPrefix(name, "stack") {
			t.Errorf("%s is on %s, requires gradients: %t", name, p.Device(), p.RequiresGrad())
		}
	}
	g, ok := m.FC1.Weight.Grad()
	if !ok || g.Device() != d || !cmp.Equal(values(t, g), []float64{1, 1, 1, 1, 1, 1}) {
		t.Errorf("gradient after a move: %v", g)
	}
	if m.Again != bias || m.FC1.Bias != bias {
		t.Error("a shared parameter was divided")
	}
	if y := m.FC1.Forward(x.To(d)); y.Err() != nil || y.Device() != d {
		t.Errorf("forward after a move: on %s, %v", y.Device(), y.Err())
	}
	must(t, nn.ToType(m, tensor.Float64))
	if got := m.FC1.Weight.DType(); got != tensor.Float64 || !m.FC1.Weight.RequiresGrad() {
		t.Errorf("after a conversion the weight is %s", got)
	}
	if err := nn.ToType(m, tensor.Int64); err == nil {
		t.Error("a model of integers gives no error")
	}
}

// TestToWithoutRoom checks that a model that does not fit stays where it is and
// gives back what it took.
func TestToWithoutRoom(t *testing.T) {
	m := nn.NewSequential(nn.NewLinear(256, 256), nn.NewLinear(256, 512), nn.NewLinear(512, 512)) // 1.8 MiB
	before := simulated.Counters(0).LiveBytes
	err := nn.To(m, device.Sim(0))
	if !errors.Is(err, device.ErrOutOfMemory) || !strings.Contains(err.Error(), "2.weight") {
		t.Errorf("error %v", err)
	}
	for name, p := range nn.Named(m) {
		if p.Device() != device.CPU {
			t.Errorf("%s is on %s", name, p.Device())
		}
	}
	if after := simulated.Counters(0).LiveBytes; after > before {
		t.Errorf("%d bytes are held on the device after a move that failed, before %d", after, before)
	}
	if err := nn.To(m, device.Sim(5)); !errors.Is(err, device.ErrUnavailable) {
		t.Errorf("a move to no device: %v", err)
	}
}

// TestParametersOutliveScope makes a model inside a scope.
func TestParametersOutliveScope(t *testing.T) {
	var m nn.Module
	tensor.Scope(func() error {
		m = nn.NewSequential(nn.NewLinear(3, 2), nn.NewBatchNorm(2), nn.NewEmbedding(3, 2), nn.NewPReLU(2), nn.NewConv1d(1, 1, 1))
		return nil
	})
	for name, v := range nn.StateDict(m) {
		if err := v.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestZeroGrad(t *testing.T) {
	m := nn.NewSequential(nn.NewLinear(2, 2), nn.NewLinear(2, 1))
	must(t, nn.SetRequireGrad(m.Modules[0], false))
	must(t, m.Forward(tensor.Ones([]int{1, 2})).Sum().Backward())
	if _, ok := m.Modules[0].(*nn.Linear).Weight.Grad(); ok {
		t.Error("a frozen parameter has a gradient")
	}
	must(t, nn.ZeroGrad(m))
	for name, p := range nn.Named(m) {
		if _, ok := p.Grad(); ok {
			t.Errorf("%s still has a gradient", name)
		}
	}
}
