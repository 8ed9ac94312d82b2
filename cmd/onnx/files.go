package main

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // for image.Decode
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx"
	"github.com/sinter-go/sinter/runtime/device"
)

// A list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// inputs reads what the flags -in name: an archive of arrays, NAME=FILE of an array or a
// picture, or FILE where the model has one input.
func (j *job) inputs() (map[string]tensor.Tensor, error) {
	all := map[string]tensor.Tensor{}
	for _, arg := range j.in {
		if filepath.Ext(arg) == ".npz" && !strings.Contains(arg, "=") {
			arrays, err := data.LoadArrays(arg, device.CPU)
			if err != nil {
				return nil, err
			}
			for name, t := range arrays {
				all[name] = t
			}
			continue
		}
		name, file, ok := strings.Cut(arg, "=")
		var of *onnx.Value
		for _, v := range j.model.Inputs() {
			if !ok && of == nil && !v.Optional {
				name, file = v.Name, arg
			}
			if v.Name == name {
				of = &v
			}
		}
		if of == nil {
			return nil, fmt.Errorf("the model has no input %q; it takes %v", name, j.model.Inputs())
		}
		t, err := j.read(file, *of)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[name] = t
	}
	return all, nil
}

// read returns an array, or a picture as the input takes it.
func (j *job) read(file string, v onnx.Value) (tensor.Tensor, error) {
	if filepath.Ext(file) == ".npy" {
		return data.LoadArray(file, device.CPU)
	}
	f, err := os.Open(file)
	if err != nil {
		return tensor.Tensor{}, err
	}
	defer f.Close()
	picture, _, err := image.Decode(f)
	if err != nil {
		return tensor.Tensor{}, err
	}
	mean, err := numbers(j.mean)
	if err != nil {
		return tensor.Tensor{}, err
	}
	deviation, err := numbers(j.deviation)
	if err != nil {
		return tensor.Tensor{}, err
	}
	return fromPicture(picture, v, mean, deviation)
}

// numbers reads three numbers, or one for all of them.
func numbers(s string) (n [3]float64, err error) {
	words := strings.Split(s, ",")
	if len(words) != 1 && len(words) != 3 {
		return n, fmt.Errorf("%q is neither one number nor three", s)
	}
	for i := range n {
		if n[i], err = strconv.ParseFloat(words[i%len(words)], 64); err != nil {
			return n, err
		}
	}
	return n, nil
}

// An arrangement is which axes of an input are a picture's.
type arrangement struct{ channels, height, width int }

// arrange finds the axes of a picture, [n, channels, height, width] or [n, height, width,
// channels], with or without the first.
func arrange(v onnx.Value) (a arrangement, err error) {
	r := len(v.Axes)
	if !v.Known || r < 3 || r > 4 {
		return a, fmt.Errorf("a picture for %s, want an input of three or four axes", v)
	}
	few := func(i int) bool { return v.Axes[i].Extent == 1 || v.Axes[i].Extent == 3 }
	if few(r-1) && !few(r-3) {
		return arrangement{r - 1, r - 3, r - 2}, nil
	}
	return arrangement{r - 3, r - 2, r - 1}, nil
}

