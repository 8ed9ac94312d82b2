package data_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/data/safetensors"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// samples are tensors of every dtype and layout on several devices, with the
// bytes that a file must hold for them.
func samples() (tensors map[string]tensor.Tensor, want map[string]safetensors.Tensor) {
	matrix := tensor.From([]int16{1, 2, 3, 4, 5, 6}, 2, 3)
	nan := math.Float32frombits(0x7fc12345)
	entries := []struct {
		name string
		t    tensor.Tensor
		safetensors.Tensor
	}{
		{"bool", tensor.From([]bool{true, false}), safetensors.Tensor{DType: tensor.Bool, Shape: []int{2}, Data: []byte{1, 0}}},
		{"uint8", tensor.From([]uint8{200}), safetensors.Tensor{DType: tensor.Uint8, Shape: []int{1}, Data: []byte{200}}},
		{"int8", tensor.From([]int8{-2}), safetensors.Tensor{DType: tensor.Int8, Shape: []int{1}, Data: []byte{0xfe}}},
		{"int32", tensor.From([]int32{-2}), safetensors.Tensor{DType: tensor.Int32, Shape: []int{1}, Data: []byte{0xfe, 0xff, 0xff, 0xff}}},
		{"int64", tensor.From([]int64{1 << 40}), safetensors.Tensor{DType: tensor.Int64, Shape: []int{1}, Data: []byte{0, 0, 0, 0, 0, 1, 0, 0}}},
		{"float16", tensor.From([]float32{1.5}).ToType(tensor.Float16), safetensors.Tensor{DType: tensor.Float16, Shape: []int{1}, Data: []byte{0, 0x3e}}},
		{"bfloat16", tensor.From([]float32{1.5}).ToType(tensor.BFloat16), safetensors.Tensor{DType: tensor.BFloat16, Shape: []int{1}, Data: []byte{0xc0, 0x3f}}},
		{"nan", tensor.From([]float32{nan}), safetensors.Tensor{DType: tensor.Float32, Shape: []int{1}, Data: []byte{0x45, 0x23, 0xc1, 0x7f}}},
		{"float64", tensor.From([]float64{-2}), safetensors.Tensor{DType: tensor.Float64, Shape: []int{1}, Data: []byte{0, 0, 0, 0, 0, 0, 0, 0xc0}}},
		{"complex64", tensor.From([]complex64{1 - 2i}), safetensors.Tensor{DType: tensor.Complex64, Shape: []int{1}, Data: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}}},
		{"transposed", matrix.Transpose(0, 1), safetensors.Tensor{DType: tensor.Int16, Shape: []int{3, 2}, Data: []byte{1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0}}},
		{"part on a device", matrix.To(device.Sim(1)).Narrow(1, 1, 2), safetensors.Tensor{DType: tensor.Int16, Shape: []int{2, 2}, Data: []byte{2, 0, 3, 0, 5, 0, 6, 0}}},
		{"broadcast", tensor.From([]int8{7}).BroadcastTo(3), safetensors.Tensor{DType: tensor.Int8, Shape: []int{3}, Data: []byte{7, 7, 7}}},
		{"scalar", tensor.FromScalar(3), safetensors.Tensor{DType: tensor.Int64, Shape: []int{}, Data: []byte{3, 0, 0, 0, 0, 0, 0, 0}}},
		{"empty", tensor.Zeros([]int{0, 4}), safetensors.Tensor{DType: tensor.Float32, Shape: []int{0, 4}, Data: []byte{}}},
		{"trained", tensor.From([]float32{1}).RequireGrad(), safetensors.Tensor{DType: tensor.Float32, Shape: []int{1}, Data: []byte{0, 0, 0x80, 0x3f}}},
	}
	tensors, want = map[string]tensor.Tensor{}, map[string]safetensors.Tensor{}
	for _, e := range entries {
		e.Tensor.Name = e.name
		tensors[e.name], want[e.name] = e.t, e.Tensor
	}
	return tensors, want
}

// same compares loaded tensors with what was saved, and where they are.
func same(t *testing.T, loaded map[string]tensor.Tensor, want map[string]safetensors.Tensor, d device.Device) {
	t.Helper()
	for name, w := range want {
		l, ok := loaded[name]
		if !ok {
			t.Errorf("%s is missing", name)
			continue
		}
		raw, err := l.Bytes()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.Data = swapped(w.Data, w.DType)
		if l.DType() != w.DType || len(l.Shape()) != len(w.Shape) || !cmp.Equal(append([]int{}, l.Shape()...), w.Shape) || !bytes.Equal(raw, w.Data) || l.Device() != d {
			t.Errorf("%s is %s %v on %s with bytes %x, want %s %v on %s with %x", name, l.DType(), l.Shape(), l.Device(), raw, w.DType, w.Shape, d, w.Data)
		}
	}
	if len(loaded) != len(want) {
		t.Errorf("%d tensors, want %d", len(loaded), len(want))
	}
}

