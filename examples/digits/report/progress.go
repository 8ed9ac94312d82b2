package report

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	refresh  = 50 * time.Millisecond // between two drawings of a bar, at least
	barWidth = 30                    // characters
)

// reports is how many lines a whole run takes where no bar can be drawn.
const reports = 10

// A Progress tells how far a run is: by a bar that moves, on a terminal, and by
// a line for each tenth of the way elsewhere. It is used by one goroutine.
type Progress struct {
	w           io.Writer
	label       string
	total, done int
	bar         bool      // it is drawn, and its line not ended
	drawn       time.Time // last
}

// NewProgress returns the progress of a run of the given number of steps,
// written to w. It shows nothing when total is below 1.
func NewProgress(w io.Writer, total int, label string) *Progress {
	_, tty := terminal(w)
	return newProgress(w, tty, total, label)
}

func newProgress(w io.Writer, tty bool, total int, label string) *Progress {
	return &Progress{w: w, label: label, total: total, bar: tty && total > 0}
}

// Step says that a step is done and how things are, such as "loss 0.31". Steps
// beyond the total are ignored.
func (p *Progress) Step(status string) {
	if p.done >= p.total {
		return
	}
	p.done++
	if p.bar {
		if now := time.Now(); p.done == p.total || now.Sub(p.drawn) >= refresh {
			p.drawn = now
			full := barWidth * p.done / p.total
			// \r goes back to the line's begin, \x1b[K clears what is left of it.
			fmt.Fprintf(p.w, "\r%s  %s %3d%% %s%s (%d/%d)\x1b[K", p.label, status, 100*p.done/p.total,
				strings.Repeat("█", full), strings.Repeat("░", barWidth-full), p.done, p.total)
		}
		return
	}
	if p.done == p.total || p.done*reports/p.total > (p.done-1)*reports/p.total {
		fmt.Fprintf(p.w, "%s  %3d%%  %d/%d  %s\n", p.label, 100*p.done/p.total, p.done, p.total, status)
	}
}

// Close ends the bar, so that what is written next begins a line.
func (p *Progress) Close() {
	if !p.bar {
		return
	}
	fmt.Fprintln(p.w)
	p.bar, p.total = false, 0
}
