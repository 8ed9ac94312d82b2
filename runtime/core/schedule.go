package core

import (
	"slices"

	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A schedule says which stream of a capture each step is given to. Steps that do not depend
// on one another may run at the same time where their streams differ.
//
// A step depends on an earlier one where both use the same bytes and one of them writes
// them. Temporaries that lie in one place one after another depend on one another so.
type schedule struct {
	of     []int   // by step: its stream
	awaits [][]int // by step: the steps on other streams that it waits for
	marked []bool  // by step: others wait for it
}

// A span is bytes of a buffer, or of the block of temporaries.
type span struct {
	space    int // a buffer; -1 for the block
	from, to int64
}

func (a span) meets(b span) bool { return a.space == b.space && a.from < b.to && b.from < a.to }

// spans returns the bytes that places may use: all of their buffers.
func (rec *Recorded) spans(refs []program.Ref) (out []span) {
	for _, r := range refs {
		if r.Buffer < 0 {
			continue
		}
		s := span{r.Buffer, 0, rec.buffers[r.Buffer].Bytes}
		if o := rec.Layout.Offsets[r.Buffer]; o >= 0 {
			s = span{-1, o, o + s.to}
		}
		out = append(out, s)
	}
	return out
}

func meet(a, b []span) bool {
	return slices.ContainsFunc(a, func(x span) bool { return slices.ContainsFunc(b, x.meets) })
}

// schedule finds what steps wait for that are on other streams.
func (rec *Recorded) schedule() *schedule {
	n := len(rec.steps)
	l := &schedule{of: rec.streams, awaits: make([][]int, n), marked: make([]bool, n)}
	reads, writes := make([][]span, n), make([][]span, n)
	before := make([][]uint64, n) // by step: a bit for each step that it comes after
	last := map[int]int{}         // by stream: the latest step
	for i := range rec.steps {
		if rec.steps[i].Action == program.Effect {
			continue
		}
		reads[i], writes[i] = rec.spans(rec.steps[i].In), rec.spans(rec.steps[i].Out)
		before[i] = make([]uint64, (n+63)/64)
		follow := func(j int) {
			before[i][j/64] |= 1 << (j % 64)
			for w := range before[j] {
				before[i][w] |= before[j][w]
			}
		}
		if j, any := last[l.of[i]]; any {
			follow(j)
		}
		last[l.of[i]] = i
		for j := i - 1; j >= 0; j-- {
			if before[j] == nil || before[i][j/64]>>(j%64)&1 == 1 {
				continue // a step that this one depends on depends on it
			}
			if meet(writes[j], reads[i]) || meet(writes[j], writes[i]) || meet(reads[j], writes[i]) {
				follow(j)
				l.awaits[i] = append(l.awaits[i], j) // on another stream, or it would be skipped
				l.marked[j] = true
			}
		}
	}
	return l
}

// run calls give for each step with its stream current. Every stream begins behind what the
// first one was given, which in the end waits for all.
func (l *schedule) run(streams []stream.Stream, give func(step int) error) error {
	marks := make([]*stream.Event, len(l.of))
	joined := make([]bool, len(streams))
	joined[0] = true
	start, err := streams[0].RecordEvent(nil)
	if err != nil {
		return err
	}
	for i, k := range l.of {
		on := streams[k]
		if !joined[k] {
			if err := on.WaitEvent(start); err != nil {
				return err
			}
			joined[k] = true
		}
		for _, j := range l.awaits[i] {
			if err := on.WaitEvent(marks[j]); err != nil {
				return err
			}
		}
		if err := on.Do(func() error { return give(i) }); err != nil {
			return err
		}
		if l.marked[i] {
			if marks[i], err = on.RecordEvent(nil); err != nil {
				return err
			}
		}
	}
	for k := range streams[1:] {
		if joined[k+1] {
			if err := streams[0].WaitStream(streams[k+1]); err != nil {
				return err
			}
		}
	}
	return nil
}
