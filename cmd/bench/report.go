package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
)

// A report is what a run measured, on what.
type report struct {
	Machine machine   `json:"machine"`
	Quick   bool      `json:"quick,omitempty"`
	Rows    []outcome `json:"rows"`
}

// An outcome is a row's figures.
type outcome struct {
	Group   string   `json:"group"`
	Name    string   `json:"name"`
	Unit    string   `json:"unit"`
	Ours    *number  `json:"ours,omitempty"`
	PyTorch *number  `json:"pytorch,omitempty"`
	Ratio   float64  `json:"ratio,omitempty"` // ours over PyTorch's
	Targets []judged `json:"targets,omitempty"`
	Failed  string   `json:"failed,omitempty"`         // why we have no figure
	Other   string   `json:"pytorch_failed,omitempty"` // why PyTorch has none

	targets []target
}

// A number is a figure in a row's unit: the median of the rounds, the lowest and
// the highest.
type number struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// A judged target is one whose reference is known.
type judged struct {
	Text string  `json:"text"`
	Need float64 `json:"need"`
	Met  bool    `json:"met"`
}

func newOutcome(r *row, ours, torch figure) outcome {
	o := outcome{Group: r.group, Name: r.name, Unit: r.unit.name, targets: r.targets}
	show := func(f figure) (*number, string) {
		switch {
		case errors.Is(f.err, errNone):
			return nil, ""
		case f.err != nil:
			return nil, f.err.Error()
		}
		a, b := r.value(f.least), r.value(f.most)
		return &number{r.value(f.median), min(a, b), max(a, b)}, ""
	}
	o.Ours, o.Failed = show(ours)
	o.PyTorch, o.Other = show(torch)
	if o.Ours != nil && o.PyTorch != nil {
		o.Ratio = o.Ours.Value / o.PyTorch.Value
	}
	return o
}

// near is how much slower than PyTorch still matches it.
const near = 0.98

// meanRow is the row of the products' geometric mean.
const meanRow = "geometric mean of ours over PyTorch's"

// judge holds every row against its targets, and adds the geometric mean of the
// products.
func (r *report) judge() {
	var logs float64
	var products int
	rows := map[string]*outcome{}
	for i := range r.Rows {
		o := &r.Rows[i]
		rows[o.Name] = o
		if o.Group == productGroup && o.Ratio > 0 {
			logs += math.Log(o.Ratio)
			products++
		}
	}
	for i := range r.Rows {
		o := &r.Rows[i]
		for _, t := range o.targets {
			if need, ok := t.need(o, rows); ok {
				o.Targets = append(o.Targets, judged{t.String(), need, o.Ours != nil && t.met(o.Ours.Value, need)})
			}
		}
	}
	if products > 0 {
		mean := math.Exp(logs / float64(products))
		t := atLeast(0.99, absolute)
		r.Rows = append(r.Rows, outcome{Group: productGroup, Name: meanRow, Ours: &number{mean, mean, mean},
			Targets: []judged{{t.String(), t.atLeast, mean >= t.atLeast}}})
	}
}

// need returns the figure that a row has to reach; false where what it refers to
// is not known.
func (t target) need(o *outcome, rows map[string]*outcome) (float64, bool) {
	reference := 1.0
	switch t.of {
	case absolute:
	case byPyTorch:
		if o.PyTorch == nil {
			return 0, false
		}
		reference = o.PyTorch.Value
	default:
		r := rows[t.of]
		if r == nil || r.Ours == nil {
			return 0, false
		}
		reference = r.Ours.Value
		if t.match && r.PyTorch != nil {
			reference = max(reference, r.PyTorch.Value)
		}
	}
	need := (t.atMost + t.atLeast) * reference // one of them is 0
	if t.match && o.PyTorch != nil {
		need = max(need, near*o.PyTorch.Value)
	}
	return need, true
}

func (t target) met(value, need float64) bool {
	if t.atMost > 0 {
		return value <= need
	}
	return value >= need
}

func (t target) String() string {
	text := ">= " + short(t.atLeast)
	if t.atMost > 0 {
		text = "<= " + short(t.atMost)
	}
	if t.of != absolute {
		text += " " + t.of
	}
	return text
}

// short writes a number with three digits or more.
func short(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func (n *number) String() string {
	if n == nil {
		return "-"
	}
	return short(n.Value)
}

// missed reports whether a row fails or does not reach a target.
func (o *outcome) missed() bool {
	for _, t := range o.Targets {
		if !t.Met {
			return true
		}
	}
	return o.Failed != ""
}

// print writes the table, or the rows alone that miss something.
func (r *report) print(w io.Writer, misses bool) error {
	r.Machine.print(w)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	group, judgedRows, missed := "", 0, 0
	for i := range r.Rows {
		o := &r.Rows[i]
		if len(o.Targets) > 0 {
			judgedRows++
		}
		if o.missed() {
			missed++
		} else if misses {
			continue
		}
		if o.Group != group {
			group = o.Group
			fmt.Fprintf(tab, "\n%s\tours\tPyTorch\tratio\tshould be\tmet\n", group)
		}
		o.print(tab)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d rows, %d of them with a target; %d missed it or failed\n", len(r.Rows), judgedRows, missed)
	return err
}

func (o *outcome) print(w io.Writer) {
	ratio, should, met := "-", "", ""
	if o.Ratio > 0 {
		ratio = fmt.Sprintf("%.3f", o.Ratio)
	}
	for i, t := range o.Targets {
		if i > 0 {
			should += ", "
		}
		should += t.Text
	}
	if len(o.Targets) > 0 {
		met = map[bool]string{true: "NO", false: "yes"}[o.missed()]
	}
	fmt.Fprintf(w, "%s, %s\t%s\t%s\t%s\t%s\t%s\n", o.Name, o.Unit, o.Ours, o.PyTorch, ratio, should, met)
	for _, failure := range [][2]string{{"failed", o.Failed}, {"PyTorch failed", o.Other}} {
		if failure[1] != "" {
			fmt.Fprintf(w, "  %s: %s\n", failure[0], failure[1])
		}
	}
}
