package compile_test

import (
	"runtime"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/allocations"
	"github.com/sinter-go/sinter/tests/patience"
)

// A growing is a model of which parts come and go.
type growing struct {
	Scale nn.Parameter
	Parts map[string]*nn.Parameter
	List  []*nn.Parameter
	Any   any
}

// Forward adds all that the model has.
func (g *growing) Forward(x tensor.Tensor) tensor.Tensor {
	x = x.Mul(g.Scale.Tensor)
	for _, p := range g.Parts {
		x = x.Add(p.Tensor)
	}
	for _, p := range g.List {
		x = x.Add(p.Tensor)
	}
	if p, ok := g.Any.(*nn.Parameter); ok {
		x = x.Add(p.Tensor)
	}
	return x
}

// TestStateAgain: what a model has is looked for again in each recording where it may be
// otherwise than in the one before.
func TestStateAgain(t *testing.T) {
	parameter := func(v float32) *nn.Parameter {
		return &nn.Parameter{Tensor: tensor.Full([]int{2}, v)}
	}
	for _, c := range []struct {
		name   string
		change func(g *growing)
		want   float32
	}{
		{"nothing", func(*growing) {}, 6},
		{"a parameter's tensor", func(g *growing) { g.Scale.Tensor = tensor.Full([]int{2}, float32(3)) }, 7},
		{"an entry of a map", func(g *growing) { g.Parts["b"] = parameter(10) }, 16},
		{"an entry of a map instead of another", func(g *growing) { g.Parts["a"] = parameter(10) }, 14},
		{"an element of a list", func(g *growing) { g.List = append(g.List, parameter(10)) }, 16},
		{"an element instead of another", func(g *growing) { g.List[0] = parameter(10) }, 14},
		{"what an interface holds", func(g *growing) { g.Any = parameter(10) }, 16},
	} {
		for _, mapped := range []bool{true, false} {
			model := &growing{Scale: *parameter(2), Parts: map[string]*nn.Parameter{"a": parameter(2)}, List: []*nn.Parameter{parameter(2)}}
			if !mapped {
				model.Parts, model.List = nil, append(model.List, parameter(2))
			}
			f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return model.Forward(x[0]), nil }, compile.State(model))
			for n := range 3 { // of another number of rows each time
				y, err := f.Call(tensor.Ones([]int{n + 1, 2}))
				must(t, err)
				if got := values(t, y)[0]; got != 6 {
					t.Errorf("%s: %v before it changes, want 6", c.name, got)
				}
			}
			if model.Parts == nil {
				model.Parts = map[string]*nn.Parameter{}
			}
			c.change(model)
			want := c.want
			if _, replaced := model.Parts["a"]; replaced && !mapped { // nothing was there to replace
				want += 2
			}
			y, err := f.Call(tensor.Ones([]int{4, 2}))
			must(t, err)
			if got := values(t, y)[0]; got != want {
				t.Errorf("%s (mapped: %v): %v in the next recording, want %v", c.name, mapped, got, want)
			}
		}
	}
}

// TestCloseForgets: a function that is closed holds no parameters of its models.
func TestCloseForgets(t *testing.T) {
	d := device.Sim(0)
	model := &growing{Scale: nn.Parameter{Tensor: tensor.Ones([]int{1 << 18}, tensor.On(d))}}
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return model.Forward(x[0]), nil }, compile.State(model))
	y, err := f.Call(tensor.Ones([]int{1 << 18}, tensor.On(d)))
	must(t, err)
	y.Release()
	f.Close()
	patience.Collect(t)
	before := memory.Allocated(d)
	model.Scale.Tensor = tensor.Ones([]int{1}, tensor.On(d))
	if held := patience.Settle(t, func() int64 { return memory.Allocated(d) }, before-1<<19); held > before-1<<19 {
		t.Errorf("%d bytes are held, %d before the parameter of 1 MiB had another tensor", held, before)
	}
	runtime.KeepAlive(f)
}

// TestRecordAllocations: recording a step whose like was recorded before makes few objects. A
// perceptron's has 34 calls.
func TestRecordAllocations(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("elsewhere the line of each call is looked for frame by frame")
	}
	f, state, x := training(t, models[0].make, []int{16, 784})
	step := compile.Step(f, compile.State(state...))
	defer step.Close()
	allocations.AtMost(t, 450, func() {
		step.Close()
		must(t, step.Prepare(x))
	})
}
