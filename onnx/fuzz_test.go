package onnx

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/device"
)

// elsewhere is what a tensor says whose elements are in the file "beside".
func elsewhere(offset, length string) msg {
	m := msg{}.int(14, 1)
	for _, pair := range [][2]string{{"location", "beside"}, {"offset", offset}, {"length", length}} {
		m = m.bytes(13, msg{}.text(1, pair[0]).text(2, pair[1])...)
	}
	return m
}

// body returns an attribute that is a graph with an output.
func body(name, out string, parts ...msg) msg {
	g := msg{}
	for _, p := range parts {
		g = append(g, p...)
	}
	return msg{}.text(1, name).int(20, 5).bytes(6, g.bytes(12, msg{}.text(1, out)...)...)
}

// condition is a part of a graph: a bool called c.
func condition() msg { return initializer("c", 9, nil, msg{}.bytes(9, 1)) }

// fuzzSeeds returns models that have between them what a file can have.
func fuzzSeeds() (seeds [][]byte) {
	relu := nodeOf("Relu", "x", "b")
	own := nodeOf("F", "x", "y", body("body", "b", nodes(relu))).text(7, "own")
	function := msg{}.bytes(25, msg{}.text(1, "F").text(10, "own").text(4, "x").text(5, "y").text(6, "alpha").bytes(7, own...)...)
	inner := msg{}.bytes(25, msg{}.text(1, "G").text(10, "own").text(4, "x").text(5, "y").bytes(9, msg{}.int(2, 17)...).
		bytes(7, nodeOf("LeakyRelu", "x", "y", msg{}.text(1, "alpha").int(20, 1).text(21, "alpha"))...).bytes(11, msg{}.text(1, "alpha").int(20, 1).float(2, 0.5)...)...)
	nested := nodeOf("If", "c", "y", body("then_branch", "t", nodes(nodeOf("If", "c", "t", body("then_branch", "b", nodes(relu)), body("else_branch", "x")))), body("else_branch", "b", nodes(relu)))
	loop := nodeOf("Loop", "n c x", "y s", body("body", "w", msg{}.bytes(11, msg{}.text(1, "i")...).bytes(11, msg{}.text(1, "k")...).bytes(11, msg{}.text(1, "v")...),
		nodes(nodeOf("Add", "v x", "o"), nodeOf("Identity", "v", "w")), msg{}.bytes(12, msg{}.text(1, "k")...).bytes(12, msg{}.text(1, "o")...)))
	scan := nodeOf("Scan", "x", "y", msg{}.text(1, "num_scan_inputs").int(20, 2).int(3, 1), body("body", "o", msg{}.bytes(11, msg{}.text(1, "r")...), nodes(nodeOf("Neg", "r", "o"))))
	sparse := msg{}.bytes(15, msg{}.bytes(1, msg{}.text(8, "w").int(2, 1).int(1, 1).bytes(9, 0, 0, 128, 63)...).
		bytes(2, msg{}.int(2, 7).int(1, 1).int(7, 3)...).int(3, 2).int(3, 2)...)
	return [][]byte{
		model(nodes(nodeOf("Relu", "x", "y"))),
		append(model(nodes(nodeOf("F", "x", "y").text(7, "own"))), function...),
		append(model(nodes(nodeOf("G", "x", "y").text(7, "own"))), inner...),
		model(initializer("w", 22, []int64{3}, msg{}.bytes(9, 0x21, 0x03)), initializer("e", 17, []int64{2}, msg{}.bytes(9, 0x7f, 0xff)), nodes(nodeOf("DequantizeLinear", "w x", "y"))),
		model(initializer("s", 7, []int64{2}, msg{}.int(7, 1<<40).int(7, -3)), nodes(nodeOf("Expand", "x s", "h"), nodeOf("Reshape", "h s", "y"))),
		model(initializer("w", 1, []int64{2}, elsewhere("4", "8")), nodes(nodeOf("Add", "x w", "y"))),
		model(initializer("w", 1, []int64{2}, msg{}.bytes(4, 0, 0, 128, 63, 0, 0, 0, 64)), initializer("v", 11, []int64{1}, msg{}.bytes(10, 0, 0, 0, 0, 0, 0, 0, 64)), nodes(nodeOf("Add", "x w", "y"), nodeOf("Neg", "v", "z"))),
		model(initializer("w", 1, []int64{2}, msg{}.float(4, 1).float(4, 2)), nodes(nodeOf("Add", "x w", "y"))),
		model(sparse, nodes(nodeOf("Add", "x w", "y"))),
		model(initializer("w", 8, []int64{2}, msg{}.text(6, "a").text(6, "b")), nodes(nodeOf("Identity", "w", "y"))),
		model(condition(), nodes(nested)),
		model(condition(), initializer("n", 7, nil, msg{}.int(7, 3)), nodes(loop)),
		model(nodes(scan)),
		model(nodes(nodeOf("SequenceConstruct", "x x", "s"), nodeOf("SequenceMap", "s", "m", body("body", "o", msg{}.bytes(11, msg{}.text(1, "e")...), nodes(nodeOf("Neg", "e", "o")))), nodeOf("ConcatFromSequence", "m", "y", msg{}.text(1, "axis").int(20, 2).int(3, 0)))),
		model(nodes(nodeOf("Optional", "x", "o"), nodeOf("OptionalHasElement", "o", "h"), nodeOf("OptionalGetElement", "o", "y"))),
		model(nodes(nodeOf("Constant", "", "w", msg{}.text(1, "value").int(20, 4).bytes(5, msg{}.int(1, 2).int(2, 1).bytes(4, 0, 0, 128, 63, 0, 0, 0, 64)...)), nodeOf("Mul", "x w", "y"))),
	}
}

