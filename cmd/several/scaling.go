package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

// A link joins ranks: bytes a second that each moves, and the seconds that a message takes.
type link struct {
	name               string
	bandwidth, latency float64
}

// The links of the estimates: between the GPUs of a machine, and for each GPU between machines.
var (
	inside  = link{"NVLink", 300e9, 5e-6}
	between = link{"network", 50e9, 15e-6}
)

// machine is how many GPUs the first link joins.
const machine = 8

// The network of the estimates: a billion parameters in bfloat16, computed at rate operations
// a second, six for each parameter and token, a third of them forward; buckets as in package dist.
const (
	parameters = 1e9
	gradient   = 2 * parameters
	rate       = 400e12
	bucket     = 25 << 20
)

// slowest is the link that n ranks wait for.
func slowest(n int) link {
	if n > machine {
		return between
	}
	return inside
}

// moving and waiting are the seconds that averaging bytes over n ranks takes: through each
// rank's link as a ring, and for messages as a tree.
func moving(n int, bytes float64) float64 {
	return 2 * float64(n-1) / float64(n) * bytes / slowest(n).bandwidth
}

func waiting(n int) float64 {
	return 2 * math.Ceil(math.Log2(float64(n))) * slowest(n).latency
}

// A load is what each GPU computes in a step, and whether gradients move meanwhile.
type load struct {
	tokens  float64
	overlap bool
	color   string
}

var loads = []load{{8192, true, "#0a7d5a"}, {4096, true, "#2563c9"}, {8192, false, "#d9730d"}, {2048, true, "#8250df"}}

func (l load) String() string {
	if l.overlap {
		return fmt.Sprintf("%.0f tokens a GPU", l.tokens)
	}
	return fmt.Sprintf("%.0f, averaged after the pass", l.tokens)
}

// efficiency is the rate of n GPUs over n times the rate of one.
func (l load) efficiency(n int) float64 {
	alone := 6 * parameters * l.tokens / rate
	if n == 1 {
		return 1
	}
	average := moving(n, gradient) + waiting(n)
	if !l.overlap {
		return alone / (alone + average)
	}
	forward, backward := alone/3, alone*2/3
	last := moving(n, bucket) + waiting(n)
	return alone / (forward + max(backward, average) + last)
}

// estimates prints what averaging costs on paper.
func estimates(w io.Writer) {
	fmt.Fprintln(w, "| GPUs | slowest link | moving | latency, as a tree | together |\n| ---: | --- | ---: | ---: | ---: |")
	for _, n := range []int{8, 64, 1024} {
		l := slowest(n)
		m, a := moving(n, gradient)*1e3, waiting(n)*1e3
		fmt.Fprintf(w, "| %d | %s, %.0f GB/s | %.1f ms | %.2f ms | %.0f ms |\n", n, l.name, l.bandwidth/1e9, m, a, m+a)
	}
}

// The picture's lengths, in pixels.
const (
	width, height            = 760, 380
	left, right, top, bottom = 60, 20, 92, 52
	ink, faint, grid         = "#24292f", "#57606a", "#d8dee4"
	ranks                    = 10 // the last number of GPUs, as a power of two
)

func at(power int, efficiency float64) (x, y float64) {
	return left + float64(power)/ranks*(width-left-right), top + (1-efficiency)*(height-top-bottom)
}

// picture draws efficiency over the number of GPUs, as SVG.
func picture() []byte {
	var b bytes.Buffer
	text := func(x, y float64, style, content string, args ...any) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, style, fmt.Sprintf(content, args...))
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" font-family="system-ui, Helvetica, Arial, sans-serif" font-size="13">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#ffffff"/>`+"\n", width, height)
	text(16, 26, `font-size="15" font-weight="600" fill="`+ink+`"`, "Tokens a second of n GPUs over n times those of one, estimated")
	for i := range 6 {
		share := float64(i) / 5
		x0, y := at(0, share)
		x1, _ := at(ranks, share)
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x0, y, x1, y, grid)
		text(x0-8, y+4, `text-anchor="end" font-size="11" fill="`+faint+`"`, "%.1f", share)
	}
	for power := range ranks + 1 {
		x, y := at(power, 0)
		text(x, y+18, `text-anchor="middle" font-size="11" fill="`+faint+`"`, "%d", 1<<power)
	}
	for i, l := range loads {
		x, y := 16+float64(i%2)*260, 48+float64(i/2)*20
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="18" height="4" fill="%s"/>`+"\n", x, y-2, l.color)
		text(x+26, y+4, `fill="`+ink+`"`, "%s", l)
		var line []string
		for power := range ranks + 1 {
			x, y := at(power, l.efficiency(1<<power))
			line = append(line, fmt.Sprintf("%.1f,%.1f", x, y))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2.5"/>`+"\n", strings.Join(line, " "), l.color)
	}
	text(16, height-12, `font-size="11" fill="`+faint+`"`, "A billion parameters in bfloat16 at %.0f TFLOP/s; up to %d GPUs %.0f GB/s between them, %.0f GB/s for each beyond.",
		rate/1e12, machine, inside.bandwidth/1e9, between.bandwidth/1e9)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// onPaper prints the estimates and draws them to a file.
func onPaper(w io.Writer, file string) error {
	estimates(w)
	return os.WriteFile(file, picture(), 0o644)
}
