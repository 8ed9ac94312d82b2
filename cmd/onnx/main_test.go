package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx"
	"github.com/sinter-go/sinter/runtime/device"
)

const classifier = "../../docs/guide/files/classifier.onnx"

// The commands do what they say with the guide's model.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "x.npy"), filepath.Join(dir, "out.npz")
	if err := data.SaveArray(in, tensor.From([]float32{1, 2, 3, 0, 0, 1}, 2, 3)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args, want string
		fails      bool
	}{
		{args: "info " + classifier, want: "x float [n, 3]"},
		{args: "run -in " + in + " -out " + out + " " + classifier, want: "probabilities float32 [2 2]"},
		{args: "run -in x=" + in + " -out probabilities=" + filepath.Join(dir, "y.npy") + " " + classifier, want: "[2 2]"},
		{args: "check -in " + in + " -want " + out + " " + classifier, want: "largest difference 0"},
		{args: "bench -span 1ms -json -in " + in + " " + classifier, want: `"first":`},
		{args: "run -in z=" + in + " " + classifier, want: `no input "z"`, fails: true},
		{args: "run -in " + in + " -out y.txt " + classifier, want: "want .npz, .npy or .png", fails: true},
		{args: "run", want: "usage", fails: true},
	}
	for _, test := range tests {
		var text bytes.Buffer
		err := command(&text, strings.Fields(test.args))
		if err != nil {
			text.WriteString(err.Error())
		}
		if test.fails != (err != nil) || !strings.Contains(text.String(), test.want) {
			t.Errorf("%s: %s, want %q", test.args, text.String(), test.want)
		}
	}
}

// A picture becomes what an input takes, and comes back as it was.
func TestPictures(t *testing.T) {
	picture := image.NewRGBA(image.Rect(3, 4, 7, 6)) // 4 wide, 2 high
	for i := range 8 {
		picture.SetRGBA(3+i%4, 4+i/4, color.RGBA{uint8(30 * i), uint8(255 - i), 7, 255})
	}
	input := func(d tensor.DType, extents ...int) onnx.Value {
		v := onnx.Value{Name: "x", DType: d, Known: true}
		for _, n := range extents {
			v.Axes = append(v.Axes, onnx.Axis{Extent: n})
		}
		return v
	}
	none, one := [3]float64{}, [3]float64{1, 1, 1}
	for _, v := range []onnx.Value{input(tensor.Float32, 1, 3, -1, -1), input(tensor.Float32, -1, -1, -1, 3), input(tensor.Uint8, 3, 2, 4), input(tensor.Uint8, 2, 4, 3)} {
		x, err := fromPicture(picture, v, none, one)
		if err != nil || x.Err() != nil {
			t.Fatal(v, err, x.Err())
		}
		file := filepath.Join(t.TempDir(), "p.png")
		if err := savePicture(file, x); err != nil {
			t.Fatal(v, err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		back, err := png.Decode(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			if got, want := color.RGBAModel.Convert(back.At(i%4, i/4)), picture.At(3+i%4, 4+i/4); got != want {
				t.Errorf("%v: pixel %d is %v, want %v", v, i, got, want)
			}
		}
	}
	x, err := fromPicture(picture, input(tensor.Float32, 1, 1, 1, 2), [3]float64{0.5}, [3]float64{0.25})
	if err != nil || !slices.Equal(x.Shape(), []int{1, 1, 1, 2}) || x.Device() != device.CPU {
		t.Errorf("a gray picture of another size: %v, %v", x.Shape(), err)
	}
	if _, err := fromPicture(picture, input(tensor.Float32, 1, 4), none, one); err == nil {
		t.Error("a picture for two axes is no error")
	}
}
