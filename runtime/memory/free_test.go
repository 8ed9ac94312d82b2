package memory

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFreeSet holds the set against a list that is searched from end to end.
func TestFreeSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var set freeSet
	var list []*chunk
	sizes := func() int64 { // few values, many values, all orders of size
		switch r.IntN(3) {
		case 0:
			return unit * (1 + r.Int64N(4))
		case 1:
			return unit * (1 + r.Int64N(1<<12))
		}
		return unit * (1 + r.Int64N(1<<r.IntN(50)))
	}
	for step := range 20000 {
		if n := len(list); n > 0 && r.IntN(100) < 45+step/400%10 {
			i := r.IntN(n)
			set.remove(list[i])
			list = slices.Delete(list, i, i+1)
		} else {
			c := &chunk{addr: unit * uint64(1+r.Int64N(1<<40)), size: sizes()}
			set.insert(c)
			list = append(list, c)
		}
		size := sizes()
		var want *chunk
		for _, c := range list {
			if c.size >= size && (want == nil || c.size < want.size || c.size == want.size && c.addr < want.addr) {
				want = c
			}
		}
		if got := set.bestFit(size); got != want {
			t.Fatalf("step %d: the best fit for %d bytes is %+v, want %+v", step, size, got, want)
		}
	}
	for _, c := range list {
		set.remove(c)
	}
	if set != (freeSet{}) {
		t.Error("an empty set has chunks")
	}
}

// TestBins sees that larger chunks are in the same bin or a later one.
func TestBins(t *testing.T) {
	last := 0
	for u := int64(1); u <= 1<<51; u += 1 + u/97 {
		bin := binOf(u * unit)
		if bin < last || bin >= numBins {
			t.Fatalf("%d units are in bin %d after bin %d of %d", u, bin, last, numBins)
		}
		last = bin
	}
}
