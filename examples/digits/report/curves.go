package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/guptarohit/asciigraph"
)

const (
	curveHeight  = 10 // rows of a curve in a terminal
	curveColumns = 64 // columns of one where the width is not known
	axisColumns  = 12 // columns that the axis and its numbers take
)

// Print draws the loss and the accuracy over the epochs as text.
func (h History) Print(w io.Writer) error {
	columns, tty := terminal(w)
	return h.print(w, columns, tty)
}

// print draws in colour, and as wide as the terminal, if tty.
func (h History) print(w io.Writer, columns int, tty bool) error {
	if err := h.check(); err != nil {
		return err
	}
	width := curveColumns
	if tty {
		width = min(max(columns-axisColumns, 20), 100)
	}
	for _, c := range []struct {
		name        string
		train, test []float64
	}{
		{"loss", h.TrainLoss, h.TestLoss},
		{"accuracy", h.TrainAccuracy, h.TestAccuracy},
	} {
		if _, err := fmt.Fprintln(w, curve(c.name, finite(c.train), finite(c.test), width, tty)); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return nil
}

// curve draws two lines that colour tells apart or, without colour, their
// characters do.
func curve(name string, train, test []float64, width int, colour bool) string {
	all := append(slices.Clone(train), test...)
	if !slices.ContainsFunc(all, func(v float64) bool { return !math.IsNaN(v) }) {
		return fmt.Sprintf("%s: no finite values in %d epochs\n", name, len(train))
	}
	options := []asciigraph.Option{
		asciigraph.Width(width),
		asciigraph.Height(curveHeight),
		asciigraph.Precision(3),
		asciigraph.XAxisRange(1, math.Max(2, float64(len(train)))),
		asciigraph.XAxisTickCount(min(max(len(train), 2), 5)),
		asciigraph.XAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%.0f", v) }),
	}
	title := name + " by epoch"
	if colour {
		options = append(options,
			asciigraph.SeriesColors(asciigraph.Blue, asciigraph.Orange),
			asciigraph.SeriesLegends("train", "test"))
	} else {
		title += "   ─ train   • test"
		options = append(options,
			asciigraph.SeriesChars(asciigraph.DefaultCharSet, asciigraph.CreateCharSet("•")))
	}
	if len(train) == 1 { // a line needs two points
		train, test = append(train, train[0]), append(test, test[0])
	}
	text := asciigraph.PlotMany([][]float64{train, test}, options...)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return title + "\n" + strings.Join(lines, "\n") + "\n"
}
