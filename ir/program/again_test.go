package program_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// launch returns a step that reads and writes whole buffers of float32, element by element or
// in another way.
func launch(kind ir.BodyKind, bytes int64, out int, in ...int) program.Step {
	s := move(bytes, out, in...)
	s.Action = program.Launch
	view := ir.View{DType: ir.Float32, Shape: []int{int(bytes / 4)}, Strides: []int{1}}
	s.Call = ir.Call{Kernel: &ir.Kernel{Op: &ir.Op{Name: "f", Kind: kind}}, Out: []ir.View{view}, In: slices.Repeat([]ir.View{view}, len(in))}
	return s
}

// TestAgain: a large value that is made element by element of what is there anyway is made
// again for those who need it late; one that is not cheap, whose operand is gone or changed
// by then, or that is pinned, is kept. Small programs stay as they are.
func TestAgain(t *testing.T) {
	const large = 64 << 20
	for _, c := range []struct {
		name   string
		kind   ir.BodyKind
		bytes  int64
		pinned int
		change func(steps []program.Step) []program.Step
		again  bool
	}{
		{"cheap", ir.Elementwise, large, -1, nil, true},
		{"not element-wise", ir.Opaque, large, -1, nil, false},
		{"pinned", ir.Elementwise, large, 1, nil, false},
		{"small", ir.Elementwise, 1 << 10, -1, nil, false},
		{"an operand that is gone", ir.Elementwise, large, -1, func(s []program.Step) []program.Step { return s[:len(s)-1] }, false},
		{"an operand that changes", ir.Elementwise, large, -1, func(s []program.Step) []program.Step {
			return slices.Insert(s, 5, launch(ir.Opaque, large, 1, 0))
		}, false},
		{"a value that changes", ir.Elementwise, large, -1, func(s []program.Step) []program.Step {
			return slices.Insert(s, 5, launch(ir.Opaque, large, 2, 0))
		}, false},
	} {
		var buffers []program.Buffer
		for range 40 {
			buffers = append(buffers, program.Buffer{Device: "cpu", Bytes: c.bytes})
		}
		buffers[0].Kind = program.Argument
		steps := []program.Step{
			launch(ir.Opaque, c.bytes, 1, 0),
			launch(c.kind, c.bytes, 2, 1), // the value
			launch(ir.Opaque, c.bytes, 3, 2),
		}
		for i := 4; i < 39; i++ { // which nobody keeps, but for one step that holds most
			steps = append(steps, launch(ir.Opaque, c.bytes, i, i-1))
		}
		steps = append(steps, launch(ir.Opaque, c.bytes, 39, 2, 38), launch(ir.Opaque, c.bytes, 39, 1))
		steps[10].In = append(steps[10].In, program.Ref{Buffer: 9}, program.Ref{Buffer: 8})
		steps[10].Call.In = slices.Repeat(steps[10].Call.In, 3)
		if c.change != nil {
			steps = c.change(steps)
		}
		buffers[39].Kind = program.Result
		p := program.New(buffers, steps, []program.Ref{{Buffer: 39}})
		if err := p.Verify(); err != nil {
			t.Fatal(c.name, err)
		}
		a := p.Again(func(i int) bool { return i == c.pinned }, 2)
		if (a != nil) != c.again {
			t.Errorf("%s: done again: %v, want %v", c.name, a != nil, c.again)
		}
		if a == nil {
			continue
		}
		if was, is := p.Peak(p.Place()), a.Program.Peak(a.Program.Place()); is != was-large {
			t.Errorf("%s: %d MiB, was %d, want %d less", c.name, is>>20, was>>20, large>>20)
		}
		if order, q, _ := a.Program.Order(free); q.Peak(q.Place()) > a.Program.Peak(a.Program.Place()) {
			t.Errorf("%s: the order %v needs more", c.name, order)
		}
	}
}

// TestAgainRandom: a program of which steps are done again gives the same results, in any
// order that it may run in, and holds no more.
func TestAgainRandom(t *testing.T) {
	again := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 4))
		buffers := []program.Buffer{{Kind: program.Argument, Device: "cpu", Bytes: 1 << 24}}
		steps := []program.Step(nil)
		for len(steps) < 60 {
			var in []int
			for range 1 + rng.IntN(2) {
				in = append(in, rng.IntN(len(buffers)))
			}
			out := rng.IntN(len(buffers) + 20)
			if out >= len(buffers) || out == 0 {
				out = len(buffers)
				buffers = append(buffers, program.Buffer{Device: "cpu", Bytes: 1 << 24})
			}
			steps = append(steps, launch([]ir.BodyKind{ir.Elementwise, ir.Opaque}[rng.IntN(2)], 1<<24, out, in...))
		}
		last := len(buffers) - 1
		buffers[last].Kind = program.Result
		p := program.New(buffers, steps, []program.Ref{{Buffer: last}})
		pinned := func(i int) bool { return i%5 == 3 }
		a := p.Again(pinned, 1)
		if a == nil {
			continue
		}
		again += len(a.Buffers)
		if err := a.Program.Verify(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := values(p, nil)
		if got := values(a.Program, a.Steps); got != want {
			t.Fatalf("seed %d: %s, want %s", seed, got, want)
		}
		for _, streams := range []int{1, 3} {
			r := a.Program.Arrange(free, streams)
			from := a.Steps
			if r.Order != nil {
				from = nil
				for _, i := range r.Order {
					from = append(from, a.Steps[i])
				}
			}
			if got := values(r.Program, from); got != want {
				t.Fatalf("seed %d on %d streams: %s, want %s", seed, streams, got, want)
			}
		}
		if was, is := p.Peak(p.Place()), a.Program.Peak(a.Program.Place()); is > was {
			t.Errorf("seed %d: %d bytes, was %d", seed, is, was)
		}
	}
	if small := (&program.Program{}).Again(free, 2); small != nil {
		t.Error("an empty program computes something again")
	}
	if again < 20 {
		t.Errorf("%d values are computed again; the test sees too few", again)
	}
}

// values runs a program whose steps are those of another by number, and returns what the
// result depends on.
func values(p *program.Program, from []int) string {
	held := make([]uint64, len(p.Buffers))
	for i := range p.Steps {
		s, n := &p.Steps[i], i
		if from != nil {
			n = from[i]
		}
		v := uint64(n+1) * 0x9E3779B97F4A7C15
		for _, r := range s.In {
			v = (v ^ held[r.Buffer]) * 0xBF58476D1CE4E5B9
			v ^= v >> 29
		}
		held[s.Out[0].Buffer] = v
	}
	return fmt.Sprintf("%x", held[p.Results[0].Buffer])
}
