// Package report draws a compiled program as an HTML page: its steps from top to bottom, what
// flows between them as arcs on the left, and on the right where in memory their results lie
// while they are needed.
package report

import (
	"fmt"
	"html"
	"io"
	"path"
	"strings"

	"github.com/sinter-go/sinter/ir/program"
)

// A Fact is a line of the table above the drawing.
type Fact struct{ Name, Value string }

// Extents of the drawing, in pixels.
const (
	row    = 22  // height of a step
	arcs   = 140 // width of what is left of the steps
	text   = 480 // width of the steps
	memory = 360 // width of the memory
	head   = 30
)

// Page writes the page. eager is how many bytes an eager run of the same function holds at
// most.
func Page(w io.Writer, title string, facts []Fact, p *program.Program, eager int64) error {
	var out strings.Builder
	fmt.Fprintf(&out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>\n%s</head><body>\n<h1>%s</h1>\n<table>\n",
		html.EscapeString(title), style, html.EscapeString(title))
	for _, f := range facts {
		fmt.Fprintf(&out, "<tr><td>%s</td><td>%s</td></tr>\n", html.EscapeString(f.Name), html.EscapeString(f.Value))
	}
	out.WriteString("</table>\n")
	d := drawing{out: &out, p: p, layout: p.Place(), eager: eager, rows: map[int]int{}}
	d.draw()
	out.WriteString("</body></html>\n")
	_, err := io.WriteString(w, out.String())
	return err
}

const style = `<style>
body { font: 15px system-ui, sans-serif; color: #222; max-width: 1000px; margin: 2em auto }
h1 { font-weight: 600; font-size: 1.4em }
td { padding: .15em 1.5em .15em 0 } td:last-child { font-variant-numeric: tabular-nums }
svg text { font: 12px ui-monospace, monospace } svg .at { fill: #888 } svg .head { font: 600 12px system-ui, sans-serif }
.flow { fill: none; stroke: #5b8def; stroke-opacity: .35 } .flow:hover { stroke-opacity: 1; stroke-width: 2 }
.step { fill: #f3f5f9 } g:hover > .step { fill: #dfe8fb }
.life { fill: #f2a65a; stroke: #fff } .over { fill: #8cc084; stroke: #fff } .life:hover, .over:hover { fill: #d1495b }
.eager { fill: none; stroke: #d1495b; stroke-width: 1.5; stroke-dasharray: 4 3 }
p { max-width: 62em; line-height: 1.5 }
</style>
`

// A drawing is made once.
type drawing struct {
	out    *strings.Builder
	p      *program.Program
	layout *program.Layout
	eager  int64       // bytes
	rows   map[int]int // by step; effects on the host have none
}

func (d *drawing) draw() {
	for i := range d.p.Steps {
		if d.p.Steps[i].Action != program.Effect {
			d.rows[i] = len(d.rows)
		}
	}
	block := d.block()
	fmt.Fprintf(d.out, `<p>Each line is a step, with the line of the program that asked for it. Arcs on the left lead from a step to those that read its
result. On the right is memory, from the beginning of the program's block on: a box is a result, from the step that writes it to the last that
reads it; green ones are written over an operand. The dashed line is the most that eager code holds at a time. In all, boxes and results that leave
the program need %s, and eager code %s.</p>
`, Bytes(d.p.Peak(d.layout)), Bytes(d.eager))
	fmt.Fprintf(d.out, "<svg width=\"%d\" height=\"%d\">\n", arcs+text+memory, head+row*len(d.rows)+10)
	fmt.Fprintf(d.out, "<text class=\"head\" x=\"%d\" y=\"18\">steps</text><text class=\"head\" x=\"%d\" y=\"18\">memory, %s across</text>\n", arcs+6, arcs+text, Bytes(block))
	d.steps()
	d.flows()
	d.lives(block)
	d.most(block)
	d.out.WriteString("</svg>\n")
}

// block returns how many bytes the memory's width stands for.
func (d *drawing) block() int64 {
	most := max(d.eager, 1)
	for _, n := range d.layout.Blocks {
		most = max(most, n)
	}
	return most
}

func (d *drawing) y(step int) int { return head + row*d.rows[step] }

func (d *drawing) steps() {
	for i := range d.p.Steps {
		s := &d.p.Steps[i]
		if _, shown := d.rows[i]; !shown {
			continue
		}
		label := s.Name()
		if len(s.Call.Out) > 0 {
			label += fmt.Sprint(" ", s.Call.Out[0].DType, s.Call.Out[0].Shape)
		}
		var reads []string
		for _, v := range s.Call.In {
			reads = append(reads, fmt.Sprint(v.DType, v.Shape))
		}
		y := d.y(i)
		fmt.Fprintf(d.out, "<g><rect class=\"step\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\"/><text x=\"%d\" y=\"%d\">%s</text><text class=\"at\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text><title>%s</title></g>\n",
			arcs, y+1, text-16, row-2, arcs+6, y+15, html.EscapeString(label), arcs+text-22, y+15, html.EscapeString(path.Base(s.Line)), html.EscapeString("reads "+strings.Join(reads, ", ")))
	}
}

// flows draws an arc from the step that made a value to each that reads it.
func (d *drawing) flows() {
	writer := map[[2]int]int{}
	for i := range d.p.Steps {
		for _, r := range d.p.Steps[i].In {
			from, made := writer[[2]int{r.Buffer, r.Version}]
			if !made {
				continue
			}
			a, b := d.y(from)+row/2, d.y(i)+row/2
			reach := min(arcs-10, 8+(b-a)/3)
			fmt.Fprintf(d.out, "<path class=\"flow\" d=\"M%d %d C%d %d %d %d %d %d\"><title>%s to %s</title></path>\n", arcs, a, arcs-reach, a, arcs-reach, b, arcs, b,
				html.EscapeString(d.p.Steps[from].Name()), html.EscapeString(d.p.Steps[i].Name()))
		}
		for _, r := range d.p.Steps[i].Out {
			writer[[2]int{r.Buffer, r.Version}] = i
		}
	}
}

// lives draws where temporaries lie, and when.
func (d *drawing) lives(block int64) {
	ends := map[int64]int{} // by offset, the step that reads its last buffer last
	for step := range d.p.Steps {
		for i := range d.p.Buffers {
			b, at := &d.p.Buffers[i], d.layout.Offsets[i]
			if at < 0 || b.First != step {
				continue
			}
			class := "life"
			if end, before := ends[at]; before && end == step {
				class = "over"
			}
			ends[at] = b.Last
			fmt.Fprintf(d.out, "<rect class=%q x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"><title>%s</title></rect>\n", class,
				float64(arcs+text)+float64(at)*memory/float64(block), d.y(b.First)+1, max(1, float64(b.Bytes)*memory/float64(block)),
				d.y(b.Last)-d.y(b.First)+row-2, html.EscapeString(fmt.Sprintf("%s made by %s", Bytes(b.Bytes), d.p.Steps[b.First].Name())))
		}
	}
}

// most draws the most memory that eager code holds.
func (d *drawing) most(block int64) {
	x := float64(arcs+text) + float64(d.eager)*memory/float64(block)
	fmt.Fprintf(d.out, "<polyline class=\"eager\" points=\"%.1f,%d %.1f,%d\"/>\n", x, head, x, head+row*len(d.rows))
}

// Bytes writes a number of bytes for people.
func Bytes(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprint(n, " bytes")
}
