package program

import (
	"slices"
)

// Before returns by step the earlier steps that it must follow: of what it reads the writer,
// of what it writes the readers and the writer before. Steps that are pinned stay in order
// among themselves: what changes the host, what reads it there, and exchanges, which all who
// take part make in one order. A step that is done again follows what the first that reads
// its result follows, so that it comes right before that.
func (p *Program) Before(pinned func(step int) bool) [][]int {
	type uses struct{ writer, first, last int } // first and last are places in readers
	type reader struct{ step, next int }
	none := uses{-1, -1, -1}
	of, readers := slices.Repeat([]uses{none}, len(p.Buffers)), make([]reader, 0, 4*len(p.Steps))
	after, all := make([][]int, len(p.Steps)), make([]int, 0, 4*len(p.Steps)) // all has the lists one behind the other
	host := -1
	for i := range p.Steps {
		s, from := &p.Steps[i], len(all)
		add := func(before int) {
			if before >= 0 && before != i && !slices.Contains(all[from:], before) {
				all = append(all, before)
			}
		}
		for _, r := range s.In {
			if r.Buffer < 0 {
				continue
			}
			u := &of[r.Buffer]
			add(u.writer)
			if u.last < 0 {
				u.first = len(readers)
			} else {
				readers[u.last].next = len(readers)
			}
			u.last = len(readers)
			readers = append(readers, reader{i, -1})
		}
		for _, r := range s.Out {
			u := &of[r.Buffer]
			add(u.writer)
			for k := u.first; k >= 0; k = readers[k].next {
				add(readers[k].step)
			}
			*u = none
			u.writer = i
		}
		if pinned(i) {
			add(host)
			host = i
		}
		after[i] = all[from:len(all):len(all)]
	}
	p.delay(after)
	return after
}

// delay has steps that are done again follow what their first readers follow.
func (p *Program) delay(after [][]int) {
	for i := len(p.Steps) - 1; i >= 0; i-- { // what reads one may be done again, too
		if !p.Steps[i].Again {
			continue
		}
		out := p.Steps[i].Out[0].Buffer
		for k := i + 1; k < len(p.Steps); k++ {
			if slices.ContainsFunc(p.Steps[k].In, func(r Ref) bool { return r.Buffer == out }) {
				for _, b := range after[k] {
					if b != i && b < i && !slices.Contains(after[i], b) {
						after[i] = append(after[i], b)
					}
				}
				break
			}
		}
	}
}

// Order returns an order of the steps in which the program does the same and holds less
// memory: of the steps that may come next, that which lets go of most or, failing that, takes
// least. Where that holds no less than the order as it is, the order is nil. It returns also
// the program in the order, which is p where it is nil, and that program's layout.
func (p *Program) Order(pinned func(step int) bool) (order []int, ordered *Program, l *Layout) {
	l = p.Place()
	for i := range p.Steps {
		if p.Steps[i].Action == Exchange { // work goes on between it and who awaits it
			return nil, p, l
		}
	}
	order = p.frugal(p.Before(pinned))
	if slices.IsSorted(order) {
		return nil, p, l
	}
	q := p.In(order)
	other := q.Place()
	if q.Peak(other) >= p.Peak(l) {
		return nil, p, l
	}
	return order, q, other
}

// frugal returns the order that Order tries. Before says what each step must follow.
func (p *Program) frugal(before [][]int) []int {
	waits, then := make([]int, len(p.Steps)), reversed(before)
	for i, list := range before {
		waits[i] = len(list)
	}
	taken := p.takings(0)
	ready, order := make([]int, 0, len(p.Steps)), make([]int, 0, len(p.Steps))
	for i := range waits {
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		best, least := 0, taken.by(ready[0])
		for k, i := range ready[1:] {
			if n := taken.by(i); n < least || n == least && i < ready[best] {
				best, least = k+1, n
			}
		}
		i := ready[best]
		ready = slices.Delete(ready, best, best+1)
		order = append(order, i)
		taken.take(i)
		for _, n := range then[i] {
			if waits[n]--; waits[n] == 0 {
				ready = append(ready, n)
			}
		}
	}
	return order
}

// reversed returns by step those whose lists it is in, ascending.
func reversed(lists [][]int) [][]int {
	total, count := 0, make([]int, len(lists))
	for _, list := range lists {
		total += len(list)
		for _, b := range list {
			count[b]++
		}
	}
	in, all := make([][]int, len(lists)), make([]int, total)
	for b, n := range count {
		in[b], all = all[:0:n], all[n:]
	}
	for i, list := range lists {
		for _, b := range list {
			in[b] = append(in[b], i)
		}
	}
	return in
}

// A taking says which temporaries are there while a program is given an order.
type taking struct {
	p       *Program
	least   int64   // bytes: temporaries that have fewer do not count
	touched [][]int // by step
	left    []int   // by buffer: the steps that use it and come later
	live    []bool
}

func (p *Program) takings(least int64) *taking {
	t := &taking{p: p, least: least, live: make([]bool, len(p.Buffers))}
	t.touched, t.left = p.touched()
	return t
}

// by returns how many bytes more there are behind step i than before it.
func (t *taking) by(i int) (bytes int64) {
	for _, b := range t.touched[i] {
		n := t.p.Buffers[b].Bytes
		if n < t.least {
			continue
		}
		if !t.live[b] {
			bytes += n
		}
		if t.left[b] == 1 {
			bytes -= n
		}
	}
	return bytes
}

// take has step i be the next.
func (t *taking) take(i int) {
	for _, b := range t.touched[i] {
		t.live[b] = true
		t.left[b]--
	}
}

// touched returns by step the temporaries that it uses, and by buffer how many steps do.
func (p *Program) touched() (of [][]int, steps []int) {
	of, steps = make([][]int, len(p.Steps)), make([]int, len(p.Buffers))
	all := make([]int, 0, 4*len(p.Steps)) // the lists one behind the other
	for i := range p.Steps {
		from := len(all)
		for _, list := range [2][]Ref{p.Steps[i].Out, p.Steps[i].In} {
			for _, r := range list {
				if r.Buffer >= 0 && p.Buffers[r.Buffer].Kind == Temporary && !slices.Contains(all[from:], r.Buffer) {
					all = append(all, r.Buffer)
					steps[r.Buffer]++
				}
			}
		}
		of[i] = all[from:len(all):len(all)]
	}
	return of, steps
}

// In returns the program with its steps in another order.
func (p *Program) In(order []int) *Program {
	steps, n := make([]Step, len(order)), 0
	for _, from := range order {
		n += len(p.Steps[from].Out) + len(p.Steps[from].In)
	}
	refs := make([]Ref, 0, n) // of all steps
	clone := func(list []Ref) []Ref {
		if list == nil {
			return nil
		}
		refs = append(refs, list...)
		return refs[len(refs)-len(list) : len(refs) : len(refs)]
	}
	for i, from := range order {
		steps[i] = p.Steps[from]
		steps[i].Out, steps[i].In = clone(steps[i].Out), clone(steps[i].In)
	}
	return New(slices.Clone(p.Buffers), steps, slices.Clone(p.Results))
}
