package picture

import (
	"image"
	"image/color"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/examples/ocr/geometry"
)

// gray returns a picture of one row of grays.
func gray(width int, values ...uint8) Picture {
	p := New(width, len(values)/width)
	for i, v := range values {
		p.Pix[3*i], p.Pix[3*i+1], p.Pix[3*i+2] = v, v, v
	}
	return p
}

// TestFrom reads an image whose origin is elsewhere, in part transparent.
func TestFrom(t *testing.T) {
	img := image.NewNRGBA(image.Rect(2, 3, 4, 4))
	img.Set(2, 3, color.NRGBA{10, 20, 30, 255})
	want := Picture{2, 1, []uint8{30, 20, 10, 255, 255, 255}}
	if diff := cmp.Diff(want, From(img)); diff != "" {
		t.Error(diff)
	}
}

// TestMoves turns, pads and resizes.
func TestMoves(t *testing.T) {
	p := gray(3, 1, 2, 3, 4, 5, 6)
	resized := func(p Picture, width, height int) Picture {
		q, err := p.Resize(width, height)
		if err != nil {
			t.Error(err)
		}
		return q
	}
	for name, test := range map[string]struct{ got, want Picture }{
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

// TestCut cuts out rectangles, upright and turned, and nothing.
func TestCut(t *testing.T) {
	p := gray(4, 0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33)
	at := func(x, y float64) geometry.Point { return geometry.Point{X: x, Y: y} }
	for name, test := range map[string]struct {
		box  geometry.Quad
		want Picture
	}{
		"upright": {geometry.Quad{at(1, 1), at(3, 1), at(3, 3), at(1, 3)}, gray(2, 11, 12, 21, 22)},
		"turned":  {geometry.Quad{at(1, 3), at(1, 1), at(3, 1), at(3, 3)}, gray(2, 31, 21, 32, 22)},
		"a line":  {geometry.Quad{at(1, 1), at(3, 1), at(3, 1), at(1, 1)}, Picture{}},
	} {
		if diff := cmp.Diff(test.want, p.Cut(test.box)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestPlanes writes the colours apart, between -1 and 1.
func TestPlanes(t *testing.T) {
	p := Picture{1, 1, []uint8{0, 255, 0}}
	to := make([]float32, 6)
	p.Planes(to, 2)
	if diff := cmp.Diff([]float32{-1, 0, 1, 0, -1, 0}, to); diff != "" {
		t.Error(diff)
	}
}
