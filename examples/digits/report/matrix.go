package report

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// shades is a palette from white to a dark blue.
type shades int

// Colors returns the palette's colours.
func (n shades) Colors() []color.Color {
	list := make([]color.Color, n)
	for i := range list {
		t := float64(i) / float64(len(list)-1)
		mix := func(from, to float64) uint8 { return uint8(math.Round(from + t*(to-from))) }
		list[i] = color.RGBA{R: mix(255, 8), G: mix(255, 69), B: mix(255, 128), A: 255}
	}
	return list
}

// A heat is a confusion matrix as a grid: columns are predictions, rows count
// from the bottom, so that the first class is on top.
type heat struct{ Confusion }

func (h heat) Dims() (columns, rows int) { return len(h.Classes), len(h.Classes) }
func (h heat) X(column int) float64      { return float64(column) }
func (h heat) Y(row int) float64         { return float64(row) }

// Z returns the square root of the cell's share of its class: few mistakes
// among many samples are to be seen.
func (h heat) Z(column, row int) float64 {
	counts := h.Counts[len(h.Counts)-1-row]
	return math.Sqrt(share(counts[column], sum(counts)))
}

// matrixPlot draws a confusion matrix with its counts.
func matrixPlot(c Confusion) (*plot.Plot, error) {
	p := newPlot(fmt.Sprintf("Confusion matrix (accuracy %.2f%%)", 100*c.Accuracy()))
	p.X.Label.Text, p.Y.Label.Text = "predicted", "actual"
	grid := heat{c}
	cells := plotter.NewHeatMap(grid, shades(256))
	cells.Min, cells.Max = 0, 1 // also when all counts are 0
	p.Add(cells)
	if err := addEdges(p, grid); err != nil {
		return nil, err
	}

	n := len(c.Classes)
	var labels plotter.XYLabels
	var styles []draw.TextStyle
	var columns, rows plot.ConstantTicks
	for i, name := range c.Classes {
		columns = append(columns, plot.Tick{Value: float64(i), Label: name})
		rows = append(rows, plot.Tick{Value: float64(n - 1 - i), Label: name})
		for j, count := range c.Counts[i] {
			if count == 0 {
				continue
			}
			style := text(12, draw.XCenter, draw.YCenter)
			if grid.Z(j, n-1-i) > 0.6 {
				style.Color = color.White
			}
			labels.XYs = append(labels.XYs, plotter.XY{X: float64(j), Y: float64(n - 1 - i)})
			labels.Labels = append(labels.Labels, strconv.Itoa(count))
			styles = append(styles, style)
		}
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = columns, rows
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Min, axis.Max = -0.5, float64(n)-0.5
		axis.Padding = 0
		axis.Tick.Length = 0
	}
	if len(labels.Labels) > 0 {
		counts, err := plotter.NewLabels(labels)
		if err != nil {
			return nil, fmt.Errorf("report: confusion matrix: %w", err)
		}
		counts.TextStyle = styles
		p.Add(counts)
	}
	return p, nil
}

// addEdges draws a line between all neighbouring cells.
func addEdges(p *plot.Plot, h heat) error {
	n := len(h.Classes)
	for row := range n {
		for column := range n {
			x, y := float64(column), float64(row)
			for _, e := range []struct {
				column, row int // the neighbour
				ends        plotter.XYs
			}{
				{column + 1, row, plotter.XYs{{X: x + 0.5, Y: y - 0.5}, {X: x + 0.5, Y: y + 0.5}}},
				{column, row + 1, plotter.XYs{{X: x - 0.5, Y: y + 0.5}, {X: x + 0.5, Y: y + 0.5}}},
			} {
				if e.column == n || e.row == n {
					continue
				}
				line, err := plotter.NewLine(e.ends)
				if err != nil {
					return fmt.Errorf("report: confusion matrix: %w", err)
				}
				line.Color, line.Width = edgeColor(h.Z(column, row), h.Z(e.column, e.row)), 0.8
				p.Add(line)
			}
		}
	}
	return nil
}

// edgeColor returns the colour of the line between two cells: white where both are shaded,
// since a grey one would be their own shade.
func edgeColor(a, b float64) color.Color {
	if math.Min(a, b) > 0.1 {
		return color.White
	}
	return gridColor
}
