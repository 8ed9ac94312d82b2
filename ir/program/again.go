package program

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

const (
	// share is what part of a program's time computing values again may take at most: one in
	// share.
	share = 20
	// worth is what part of the memory that a program holds a value has at least that is
	// computed again: one in worth.
	worth = 64
	// mostAgain is how many values are computed again at most.
	mostAgain = 64
)

// An Again is a program of which some steps are done a second time.
type Again struct {
	Program *Program
	Steps   []int // by step: the one of the program that it was made of
	Buffers []int // by buffer behind those of that program: the one whose value it has again
}

// Again has values that are cheap and large, and that nothing uses where the program holds
// most, be computed again behind that and not be kept. It is nil where there are none. Steps
// that pinned names are done once.
//
// Such a value is made by one element-wise step, whose operands are there later anyway. All
// that are computed again take a small part of the program's time, as cost tells it, so
// that small programs stay as they are. Where the steps are spread over several streams, only
// memory counts that is used again as soon as it is free.
func (p *Program) Again(pinned func(step int) bool, streams int) *Again {
	least := int64(0)
	if streams > 1 {
		least = fills
	}
	budget := int64(0)
	for i := range p.Steps {
		budget += p.cost(i)
	}
	if budget /= share; budget < empty {
		return nil
	}
	a := &Again{Program: p}
	for i := range p.Steps {
		a.Steps = append(a.Steps, i)
	}
	for len(a.Buffers) < mostAgain {
		buffer, before := a.best(pinned, budget, least)
		if buffer < 0 {
			break
		}
		budget -= a.Program.cost(a.Program.Buffers[buffer].First)
		a.insert(buffer, before)
	}
	if len(a.Buffers) == 0 {
		return nil
	}
	return a
}

// best returns the temporary of least bytes or more that frees most memory where the program
// holds most, for the time that it takes, and the step which needs it next; below 0 where
// there is none.
func (a *Again) best(pinned func(step int) bool, budget, least int64) (buffer, before int) {
	p := a.Program
	at, held := p.fullest()
	users := p.users()
	buffer = -1
	var most float64
	for b := range p.Buffers {
		bytes := p.Buffers[b].Bytes
		if len(users[b]) < 3 || p.Buffers[b].First >= at || p.Buffers[b].Last <= at || bytes*worth < held || bytes < least {
			continue
		}
		n, uses := slices.BinarySearch(users[b], at)
		if uses || n < 2 { // its writer alone: moving that is the order's part
			continue
		}
		next := users[b][n]
		w := users[b][0]
		if !p.cheap(b, w, next) || pinned(a.Steps[w]) {
			continue
		}
		cost := p.cost(w)
		if gain := float64(bytes) / float64(cost); cost <= budget && gain > most {
			buffer, before, most = b, next, gain
		}
	}
	return buffer, before
}

// fullest returns the step in which the program holds most temporaries, and their bytes.
func (p *Program) fullest() (step int, most int64) {
	change := make([]int64, len(p.Steps)+1)
	for i := range p.Buffers {
		if b := &p.Buffers[i]; b.Kind == Temporary && b.First >= 0 {
			change[b.First] += b.Bytes
			change[b.Last+1] -= b.Bytes
		}
	}
	held := int64(0)
	for i, c := range change[:len(p.Steps)] {
		if held += c; held > most {
			step, most = i, held
		}
	}
	return step, most
}

// cheap reports whether a buffer, which step w makes, can be made by the same call right
// before step next: nothing else writes to it, and the operands are the same and there anyway.
func (p *Program) cheap(buffer, w, next int) bool {
	s := &p.Steps[w]
	if s.Action != Launch || s.Call.Op.Kind != ir.Elementwise || len(s.Out) != 1 || s.Out[0].Buffer != buffer || s.Again {
		return false
	}
	for i := w + 1; i < len(p.Steps); i++ {
		for _, o := range p.Steps[i].Out {
			if o.Buffer == buffer {
				return false
			}
			if i < next && slices.ContainsFunc(s.In, func(r Ref) bool { return r.Buffer == o.Buffer }) {
				return false
			}
		}
	}
	for _, r := range s.In {
		if r.Buffer < 0 {
			continue
		}
		if b := &p.Buffers[r.Buffer]; r.Buffer == buffer || b.Kind == Temporary && b.Last < next {
			return false
		}
	}
	return true
}

// insert has a buffer's value be computed again right before a step, for that and those
// behind it.
func (a *Again) insert(buffer, before int) {
	p, w := a.Program, a.Program.Buffers[buffer].First
	made := len(p.Buffers)
	buffers := append(slices.Clone(p.Buffers), Buffer{Kind: Temporary, Device: p.Buffers[buffer].Device, Bytes: p.Buffers[buffer].Bytes})
	again := p.Steps[w]
	again.Again, again.In, again.Out = true, slices.Clone(again.In), slices.Clone(again.Out)
	again.Out[0].Buffer = made
	steps := slices.Insert(slices.Clone(p.Steps), before, again)
	for i := range steps {
		s := &steps[i]
		s.In, s.Out = slices.Clone(s.In), slices.Clone(s.Out) // whose versions the other program keeps
		for j := range s.In {
			if i > before && s.In[j].Buffer == buffer {
				s.In[j].Buffer = made
			}
		}
	}
	a.Program = New(buffers, steps, slices.Clone(p.Results))
	a.Steps = slices.Insert(a.Steps, before, a.Steps[w])
	a.Buffers = append(a.Buffers, buffer) // one of the first program: what is made again is not made a third time
}