// swapped returns the bytes of elements that are in a file in the machine's order.
func swapped(raw []byte, d tensor.DType) []byte {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return raw
	}
	out := slices.Clone(raw)
	size := d.Size()
	if d.IsComplex() { // each of both parts
		size /= 2
	}
	for part := range slices.Chunk(out, size) {
		slices.Reverse(part)
	}
	return out
}

func TestSaveTensors(t *testing.T) {
	tensors, want := samples()
	path := filepath.Join(t.TempDir(), "all.safetensors")
	metadata := map[string]string{"epoch": "3"}
	if err := data.SaveTensors(path, tensors, data.Metadata(metadata)); err != nil {
		t.Fatal(err)
	}
	file, _, err := safetensors.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range file {
		if diff := cmp.Diff(want[f.Name], f); diff != "" {
			t.Errorf("%s in the file: %s", f.Name, diff)
		}
	}
	for _, d := range []device.Device{device.CPU, device.Sim(0)} {
		loaded, gotMetadata, err := data.LoadTensors(path, d)
		if err != nil {
			t.Fatal(err)
		}
		same(t, loaded, want, d)
		if diff := cmp.Diff(metadata, gotMetadata); diff != "" {
			t.Error(diff)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		loaded, gotMetadata, err = data.ReadTensors(bytes.NewReader(raw), d)
		if err != nil {
			t.Fatal(err)
		}
		same(t, loaded, want, d)
		if diff := cmp.Diff(metadata, gotMetadata); diff != "" {
			t.Error(diff)
		}
		if _, _, err := data.ReadTensors(bytes.NewReader(raw[:len(raw)-1]), d); !errors.Is(err, safetensors.ErrFormat) {
			t.Errorf("a file cut short: %v", err)
		}
	}
}

func TestSaveArrays(t *testing.T) {
	tensors, want := samples()
	sizes := map[bool]int64{}
	for _, compressed := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "all.npz")
		if err := data.SaveArrays(path, tensors, data.Compressed(compressed)); err != nil {
			t.Fatal(err)
		}
		loaded, err := data.LoadArrays(path, device.Sim(1))
		if err != nil {
			t.Fatal(err)
		}
		same(t, loaded, want, device.Sim(1))
		file, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sizes[compressed] = file.Size()
	}
	if sizes[true] == sizes[false] {
		t.Errorf("a file has %d bytes, compressed or not", sizes[true])
	}
	for name, x := range tensors {
		path := filepath.Join(t.TempDir(), "one.npy")
		if err := data.SaveArray(path, x); err != nil {
			t.Fatal(err)
		}
		loaded, err := data.LoadArray(path, device.CPU)
		if err != nil {
			t.Fatal(err)
		}
		same(t, map[string]tensor.Tensor{name: loaded}, map[string]safetensors.Tensor{name: want[name]}, device.CPU)
	}
}

func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "kept")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := map[string]tensor.Tensor{"good": tensor.Zeros([]int{2}), "bad": tensor.Zeros([]int{2}).Add(tensor.Zeros([]int{3}))}
	valid := filepath.Join(dir, "valid.safetensors")
	if err := data.SaveTensors(valid, map[string]tensor.Tensor{"x": tensor.Zeros([]int{2})}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		f    func() error
		text string
	}{
		{"save tensors", func() error { return data.SaveTensors(path, bad) }, `tensor "bad": `},
		{"save arrays", func() error { return data.SaveArrays(path, bad) }, `array "bad": `},
		{"compressed tensors", func() error { return data.SaveTensors(path, nil, data.Compressed()) }, "kept: no option Compressed here; want Metadata"},
		{"arrays with metadata", func() error { return data.SaveArrays(path, nil, data.Metadata(nil)) }, "kept: no option Metadata here; want Compressed"},
		{"save array", func() error { return data.SaveArray(path, tensor.Tensor{}) }, "zero Tensor"},
		{"no directory", func() error { return data.SaveArray(filepath.Join(dir, "no", "x"), tensor.Zeros([]int{1})) }, "no such file"},
		{"load tensors", func() error { _, _, err := data.LoadTensors(path, device.CPU); return err }, "not a valid safetensors file"},
		{"load arrays", func() error { _, err := data.LoadArrays(path, device.CPU); return err }, "not a valid npy or npz file"},
		{"load array", func() error { _, err := data.LoadArray(path, device.CPU); return err }, "not a valid npy or npz file"},
		{"no file", func() error { _, _, err := data.LoadTensors(filepath.Join(dir, "no"), device.CPU); return err }, "no such file"},
		{"no device", func() error { _, _, err := data.LoadTensors(valid, device.Sim(9)); return err }, `"x"`},
	} {
		if err := c.f(); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.text)
		}
	}
	if left, err := os.ReadFile(path); err != nil || string(left) != "precious" {
		t.Errorf("a save that failed left %q, %v", left, err)
	}
	if _, _, err := data.LoadTensors(path, device.CPU); !errors.Is(err, safetensors.ErrFormat) {
		t.Errorf("%v does not wrap ErrFormat", err)
	}
}