// fromPicture returns a picture in the layout and dtype of an input, resized where its extents
// are fixed: bytes as they are, and numbers from 0 to 1 less mean, divided by deviation.
func fromPicture(p image.Image, v onnx.Value, mean, deviation [3]float64) (tensor.Tensor, error) {
	a, err := arrange(v)
	if err != nil {
		return tensor.Tensor{}, err
	}
	b := p.Bounds()
	if b.Empty() {
		return tensor.Tensor{}, errors.New("an empty picture")
	}
	extent := func(axis, own int) int {
		if n := v.Axes[axis].Extent; n > 0 {
			return n
		}
		return own
	}
	channels, h, w := extent(a.channels, 3), extent(a.height, b.Dy()), extent(a.width, b.Dx())
	if channels != 1 && channels != 3 {
		return tensor.Tensor{}, fmt.Errorf("a picture for %d channels, want 1 or 3", channels)
	}
	t := pixels(p)
	if t.Size(2) != h || t.Size(3) != w {
		t = t.Interpolate([]int{h, w}, tensor.ResizeModeLinear)
	}
	if channels == 1 {
		gray := tensor.From([]float32{0.299, 0.587, 0.114}, 1, 3, 1, 1)
		t = t.Mul(gray).Sum(tensor.Dim(1), tensor.KeepDim())
	}
	if v.DType == tensor.Uint8 {
		t = t.MulScalar(255).Round()
	} else {
		own := []int{1, channels, 1, 1}
		t = t.Sub(tensor.From(mean[:channels], own...)).Div(tensor.From(deviation[:channels], own...))
	}
	if a.channels > a.height {
		t = t.Permute(0, 2, 3, 1)
	}
	if len(v.Axes) == 3 {
		t = t.Squeeze(0)
	}
	return t.Contiguous().ToType(v.DType), nil
}

// pixels returns red, green and blue of a picture, from 0 to 1, as [1, 3, height, width].
func pixels(p image.Image) tensor.Tensor {
	b := p.Bounds()
	size := b.Dx() * b.Dy()
	list := make([]float64, 3*size)
	for i := range size {
		red, green, blue, _ := p.At(b.Min.X+i%b.Dx(), b.Min.Y+i/b.Dx()).RGBA()
		for c, v := range [3]uint32{red, green, blue} {
			list[c*size+i] = float64(v) / 0xffff
		}
	}
	return tensor.From(list, 1, 3, b.Dy(), b.Dx())
}

// save writes results: all as an archive of arrays, or the first as an array or a picture.
func (j *job) save(outputs map[string]tensor.Tensor) error {
	name := j.model.Outputs()[0].Name
	file := j.to
	if of, rest, ok := strings.Cut(j.to, "="); ok {
		name, file = of, rest
	}
	t, ok := outputs[name]
	if !ok {
		return fmt.Errorf("the model has no output %q; it gives %v", name, j.model.Outputs())
	}
	switch filepath.Ext(file) {
	case ".npz":
		return data.SaveArrays(file, outputs)
	case ".npy":
		return data.SaveArray(file, t)
	case ".png":
		return savePicture(file, t)
	}
	return fmt.Errorf("%s: want .npz, .npy or .png", file)
}

// savePicture writes [height, width], or [channels, height, width] with 1 or 3 channels, first or
// last and behind axes of extent 1, as a picture: bytes as they are, numbers from 0 to 1.
func savePicture(file string, t tensor.Tensor) error {
	for t.Rank() > 2 && t.Size(0) == 1 {
		t = t.Select(0, 0)
	}
	channels := func(axis int) bool { return t.Size(axis) == 1 || t.Size(axis) == 3 }
	if t.Rank() == 3 && channels(2) && !channels(0) {
		t = t.Permute(2, 0, 1)
	}
	if t.Rank() == 2 {
		t = t.Unsqueeze(0)
	}
	if t.Rank() != 3 || !channels(0) {
		return fmt.Errorf("%s: no picture has the shape %v", file, t.Shape())
	}
	scale := 255.0
	if t.DType() == tensor.Uint8 {
		scale = 1
	}
	list, err := tensor.Data[float64](t.CPU().ToType(tensor.Float64).Contiguous())
	if err != nil {
		return err
	}
	n, h, w := t.Size(0), t.Size(1), t.Size(2)
	picture := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range h * w {
		var bytes [3]uint8
		for c := range bytes {
			bytes[c] = uint8(math.Round(min(max(scale*list[c%n*h*w+i], 0), 255)))
		}
		picture.SetRGBA(i%w, i/w, color.RGBA{bytes[0], bytes[1], bytes[2], 255})
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, picture), f.Close())
}
