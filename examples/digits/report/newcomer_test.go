package report

import (
	"image/color"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEpochMarks holds that no epoch is marked twice below a curve.
func TestEpochMarks(t *testing.T) {
	axis := regexp.MustCompile(`^ *\d+( +\d+)+$`)
	for n := 2; n < 20; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = 1 / float64(i+1)
		}
		text := curve("loss", values, values, 60, false)
		marks := []string{}
		for _, line := range strings.Split(text, "\n") {
			if axis.MatchString(line) {
				marks = strings.Fields(line)
			}
		}
		if len(marks) < 2 || len(slices.Compact(slices.Clone(marks))) != len(marks) {
			t.Errorf("%d epochs are marked %v:\n%s", n, marks, text)
		}
	}
}

// TestEdges holds that the line between two cells has neither's shade, unless one of them
// is white and the other is not.
func TestEdges(t *testing.T) {
	shade := func(z float64) float64 { return luminance(shades(256).Colors()[int(math.Round(255*z))]) }
	for _, a := range []float64{0, math.Sqrt(1.0 / 36), math.Sqrt(0.5), 1} {
		for _, b := range []float64{0, math.Sqrt(1.0 / 36), math.Sqrt(0.5), 1} {
			line, x, y := luminance(edgeColor(a, b)), shade(a), shade(b)
			if math.Abs(x-y) < 0.05 && math.Abs(line-x) < 0.05 {
				t.Errorf("cells of %.2f and %.2f are divided by %.2f", x, y, line)
			}
		}
	}
}

// luminance returns how light a colour is, from 0 to 1.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	return (0.299*float64(r) + 0.587*float64(g) + 0.114*float64(b)) / 0xffff
}
