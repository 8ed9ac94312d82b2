package program

import (
	"slices"
)

// Before returns by step the earlier steps that it must follow: of what it reads the writer,
// of what it writes the readers and the writer before. Steps that are pinned stay in order
// among themselves: what changes the host, what reads it there, and exchanges, which all who
// take part make in one order.
func (p *Program) Before(pinned func(step int) bool) [][]int {
	type uses struct {
		writer  int
		readers []int
	}
	of := make([]uses, len(p.Buffers))
	for i := range of {
		of[i].writer = -1
	}
	after := make([][]int, len(p.Steps))
	host := -1
	for i := range p.Steps {
		s := &p.Steps[i]
		add := func(before int) {
			if before >= 0 && before != i && !slices.Contains(after[i], before) {
				after[i] = append(after[i], before)
			}
		}
		for _, r := range s.In {
			if r.Buffer >= 0 {
				add(of[r.Buffer].writer)
				of[r.Buffer].readers = append(of[r.Buffer].readers, i)
			}
		}
		for _, r := range s.Out {
			u := &of[r.Buffer]
			add(u.writer)
			for _, reader := range u.readers {
				add(reader)
			}
			*u = uses{writer: i}
		}
		if pinned(i) {
			add(host)
			host = i
		}
	}
	return after
}

// Order returns an order of the steps in which the program does the same and holds less
// memory: of the steps that may come next, that which lets go of most or, failing that, takes
// least. It returns nil where that holds no less than the order as it is.
func (p *Program) Order(pinned func(step int) bool) []int {
	for i := range p.Steps {
		if p.Steps[i].Action == Exchange { // work goes on between it and who awaits it
			return nil
		}
	}
	order := p.frugal(p.Before(pinned))
	if slices.IsSorted(order) {
		return nil
	}
	if q := p.In(order); q.Peak(q.Place()) >= p.Peak(p.Place()) {
		return nil
	}
	return order
}

// frugal returns the order that Order tries. Before says what each step must follow.
func (p *Program) frugal(before [][]int) []int {
	waits, then := make([]int, len(p.Steps)), make([][]int, len(p.Steps))
	for i, list := range before {
		waits[i] = len(list)
		for _, b := range list {
			then[b] = append(then[b], i)
		}
	}
	touched, left := make([][]int, len(p.Steps)), make([]int, len(p.Buffers)) // temporaries, and the steps that will use them
	for i := range p.Steps {
		for _, r := range slices.Concat(p.Steps[i].Out, p.Steps[i].In) {
			if r.Buffer >= 0 && p.Buffers[r.Buffer].Kind == Temporary && !slices.Contains(touched[i], r.Buffer) {
				touched[i] = append(touched[i], r.Buffer)
				left[r.Buffer]++
			}
		}
	}
	live := make([]bool, len(p.Buffers))
	takes := func(i int) (bytes int64) {
		for _, b := range touched[i] {
			if !live[b] {
				bytes += p.Buffers[b].Bytes
			}
			if left[b] == 1 {
				bytes -= p.Buffers[b].Bytes
			}
		}
		return bytes
	}
	var ready, order []int
	for i := range waits {
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		best, least := 0, takes(ready[0])
		for k, i := range ready[1:] {
			if n := takes(i); n < least || n == least && i < ready[best] {
				best, least = k+1, n
			}
		}
		i := ready[best]
		ready = slices.Delete(ready, best, best+1)
		order = append(order, i)
		for _, b := range touched[i] {
			live[b] = true
			left[b]--
		}
		for _, n := range then[i] {
			if waits[n]--; waits[n] == 0 {
				ready = append(ready, n)
			}
		}
	}
	return order
}

// In returns the program with its steps in another order.
func (p *Program) In(order []int) *Program {
	steps := make([]Step, len(order))
	for i, from := range order {
		steps[i] = p.Steps[from]
		steps[i].Out, steps[i].In = slices.Clone(steps[i].Out), slices.Clone(steps[i].In)
	}
	return New(slices.Clone(p.Buffers), steps, slices.Clone(p.Results))
}
