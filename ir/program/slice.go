package program

import (
	"cmp"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Slice returns the steps before step from that compute what buffers of need hold there, in
// ascending order. They read buffers that there names, which hold what they held, constants,
// and one another's results; repeats says which steps may be done a second time. It reports
// false where that is not possible.
func (p *Program) Slice(from int, need []int, there func(buffer int) bool, repeats func(step int) bool) (steps []int, ok bool) {
	s := &slicer{p: p, from: from, there: there, repeats: repeats, writers: p.writers(from), seen: map[int]bool{}, taken: map[int]bool{}}
	for _, b := range need {
		if !s.buffer(b) {
			return nil, false
		}
	}
	for i := range s.taken {
		steps = append(steps, i)
	}
	slices.Sort(steps)
	return steps, true
}

// writers returns by buffer the steps before step to that write it, ascending.
func (p *Program) writers(to int) [][]int {
	w := make([][]int, len(p.Buffers))
	for i := range p.Steps[:to] {
		for _, o := range p.Steps[i].Out {
			if n := len(w[o.Buffer]); n == 0 || w[o.Buffer][n-1] != i {
				w[o.Buffer] = append(w[o.Buffer], i)
			}
		}
	}
	return w
}

type slicer struct {
	p           *Program
	from        int
	there       func(buffer int) bool
	repeats     func(step int) bool
	writers     [][]int
	seen, taken map[int]bool // buffers and steps
}

// buffer takes the steps that write a temporary.
func (s *slicer) buffer(b int) bool {
	if s.seen[b] {
		return true
	}
	s.seen[b] = true
	if s.p.Buffers[b].Kind != Temporary || s.there(b) {
		return false // it would be written over
	}
	for _, w := range s.writers[b] {
		if !s.step(w) {
			return false
		}
	}
	return true
}

// step takes a step, and what it reads that is not there.
func (s *slicer) step(i int) bool {
	if s.taken[i] {
		return true
	}
	s.taken[i] = true
	if !s.repeats(i) {
		return false
	}
	for _, r := range s.p.Steps[i].In {
		if r.Buffer < 0 || s.p.holds(r.Buffer, i, s.writers, s.there) {
			continue
		}
		if !s.buffer(r.Buffer) {
			return false
		}
	}
	for _, r := range s.p.Steps[i].Out {
		if !s.buffer(r.Buffer) {
			return false
		}
	}
	return true
}

// holds reports whether a buffer holds later what step i reads of it.
func (p *Program) holds(buffer, i int, writers [][]int, there func(buffer int) bool) bool {
	if p.Buffers[buffer].Kind == Constant {
		return true
	}
	w := writers[buffer]
	return there(buffer) && (len(w) == 0 || w[len(w)-1] < i)
}

// Spare returns those of the kept buffers, which steps before step from make and later ones
// read, that are better computed again there: large ones that one element-wise step makes of
// what is kept or there anyway. Together they take a small part of the program's time. Steps
// that pinned names are done once.
func (p *Program) Spare(from int, kept []int, there func(buffer int) bool, pinned func(step int) bool) []int {
	budget, all := int64(0), int64(0)
	for i := range p.Steps {
		budget += p.cost(i)
	}
	for _, b := range kept {
		all += p.Buffers[b].Bytes
	}
	if budget /= share; budget < empty {
		return nil
	}
	writers := p.writers(from)
	gain := func(b int) float64 { return float64(p.Buffers[b].Bytes) / float64(p.cost(writers[b][0])) }
	var list []int
	for _, b := range kept {
		if len(writers[b]) == 1 && p.Buffers[b].Bytes*worth >= all && p.once(b, writers[b][0]) && !pinned(writers[b][0]) {
			list = append(list, b)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(gain(b), gain(a)) })
	var spared []int
	read := map[int]bool{} // by steps that are done again
	stays := func(b int) bool { return there(b) || slices.Contains(kept, b) && !slices.Contains(spared, b) }
	for _, b := range list {
		w := writers[b][0]
		cost := p.cost(w)
		if len(spared) == mostAgain || cost > budget || read[b] ||
			slices.ContainsFunc(p.Steps[w].In, func(r Ref) bool { return r.Buffer >= 0 && !p.holds(r.Buffer, w, writers, stays) }) {
			continue
		}
		budget -= cost
		spared = append(spared, b)
		for _, r := range p.Steps[w].In {
			if r.Buffer >= 0 {
				read[r.Buffer] = true
			}
		}
	}
	return spared
}

// once reports whether a step is an element-wise launch that writes a buffer and nothing else.
func (p *Program) once(buffer, step int) bool {
	s := &p.Steps[step]
	return s.Action == Launch && s.Call.Op.Kind == ir.Elementwise && len(s.Out) == 1 && s.Out[0].Buffer == buffer
}