// zeros returns inputs on d of the least shapes that a model takes, false where they are large
// or of another form.
func zeros(m *Model, d device.Device) (map[string]tensor.Tensor, bool) {
	inputs := map[string]tensor.Tensor{}
	for _, v := range m.Inputs() {
		if v.form != format.FormTensor {
			return nil, false
		}
		shape, n := []int{}, 1
		for _, a := range v.Axes {
			d := a.Extent
			if d < 0 {
				d = 2
			}
			if d > 64 || n*d > 1<<12 {
				return nil, false
			}
			shape, n = append(shape, d), n*d
		}
		inputs[v.Name] = tensor.Zeros(shape, tensor.OfType(v.DType), tensor.On(d))
	}
	return inputs, true
}

// FuzzLoad: whatever files say, a model or an error comes of them, and results or an error of
// its runs, of which the second becomes a program.
func FuzzLoad(f *testing.F) {
	beside := make([]byte, 16)
	for _, m := range fuzzSeeds() {
		f.Add(m, beside)
	}
	every := 20
	if testing.Short() {
		every = 320
	}
	for i, c := range nodeCases(f) {
		if i%every == 0 && len(c.files["model.onnx"]) < 4096 {
			f.Add(c.files["model.onnx"], beside)
		}
	}
	for i, c := range packedCases(f, "testdata/contrib.tar.zst") {
		if testing.Short() && i%16 != 0 {
			continue
		}
		if len(c.files["model.onnx"]) < 4096 {
			f.Add(c.files["model.onnx"], beside)
		}
	}
	// Results may be as large as a number of the file says. A device of little memory shows it.
	before, err := device.DriverOf(device.KindSim)
	if err != nil {
		f.Fatal(err)
	}
	device.Install(sim.New(sim.Config{Devices: 1, Memory: 64 << 20, Run: optest.OnCPU}))
	f.Cleanup(func() { device.Install(before) })
	f.Fuzz(func(t *testing.T, model, beside []byte) {
		for _, d := range []device.Device{device.Sim(0), device.CPU} {
			if !fuzzed(t, model, beside, d) {
				return
			}
		}
	})
}

// fuzzed runs a model on a device, if it is one, and reports whether its results came.
func fuzzed(t *testing.T, model, beside []byte, d device.Device) bool {
	m, err := LoadFS(fstest.MapFS{"model.onnx": {Data: model}, "beside": {Data: beside}}, "model.onnx", Plans(1), tensor.On(d))
	inputs, ok := map[string]tensor.Tensor(nil), false
	if err == nil {
		inputs, ok = zeros(m, d)
	}
	for i := 0; i < 3 && ok; i++ {
		var out map[string]tensor.Tensor
		out, err = m.Run(&budget{context.Background(), 200}, inputs)
		for _, x := range out {
			x.Release()
		}
		ok = err == nil
	}
	if err != nil && strings.Contains(err.Error(), "internal error") {
		t.Error(err)
	}
	return ok
}

// Seeds are models that run, but for those that show what is refused.
func TestFuzzSeeds(t *testing.T) {
	refused := []string{"more than 64 deep", "is int4", "a shape of [1099511627776 -3]", "sparse initializer", "a tensor of string"}
	for i, b := range fuzzSeeds() {
		m, err := LoadFS(fstest.MapFS{"model.onnx": {Data: b}, "beside": {Data: make([]byte, 16)}}, "model.onnx")
		if err == nil {
			inputs, _ := zeros(m, device.CPU)
			_, err = m.Run(context.Background(), inputs)
		}
		if err != nil && !slices.ContainsFunc(refused, func(reason string) bool { return strings.Contains(err.Error(), reason) }) {
			t.Errorf("seed %d: %v", i, err)
		}
		refused = slices.DeleteFunc(refused, func(reason string) bool { return err != nil && strings.Contains(err.Error(), reason) })
	}
	if len(refused) > 0 {
		t.Errorf("no seed is refused for %q", refused)
	}
}
