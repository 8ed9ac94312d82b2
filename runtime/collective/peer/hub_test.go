package peer

import (
	"errors"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
)

// TestSettledLate asks for a meeting that is over when the timeout is, too, as where the process stood still: it is settled.
func TestSettledLate(t *testing.T) {
	h := newHub(2, 0)
	m := &meeting{under: 1, over: make([]bool, 2), idle: make(chan struct{})}
	h.finish(m, 1)
	for range 1000 {
		if err := h.settled(m, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDepartLate has ranks be at work on a meeting for longer than the timeout: who waits for them fails the group, and names
// itself, its call and them.
func TestDepartLate(t *testing.T) {
	for _, c := range []struct {
		over []int
		want string
	}{
		{[]int{0, 2}, "all-reduce(sum) of float32 [4], batch 3 by copies: rank 0 waited 1ms, and devices are given work of it by rank 1 still: timeout"},
		{[]int{0}, "all-reduce(sum) of float32 [4], batch 3 by copies: rank 0 waited 1ms, and devices are given work of it by ranks 1, 2 still: timeout"},
	} {
		h := newHub(3, time.Millisecond)
		m := &meeting{number: 3, under: 3, over: make([]bool, 3), idle: make(chan struct{})}
		for range 3 {
			v := flat(ir.Float32, 4, 0)
			m.calls = append(m.calls, []*collective.Call{{Kind: collective.AllReduce, In: v, Out: v}})
		}
		for _, rank := range c.over {
			h.finish(m, rank)
		}
		if err := h.settled(m, 0); err == nil || err.Error() != c.want || h.failure() != nil {
			t.Errorf("who closes: %v, of the group %v; want %s", err, h.failure(), c.want)
		}
		if err := h.depart(m, 0); err == nil || err.Error() != c.want || !errors.Is(h.failure(), collective.ErrTimeout) {
			t.Errorf("%v, of the group %v; want %s", err, h.failure(), c.want)
		}
	}
}
