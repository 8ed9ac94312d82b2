package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
)

// The picture is points on a logarithmic axis: the time of each side over the first
// side's. Lengths are in pixels.
const (
	width, left, right  = 760, 236, 52
	top, lane, bottom   = 78, 40, 46
	smallest, largest   = 0.4, 1000.0
	radius              = 6.5
	textColor, faint    = "#24292f", "#57606a"
	fonts               = `font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"`
	highlight, gridline = "#0a7d5a", "#d8dee4"
)

// colors of the sides, the first one's first.
var colors = []string{highlight, "#d9730d", "#8250df", "#6e7781", "#cf222e"}

// place returns where a ratio is on the axis.
func place(ratio float64) float64 {
	share := math.Log(ratio/smallest) / math.Log(largest/smallest)
	return left + min(max(share, 0), 1)*(width-left-right)
}

// picture draws the report as SVG.
func (r *Report) picture() []byte {
	var b bytes.Buffer
	height := top + lane*len(r.Rows) + bottom
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" %s font-size="13">`+"\n", width, height, width, height, fonts)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#ffffff"/>`+"\n", width, height)
	text(&b, 16, 26, `font-size="15" font-weight="600" fill="%s"`, textColor)(fmt.Sprintf("Time of a call on the CPU, %s = 1; less is better", r.Sides[0]))
	r.legend(&b)
	r.axis(&b, height)
	for i, row := range r.Rows {
		y := float64(top + lane*i + lane/2)
		text(&b, 16, y-2, `fill="%s"`, textColor)(row.Title)
		text(&b, 16, y+13, `font-size="11" fill="%s"`, faint)(fmt.Sprintf("%s: %s", r.Sides[0], duration(row.Times[r.Sides[0]])))
		r.points(&b, row, y)
	}
	text(&b, 16, float64(height-12), `font-size="11" fill="%s"`, faint)(fmt.Sprintf("%s, %s, %s, %s, float32. Lowest of %d rounds.", r.Processor, r.threads(), r.System, r.Go, r.Rounds))
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// text begins an element whose content is given to what it returns.
func text(b *bytes.Buffer, x, y float64, style string, args ...any) func(content string) {
	return func(content string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, fmt.Sprintf(style, args...), content)
	}
}

func (r *Report) legend(b *bytes.Buffer) {
	x := 16.0
	for i, s := range r.Sides {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="48" r="6" fill="%s"/>`+"\n", x+6, colors[i])
		text(b, x+18, 52.5, `fill="%s"`, textColor)(s)
		x += 44 + 7.2*float64(len(s))
	}
}

func (r *Report) axis(b *bytes.Buffer, height int) {
	end := height - bottom + 4
	for _, ratio := range []float64{0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		color := gridline
		if ratio == 1 {
			color = highlight
		}
		fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="%s"/>`+"\n", place(ratio), top-4, place(ratio), end, color)
		text(b, place(ratio), float64(end+14), `font-size="11" text-anchor="middle" fill="%s"`, faint)(fmt.Sprintf("%g×", ratio))
	}
}

// points draws a row's sides; one that would cover another is moved down.
func (r *Report) points(b *bytes.Buffer, row Row, y float64) {
	var taken [][2]float64
	for i, s := range r.Sides {
		ns, has := row.Times[s]
		if !has {
			continue
		}
		ratio := ns / row.Times[r.Sides[0]]
		at := [2]float64{place(ratio), y}
		for slices.ContainsFunc(taken, func(p [2]float64) bool { return math.Hypot(p[0]-at[0], p[1]-at[1]) < radius+3 }) {
			at[1] += radius + 3
		}
		taken = append(taken, at)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="%g" fill="%s" stroke="#ffffff"><title>%s: %s, %.2f×</title></circle>`+"\n",
			at[0], at[1], radius, colors[i], s, duration(ns), ratio)
	}
}

// duration prints nanoseconds in a unit that fits.
func duration(ns float64) string {
	if ns < 1e6 {
		return fmt.Sprintf("%.3g µs", ns/1e3)
	}
	return fmt.Sprintf("%.3g ms", ns/1e6)
}
