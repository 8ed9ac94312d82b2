package onnx_test

import (
	"context"
	"flag"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/precision"
)

var (
	models = flag.String("models", "", "the folder that testdata/models.py made")
	dev    = flag.String("device", "cpu", "where they run")
)

// place returns the device of the flag.
func place(t testing.TB) tensor.Option {
	d, err := device.Parse(*dev)
	if err != nil {
		t.Fatal(err)
	}
	return tensor.On(d)
}

// jumps returns the part of the largest number by which a model's numbers may differ: a
// fiftieth of those that quantize while they run. The speaker encoder does so in 80 steps
// of three layers: onnxruntime's own numbers move by a half of the largest one where the
// operands change by a part of 1e-5, so that it has a twentieth.
func jumps(name string) float64 {
	switch {
	case name == "speaker_int8":
		return 1. / 20
	case strings.HasSuffix(name, "_int8"):
		return 1. / 50
	}
	return 0
}

// TestModels compares real models with onnxruntime's outputs: to a thousandth of each
// number, or a ten-thousandth of the largest one. Those that quantize while they run, whose
// numbers jump from one integer to the next, to a part of the largest one: see jumps. What one
// operator computes is in testdata/contrib.py.
func TestModels(t *testing.T) {
	if *models == "" {
		t.Skip("no -models")
	}
	files, err := filepath.Glob(filepath.Join(*models, "*.onnx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no models in %s: %v", *models, err)
	}
	set := func(on bool) { precision.SetMatmulTF32(on); precision.SetConvTF32(on) }
	set(false) // GPUs round operands otherwise
	t.Cleanup(func() { set(true) })
	for _, file := range files {
		name := strings.TrimSuffix(file, ".onnx")
		t.Run(filepath.Base(name), func(t *testing.T) {
			model, err := onnx.Load(file, place(t))
			if err != nil {
				t.Fatal(err)
			}
			inputs, err := data.LoadArrays(name+".in.npz", device.CPU)
			if err != nil {
				t.Fatal(err)
			}
			want, err := data.LoadArrays(name+".out.npz", device.CPU)
			if err != nil {
				t.Fatal(err)
			}
			got, err := model.Run(context.Background(), inputs)
			if err != nil {
				t.Fatal(err)
			}
			for output, w := range want {
				compare(t, output, got[output].CPU(), w, jumps(filepath.Base(name)))
			}
		})
	}
}

// compare fails where two tensors differ by more than a thousandth, or the part of the largest.
func compare(t *testing.T, name string, got, want tensor.Tensor, part float64) {
	t.Helper()
	if got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) {
		t.Fatalf("%s is %s %v, want %s %v", name, got.DType(), got.Shape(), want.DType(), want.Shape())
	}
	a, err := tensor.Data[float64](got.ToType(tensor.Float64))
	if err != nil {
		t.Fatal(err)
	}
	b, err := tensor.Data[float64](want.ToType(tensor.Float64))
	if err != nil {
		t.Fatal(err)
	}
	largest := 0.0
	for _, v := range b {
		largest = max(largest, math.Abs(v))
	}
	for i := range a {
		if math.Abs(a[i]-b[i]) <= largest*part {
			continue
		}
		if d := math.Abs(a[i] - b[i]); !(d <= 1e-3*max(math.Abs(b[i]), largest*1e-1)) {
			t.Fatalf("%s: element %d is %g, want %g", name, i, a[i], b[i])
		}
	}
}

// BenchmarkModels runs the models one by one, from their second run on.
func BenchmarkModels(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join(*models, "*.onnx"))
	for _, file := range files {
		name := strings.TrimSuffix(file, ".onnx")
		b.Run(filepath.Base(name), func(b *testing.B) {
			model, err := onnx.Load(file, place(b))
			if err != nil {
				b.Skip(err)
			}
			inputs, err := data.LoadArrays(name+".in.npz", device.CPU)
			if err != nil {
				b.Fatal(err)
			}
			run := func() {
				out, err := model.Run(context.Background(), inputs)
				if err != nil {
					b.Fatal(err)
				}
				for _, t := range out {
					if t.Device() != device.CPU { // waits for it
						if _, err := t.Bytes(); err != nil {
							b.Fatal(err)
						}
					}
					t.Release()
				}
			}
			run()
			run()
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

// BenchmarkLoad loads the models.
func BenchmarkLoad(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join(*models, "*.onnx"))
	for _, file := range files {
		b.Run(filepath.Base(strings.TrimSuffix(file, ".onnx")), func(b *testing.B) {
			for b.Loop() {
				if _, err := onnx.Load(file, place(b)); err != nil {
					b.Skip(err)
				}
			}
		})
	}
}
