package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
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
	Share   float64  `json:"share,omitempty"` // of PyTorch's time that we take
	Native  *number  `json:"native,omitempty"`
	Beside  float64  `json:"native_ratio,omitempty"` // ours over the native side's
	Limit   *number  `json:"limit,omitempty"`        // what bounds the row, where a target is a share of it
	Targets []judged `json:"targets,omitempty"`
	Failed  string   `json:"failed,omitempty"`         // why we have no figure
	Other   string   `json:"pytorch_failed,omitempty"` // why PyTorch has none
	Missing string   `json:"native_failed,omitempty"`  // why the native side has none

	targets []target
	rate    bool // more is better
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

// newOutcome turns figures into the row's unit; bound is the work of its limit.
func newOutcome(r *row, f figures, bound float64) outcome {
	o := outcome{Group: r.group, Name: r.name, Unit: r.unit.name, targets: r.targets, rate: r.unit.rate}
	show := func(f figure) (*number, string) {
		switch {
		case errors.Is(f.err, errNone):
			return nil, ""
		case f.err != nil:
			return nil, f.err.Error()
		}
		if r.fact != nil {
			return &number{f.median, f.least, f.most}, ""
		}
		a, b := r.value(f.least), r.value(f.most)
		return &number{r.value(f.median), min(a, b), max(a, b)}, ""
	}
	o.Ours, o.Failed = show(f[0])
	o.PyTorch, o.Other = show(f[1])
	o.Native, o.Missing = show(f[2])
	if l := f[3]; l.err == nil {
		rate := func(seconds float64) float64 { return bound / seconds / r.unit.scale }
		o.Limit = &number{rate(l.median), rate(l.most), rate(l.least)}
	}
	if o.Ours != nil && o.PyTorch != nil {
		o.Ratio = o.Ours.Value / o.PyTorch.Value
		if o.Share = o.Ratio; r.unit.rate && o.Ratio > 0 {
			o.Share = 1 / o.Ratio
		}
	}
	if o.Ours != nil && o.Native != nil {
		o.Beside = o.Ours.Value / o.Native.Value
	}
	return o
}

// near is how much slower than PyTorch still matches it.
const near = 0.98

// A mean is a geometric mean of the ratios in a group, and what it should reach.
type mean struct {
	group, of string
	should    target
}

// means are those of the tables.
func means() []mean {
	all := []mean{
		{productGroup, byPyTorch, atLeast(0.99, absolute)},
		{operatorGroup, byPyTorch, atMost(0.85, absolute)}, // on a GPU
	}
	for _, threads := range cpuThreads {
		all = append(all, mean{withThreads(operatorGroup, threads), byPyTorch, atMost(0.6, absolute)})
		for _, kind := range []string{"float32", "float64"} {
			group := withThreads(cpuProducts(kind), threads)
			all = append(all, mean{group, byPyTorch, atLeast(0.98, absolute)}, mean{group, byNative, atLeast(1, absolute)})
		}
	}
	return all
}

// name is the row that shows m.
func (m mean) name() string {
	if m.of == byPyTorch {
		return "geometric mean of ours over PyTorch's"
	}
	return "geometric mean of ours over OpenBLAS's"
}

// add appends m's row after those of its group, if they have ratios.
func (m mean) add(rows []outcome) []outcome {
	var logs float64
	count, last := 0, -1
	for i, o := range rows {
		if o.Group != m.group {
			continue
		}
		last = i
		ratio := o.Ratio
		if m.of == byNative {
			ratio = o.Beside
		}
		if ratio > 0 {
			logs += math.Log(ratio)
			count++
		}
	}
	if count == 0 {
		return rows
	}
	v := math.Exp(logs / float64(count))
	need := m.should.atLeast + m.should.atMost // one of them is 0
	return slices.Insert(rows, last+1, outcome{Group: m.group, Name: m.name(), Ours: &number{v, v, v},
		Targets: []judged{{m.should.String(), need, m.should.met(v, need)}}})
}

