package program_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/tests/brief"
)

// move returns a step that reads and writes whole buffers.
func move(bytes int64, out int, in ...int) program.Step {
	s := program.Step{Action: program.Copy, Bytes: bytes, Out: []program.Ref{{Buffer: out}}}
	for _, i := range in {
		s.In = append(s.In, program.Ref{Buffer: i})
	}
	return s
}

// TestOrder: large values that are needed for a while only follow one another.
func TestOrder(t *testing.T) {
	const large, small = 1 << 20, 64
	p := program.New([]program.Buffer{
		{Kind: program.Argument, Device: "cpu", Bytes: large}, {Device: "cpu", Bytes: large}, {Device: "cpu", Bytes: large},
		{Device: "cpu", Bytes: small}, {Device: "cpu", Bytes: small}, {Kind: program.Result, Device: "cpu", Bytes: small},
	}, []program.Step{
		move(large, 1, 0), move(large, 2, 0), move(small, 3, 1), move(small, 4, 2), move(small, 5, 3, 4),
	}, []program.Ref{{Buffer: 5}})
	order, _, _ := p.Order(func(int) bool { return false })
	if d := cmp.Diff([]int{0, 2, 1, 3, 4}, order); d != "" {
		t.Error(d)
	}
	if order, q, _ := p.Order(func(int) bool { return true }); order != nil || q != p {
		t.Errorf("steps that are pinned are in the order %v", order)
	}
}

// TestOrderRandom: an order keeps what each step reads, and needs no more memory.
func TestOrderRandom(t *testing.T) {
	found := 0
	for seed := range uint64(brief.Times(300)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		buffers := []program.Buffer{{Kind: program.Argument, Device: "cpu", Bytes: 1 << 12}}
		steps, made := []program.Step(nil), []int{0}
		for len(steps) < 40 {
			in := []int{made[rng.IntN(len(made))], made[rng.IntN(len(made))]}
			out := rng.IntN(len(buffers) + 8)
			if out >= len(buffers) || out == in[0] || out == in[1] {
				out = len(buffers)
				buffers = append(buffers, program.Buffer{Device: "cpu", Bytes: 64 << rng.IntN(7)})
				made = append(made, out)
			}
			steps = append(steps, move(64, out, in...))
		}
		last := len(buffers) - 1
		buffers[last].Kind = program.Result
		p := program.New(buffers, steps, []program.Ref{{Buffer: last}})
		pinned := func(i int) bool { return i%7 == 3 }
		order, q, layout := p.Order(pinned)
		if d := cmp.Diff(q.Place(), layout); d != "" {
			t.Errorf("seed %d: the layout is not that of the program: %s", seed, d)
		}
		if order == nil {
			continue
		}
		found++
		if d := cmp.Diff(p.In(order), q); d != "" {
			t.Errorf("seed %d: the program is not in the order: %s", seed, d)
		}
		if err := q.Verify(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if q.Peak(q.Place()) >= p.Peak(p.Place()) {
			t.Errorf("seed %d: it needs no less", seed)
		}
		place := make([]int, len(order))
		for at, i := range order {
			place[i] = at
			if d := cmp.Diff(p.Steps[i], q.Steps[at]); d != "" { // the versions of what it reads and writes
				t.Errorf("seed %d: step %d: %s", seed, i, d)
			}
		}
		for i := 3 + 7; i < len(place); i += 7 {
			if place[i] < place[i-7] {
				t.Errorf("seed %d: pinned steps are out of order in %v", seed, order)
			}
		}
		if same := slices.Sorted(slices.Values(order)); same[0] != 0 || same[len(same)-1] != len(steps)-1 || len(slices.Compact(same)) != len(steps) {
			t.Errorf("seed %d: steps %v", seed, order)
		}
	}
	if found < 30 {
		t.Errorf("%d of 300 programs were given another order", found)
	}
}
