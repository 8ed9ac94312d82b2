// Package recognize tells which digit strokes of a pen show. It makes an image of them
// as the data set's images were made, and asks the network that go run ./examples/draw/train
// trained.
package recognize

import (
	"math"

	"github.com/sinter-go/sinter/data/digits"
)

// A Point is where the pen was, in any unit, with y downwards.
type Point struct{ X, Y float64 }

// The data set's images were bitmaps of 32 by 32 that a digit fills from top to bottom,
// of which each value counts the dark pixels in a block of 4 by 4.
const (
	bitmap   = 32
	block    = bitmap / digits.Side
	widest   = 26  // pixels that a digit may be wide; wider ones are squeezed
	ink      = 310 // pixels that a digit of the data set darkens, whichever it is
	thinnest = 3.0 // lines, in pixels
	thickest = 8.0
)

// Image returns the strokes as an image of the data set's form, row by row. It reports
// false for strokes without a point.
func Image(strokes [][]Point) (image [digits.Pixels]uint8, ok bool) {
	fit, ok := fitted(strokes)
	if !ok {
		return image, false
	}
	// The pen is as thick as darkens what a digit of the data set does.
	low, high := thinnest, thickest
	for range 12 {
		if middle := (low + high) / 2; count(raster(fit(middle), middle)) < ink {
			low = middle
		} else {
			high = middle
		}
	}
	for y, row := range raster(fit(low), low) {
		for x, dark := range row {
			if dark {
				image[y/block*digits.Side+x/block]++
			}
		}
	}
	return image, true
}

// fitted returns a function that places strokes in the bitmap, for a thickness of lines:
// centred, and as large as goes without a change of proportions.
func fitted(strokes [][]Point) (fit func(thickness float64) [][]Point, ok bool) {
	low, high := Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	for _, stroke := range strokes {
		for _, p := range stroke {
			low = Point{min(low.X, p.X), min(low.Y, p.Y)}
			high = Point{max(high.X, p.X), max(high.Y, p.Y)}
		}
	}
	width, height := high.X-low.X, high.Y-low.Y
	if !(width >= 0) || math.IsInf(width, 0) || math.IsInf(height, 0) {
		return nil, false
	}
	return func(thickness float64) [][]Point {
		scale := min((bitmap-thickness)/max(height, 1e-9), 2*(widest-thickness)/max(width, 1e-9))
		across := min(scale, (widest-thickness)/max(width, 1e-9))
		out := make([][]Point, len(strokes))
		for i, stroke := range strokes {
			for _, p := range stroke {
				out[i] = append(out[i], Point{
					bitmap/2 + (p.X-low.X-width/2)*across,
					bitmap/2 + (p.Y-low.Y-height/2)*scale,
				})
			}
		}
		return out
	}, true
}

// raster darkens the pixels whose centres are within half a thickness of a stroke.
func raster(strokes [][]Point, thickness float64) (pixels [bitmap][bitmap]bool) {
	for _, stroke := range strokes {
		for i, p := range stroke {
			from := stroke[max(i-1, 0)]
			x0, x1 := reach(from.X, p.X, thickness/2)
			y0, y1 := reach(from.Y, p.Y, thickness/2)
			for y := y0; y < y1; y++ {
				for x := x0; x < x1; x++ {
					if distance(Point{float64(x) + 0.5, float64(y) + 0.5}, from, p) <= thickness/2 {
						pixels[y][x] = true
					}
				}
			}
		}
	}
	return pixels
}

// reach returns the pixels of one axis, from one up to another, that may be within a
// distance of what lies between a and b.
func reach(a, b, within float64) (from, to int) {
	return max(int(min(a, b)-within), 0), min(int(max(a, b)+within)+1, bitmap)
}

// distance returns how far p is from the line from a to b.
func distance(p, a, b Point) float64 {
	dx, dy := b.X-a.X, b.Y-a.Y
	along := 0.0
	if length := dx*dx + dy*dy; length > 0 {
		along = min(max(((p.X-a.X)*dx+(p.Y-a.Y)*dy)/length, 0), 1)
	}
	return math.Hypot(p.X-a.X-along*dx, p.Y-a.Y-along*dy)
}

func count(pixels [bitmap][bitmap]bool) (n int) {
	for _, row := range pixels {
		for _, dark := range row {
			if dark {
				n++
			}
		}
	}
	return n
}
