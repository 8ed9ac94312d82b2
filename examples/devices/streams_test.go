package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/tests/allocations"
)

// TestRight holds the repaired program to its sum.
func TestRight(t *testing.T) {
	if _, err := use("sim", 1, 100*time.Microsecond); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		sum, err := right(8)
		if err != nil || sum != 64 {
			t.Errorf("the sum is %v, want 64, %v", sum, err)
		}
	}
}

// TestRun compares the whole output. That the wrong program is wrong is what the race
// detector would report.
func TestStreams(t *testing.T) {
	if allocations.RaceDetector {
		t.Skip("the program has a race on purpose")
	}
	var out strings.Builder
	if err := runStreams(&out, "sim"); err != nil {
		t.Fatal(err)
	}
	const want = `16 x 16 ones on one simulated GPU
not ordered  sum 0, wrong: the sum began before the fill had ended
ordered      sum 256, right
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if err := runStreams(&out, ""); err == nil {
		t.Error("runs on no device")
	}
}
