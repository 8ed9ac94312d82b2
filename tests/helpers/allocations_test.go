package helpers_test

import (
	"testing"

	"github.com/sinter-go/sinter/tests/allocations"
)

// A recorder takes the failures of a check.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

var sink []*int

func TestAtMost(t *testing.T) {
	for _, c := range []struct {
		made   int
		most   float64
		failed bool
	}{{0, 0, false}, {1, 0, true}, {2, 2, false}, {3, 2, true}} {
		r := &recorder{TB: t}
		allocations.AtMost(r, c.most, func() {
			sink = sink[:0]
			for range c.made {
				sink = append(sink, new(int))
			}
		})
		if want := c.failed && !allocations.RaceDetector; r.failed != want {
			t.Errorf("%d allocations, %v allowed: failed %t, want %t", c.made, c.most, r.failed, want)
		}
	}
}
