package onnx

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/runtime/device"
)

// misfitAttributes returns attributes that may stand in the place of a by mistake: numbers that are no
// size, axis or mode, other lists, and unknown words.
func misfitAttributes(a format.Attribute) map[string]format.Attribute {
	out := map[string]format.Attribute{}
	with := func(how string, change func(a *format.Attribute)) {
		b := a
		change(&b)
		out[how] = b
	}
	switch a.Kind {
	case format.KindInt:
		for _, n := range []int64{-1, 0, 3, 1 << 12, math.MaxInt64, math.MinInt64} {
			with(fmt.Sprint(n), func(a *format.Attribute) { a.Int = n })
		}
	case format.KindFloat:
		for _, x := range []float64{-1, 0, 1e30, math.Inf(1), math.NaN()} {
			with(fmt.Sprint(x), func(a *format.Attribute) { a.Float = float32(x) })
		}
	case format.KindString:
		for _, s := range []string{"", "nothing"} {
			with(fmt.Sprintf("%q", s), func(a *format.Attribute) { a.String = s })
		}
	case format.KindInts:
		for _, list := range [][]int64{{}, {0}, {-1}, {math.MaxInt64}, {0, 0}, {1, 1}, {-3, 1 << 12}, {2, 1, 0, 1, 2, 1, 0, 1}} {
			with(fmt.Sprint(list), func(a *format.Attribute) { a.Ints = list })
		}
		for i := range a.Ints {
			for _, n := range []int64{0, -1, 1 << 12, math.MaxInt64, math.MinInt64} {
				list := slices.Clone(a.Ints)
				list[i] = n
				with(fmt.Sprint(list), func(a *format.Attribute) { a.Ints = list })
			}
		}
	case format.KindFloats:
		for _, list := range [][]float32{{}, {0}, {-1, 1e30}, {float32(math.NaN()), 2, 2, 2, 2}} {
			with(fmt.Sprint(list), func(a *format.Attribute) { a.Floats = list })
		}
	case format.KindStrings:
		for _, list := range [][]string{{}, {"nothing"}, {"Tanh", "Relu"}} {
			with(fmt.Sprint(list), func(a *format.Attribute) { a.Strings = list })
		}
	}
	return out
}

// TestMisfitAttributes gives the node of every test of the standard each of its operator's attributes in
// forms that do not fit: Load or Run refuses it, or there is a result, and never a panic.
func TestMisfitAttributes(t *testing.T) {
	for i, c := range nodeCases(t) {
		if testing.Short() && i%128 != 0 || !strings.Contains(c.name, *only) || strings.Contains(c.name, "_expanded") {
			continue
		}
		file, err := format.ReadModel(c.files["model.onnx"])
		if err != nil {
			t.Fatal(err)
		}
		for _, known := range specOf(file).Attributes {
			a := format.Attribute{Name: known.Name}
			for k := format.KindFloat; k <= format.KindTypes; k++ {
				if k.String() == known.Kind {
					a.Kind = k
				}
			}
			if a.Kind == format.KindInts { // of the length that others of the node have
				a.Ints = longest(file.Graph.Nodes[0].Attributes)
			}
			for how, misfit := range misfitAttributes(a) {
				if err := c.withAttribute(misfit); err != nil {
					t.Errorf("%s, %s %s: %v", c.name, known.Name, how, err)
				}
			}
		}
	}
}

// longest returns the longest list of integers among attributes.
func longest(list []*format.Attribute) (ints []int64) {
	for _, a := range list {
		if len(a.Ints) > len(ints) {
			ints = a.Ints
		}
	}
	return ints
}

// withAttribute loads and runs the test with an attribute in place of its node's own, and returns what
// panicked.
func (c nodeCase) withAttribute(a format.Attribute) (panicked error) {
	file, err := format.ReadModel(c.files["model.onnx"])
	if err != nil {
		return err
	}
	n := file.Graph.Nodes[0]
	list := []*format.Attribute{&a}
	for _, own := range n.Attributes {
		if own.Name != a.Name {
			list = append(list, own)
		}
	}
	n.Attributes = list
	defer func() {
		if r := recover(); r != nil {
			panicked = fmt.Errorf("%v\n%s", r, debug.Stack())
		}
	}()
	b := &builder{file: file, device: device.CPU, opsets: map[string]int{}, functions: map[functionKey]*format.Function{}, nodes: map[string]int{}}
	model, err := b.model()
	if err != nil {
		return nil // refused
	}
	return tensor.Scope(func() error {
		inputs, err := c.inputs(model, file, "test_data_set_0")
		if err != nil {
			return nil // of a type that tensors do not have
		}
		_, err = model.run(&budget{context.Background(), 5000}, inputs, nil)
		if err != nil && strings.Contains(err.Error(), "internal error") {
			return err
		}
		return nil
	})
}
