package main

import (
	"image"
	"image/color"
	imagedraw "image/draw"
	"image/png"
	"math"
	"os"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"github.com/sinter-go/sinter/examples/ocr/geometry"
	"github.com/sinter-go/sinter/examples/ocr/read"
)

// colors are those of boxes, in turn.
var colors = []color.RGBA{{200, 30, 30, 255}, {30, 120, 200, 255}, {20, 140, 60, 255}, {190, 110, 0, 255}, {130, 50, 160, 255}}

// draw writes a picture with the boxes of lines, and beside it what they say. The font
// has Latin, Greek and Cyrillic letters.
func draw(name string, img image.Image, lines []read.Line) error {
	b := img.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, 2*b.Dx(), b.Dy()))
	imagedraw.Draw(out, out.Bounds(), image.White, image.Point{}, imagedraw.Src)
	imagedraw.Draw(out, image.Rect(0, 0, b.Dx(), b.Dy()), img, b.Min, imagedraw.Over)
	letters, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return err
	}
	for i, line := range lines {
		c := colors[i%len(colors)]
		for k, p := range line.Box {
			q := line.Box[(k+1)%4]
			stroke(out, p, q, c)
			stroke(out, geometry.Point{X: p.X + float64(b.Dx()), Y: p.Y}, geometry.Point{X: q.X + float64(b.Dx()), Y: q.Y}, c)
		}
		if err := write(out, letters, line, float64(b.Dx())); err != nil {
			return err
		}
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := png.Encode(f, out); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// stroke draws a line, two points wide.
func stroke(out *image.RGBA, p, q geometry.Point, c color.RGBA) {
	n := max(int(math.Ceil(geometry.Distance(p, q))), 1)
	for i := range n + 1 {
		f := float64(i) / float64(n)
		x, y := int(p.X+f*(q.X-p.X)), int(p.Y+f*(q.Y-p.Y))
		imagedraw.Draw(out, image.Rect(x, y, x+2, y+2), image.NewUniform(c), image.Point{}, imagedraw.Src)
	}
}

// write puts the text of a line where its box is, shifted to the right, in a size that
// fills the box.
func write(out *image.RGBA, letters *opentype.Font, line read.Line, shift float64) error {
	width, height := line.Box.Sides()
	face, err := opentype.NewFace(letters, &opentype.FaceOptions{Size: max(0.7*min(width, height), 6), DPI: 72})
	if err != nil {
		return err
	}
	defer face.Close()
	at := line.Box[3]
	d := font.Drawer{Dst: out, Src: image.Black, Face: face, Dot: fixed.P(int(at.X+shift)+3, int(at.Y-0.25*min(width, height)))}
	d.DrawString(line.Text)
	return nil
}
