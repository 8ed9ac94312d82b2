package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"text/tabwriter"
)

// A change is what has become of a row since an earlier report.
type change struct {
	now    outcome
	before number
	ratio  float64 // of the times, now over before
	apart  bool    // the rounds of both have no figure in common
}

// changes are those of the rows that both reports have, the worst first. Reports of
// other machines say nothing about the program.
func changes(now, before []outcome) (list []change) {
	type key struct{ group, name, unit string }
	old := map[key]*number{}
	for _, o := range before {
		old[key{o.Group, o.Name, o.Unit}] = o.Ours
	}
	for _, o := range now {
		b := old[key{o.Group, o.Name, o.Unit}]
		if b == nil || o.Ours == nil || b.Value <= 0 || o.Ours.Value <= 0 {
			continue
		}
		c := change{o, *b, o.Ours.Value / b.Value, o.Ours.Low > b.High || o.Ours.High < b.Low}
		if o.rate {
			c.ratio = 1 / c.ratio
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b change) int { return cmp.Compare(b.ratio, a.ratio) })
	return list
}

// printChanges writes the geometric mean of the changes since the report in a file, and
// those of more than aboveLimit either way that are more than the spread of their rounds.
func (r *report) printChanges(w io.Writer, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var before report
	if err := json.Unmarshal(text, &before); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	list := changes(r.Rows, before.Rows)
	sum := 0.0
	for _, c := range list {
		sum += math.Log(c.ratio)
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "\nSince version %s\tnow\tbefore\ttime now over before\n", before.Machine.Version)
	for _, c := range list {
		if c.apart && (c.ratio > aboveLimit || c.ratio < 1/aboveLimit) {
			fmt.Fprintf(tab, "%s, %s\t%s\t%s\t%.3f\n", c.now.Name, c.now.Unit, c.now.Ours, &c.before, c.ratio)
		}
	}
	fmt.Fprintf(tab, "geometric mean of %d rows\t\t\t%.3f\n", len(list), math.Exp(sum/float64(max(1, len(list)))))
	return tab.Flush()
}
