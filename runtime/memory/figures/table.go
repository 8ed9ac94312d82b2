package figures

import (
	"fmt"
	"strings"
)

// tableLines are the rows of Table: a metric's name in Stats, its title, and
// whether it is bytes.
var tableLines = []struct {
	metric, title string
	bytes         bool
}{
	{"allocated_bytes", "Allocated memory", true},
	{"active_bytes", "Active memory", true},
	{"requested_bytes", "Requested memory", true},
	{"reserved_bytes", "Reserved memory", true},
	{"inactive_split_bytes", "Non-releasable memory", true},
	{"allocation", "Allocations", false},
	{"active", "Active allocations", false},
	{"segment", "Reserved segments", false},
	{"inactive_split", "Non-releasable blocks", false},
}

// Table returns a table of the figures of what title names: each metric now, at its peak,
// and its total increase and decrease, for the whole device and, unless abbreviated, for
// each kind of pool.
func (s Stats) Table(title string, abbreviated bool) string {
	metrics := map[string]*Metric{}
	s.Each(func(name string, m *Metric) { metrics[name] = m })

	const width = 75
	var b strings.Builder
	rule := func(c string) { fmt.Fprintf(&b, "|%s|\n", strings.Repeat(c, width)) }
	row := func(cells ...any) { fmt.Fprintf(&b, "| %-22s| %10s | %10s | %10s | %10s |\n", cells...) }
	rule("=")
	fmt.Fprintf(&b, "|%-*s|\n", width, strings.Repeat(" ", max(width-len(title), 0)/2)+title)
	rule("-")
	fmt.Fprintf(&b, "|%-*s|\n", width, fmt.Sprintf(" out of memory: %-20d driver allocations retried: %d", s.OutOfMemory, s.AllocRetries))
	rule("=")
	row("Metric", "Current", "Peak", "Allocated", "Freed")
	for _, l := range tableLines {
		m := metrics[l.metric]
		rule("-")
		row(append([]any{l.title}, m.All.cells(l.bytes)...)...)
		if !abbreviated {
			row(append([]any{"  of large blocks"}, m.Large.cells(l.bytes)...)...)
			row(append([]any{"  of small blocks"}, m.Small.cells(l.bytes)...)...)
		}
	}
	rule("=")
	return b.String()
}

// cells returns the four numbers as the summary writes them.
func (s Stat) cells(bytes bool) []any {
	var cells []any
	for _, v := range []int64{s.Current, s.Peak, s.Allocated, s.Freed} {
		if bytes {
			cells = append(cells, shortSize(v))
		} else {
			cells = append(cells, fmt.Sprint(v))
		}
	}
	return cells
}

// shortSize writes bytes in the largest unit of which there are at least ten, in
// whole numbers rounded down.
func shortSize(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for n >= 10<<10 && i < len(units)-1 {
		n >>= 10
		i++
	}
	return fmt.Sprintf("%d %s", n, units[i])
}
