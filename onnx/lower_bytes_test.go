package onnx

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/runtime/device"
)

// randomBytes returns a tensor of integers of 8 bits.
func randomBytes(rng *rand.Rand, dtype tensor.DType, shape []int) tensor.Tensor {
	list := make([]uint8, product(shape))
	for i := range list {
		list[i] = uint8(rng.Uint32())
	}
	return tensor.FromBytes(list, dtype, shape)
}

// TestByteConvolution compares convolutions of bytes of both kinds, with other padding before
// than behind, with those of float64 over operands that are padded first. A window that does not
// fit is refused.
func TestByteConvolution(t *testing.T) {
	rng, kinds := rand.New(rand.NewPCG(3, 4)), []tensor.DType{tensor.Uint8, tensor.Int8}
	taken, refused := 0, 0
	for range 400 {
		d, groups := 1+rng.IntN(2), 1+rng.IntN(2)
		xs, ws := []int{1 + rng.IntN(2), groups * (1 + rng.IntN(4))}, []int{groups * (1 + rng.IntN(3))}
		ws = append(ws, xs[1]/groups)
		at := window{auto: "NOTSET"}
		for range d {
			xs, ws = append(xs, 1+rng.IntN(7)), append(ws, 1+rng.IntN(3))
			at.strides, at.dilations = append(at.strides, 1+rng.IntN(3)), append(at.dilations, 1+rng.IntN(2))
			at.pads = append(at.pads, rng.IntN(5), rng.IntN(5))
		}
		xKind, wKind := kinds[rng.IntN(2)], kinds[rng.IntN(2)]
		x, w := randomBytes(rng, xKind, xs), randomBytes(rng, wKind, ws)
		xZero, wZero := randomBytes(rng, xKind, []int{1}), randomBytes(rng, wKind, ws[:1])
		c := &call{in: []*value{{t: x}, {t: w}, {t: xZero}, {t: wZero}}, dev: device.CPU}
		got, ok, err := c.byteConvolution(at, groups, 0, 2, 1, 3)
		if err == nil {
			err = got.Err()
		}

		win, _ := at.on(xs[2:], ws[2:])
		wide := func(t tensor.Tensor, shape ...int) tensor.Tensor { return t.ToType(tensor.Float64).Reshape(shape...) }
		ones := append(ws[:1:1], slices.Repeat([]int{1}, d+1)...)
		conv := [](func(x, w tensor.Tensor, opts ...tensor.Option) tensor.Tensor){tensor.Conv1d, tensor.Conv2d}[d-1]
		want := conv(wide(x, xs...).Sub(wide(xZero)).Pad(win.around()), wide(w, ws...).Sub(wide(wZero, ones...)),
			tensor.Stride(at.strides...), tensor.Dilation(at.dilations...), tensor.Groups(groups))
		if want.Err() != nil {
			if refused++; err == nil {
				t.Errorf("x %v, weight %v, %v: taken, the other one says %v", xs, ws, at, want.Err())
			}
			continue
		}
		taken++
		if !ok || err != nil || !slices.Equal(got.Shape(), want.Shape()) {
			t.Errorf("x %v, weight %v, %v: %v, %v; want %v", xs, ws, at, got.Shape(), err, want.Shape())
		} else if same, err := tensor.Equal(got.ToType(tensor.Float64), want).Item(); err != nil || same != 1 {
			t.Errorf("x %s %v, weight %s %v, %v, %d groups: %v, want %v, %v", xKind, xs, wKind, ws, at, groups, got, want, err)
		}
	}
	if taken < 100 || refused == 0 {
		t.Errorf("%d taken, %d refused", taken, refused)
	}
}

// A layer over no steps has the state that it is given.
func TestNoSteps(t *testing.T) {
	tried := 0
	for _, c := range packedCases(t, "testdata/contrib.tar.zst") {
		file, err := format.ReadModel(c.files["model.onnx"])
		if err != nil {
			t.Fatal(err)
		}
		if n := file.Graph.Nodes[0]; n.Operator != "DynamicQuantizeLSTM" || n.Inputs[layerLengths] != "" || n.Inputs[layerFirst] == "" {
			continue
		}
		tried++
		x := file.Graph.Inputs[0].Type
		x.Axes[0].Extent = 0
		b := &builder{file: file, device: device.CPU, opsets: map[string]int{}, functions: map[functionKey]*format.Function{}, nodes: map[string]int{}}
		m, err := b.model()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		inputs := map[string]*value{"x0": {t: tensor.Zeros([]int{0, int(x.Axes[1].Extent), int(x.Axes[2].Extent)}), elem: format.Float}}
		for i, in := range file.Graph.Inputs[1:] {
			v, err := stored(c.files[fmt.Sprintf("test_data_set_0/input_%d.pb", i+1)], Value{}, in.Type)
			if err != nil {
				t.Fatal(err)
			}
			inputs[in.Name] = lent(v)
		}
		out, err := m.run(context.Background(), inputs, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		n := file.Graph.Nodes[0]
		if y := out[n.Outputs[0]].t; y.Rank() != 4 || y.Size(0) != 0 {
			t.Errorf("%s: outputs %v", c.name, y.Shape())
		}
		for i, state := range []int{layerFirst, layerCell} {
			if err := agree(out[n.Outputs[1+i]], inputs[n.Inputs[state]], 0, 0); err != nil {
				t.Errorf("%s: state %d: %v", c.name, i, err)
			}
		}
	}
	if tried == 0 {
		t.Error("no layers")
	}
}
