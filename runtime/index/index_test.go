package index_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

func TestMain(m *testing.M) {
	device.Install(sim.New(sim.Config{Devices: 1, Memory: 1 << 26, Async: true}))
	if device.Count(device.KindCUDA) > 0 {
		devices = append(devices, device.CUDA(0))
	}
	os.Exit(m.Run())
}

// devices are those that indices are tried on: a GPU, too, where there is one.
var devices = []device.Device{device.CPU, {Kind: device.KindSim}}

// A named is an index and what it names in a tensor of a shape: the extents of the part,
// and the row-major place in the tensor of each of its elements.
type named struct {
	shape  []int
	index  []any
	result []int
	places []int
}

// layouts are those that a tensor is tried in.
var layouts = []struct {
	name string
	make func(x tensor.Tensor) tensor.Tensor
}{
	{"contiguous", func(x tensor.Tensor) tensor.Tensor { return x.Clone() }},
	{"with gaps", func(x tensor.Tensor) tensor.Tensor {
		last := x.Rank() - 1
		y := tensor.Zeros(append(x.Shape()[:last], 2*x.Size(last)+1), tensor.OfType(x.DType()), tensor.On(x.Device()))
		y = y.Slice(last, 1, math.MaxInt, 2)
		_ = y.CopyFrom(x) // y carries the error
		return y
	}},
	{"transposed", func(x tensor.Tensor) tensor.Tensor { return x.Transpose(0, -1).Clone().Transpose(0, -1) }},
}

func numbers(rng *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(rng.IntN(100)) / 4
	}
	return out
}

func elements(t *testing.T, x tensor.Tensor) []float64 {
	t.Helper()
	out, err := tensor.Data[float64](x)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// check reads, writes and differentiates at an index, on a device.
func (c *named) check(t *testing.T, rng *rand.Rand, dev device.Device) {
	on := tensor.On(dev)
	x := numbers(rng, size(c.shape))
	weights, values := numbers(rng, len(c.places)), numbers(rng, len(c.places))
	w := tensor.FromSlice(weights, c.result, on)
	ix := make([]any, len(c.index))
	for i, v := range c.index {
		if ix[i] = v; dev != device.CPU {
			if at, ok := v.(tensor.Tensor); ok {
				ix[i] = at.To(dev)
			}
		}
	}
	part, grads := make([]float64, len(c.places)), make([]float64, len(x))
	for i, p := range c.places {
		part[i] = x[p]
		grads[p] += weights[i]
	}
	for _, l := range layouts {
		leaf := l.make(tensor.FromSlice(x, c.shape, on)).Detach().RequireGrad()
		y := leaf.Index(ix...)
		if diff := cmp.Diff(part, elements(t, y)); diff != "" || !slices.Equal(y.Shape(), c.result) {
			t.Fatalf("%s: read %v, want %v\n%s", l.name, y.Shape(), c.result, diff)
		}
		must(t, y.Mul(w).Sum().Backward())
		g, _ := leaf.Grad()
		if diff := cmp.Diff(grads, elements(t, g)); diff != "" {
			t.Fatalf("%s: gradient of what was read\n%s", l.name, diff)
		}
	}
	c.checkWrites(t, dev, ix, x, values, weights)
}

// checkWrites writes values, and adds them, recorded and not, and compares with what
// loops give.
func (c *named) checkWrites(t *testing.T, dev device.Device, ix []any, x, values, weights []float64) {
	on := tensor.On(dev)
	unique := slices.Compact(slices.Sorted(slices.Values(c.places)))
	for _, add := range []bool{false, true} {
		if !add && len(unique) < len(c.places) {
			continue // any of the values may be written
		}
		want, gradX, gradV := slices.Clone(x), slices.Repeat([]float64{1}, len(x)), make([]float64, len(values))
		for i := range gradX {
			gradX[i] = float64(i%7) + 1
		}
		scale := slices.Clone(gradX)
		for i, p := range c.places {
			gradV[i] = scale[p]
			if add {
				want[p] += values[i]
			} else {
				want[p], gradX[p] = values[i], 0
			}
		}
		write := func(x, v tensor.Tensor) error {
			if add {
				return x.At(ix...).Add(v)
			}
			return x.At(ix...).Set(v)
		}
		for _, l := range layouts {
			y := l.make(tensor.FromSlice(x, c.shape, on))
			must(t, write(y, tensor.FromSlice(values, c.result, on)))
			if diff := cmp.Diff(want, elements(t, y)); diff != "" {
				t.Fatalf("%s, add %v: wrote\n%s", l.name, add, diff)
			}
		}
		leaf, v := tensor.FromSlice(x, c.shape, on).RequireGrad(), tensor.FromSlice(values, c.result, on).RequireGrad()
		y := leaf.Clone()
		must(t, write(y, v))
		if diff := cmp.Diff(want, elements(t, y)); diff != "" {
			t.Fatalf("add %v: wrote while recording\n%s", add, diff)
		}
		must(t, y.Mul(tensor.FromSlice(scale, c.shape, on)).Sum().Backward())
		gx, _ := leaf.Grad()
		gv, _ := v.Grad()
		if diff := cmp.Diff(gradX, elements(t, gx)); diff != "" {
			t.Fatalf("add %v: gradient of the tensor\n%s", add, diff)
		}
		if diff := cmp.Diff(gradV, elements(t, gv)); diff != "" {
			t.Fatalf("add %v: gradient of the value\n%s", add, diff)
		}
	}
	y, want := tensor.FromSlice(x, c.shape, on), slices.Clone(x)
	must(t, y.At(ix...).SetScalar(-5))
	for _, p := range c.places {
		want[p] = -5
	}
	must(t, y.At(ix...).AddScalar(2.5)) // as often as a place is named
	for _, p := range c.places {
		want[p] += 2.5
	}
	if diff := cmp.Diff(want, elements(t, y)); diff != "" {
		t.Fatalf("wrote numbers\n%s", diff)
	}
}

// TestPyTorch compares with the places that PyTorch's indexing names, which
// tests/vectors/indexing.py wrote.
func TestPyTorch(t *testing.T) {
	raw, err := os.ReadFile("../../tests/vectors/indexing.json")
	must(t, err)
	var cases []struct {
		Shape, Result, Places []int
		Index                 []json.RawMessage
	}
	must(t, json.Unmarshal(raw, &cases))
	rng := rand.New(rand.NewPCG(1, 2))
	for i, v := range cases {
		c := named{shape: v.Shape, result: v.Result, places: v.Places}
		for _, e := range v.Index {
			c.index = append(c.index, entryOf(t, e))
		}
		for _, dev := range devices {
			if dev != device.CPU && i%4 != 0 || testing.Short() && i%9 != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%d %s", i, dev), func(t *testing.T) {
				t.Logf("%v at %s", c.shape, v.Index)
				c.check(t, rng, dev)
			})
		}
	}
}

// entryOf returns an entry as the file has it: a text, or a tensor.
func entryOf(t *testing.T, raw json.RawMessage) any {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var e struct {
		Places []int64
		Mask   []bool
		Shape  []int
		DType  string
	}
	must(t, json.Unmarshal(raw, &e))
	if e.Mask != nil {
		return tensor.From(e.Mask, e.Shape...)
	}
	at := tensor.FromSlice(e.Places, e.Shape)
	if e.DType == "int32" {
		at = at.ToType(tensor.Int32)
	}
	return at
}
