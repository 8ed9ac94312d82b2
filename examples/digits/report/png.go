package report

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

const (
	pngWidth, pngHeight = 14 * vg.Inch, 7 * vg.Inch
	dpi                 = 110
	margin              = 14 // points around and between the plots
)

// Blue and vermilion stay apart for the colour-blind and in print.
var (
	trainColor = color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	testColor  = color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	gridColor  = color.Gray{Y: 0xd8}
)

// sans is in the module's own fonts, so a picture is the same on every machine.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

// SavePNG writes the picture that WritePNG draws to the file at path.
func SavePNG(path, title string, h History, c Confusion) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := WritePNG(f, title, h, c); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// WritePNG draws loss and accuracy by epoch, one above the other, and the
// confusion matrix beside them, and writes the picture to w as a PNG of 1540 by
// 770 pixels. The same numbers give the same picture.
func WritePNG(w io.Writer, title string, h History, c Confusion) error {
	if err := h.check(); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	loss, err := curvePlot("Loss", h.TrainLoss, h.TestLoss, func(v float64) string { return fmt.Sprintf("%.3g", v) })
	if err != nil {
		return err
	}
	accuracy, err := curvePlot("Accuracy", h.TrainAccuracy, h.TestAccuracy, percent)
	if err != nil {
		return err
	}
	accuracy.X.Label.Text = "epoch"
	accuracy.Y.Min, accuracy.Y.Max = math.Max(accuracy.Y.Min, 0), math.Min(accuracy.Y.Max, 1)
	matrix, err := matrixPlot(c)
	if err != nil {
		return err
	}

	img := vgimg.NewWith(vgimg.UseWH(pngWidth, pngHeight), vgimg.UseDPI(dpi))
	page := draw.New(img)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	heading := text(16, draw.XCenter, draw.YTop)
	page.FillText(heading, vg.Point{X: page.Center().X, Y: page.Max.Y - margin}, title)
	page = draw.Crop(page, margin, -margin, margin, -margin-30)
	side := page.Max.Y - page.Min.Y // of the matrix, which is about square
	left := draw.Crop(page, 0, -side-2*margin, 0, 0)
	right := draw.Crop(page, page.Max.X-page.Min.X-side, 0, 0, 0)
	tiles := draw.Tiles{Rows: 2, Cols: 1, PadY: margin}
	stack := [][]*plot.Plot{{loss}, {accuracy}}
	for i, row := range plot.Align(stack, tiles, left) {
		stack[i][0].Draw(row[0])
	}
	matrix.Draw(right)

	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(w); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// text returns a style in black of the given size in points.
func text(size font.Length, x draw.XAlignment, y draw.YAlignment) draw.TextStyle {
	return draw.TextStyle{
		Color:   color.Black,
		Font:    font.From(sans, size),
		XAlign:  x,
		YAlign:  y,
		Handler: plot.DefaultTextHandler,
	}
}

// newPlot returns an empty plot in the sizes that the picture uses.
func newPlot(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font = font.From(sans, 13)
	p.Title.Padding = 6
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = font.From(sans, 11)
		axis.Tick.Label.Font = font.From(sans, 10)
	}
	p.Legend.TextStyle.Font = font.From(sans, 11)
	p.Legend.ThumbnailWidth = 24
	p.Legend.Padding = 2
	p.Legend.Top, p.Legend.YOffs = true, 28 // beside the title, where no line hides it
	return p
}

// percent formats a share of 1.
func percent(v float64) string { return fmt.Sprintf("%.4g%%", 100*v) }

// curvePlot draws two lines over the epochs, which count from 1. Values that
// are not finite are left out.
func curvePlot(title string, train, test []float64, format func(float64) string) (*plot.Plot, error) {
	p := newPlot(title)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = gridColor, gridColor
	p.Add(grid)
	for _, s := range []struct {
		name   string
		values []float64
		color  color.Color
		glyph  draw.GlyphDrawer
		dashes []vg.Length
	}{
		{"train", train, trainColor, draw.CircleGlyph{}, nil},
		{"test", test, testColor, draw.BoxGlyph{}, []vg.Length{6, 3}},
	} {
		var points plotter.XYs
		for i, v := range finite(s.values) {
			if !math.IsNaN(v) {
				points = append(points, plotter.XY{X: float64(i + 1), Y: v})
			}
		}
		if len(points) == 0 {
			p.Legend.Add(s.name + ": nothing finite")
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, fmt.Errorf("report: %s: %w", title, err)
		}
		line.Color, line.Width, line.Dashes = s.color, 1.8, s.dashes
		dots.Color, dots.Shape, dots.Radius = s.color, s.glyph, 2.2
		p.Add(line)
		if len(s.values) <= 40 { // more would hide the line
			p.Add(dots)
		}
		p.Legend.Add(s.name+" "+format(points[len(points)-1].Y), line)
	}
	p.X.Min, p.X.Max = 1, math.Max(2, float64(len(train)))
	p.X.Tick.Marker = plot.TickerFunc(epochTicks)
	p.Y.Min, p.Y.Max = around(p.Y.Min, p.Y.Max)
	p.Y.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		return ticks(low, high, step(low, high, 6), format)
	})
	return p, nil
}

// around returns the range for values from low to high: to whole steps, so that
// the lines lie between marked values. The values may be none or all the same.
func around(low, high float64) (float64, float64) {
	if math.IsInf(low, 0) || math.IsInf(high, 0) {
		return 0, 1
	}
	if s := step(low, high, 6); s > 0 && high > low {
		return math.Floor(low/s) * s, math.Ceil(high/s) * s
	}
	room := math.Max(math.Abs(low)/2, 0.5)
	return low - room, high + room
}

// step returns the least of 1, 2 and 5 times a power of ten that divides low to
// high into at most n parts, about.
func step(low, high float64, n int) float64 {
	wanted := (high - low) / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(wanted)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= wanted*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

// ticks marks the multiples of step from low to high. Adding 0 takes the sign
// from a negative zero.
func ticks(low, high, step float64, format func(float64) string) []plot.Tick {
	var list []plot.Tick
	first := math.Ceil(low/step-1e-6) + 0
	count := math.Floor(high/step+1e-6) - first + 1
	if !(count <= 100) || math.IsInf(step, 0) { // also when count is no number
		return nil
	}
	for i := range int(count) {
		v := (first + float64(i)) * step
		list = append(list, plot.Tick{Value: v, Label: format(v)})
	}
	return list
}

// epochTicks marks at most about ten whole numbers, and the first epoch.
func epochTicks(low, high float64) []plot.Tick {
	whole := func(v float64) string { return fmt.Sprintf("%.0f", v) }
	s := math.Max(1, step(low, high, 10))
	list := ticks(low, high, s, whole)
	if len(list) == 0 || list[0].Value-low > s/2 {
		list = append(list, plot.Tick{Value: low, Label: whole(low)})
	}
	return list
}