// judge holds every row against its targets, and adds geometric means.
func (r *report) judge() {
	rows := map[string]*outcome{}
	for i := range r.Rows {
		rows[r.Rows[i].Name] = &r.Rows[i]
	}
	for i := range r.Rows {
		o := &r.Rows[i]
		for _, t := range o.targets {
			if need, ok := t.need(o, rows); ok {
				o.Targets = append(o.Targets, judged{t.String(), need, o.Ours != nil && t.met(o.Ours.Value, need)})
			}
		}
	}
	for _, m := range means() {
		r.Rows = m.add(r.Rows)
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
	case byNative:
		if o.Native == nil {
			return 0, false
		}
		reference = o.Native.Value
	default:
		if _, ok := limits[t.of]; ok {
			if o.Limit == nil {
				return 0, false
			}
			reference = o.Limit.Value
			break
		}
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
	if t.or != nil {
		other, ok := t.or.need(o, rows)
		if !ok {
			return 0, false
		}
		need = min(need, other)
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
	if t.or != nil {
		text += " or " + strings.TrimPrefix(t.or.String(), ">= ")
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
	group, wide, judgedRows, missed := "", false, 0, 0
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
			wide = slices.ContainsFunc(r.Rows[i:], func(o outcome) bool { return o.Group == group && o.Native != nil })
			native := ""
			if wide {
				native = "\tnative\tratio"
			}
			fmt.Fprintf(tab, "\n%s\tours\tPyTorch\tratio%s\tshould be\tmet\n", group, native)
		}
		o.print(tab, wide)
	}
	if err := errors.Join(tab.Flush(), r.printSlow(w)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d rows, %d of them with a target; %d missed it or failed\n", len(r.Rows), judgedRows, missed)
	return err
}

// slow are the rows that take more than aboveLimit of PyTorch's time, the worst first.
func (r *report) slow() (rows []outcome) {
	for _, o := range r.Rows {
		if o.Share > aboveLimit {
			rows = append(rows, o)
		}
	}
	slices.SortStableFunc(rows, func(a, b outcome) int { return cmp.Compare(b.Share, a.Share) })
	return rows
}

// printSlow writes the rows that are slower than PyTorch.
func (r *report) printSlow(w io.Writer) error {
	rows := r.slow()
	if len(rows) == 0 {
		return nil
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "\nAbove %g of PyTorch's time\tours\tPyTorch\tshare\n", aboveLimit)
	for _, o := range rows {
		fmt.Fprintf(tab, "%s, %s\t%s\t%s\t%.3f\n", o.Name, o.Unit, o.Ours, o.PyTorch, o.Share)
	}
	return tab.Flush()
}

// ratio writes a ratio, or that there is none.
func ratio(v float64) string {
	if v > 0 {
		return fmt.Sprintf("%.3f", v)
	}
	return "-"
}

// print writes the row's line, wide with the native side's figure.
func (o *outcome) print(w io.Writer, wide bool) {
	native, should, met := "", "", ""
	if wide {
		native = fmt.Sprintf("\t%s\t%s", o.Native, ratio(o.Beside))
	}
	for i, t := range o.Targets {
		if i > 0 {
			should += ", "
		}
		should += t.Text
	}
	if o.Limit != nil {
		should += fmt.Sprintf(" (%s)", o.Limit)
	}
	if len(o.Targets) > 0 {
		met = map[bool]string{true: "NO", false: "yes"}[o.missed()]
	}
	fmt.Fprintf(w, "%s, %s\t%s\t%s\t%s%s\t%s\t%s\n", o.Name, o.Unit, o.Ours, o.PyTorch, ratio(o.Ratio), native, should, met)
	for _, failure := range [][2]string{{"failed", o.Failed}, {"PyTorch failed", o.Other}, {"the native side failed", o.Missing}} {
		if failure[1] != "" {
			fmt.Fprintf(w, "  %s: %s\n", failure[0], failure[1])
		}
	}
}
