package main

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTiming(t *testing.T) {
	var out strings.Builder
	if err := runTiming(t.Context(), &out, "sim", 8, 3); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^3 products of 8 x 8 on one simulated GPU
queued after +\d+\.\d{3} ms .*
done after +\d+\.\d{3} ms .*
between events +\d+\.\d{3} ms .*
$`)
	if !want.MatchString(out.String()) {
		t.Errorf("printed:\n%s", out.String())
	}
	if err := runTiming(t.Context(), io.Discard, "cuda:9", 8, 3); err == nil {
		t.Error("runs on no device")
	}
}

// TestMeasure: a simulated GPU takes its delay for each product, and the clock that is
// read after a wait shows at least that.
func TestMeasure(t *testing.T) {
	const delay = 5 * time.Millisecond
	if _, err := use("sim", 1, delay); err != nil {
		t.Fatal(err)
	}
	_, took, waited, err := measure(t.Context(), 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	if took < 4*delay || waited < took {
		t.Errorf("4 products of %v each took %v between events and %v of the clock", delay, took, waited)
	}
}
