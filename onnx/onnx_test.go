package onnx

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/allocations"
	"github.com/sinter-go/sinter/tests/patience"
)

// A msg writes messages for models that no program would write.
type msg []byte

func (m msg) bytes(number int, b ...byte) msg {
	m = binary.AppendUvarint(m, uint64(number<<3|2))
	return append(binary.AppendUvarint(m, uint64(len(b))), b...)
}

func (m msg) text(number int, s string) msg { return m.bytes(number, []byte(s)...) }

func (m msg) int(number int, v int64) msg {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(number<<3)), uint64(v))
}

func (m msg) float(number int, v float32) msg {
	return binary.LittleEndian.AppendUint32(binary.AppendUvarint(m, uint64(number<<3|5)), math.Float32bits(v))
}

// nodeOf returns a node of a graph, with attributes that are messages.
func nodeOf(operator, in, out string, attributes ...msg) msg {
	m := msg{}
	for _, name := range strings.Fields(in) {
		m = m.text(1, strings.Trim(name, "-"))
	}
	for _, name := range strings.Fields(out) {
		m = m.text(2, name)
	}
	m = m.text(4, operator)
	for _, a := range attributes {
		m = m.bytes(5, a...)
	}
	return m
}

// input returns an input of float32; a negative extent is n.
func input(name string, shape ...int64) msg {
	s := msg{}
	for _, d := range shape {
		if d < 0 {
			s = s.bytes(1, msg{}.text(2, "n")...)
		} else {
			s = s.bytes(1, msg{}.int(1, d)...)
		}
	}
	return msg{}.text(1, name).bytes(2, msg{}.bytes(1, msg{}.int(1, 1).bytes(2, s...)...)...)
}

// model returns a file: a graph of nodes with the input x [n, 2] and the output y.
func model(parts ...msg) []byte {
	graph := msg{}.bytes(11, input("x", -1, 2)...).bytes(12, msg{}.text(1, "y")...)
	for _, p := range parts {
		graph = append(graph, p...)
	}
	return msg{}.int(1, 10).bytes(8, msg{}.int(2, 17)...).bytes(7, graph...)
}

// nodes are parts of a graph.
func nodes(list ...msg) msg {
	m := msg{}
	for _, n := range list {
		m = m.bytes(1, n...)
	}
	return m
}

// initializer is a part of a graph: a tensor, with what else is said of it.
func initializer(name string, elem int64, dims []int64, rest msg) msg {
	t := msg{}.text(8, name).int(2, elem)
	for _, d := range dims {
		t = t.int(1, d)
	}
	return msg{}.bytes(5, append(t, rest...)...)
}

func twoByTwo(t testing.TB) map[string]tensor.Tensor {
	x := tensor.From([]float32{-1, 2, 3, -4}, 2, 2)
	if err := x.Err(); err != nil {
		t.Fatal(err)
	}
	return map[string]tensor.Tensor{"x": x}
}

