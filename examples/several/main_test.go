package main

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestRun trains on one and on two ranks with the same batches: the losses agree.
func TestRun(t *testing.T) {
	var losses [2][]float64
	for i := range losses {
		var out strings.Builder
		if err := run(&out, i+1, 2, 64); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			var epoch, ranks int
			var loss float64
			if _, err := fmt.Sscanf(line, "epoch %d: loss %f on %d ranks", &epoch, &loss, &ranks); err != nil || ranks != i+1 {
				t.Fatalf("%q: %v", line, err)
			}
			losses[i] = append(losses[i], loss)
		}
	}
	if len(losses[0]) != 2 || len(losses[1]) != 2 || losses[0][1] > losses[0][0]/2 {
		t.Fatalf("losses %v", losses)
	}
	for epoch, want := range losses[0] {
		if math.Abs(losses[1][epoch]-want) > 0.05*want {
			t.Errorf("epoch %d: loss %v on two ranks, %v on one", epoch+1, losses[1][epoch], want)
		}
	}
}
