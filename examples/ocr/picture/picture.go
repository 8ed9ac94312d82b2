// Package picture resizes, turns and cuts out pictures, as OpenCV does.
package picture

import (
	"image"
	"image/color"
	"math"
	"slices"

	"github.com/sinter-go/sinter/examples/ocr/geometry"
	"github.com/sinter-go/sinter/generated/tensor"
)

// A Picture has three bytes for each point, row by row: blue, green, red.
type Picture struct {
	Width, Height int
	Pix           []uint8
}

// New returns a black picture.
func New(width, height int) Picture {
	return Picture{width, height, make([]uint8, 3*width*height)}
}

// From returns an image's points, as on white paper where it is transparent.
func From(img image.Image) Picture {
	b := img.Bounds()
	p := New(b.Dx(), b.Dy())
	for y := range p.Height {
		for x := range p.Width {
			c := color.NRGBAModel.Convert(img.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA)
			for k, v := range [3]uint8{c.B, c.G, c.R} {
				p.Pix[3*(y*p.Width+x)+k] = uint8((int(v)*int(c.A) + 255*(255-int(c.A)) + 127) / 255)
			}
		}
	}
	return p
}

// Pad adds black rows above and below.
func (p Picture) Pad(rows int) Picture {
	out := New(p.Width, p.Height+2*rows)
	copy(out.Pix[3*p.Width*rows:], p.Pix)
	return out
}

// Turn returns the picture turned to the left by a quarter.
func (p Picture) Turn() Picture {
	out := New(p.Height, p.Width)
	for y := range p.Height {
		for x := range p.Width {
			copy(out.Pix[3*((p.Width-1-x)*out.Width+y):], p.Pix[3*(y*p.Width+x):][:3])
		}
	}
	return out
}

// Resize returns the picture in another size, by linear interpolation.
func (p Picture) Resize(width, height int) (Picture, error) {
	if width == p.Width && height == p.Height {
		return p, nil
	}
	var pix []uint8
	err := tensor.Scope(func() (err error) {
		x := tensor.FromSlice(p.Pix, []int{1, p.Height, p.Width, 3}).Permute(0, 3, 1, 2).ToType(tensor.Float32)
		x = x.Interpolate([]int{height, width}, tensor.ResizeModeLinear).AddScalar(0.5).ToType(tensor.Uint8)
		pix, err = x.Permute(0, 2, 3, 1).Contiguous().Bytes()
		pix = slices.Clone(pix)
		return err
	})
	return Picture{width, height, pix}, err
}

// Cut returns what is in a quad as a rectangle, by cubic interpolation. Beyond its
// borders the picture goes on as it ends. There is nothing in a quad without area.
func (p Picture) Cut(q geometry.Quad) Picture {
	w, h := q.Sides()
	width, height := int(w), int(h)
	m, ok := geometry.Projection(float64(width), float64(height), q)
	if !ok || width < 1 || height < 1 {
		return Picture{}
	}
	out := New(width, height)
	for y := range height {
		for x := range width {
			fx, fy := float64(x), float64(y)
			d := m[6]*fx + m[7]*fy + 1
			p.cubic((m[0]*fx+m[1]*fy+m[2])/d, (m[3]*fx+m[4]*fy+m[5])/d, out.Pix[3*(y*width+x):][:3])
		}
	}
	return out
}

// cubic interpolates at a place.
func (p Picture) cubic(x, y float64, out []uint8) {
	left, top := math.Floor(x), math.Floor(y)
	wx, wy := weights(x-left), weights(y-top)
	var sum [3]float64
	for j, v := range wy {
		row := min(max(int(top)+j-1, 0), p.Height-1)
		for i, u := range wx {
			column := min(max(int(left)+i-1, 0), p.Width-1)
			for k := range sum {
				sum[k] += u * v * float64(p.Pix[3*(row*p.Width+column)+k])
			}
		}
	}
	for k, s := range sum {
		out[k] = uint8(min(max(s+0.5, 0), 255))
	}
}

// weights are those of four neighbours, of which the second is f to the left.
func weights(f float64) [4]float64 {
	const a = -0.75
	outer := func(x float64) float64 { return ((a*x-5*a)*x+8*a)*x - 4*a }
	inner := func(x float64) float64 { return ((a+2)*x-(a+3))*x*x + 1 }
	return [4]float64{outer(f + 1), inner(f), inner(1 - f), outer(2 - f)}
}

// Planes writes the picture as numbers from -1 to 1, a plane for each colour, into rows
// of a stride.
func (p Picture) Planes(to []float32, stride int) {
	plane := len(to) / 3
	for y := range p.Height {
		for x := range p.Width {
			for k := range 3 {
				to[k*plane+y*stride+x] = float32(p.Pix[3*(y*p.Width+x)+k])/127.5 - 1
			}
		}
	}
}