func TestRun(t *testing.T) {
	m, err := LoadBytes(model(nodes(nodeOf("Relu", "x", "h"), nodeOf("Add", "h h", "y"))))
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Run(context.Background(), twoByTwo(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := tensor.Data[float32](out["y"])
	if want := []float32{0, 4, 6, 0}; err != nil || !slices.Equal(got, want) {
		t.Errorf("y is %v, %v; want %v", got, err, want)
	}
	if in := m.Inputs(); len(in) != 1 || in[0].String() != "x float [n, 2]" {
		t.Errorf("inputs %v", in)
	}
	if n := m.Operators(); n["Relu"] != 1 || n["Add"] != 1 {
		t.Errorf("operators %v", n)
	}
}

// Wrong inputs are one error that names them all and what is wanted.
func TestInputs(t *testing.T) {
	m, err := LoadBytes(model(nodes(nodeOf("Relu", "x", "y"))))
	if err != nil {
		t.Fatal(err)
	}
	released := tensor.Ones([]int{2, 2})
	released.Release()
	tests := []struct {
		name   string
		inputs map[string]tensor.Tensor
		want   string
	}{
		{"none", nil, `input "x" is missing`},
		{"another name", map[string]tensor.Tensor{"z": tensor.Ones([]int{2, 2})}, `no input "z"`},
		{"another dtype", map[string]tensor.Tensor{"x": tensor.Ones([]int{2, 2}, tensor.OfType(tensor.Int64))}, "is int64, want float32"},
		{"another rank", map[string]tensor.Tensor{"x": tensor.Ones([]int{2})}, "x float [n, 2]"},
		{"another extent", map[string]tensor.Tensor{"x": tensor.Ones([]int{2, 3})}, "has shape [2 3]"},
		{"released", map[string]tensor.Tensor{"x": released}, "released"},
		{"zero", map[string]tensor.Tensor{"x": {}}, "invalid"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := m.Run(context.Background(), test.inputs)
			if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
	if _, err := m.Run(context.Background(), twoByTwo(t), "z"); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), `no output "z"`) {
		t.Errorf("an output that is not there: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Run(ended, twoByTwo(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
}

// All that is not supported is one error.
func TestUnsupported(t *testing.T) {
	_, err := LoadBytes(model(nodes(nodeOf("NoSuch", "x", "a"), nodeOf("Relu", "a", "b", msg{}.text(1, "slope").int(20, 2).int(3, 1)),
		nodeOf("StringNormalizer", "b", "c"), nodeOf("StringNormalizer", "c", "y"))))
	var all *UnsupportedError
	if !errors.As(err, &all) || !errors.Is(err, ErrUnsupported) || len(all.All) != 4 {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{`NoSuch of opset 17 (node "a"): there is no such operator`, `no attribute "slope"`, "StringNormalizer of opset 17", "and 1 more"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error has no %q: %v", want, err)
		}
	}
}

// TestBeyond: operands of which the standard says nothing, which onnxruntime takes.
func TestBeyond(t *testing.T) {
	lengths := msg{}.text(1, "l").bytes(2, msg{}.bytes(1, msg{}.int(1, 7).bytes(2, msg{}.bytes(1, msg{}.int(1, 0)...)...)...)...)
	graph := func(parts ...msg) (all []msg) {
		for _, p := range parts {
			all = append(all, msg{}.bytes(11, p...))
		}
		return all
	}
	two := func(a, b float32) tensor.Tensor { return tensor.FromSlice([]float32{a, b}, []int{2}) }
	for _, test := range []struct {
		name   string
		file   []byte
		inputs map[string]tensor.Tensor
		want   tensor.Tensor
	}{
		{"a negative epsilon", model(append(graph(input("s", 2), input("b", 2), input("m", 2), input("v", 2)),
			nodes(nodeOf("BatchNormalization", "x s b m v", "y", msg{}.text(1, "epsilon").float(2, -0.25).int(20, 1))))...),
			map[string]tensor.Tensor{"x": tensor.FromSlice([]float32{3, 4}, []int{1, 2}), "s": two(1, 1), "b": two(0, 1), "m": two(1, 0), "v": two(4.25, 0.5)},
			tensor.FromSlice([]float32{1, 9}, []int{1, 2})},
		{"sequences of no batch", model(append(graph(lengths), nodes(nodeOf("ReverseSequence", "x l", "y",
			msg{}.text(1, "batch_axis").int(3, 0).int(20, 2), msg{}.text(1, "time_axis").int(3, 1).int(20, 2))))...),
			map[string]tensor.Tensor{"x": tensor.Zeros([]int{0, 2}), "l": tensor.Zeros([]int{0}, tensor.OfType(tensor.Int64))}, tensor.Zeros([]int{0, 2})},
	} {
		m, err := LoadBytes(test.file)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		out, err := m.Run(context.Background(), test.inputs)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if same, err := tensor.Equal(out["y"], test.want).Item(); err != nil || same != 1 || !slices.Equal(out["y"].Shape(), test.want.Shape()) {
			t.Errorf("%s: %v, want %v, %v", test.name, out["y"], test.want, err)
		}
	}
}

// What an operator accepts of no operand is refused when a model is loaded.
func TestUnaccepted(t *testing.T) {
	float := func(name string, f float32) msg {
		return msg{}.text(1, name).float(2, f).int(20, 1)
	}
	for _, test := range []struct {
		file []byte
		want string
	}{
		{model(nodes(nodeOf("Celu", "x", "y", float("alpha", 0)))), "alpha is 0, want alpha != 0"},
	} {
		if _, err := LoadBytes(test.file); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one with %q", err, test.want)
		}
	}
}

// Files that are wrong, or meant to do harm, are errors that say what is.
func TestBroken(t *testing.T) {
	self := msg{}.text(1, "F").text(10, "own").text(4, "a").text(5, "b").bytes(7, nodeOf("F", "a", "b").text(7, "own")...).bytes(9, msg{}.text(1, "own").int(2, 1)...)
	raw := func(n int) msg { return msg{}.bytes(9, make([]byte, n)...) }
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"a value from nowhere", model(nodes(nodeOf("Relu", "q", "y"))), `input "q" is nowhere computed`},
		{"a cycle", model(nodes(nodeOf("Relu", "b", "a"), nodeOf("Relu", "a", "b"))), "nowhere computed"},
		{"an output from nowhere", model(nodes(nodeOf("Relu", "x", "z"))), `output "y" is nowhere computed`},
		{"one name twice", model(nodes(nodeOf("Relu", "x", "y"), nodeOf("Abs", "x", "y"))), `two values are called "y"`},
		{"a function that calls itself", append(model(nodes(nodeOf("F", "x", "y").text(7, "own"))), msg{}.bytes(25, self...).bytes(8, msg{}.text(1, "own").int(2, 1)...)...), "deep"},
		{"2^60 elements", model(initializer("w", 1, []int64{1 << 30, 1 << 30}, raw(16)), nodes(nodeOf("Add", "x w", "y"))), "shape"},
		{"a negative extent", model(initializer("w", 1, []int64{-2}, raw(8)), nodes(nodeOf("Add", "x w", "y"))), "shape"},
		{"too few bytes", model(initializer("w", 1, []int64{2}, raw(7)), nodes(nodeOf("Add", "x w", "y"))), "7 bytes"},
		{"too few numbers", model(initializer("w", 7, []int64{3}, msg{}.int(7, 1)), nodes(nodeOf("Add", "x w", "y"))), "1 numbers"},
		{"elements elsewhere", model(initializer("w", 1, []int64{2}, msg{}.int(14, 1).bytes(13, msg{}.text(1, "location").text(2, "w.bin")...)), nodes(nodeOf("Add", "x w", "y"))), "given as bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := LoadBytes(test.file); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// What would take too much memory is not computed while loading.
func TestFoldLimit(t *testing.T) {
	shape := msg{}.int(7, 1<<20).int(7, 1<<20)
	if _, err := LoadBytes(model(initializer("s", 7, []int64{2}, shape), nodes(nodeOf("ConstantOfShape", "s", "h"), nodeOf("Relu", "x", "y")))); err != nil {
		t.Error(err)
	}
}

// External tensors come from the model's directory alone.
func TestExternal(t *testing.T) {
	at := func(location string, rest msg) []byte {
		entry := msg{}.text(1, "location").text(2, location)
		return model(initializer("w", 1, []int64{2}, append(msg{}.int(14, 1).bytes(13, entry...), rest...)), nodes(nodeOf("Add", "x w", "y")))
	}
	offset := func(v string) msg { return msg{}.bytes(13, msg{}.text(1, "offset").text(2, v)...) }
	dir := t.TempDir()
	inside := filepath.Join(dir, "model")
	weights := binary.LittleEndian.AppendUint32(nil, math.Float32bits(1))
	weights = binary.LittleEndian.AppendUint32(weights, math.Float32bits(2))
	for name, data := range map[string][]byte{"secret": weights, "model/w.bin": append(make([]byte, 4), weights...)} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(inside, "link")); err != nil {
		t.Skip(err)
	}
	load := func(location string, rest msg) (*Model, error) {
		name := filepath.Join(inside, "m.onnx")
		if err := os.WriteFile(name, at(location, rest), 0o666); err != nil {
			t.Fatal(err)
		}
		return Load(name)
	}
	m, err := load("w.bin", offset("4"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Run(context.Background(), map[string]tensor.Tensor{"x": tensor.Zeros([]int{1, 2})})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tensor.Data[float32](out["y"]); err != nil || !slices.Equal(got, []float32{1, 2}) {
		t.Errorf("y is %v, %v", got, err)
	}
	for _, location := range []string{"../secret", filepath.Join(dir, "secret"), "link", "none", ".", ""} {
		if _, err := load(location, nil); err == nil {
			t.Errorf("a tensor from %q was read", location)
		}
	}
	for _, rest := range []msg{offset("-1"), offset("99"), offset("many"), nil} {
		if _, err := load("w.bin", rest); !errors.Is(err, ErrFormat) {
			t.Errorf("an offset of %q: %v", rest, err)
		}
	}
	fsys := fstest.MapFS{"d/m.onnx": {Data: at("w.bin", nil)}, "d/w.bin": {Data: weights}}
	if _, err := LoadFS(fsys, "d/m.onnx"); err != nil {
		t.Error(err)
	}
}

// Many goroutines use one model, and a run leaves no memory behind.
func TestManyRuns(t *testing.T) {
	weight := msg{}.bytes(9, make([]byte, 16)...)
	m, err := LoadBytes(model(initializer("w", 1, []int64{2, 2}, weight), nodes(nodeOf("MatMul", "x w", "h"), nodeOf("Relu", "h", "r"), nodeOf("Flatten", "r", "y"))), tensor.On(device.Sim(0)))
	if err != nil {
		t.Fatal(err)
	}
	inputs := twoByTwo(t)
	run := func() {
		out, err := m.Run(context.Background(), inputs)
		if err != nil {
			t.Error(err)
			return
		}
		out["y"].Release()
	}
	for range 3 { // the second run becomes a program
		run()
	}
	const each = 4096 // bytes that a goroutine's own part of the program has at most
	before := memory.Allocated(device.Sim(0))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				run()
			}
		})
	}
	group.Wait()
	if after := memory.Allocated(device.Sim(0)); after > before+8*each {
		t.Errorf("%d bytes are in use, %d were before", after, before)
	}
}

var runCount = flag.Int("runs", 100_000, "how many runs of a small model memory is to stay the same over")

// Memory stays the same over many runs of a small model on the CPU, which with -models is that of
// voice activity.
func TestMemoryOfRuns(t *testing.T) {
	weight := msg{}.bytes(9, make([]byte, 16)...)
	m, err := LoadBytes(model(initializer("w", 1, []int64{2, 2}, weight), nodes(nodeOf("MatMul", "x w", "h"), nodeOf("Sigmoid", "h", "y"))))
	if err != nil {
		t.Fatal(err)
	}
	inputs, output := twoByTwo(t), "y"
	if folder := flag.Lookup("models").Value.String(); folder != "" {
		file := filepath.Join(folder, "voice")
		if m, err = Load(file + ".onnx"); err != nil {
			t.Fatal(err)
		}
		if inputs, err = data.LoadArrays(file+".in.npz", device.CPU); err != nil {
			t.Fatal(err)
		}
		output = m.Outputs()[0].Name
	}
	ctx := context.Background()
	used := func(runs int) (heap, resident uint64) {
		for i := range runs {
			out, err := m.Run(ctx, inputs)
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 { // the others are left to the collector
				out[output].Release()
			}
		}
		patience.Collect(t)
		debug.FreeOSMemory()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapInuse + s.StackInuse, residentBytes()
	}
	runs := *runCount
	if testing.Short() {
		runs /= 5
	}
	few, early := used(1000)
	many, late := used(runs)
	t.Logf("heap %.2f MB, resident %.1f MB after 1000 runs; %.2f and %.1f MB after %d more", float64(few)/1e6, float64(early)/1e6, float64(many)/1e6, float64(late)/1e6, runs)
	if many > few+1<<20 {
		t.Errorf("%d bytes are in use after %d runs, %d after the first thousand", many, runs, few)
	}
	if late > early+4<<20 && !allocations.RaceDetector { // memory outside of Go's heap, too
		t.Errorf("%d bytes are resident after %d runs, %d after the first thousand", late, runs, early)
	}
}

// residentBytes returns how many bytes of the process are in memory, 0 where the system does not
// say it.
func residentBytes() uint64 {
	raw, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(raw))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}

