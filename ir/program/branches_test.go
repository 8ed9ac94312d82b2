package program_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/tests/brief"
)

func free(int) bool { return false }

// TestBranches: steps of the longest way to the end come first and stay on a stream, others run beside
// them, and no memory is shared that has one wait for the other; where memory is
// large it is.
func TestBranches(t *testing.T) {
	for _, c := range []struct {
		bytes   int64
		order   []int
		streams []int
		shared  bool
	}{
		{1 << 10, []int{0, 2, 1, 3, 4, 5}, []int{0, 0, 1, 0, 0, 0}, false},
		{1 << 24, []int{0, 1, 2, 3, 4, 5}, []int{0, 0, 1, 1, 1, 1}, true},
	} {
		temporary := program.Buffer{Device: "sim:0", Bytes: c.bytes}
		result := program.Buffer{Kind: program.Result, Device: "sim:0", Bytes: 64}
		p := program.New([]program.Buffer{temporary, result, temporary, temporary, temporary, result}, []program.Step{
			move(c.bytes, 0), move(64, 1, 0), move(c.bytes, 2, 0), move(c.bytes, 3, 2), move(c.bytes, 4, 3), move(64, 5, 4),
		}, []program.Ref{{Buffer: 1}, {Buffer: 5}})
		a := p.Arrange(free, 2)
		if a.Order == nil {
			a.Order = []int{0, 1, 2, 3, 4, 5}
		}
		if d := cmp.Diff(c.order, a.Order) + cmp.Diff(c.streams, a.Streams); d != "" {
			t.Errorf("%d bytes: %s", c.bytes, d)
		}
		at := a.Layout.Offsets
		if shared := at[3] == at[0] || at[4] == at[0]; shared != c.shared {
			t.Errorf("%d bytes: temporaries at %v; want memory used again while another stream may read it: %v", c.bytes, at, c.shared)
		}
	}
}

// TestArrangeRandom: an arrangement keeps what each step reads, and apart what is alive at
// one time; small temporaries share memory only where all that use the one come behind all
// that use the other, whatever runs beside them.
func TestArrangeRandom(t *testing.T) {
	apart := 0
	for seed := range uint64(brief.Times(300)) {
		p := randomProgram(rand.New(rand.NewPCG(seed, 2)))
		pinned := func(i int) bool { return i%7 == 3 }
		a := p.Arrange(pinned, 1+int(seed%4))
		if d := cmp.Diff(a, p.Arrange(pinned, 1+int(seed%4))); d != "" {
			t.Fatalf("seed %d: another time it is another: %s", seed, d)
		}
		if err := a.Program.Verify(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		order := a.Order
		if order == nil {
			for i := range p.Steps {
				order = append(order, i)
			}
		}
		for at, i := range order {
			if d := cmp.Diff(p.Steps[i], a.Program.Steps[at]); d != "" {
				t.Errorf("seed %d: step %d: %s", seed, i, d)
			}
		}
		if bad := shares(a, int(seed%4) > 0, &apart); bad != "" {
			t.Errorf("seed %d: %s", seed, bad)
		}
	}
	if apart < brief.Times(1000) {
		t.Errorf("%d pairs of temporaries share memory; the test sees too few", apart)
	}
}

// randomProgram returns a program of copies of which some write to what was there.
func randomProgram(rng *rand.Rand) *program.Program {
	buffers := []program.Buffer{{Kind: program.Argument, Device: "sim:0", Bytes: 1 << 12}}
	steps, made := []program.Step(nil), []int{0}
	for len(steps) < 40 {
		in := []int{made[rng.IntN(len(made))], made[max(0, len(made)-1-rng.IntN(3))]}
		out := rng.IntN(len(buffers) + 8)
		if out >= len(buffers) || out == in[0] || out == in[1] {
			out = len(buffers)
			buffers = append(buffers, program.Buffer{Device: "sim:0", Bytes: 1 << (12 + 3*rng.IntN(5))})
			made = append(made, out)
		}
		steps = append(steps, move(64, out, in...))
	}
	last := len(buffers) - 1
	buffers[last].Kind = program.Result
	return program.New(buffers, steps, []program.Ref{{Buffer: last}})
}

// shares returns which temporaries share memory and must not; "" for none.
func shares(a program.Arrangement, several bool, pairs *int) string {
	p, n := a.Program, len(a.Program.Steps)
	users := make([][]int, len(p.Buffers))
	for i, s := range p.Steps {
		for _, r := range slices.Concat(s.Out, s.In) {
			users[r.Buffer] = append(users[r.Buffer], i)
		}
	}
	// after[i][j]: step i comes behind step j by what it reads and writes, or by its stream
	after := make([][]bool, n)
	for i := range n {
		after[i] = make([]bool, n)
		for j := range i {
			if a.Streams[i] != a.Streams[j] && !depends(&p.Steps[i], &p.Steps[j]) && (!pinnedAt(a, i) || !pinnedAt(a, j)) {
				continue
			}
			after[i][j] = true
			for k, before := range after[j] {
				after[i][k] = after[i][k] || before
			}
		}
	}
	behind := func(x, y []int, small bool) bool {
		for _, i := range x {
			for _, j := range y {
				if i < j || i == j || small && several && !after[i][j] {
					return false
				}
			}
		}
		return true
	}
	for x, at := range a.Layout.Offsets {
		for y, other := range a.Layout.Offsets[:x] {
			bx, by := &p.Buffers[x], &p.Buffers[y]
			if at < 0 || other < 0 || at >= other+by.Bytes || other >= at+bx.Bytes {
				continue
			}
			*pairs++
			small := min(bx.Bytes, by.Bytes) < 1<<20
			if !behind(users[x], users[y], small) && !behind(users[y], users[x], small) {
				return fmt.Sprintf("%%%d of steps %v and %%%d of %v", x, users[x], y, users[y])
			}
		}
	}
	return ""
}

// pinnedAt reports whether the step at a place of an arrangement was one of those that stay
// in order.
func pinnedAt(a program.Arrangement, at int) bool {
	if a.Order != nil {
		at = a.Order[at]
	}
	return at%7 == 3
}

func depends(s, before *program.Step) bool {
	meet := func(x, y []program.Ref) bool {
		return slices.ContainsFunc(x, func(r program.Ref) bool {
			return slices.ContainsFunc(y, func(o program.Ref) bool { return o.Buffer == r.Buffer })
		})
	}
	return meet(s.In, before.Out) || meet(s.Out, before.Out) || meet(s.Out, before.In)
}
