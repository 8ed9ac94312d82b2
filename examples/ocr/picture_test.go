package main

import (
	"image"
	"image/color"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/examples/ocr/geometry"
	"github.com/sinter-go/sinter/examples/ocr/picture"
)

// gray returns a picture of one row of grays.
func gray(width int, values ...uint8) picture.Picture {
	p := picture.New(width, len(values)/width)
	for i, v := range values {
		p.Pix[3*i], p.Pix[3*i+1], p.Pix[3*i+2] = v, v, v
	}
	return p
}

// TestPictureFrom reads an image whose origin is elsewhere, in part transparent.
func TestPictureFrom(t *testing.T) {
	img := image.NewNRGBA(image.Rect(2, 3, 4, 4))
	img.Set(2, 3, color.NRGBA{10, 20, 30, 255})
	want := picture.Picture{Width: 2, Height: 1, Pix: []uint8{30, 20, 10, 255, 255, 255}}
	if diff := cmp.Diff(want, picture.From(img)); diff != "" {
		t.Error(diff)
	}
}

// TestPictureMoves turns, pads and resizes.
func TestPictureMoves(t *testing.T) {
	p := gray(3, 1, 2, 3, 4, 5, 6)
	resized := func(p picture.Picture, width, height int) picture.Picture {
		q, err := p.Resize(width, height)
		if err != nil {
			t.Error(err)
		}
		return q
	}
	for name, test := range map[string]struct{ got, want picture.Picture }{
		"turned":       {p.Turn(), gray(2, 3, 6, 2, 5, 1, 4)},
		"turned twice": {p.Turn().Turn(), gray(3, 6, 5, 4, 3, 2, 1)},
		"padded":       {gray(2, 7, 8).Pad(1), gray(2, 0, 0, 7, 8, 0, 0)},
		"wider":        {resized(gray(2, 0, 100), 4, 1), gray(4, 0, 25, 75, 100)},
		"smaller":      {resized(gray(4, 0, 50, 100, 200), 2, 1), gray(2, 25, 150)},
		"same":         {resized(p, 3, 2), p},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestPictureCut cuts out rectangles, upright and turned, and nothing.
func TestPictureCut(t *testing.T) {
	p := gray(4, 0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33)
	at := func(x, y float64) geometry.Point { return geometry.Point{X: x, Y: y} }
	for name, test := range map[string]struct {
		box  geometry.Quad
		want picture.Picture
	}{
		"upright": {geometry.Quad{at(1, 1), at(3, 1), at(3, 3), at(1, 3)}, gray(2, 11, 12, 21, 22)},
		"turned":  {geometry.Quad{at(1, 3), at(1, 1), at(3, 1), at(3, 3)}, gray(2, 31, 21, 32, 22)},
		"a line":  {geometry.Quad{at(1, 1), at(3, 1), at(3, 1), at(1, 1)}, picture.Picture{}},
	} {
		if diff := cmp.Diff(test.want, p.Cut(test.box)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestPicturePlanes writes the colours apart, between -1 and 1.
func TestPicturePlanes(t *testing.T) {
	p := picture.Picture{Width: 1, Height: 1, Pix: []uint8{0, 255, 0}}
	to := make([]float32, 6)
	p.Planes(to, 2)
	if diff := cmp.Diff([]float32{-1, 0, 1, 0, -1, 0}, to); diff != "" {
		t.Error(diff)
	}
}