// Random numbers have the distribution that attributes say, and a seed makes them again.
func TestRandom(t *testing.T) {
	number := func(name string, v float32) msg { return msg{}.text(1, name).int(20, 1).float(2, v) }
	shape := msg{}.text(1, "shape").int(20, 7).int(8, 100).int(8, 100)
	first := func(operator string, attributes ...msg) []float32 {
		t.Helper()
		m, err := LoadBytes(model(nodes(nodeOf(operator, "", "y", append(attributes, shape)...))))
		if err != nil {
			t.Fatal(err)
		}
		out, err := m.Run(context.Background(), twoByTwo(t))
		if err != nil {
			t.Fatal(err)
		}
		list, err := tensor.Data[float32](out["y"])
		if err != nil || len(list) != 10_000 {
			t.Fatal(len(list), err)
		}
		return list
	}
	moments := func(list []float32) (mean, variance float64) {
		for _, v := range list {
			mean += float64(v) / float64(len(list))
		}
		for _, v := range list {
			variance += (float64(v) - mean) * (float64(v) - mean) / float64(len(list))
		}
		return mean, variance
	}
	normal := first("RandomNormal", number("mean", 3), number("scale", 2), number("seed", 5))
	if mean, variance := moments(normal); math.Abs(mean-3) > 0.1 || math.Abs(variance-4) > 0.4 {
		t.Errorf("mean %g and variance %g, want 3 and 4", mean, variance)
	}
	if again := first("RandomNormal", number("mean", 3), number("scale", 2), number("seed", 5)); !slices.Equal(normal, again) {
		t.Error("one seed gave two lists")
	}
	uniform := first("RandomUniform", number("low", -1), number("high", 3))
	if mean, variance := moments(uniform); math.Abs(mean-1) > 0.1 || math.Abs(variance-16.0/12) > 0.1 || slices.Min(uniform) < -1 || slices.Max(uniform) > 3 {
		t.Errorf("mean %g and variance %g of numbers from %g to %g", mean, variance, slices.Min(uniform), slices.Max(uniform))
	}
	if again := first("RandomUniform", number("low", -1), number("high", 3)); slices.Equal(uniform, again) {
		t.Error("two lists without a seed are one")
	}
}

// The outputs are the caller's: what happens to them changes neither the model nor the
// inputs.
func TestOutputsAreOwn(t *testing.T) {
	weight := msg{}.bytes(9, make([]byte, 16)...)
	m, err := LoadBytes(model(initializer("y", 1, []int64{2, 2}, weight)))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out, err := m.Run(context.Background(), twoByTwo(t))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tensor.Data[float32](out["y"]); err != nil || !slices.Equal(got, make([]float32, 4)) {
			t.Errorf("y is %v, %v", got, err)
		}
		if err := out["y"].FillInPlace(7); err != nil {
			t.Fatal(err)
		}
	}
	identity, err := LoadBytes(model(nodes(nodeOf("Identity", "x", "y"))))
	if err != nil {
		t.Fatal(err)
	}
	in := twoByTwo(t)
	out, err := identity.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if out["y"].SharesStorage(in["x"]) {
		t.Error("the output shares the input's memory")
	}
}
