package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestEveryOperator: a public operator has rows on every device, one with gradients
// where it has any, or a reason why there is none.
func TestEveryOperator(t *testing.T) {
	for _, dev := range []device.Device{device.CPU, device.CUDA(0)} {
		p := workloadFor(dev, false)
		rows := map[string]bool{}
		for _, r := range p.operatorRows() {
			rows[r.name] = true
		}
		for _, o := range opcases.Cases {
			if o.Op.Tags&ir.TagHidden != 0 {
				continue
			}
			if len(o.Bench) == 0 {
				t.Errorf("%s: operator %s has no row and no reason", dev, o.Op.Name)
			}
			for _, b := range o.Bench {
				name := "op " + o.Op.Name
				if b.Name != "" {
					name += " of " + b.Name
				}
				if b.None == "" && !rows[name] && !rows[name+", gradients"] {
					t.Errorf("%s: there is no row %s", dev, name)
				}
			}
		}
	}
}

// TestOperators runs the rows of operators, in a short test those of some.
func TestOperators(t *testing.T) {
	pattern := "^op .*1 thread$"
	if testing.Short() {
		pattern = "^op (a[bd]|cumsum of rows).*1 thread$"
	}
	r, table := measureAll(t, settings{device: "cpu", rows: pattern, torch: "off", quick: true, used: true})
	rows := map[string]outcome{}
	for _, o := range r.Rows {
		rows[o.Name] = o
		if o.Failed != "" || o.Ours == nil {
			t.Errorf("%s: %s", o.Name, o.Failed)
		}
	}
	for _, name := range []string{"op add, 1 thread", "op add, gradients, 1 thread", "op cumsum of rows, 1 thread"} {
		if rows[name].Name == "" || !strings.Contains(table, "\n"+name+", ") {
			t.Errorf("there is no row %s", name)
		}
	}
}

// TestThreads: rows of operators have each number of threads.
func TestThreads(t *testing.T) {
	p := workloadFor(device.CPU, false)
	rows := choice(p.rows(false), regexp.MustCompile("^op add(, gradients)?, "))
	if len(rows) != 2*len(cpuThreads) {
		t.Errorf("%d rows for %v threads", len(rows), cpuThreads)
	}
}

// TestSlow: what takes more than PyTorch's time is listed, the worst first, whether
// the figure is a time or a rate.
func TestSlow(t *testing.T) {
	at := func(seconds float64) figure { return figure{median: seconds, least: seconds, most: seconds} }
	outcomeOf := func(name string, u unit, ours, theirs float64) outcome {
		return newOutcome(&row{name: name, unit: u, work: 1}, figures{at(ours), at(theirs), none, none}, 0)
	}
	r := report{Rows: []outcome{
		outcomeOf("a little", microseconds, 1.06, 1), outcomeOf("fast", microseconds, 0.5, 1),
		outcomeOf("a rate", bandwidth, 2, 1), outcomeOf("near", bandwidth, 1.04, 1),
	}}
	r.judge()
	var b strings.Builder
	if err := r.print(&b, false); err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(b.String(), "Above 1.05")
	first, second := strings.Index(list, "a rate"), strings.Index(list, "a little")
	if !found || first < 0 || second < first || strings.Contains(list, "fast") || strings.Contains(list, "near") {
		t.Errorf("printed\n%s", b.String())
	}
}
