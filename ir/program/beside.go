package program

import "slices"

// A program may take more memory so that steps run side by side: smallBeside bytes, or where
// that is more, its memory by partBeside.
const (
	smallBeside = 8 << 20
	partBeside  = 8
)

// Beside returns an order in which steps that narrow names, and that do not depend on one
// another, come one right after the other, and the program in that order. There each of them
// but the first runs beside the one before it. The order is nil where there are no such steps,
// or where it takes too much memory. Steps that pinned names stay in order among themselves.
func (p *Program) Beside(pinned, narrow func(step int) bool) (order []int, q *Program, l *Layout) {
	at := -1
	for i := range p.Steps {
		switch {
		case p.Steps[i].Action == Exchange: // work goes on between it and who awaits it
			return nil, p, nil
		case at < 0 && narrow(i):
			at = i
		}
	}
	if at < 0 {
		return nil, p, nil
	}
	order, beside := neighbours(p.Before(pinned), narrow)
	if !slices.Contains(beside, true) {
		return nil, p, nil
	}
	q = p.In(order)
	for i := range q.Steps {
		q.Steps[i].Beside = beside[i]
	}
	l = q.Place()
	if old := p.Peak(p.Place()); q.Peak(l) > old+max(smallBeside, old/partBeside) {
		return nil, p, nil
	}
	return order, q, l
}

// neighbours returns the order of Beside, and by place in it whether the step runs beside the
// one before it. Before says what each step must follow.
func neighbours(before [][]int, narrow func(step int) bool) (order []int, beside []bool) {
	order, beside = make([]int, len(before)), make([]bool, len(before))
	for i := range order {
		order[i] = i
	}
	for at := 0; at < len(order); at++ {
		if !narrow(order[at]) {
			continue
		}
		group, sooner, later := []int{order[at]}, []int{}, []int{} // of the steps up to end
		var pending []int                                          // those since the last member that come sooner if there is another one
		behind := map[int]bool{order[at]: true}
		end := at + 1
		var blocked []int
		for k, i := range order[at+1:] {
			switch {
			case slices.ContainsFunc(before[i], func(b int) bool { return behind[b] }):
				behind[i] = true
				blocked = append(blocked, i)
			case narrow(i):
				group, sooner, later = append(group, i), append(sooner, pending...), append(later, blocked...)
				pending, blocked, end = nil, nil, at+1+k+1
				behind[i] = true
			default:
				pending = append(pending, i)
			}
		}
		copy(order[at:end], slices.Concat(sooner, group, later))
		at += len(sooner)
		for i := range group[1:] {
			beside[at+1+i] = true
		}
		at += len(group) - 1
	}
	return order, beside
}

// until returns the last of the steps that run beside step i.
func (p *Program) until(i int) int {
	_, last := p.together(i)
	return last
}

// Apart returns the program with no step beside another one; it is p where there is none.
func (p *Program) Apart() *Program {
	if !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Beside }) {
		return p
	}
	q := &Program{p.Buffers, slices.Clone(p.Steps), p.Results}
	for i := range q.Steps {
		q.Steps[i].Beside = false
	}
	return q
}

// together returns the first and the last of the steps that run beside step i.
func (p *Program) together(i int) (first, last int) {
	first, last = i, i
	for first > 0 && p.Steps[first].Beside {
		first--
	}
	for last+1 < len(p.Steps) && p.Steps[last+1].Beside {
		last++
	}
	return first, last
}
