package peer

import "testing"

// TestSettledLate asks for a meeting that is over when the timeout is, too, as where the process stood still: it is settled.
func TestSettledLate(t *testing.T) {
	h := newHub(2, 0)
	m := &meeting{under: 1, idle: make(chan struct{})}
	h.finish(m)
	for range 1000 {
		if err := h.settled(m); err != nil {
			t.Fatal(err)
		}
	}
}
