package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestChanges(t *testing.T) {
	row := func(name, unit string, value float64, rate bool) outcome {
		return outcome{Group: "g", Name: name, Unit: unit, Ours: &number{value, value * 0.99, value * 1.01}, rate: rate}
	}
	now := []outcome{row("slower", "us", 12, false), row("more", "GB/s", 20, true), row("new", "us", 1, false), row("near", "us", 10.1, false), {Group: "g", Name: "failed", Unit: "us", Failed: "why"}}
	before := []outcome{row("more", "GB/s", 10, true), row("slower", "us", 10, false), row("near", "us", 10, false), row("failed", "us", 1, false), row("new", "ms", 1, false)}
	type result struct {
		Name  string
		Ratio float64
		Apart bool
	}
	var got []result
	for _, c := range changes(now, before) {
		got = append(got, result{c.now.Name, c.ratio, c.apart})
	}
	want := []result{{"slower", 1.2, true}, {"near", 1.01, false}, {"more", 0.5, true}}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Error(d)
	}
}
