package helpers_test

import (
	"testing"

	"github.com/sinter-go/sinter/tests/brief"
)

// TestPart: a short run has a quarter of all, and never nothing; any other run has all.
func TestPart(t *testing.T) {
	for n, short := range map[int]int{0: 0, 1: 1, 4: 1, 5: 2, 400: 100} {
		want, taken := n, 0
		if testing.Short() {
			want = short
		}
		for i := range n {
			if !brief.Skip(i) {
				taken++
			}
		}
		if got := brief.Times(n); got != want || taken != want {
			t.Errorf("%d of %d times, %d of that many cases, want %d", got, n, taken, want)
		}
	}
	if got, want := brief.Skip(1, 2), testing.Short(); got != want || brief.Skip(1, 3) {
		t.Errorf("places 1 and 2 are left out: %t, want %t; 1 and 3 never", got, want)
	}
}
