package report

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// reports is how many lines a whole run takes where no bar can be drawn.
const reports = 10

// A Progress tells how far a run is: by a bar that moves, on a terminal, and by
// a line for each tenth of the way elsewhere. It is used by one goroutine.
type Progress struct {
	w           io.Writer
	label       string
	total, done int
	bar         *progressbar.ProgressBar // nil where none can be drawn
}

// NewProgress returns the progress of a run of the given number of steps,
// written to w. It shows nothing when total is below 1.
func NewProgress(w io.Writer, total int, label string) *Progress {
	_, tty := terminal(w)
	return newProgress(w, tty, total, label)
}

func newProgress(w io.Writer, tty bool, total int, label string) *Progress {
	p := &Progress{w: w, label: label, total: total}
	if tty && total > 0 {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription(label),
			progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(),
			progressbar.OptionThrottle(50*time.Millisecond),
			progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: "", BarEnd: ""}),
		)
	}
	return p
}

// Step says that a step is done and how things are, such as "loss 0.31". Steps
// beyond the total are ignored.
func (p *Progress) Step(status string) {
	if p.done >= p.total {
		return
	}
	p.done++
	if p.bar != nil {
		// A bar that cannot be written must not stop the run.
		p.bar.Describe(p.label + "  " + status)
		_ = p.bar.Add(1)
		return
	}
	if p.done == p.total || p.done*reports/p.total > (p.done-1)*reports/p.total {
		fmt.Fprintf(p.w, "%s  %3d%%  %d/%d  %s\n", p.label, 100*p.done/p.total, p.done, p.total, status)
	}
}

// Close ends the bar, so that what is written next begins a line.
func (p *Progress) Close() {
	if p.bar == nil {
		return
	}
	_ = p.bar.Exit()
	fmt.Fprintln(p.w)
	p.bar = nil
	p.total = 0
}
