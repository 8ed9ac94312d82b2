package program_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// TestSlice: the steps that compute a value again are those that it comes from, as far as
// what they read is there as it was.
func TestSlice(t *testing.T) {
	const n = 64
	steps := []program.Step{
		launch(ir.Elementwise, n, 1, 0), // 0 is an argument
		launch(ir.Opaque, n, 2, 1),
		launch(ir.Elementwise, n, 3, 2),
		launch(ir.Elementwise, n, 3, 3, 1), // in place
		launch(ir.Elementwise, n, 4, 3),
		launch(ir.Elementwise, n, 5, 6), // 6 is an argument that is written behind it
		launch(ir.Elementwise, n, 6, 1),
		launch(ir.Elementwise, n, 7, 4, 5),
	}
	for _, c := range []struct {
		name    string
		need    []int
		there   []int
		pinned  int
		want    []int
		refused bool
	}{
		{"all", []int{4}, []int{0}, -1, []int{0, 1, 2, 3, 4}, false},
		{"from what is kept", []int{4}, []int{1}, -1, []int{1, 2, 3, 4}, false},
		{"written in place and kept", []int{4}, []int{3}, -1, []int{4}, false},
		{"several", []int{2, 3}, []int{1}, -1, []int{1, 2, 3}, false},
		{"nothing there", []int{4}, nil, -1, nil, true},
		{"a step that is done once", []int{4}, []int{0}, 2, nil, true},
		{"an argument that changed", []int{5}, []int{0, 6}, -1, nil, true},
		{"nothing needed", nil, nil, -1, nil, false},
	} {
		buffers := make([]program.Buffer, 8)
		for i := range buffers {
			buffers[i] = program.Buffer{Device: "cpu", Bytes: n}
		}
		buffers[0].Kind, buffers[6].Kind = program.Argument, program.Argument
		p := program.New(buffers, slices.Clone(steps), nil)
		got, ok := p.Slice(len(steps)-1, c.need, func(b int) bool { return slices.Contains(c.there, b) }, func(i int) bool { return i != c.pinned })
		if ok == c.refused {
			t.Errorf("%s: possible: %v", c.name, ok)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// TestSpare: of what two programs share, large values that one element-wise step makes of what
// is there or shared anyway are computed again; those that others are made of are kept.
func TestSpare(t *testing.T) {
	const large = 64 << 20
	chain := []program.Step{
		launch(ir.Opaque, large, 1, 0),
		launch(ir.Elementwise, large, 2, 1),
		launch(ir.Elementwise, large, 3, 2),
		launch(ir.Opaque, large, 4, 3),
	}
	for len(chain) < 80 { // which take their time
		chain = append(chain, launch(ir.Opaque, large, 4, 4))
	}
	for _, c := range []struct {
		name         string
		kept, there  []int
		pinned, from int
		want         []int
	}{
		{"of one that is kept", []int{1, 2}, nil, -1, 80, []int{2}},
		{"of one that is not", []int{2}, nil, -1, 80, nil},
		{"one behind another", []int{1, 2, 3}, nil, -1, 80, []int{2}},
		{"of an argument", []int{1}, []int{0}, -1, 80, nil}, // not element-wise
		{"pinned", []int{1, 2}, nil, 1, 80, nil},
		{"changed since", []int{3, 4}, nil, -1, 80, nil},
	} {
		buffers := make([]program.Buffer, 5)
		for i := range buffers {
			buffers[i] = program.Buffer{Device: "cpu", Bytes: large}
		}
		buffers[0].Kind = program.Argument
		p := program.New(buffers, slices.Clone(chain), nil)
		got := p.Spare(c.from, c.kept, func(b int) bool { return slices.Contains(c.there, b) }, func(i int) bool { return i == c.pinned })
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	if program.New(nil, nil, nil).Spare(0, nil, nil, nil) != nil {
		t.Error("an empty program computes something again")
	}
}

// TestReadsEarlier: a program that reads a value which is made later is told from one that
// does not.
func TestReadsEarlier(t *testing.T) {
	of := func(steps ...program.Step) *program.Program {
		return program.New([]program.Buffer{{Kind: program.Argument, Bytes: 8}, {Bytes: 8}, {Bytes: 8}}, steps, nil)
	}
	first, then := launch(ir.Elementwise, 8, 1, 0), launch(ir.Elementwise, 8, 2, 1)
	ordered := of(first, then)
	if b := ordered.ReadsEarlier(ordered); b >= 0 {
		t.Errorf("buffer %d", b)
	}
	first, then = launch(ir.Elementwise, 8, 1, 0), launch(ir.Elementwise, 8, 2, 1)
	if b := of(then, first).ReadsEarlier(ordered); b != 1 {
		t.Errorf("buffer %d, want 1", b)
	}
}
