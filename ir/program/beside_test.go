package program_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir/program"
)

// TestBesideMemory: what runs at the same time has memory of its own, and where that is much
// more than it was steps follow one another.
func TestBesideMemory(t *testing.T) {
	for _, c := range []struct {
		bytes int64
		order []int
	}{{1 << 10, []int{0, 2, 1, 3, 4, 5}}, {1 << 26, nil}} {
		result := program.Buffer{Kind: program.Result, Device: "cpu", Bytes: 64}
		p := program.New([]program.Buffer{{Device: "cpu", Bytes: c.bytes}, result, {Device: "cpu", Bytes: c.bytes}, result, result}, []program.Step{
			move(c.bytes, 0), move(64, 1, 0), move(c.bytes, 2), move(64, 3, 2), move(64, 4, 1, 3), move(64, 4, 1),
		}, []program.Ref{{Buffer: 1}, {Buffer: 3}, {Buffer: 4}})
		order, q, l := p.Beside(free, func(i int) bool { return i == 1 || i == 3 || i == 5 })
		if d := cmp.Diff(c.order, order); d != "" {
			t.Errorf("%d bytes: %s", c.bytes, d)
		}
		if order == nil {
			continue
		}
		beside := []bool{false, false, false, true, false, false}
		for i, s := range q.Steps {
			if s.Beside != beside[i] {
				t.Errorf("step %d runs beside the one before it: %v", i, s.Beside)
			}
		}
		if l.Offsets[0] == l.Offsets[2] {
			t.Error("operands of steps that run side by side lie in one place")
		}
		if r := q.Apart(); r == q || r.Apart() != r || !q.Steps[3].Beside {
			t.Error("a program has steps beside others still, or lost them")
		}
	}
	if order, q, _ := (&program.Program{}).Beside(free, free); order != nil || q == nil {
		t.Errorf("a program without steps has the order %v", order)
	}
}

// TestBesideRandom: steps that run side by side do not depend on one another, memory that is
// used by them is used by nothing else meanwhile, and the program does what it did.
func TestBesideRandom(t *testing.T) {
	found := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		p := randomProgram(rng)
		for i := range p.Buffers {
			p.Buffers[i].Device = "cpu"
		}
		pinned := func(i int) bool { return i%7 == 3 }
		order, q, l := p.Beside(pinned, func(i int) bool { return i%3 == 0 })
		if order == nil {
			continue
		}
		found++
		if err := q.Verify(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		at := make([]int, len(order))
		for to, from := range order {
			at[from] = to
			if d := cmp.Diff(p.Steps[from].In, q.Steps[to].In); d != "" {
				t.Errorf("seed %d: step %d reads something else: %s", seed, from, d)
			}
		}
		for i := range p.Steps {
			for j := range i {
				if (depends(&p.Steps[i], &p.Steps[j]) || pinned(i) && pinned(j)) && groupOf(q, at[i]) <= groupOf(q, at[j]) {
					t.Errorf("seed %d: step %d no longer follows %d: %v", seed, i, j, order)
				}
			}
		}
		checkApart(t, seed, q, l)
	}
	if found < 100 {
		t.Errorf("%d programs have steps side by side; the test sees too few", found)
	}
}

// groupOf returns the number of steps, those that run side by side counted once, up to one.
func groupOf(p *program.Program, at int) (n int) {
	for _, s := range p.Steps[:at+1] {
		if !s.Beside {
			n++
		}
	}
	return n
}

// checkApart compares the places of temporaries that are in use at one time.
func checkApart(t *testing.T, seed uint64, p *program.Program, l *program.Layout) {
	t.Helper()
	var used [][2]int // by buffer: the groups of its first and its last use
	for _, b := range p.Buffers {
		span := [2]int{-1, -1}
		if b.First >= 0 {
			span = [2]int{groupOf(p, b.First), groupOf(p, b.Last)}
		}
		used = append(used, span)
	}
	for x, at := range l.Offsets {
		for y, other := range l.Offsets[:x] {
			if slices.Contains([]int64{at, other}, -1) || at >= other+p.Buffers[y].Bytes || other >= at+p.Buffers[x].Bytes {
				continue
			}
			if used[x][0] <= used[y][1] && used[y][0] <= used[x][1] {
				t.Errorf("seed %d: %%%d of %v and %%%d of %v lie in one place", seed, x, used[x], y, used[y])
			}
		}
	}
}
