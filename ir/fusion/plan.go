package fusion

import (
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

const (
	mostMembers  = 48
	mostOperands = 16
	mostResults  = 8
	mostScalars  = 16
)

// Options are what Make goes by.
type Options struct {
	// Refused returns why a launch is not to be fused; "" where it may be.
	Refused func(step int) string
	// Number returns the number that an operand of a launch is on the host and stays.
	Number func(step, operand int) (ir.Scalar, bool)
	// Rounds reports whether a region where a step runs may have elements of 16 bits.
	Rounds func(step int) bool
	// Place names where a step runs: those of one region run at one place.
	Place func(step int) int
	// Code gives a region that was not seen before its code for where the step runs. The call
	// is the first one, which code may be made for first.
	Code func(step int, r *Region, c *ir.Call) error
	// RowCode is Code for rows; nil where none are to be made.
	RowCode func(step int, r *Rows) error
	// ProductCode is Code for products; nil where none are to be made.
	ProductCode func(step int, p *Product) error
	// Takes reports whether a product has code, or can be given it, for a call of it.
	Takes func(step int, p *Product, c *ir.Call) bool
	// Relaxed lets kernels compute otherwise than the calls one by one where that is quicker.
	Relaxed bool
	// Kind names the kind of device that the step runs on.
	Kind func(step int) string
}

// A Group is steps of a program that become one.
type Group struct {
	Steps   []int // in their order
	Call    ir.Call
	Out, In []program.Ref
}

// A Plan is the order in which steps run, and which of them as one.
type Plan struct {
	Order  []Item
	Groups []*Group
	Why    map[int]string // why element-wise launches run alone
}

// An Item is a step, or where Group is not nil, several.
type Item struct {
	Step  int
	Group *Group
}

// planner partitions a program.
type planner struct {
	p     *program.Program
	o     Options
	info  []*member     // by step; nil for what is not fused
	group []int         // by step: the number of its group
	steps map[int][]int // by group, ascending
	after [][]int       // by step: the steps that must run before it
	why   map[int]string

	folds   []*fold             // by step; nil for what folds no rows
	writers []int               // by buffer: how many steps write to it
	rows    map[int]*rowBuilder // by group that is computed row by row

	products map[int]*productBuilder // by group that begins with a product
}

// Make plans a program. What it does is the same; nothing of it is changed.
func Make(p *program.Program, o Options) *Plan {
	l := &planner{p: p, o: o, steps: map[int][]int{}, why: map[int]string{}, rows: map[int]*rowBuilder{}, products: map[int]*productBuilder{}}
	l.after = p.Before(func(i int) bool { return Pinned(p, i, o.Refused) })
	l.info, l.group = make([]*member, len(p.Steps)), make([]int, len(p.Steps))
	for i := range p.Steps {
		l.group[i], l.steps[i] = i, []int{i}
		if s := &p.Steps[i]; s.Action == program.Launch && s.Call.Op.Kind == ir.Elementwise {
			l.info[i] = l.look(i)
		}
	}
	for i := range p.Steps {
		for _, before := range slices.Backward(l.after[i]) {
			l.join(i, before)
		}
	}
	l.countWriters()
	if o.RowCode != nil {
		l.grow()
	}
	if o.ProductCode != nil {
		l.attach()
	}
	made := l.groups()
	plan := &Plan{Why: l.why}
	for _, id := range l.order() {
		if g := made[id.group]; g != nil {
			plan.Order, plan.Groups = append(plan.Order, Item{Step: g.Steps[0], Group: g}), append(plan.Groups, g)
		} else {
			plan.Order = append(plan.Order, Item{Step: id.step})
		}
	}
	return plan
}

// Pinned reports whether a step stays in order with others: one that changes the host, one
// that reads it there, and an exchange.
func Pinned(p *program.Program, i int, refused func(step int) string) bool {
	switch p.Steps[i].Action {
	case program.Launch:
		return refused(i) != ""
	case program.Zero, program.Copy:
		return false
	}
	return true
}

// groups makes the groups of several steps, side by side: code may have to be compiled.
func (l *planner) groups() map[int]*Group {
	type result struct {
		steps []int
		g     *Group
		err   error
	}
	var mu sync.Mutex
	var list []*result
	var wait sync.WaitGroup
	work := func(steps []int, build func() (*Group, error)) error {
		r := &result{steps: steps}
		r.g, r.err = build()
		mu.Lock()
		defer mu.Unlock()
		list = append(list, r)
		return r.err
	}
	elements := func(steps []int) { _ = work(steps, func() (*Group, error) { return l.build(steps) }) }
	for id, steps := range l.steps {
		var build func() (*Group, error)
		var parts [][]int
		if b := l.rows[id]; b != nil {
			build, parts = b.build, b.parts
		} else if b := l.products[id]; b != nil {
			build, parts = b.build, [][]int{b.after}
		}
		switch {
		case len(steps) == 1:
		case build == nil:
			wait.Go(func() { elements(steps) })
		default:
			wait.Go(func() {
				if work(steps, build) == nil {
					return
				}
				for _, part := range parts {
					if len(part) > 1 {
						elements(part)
					}
				}
			})
		}
	}
	wait.Wait()
	slices.SortStableFunc(list, func(a, b *result) int { return len(b.steps) - len(a.steps) }) // parts come behind what they are of
	made := map[int]*Group{}
	for _, r := range list {
		for _, i := range r.steps {
			if l.group[i] = r.steps[0]; r.err != nil {
				l.why[i], l.group[i] = r.err.Error(), i
			}
		}
		if r.err == nil {
			made[r.steps[0]] = r.g
		}
	}
	return made
}

// join makes one group of those of two steps of which the first follows the second, where
// that may be.
func (l *planner) join(i, before int) {
	a, b := l.group[before], l.group[i]
	if a == b || l.info[i] == nil || l.info[before] == nil || !l.reads(i, before) {
		return
	}
	steps := slices.Sorted(slices.Values(slices.Concat(l.steps[a], l.steps[b])))
	if why := l.fits(l.steps[a], l.steps[b]); why != "" {
		l.why[i] = why
		return
	}
	if l.between(a, b) {
		l.why[i] = "what it reads also goes through a step that is not element-wise"
		return
	}
	for _, s := range l.steps[b] {
		l.group[s] = a
	}
	l.steps[a] = steps
	delete(l.steps, b)
}

// reads reports whether step i reads just what step before writes, element by element.
func (l *planner) reads(i, before int) bool {
	for _, x := range l.info[i].in {
		for _, y := range l.info[before].out {
			if x.ref == y.ref {
				return true
			}
		}
	}
	return false
}

// between reports whether a path leads from group a to group b, or back, through another.
func (l *planner) between(a, b int) bool { return l.path(a, b) || l.path(b, a) }

// path reports whether group from depends on group to through another.
func (l *planner) path(from, to int) bool {
	first := l.steps[to][0]
	seen, stack := map[int]bool{from: true}, []int{from}
	for len(stack) > 0 {
		g := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, i := range l.steps[g] {
			if i < first {
				continue
			}
			for _, before := range l.after[i] {
				switch h := l.group[before]; {
				case h == to && g != from:
					return true
				case h != to && !seen[h]:
					seen[h] = true
					stack = append(stack, h)
				}
			}
		}
	}
	return false
}

// A place in the order of a plan.
type turn struct{ group, step int }

// order returns the groups such that each follows what it depends on, otherwise in the
// order in which their last steps were given.
func (l *planner) order() []turn {
	members := map[int][]int{}
	for i, g := range l.group {
		members[g] = append(members[g], i)
	}
	done, list := map[int]bool{}, []turn{}
	var visit func(g int)
	visit = func(g int) {
		if done[g] {
			return
		}
		done[g] = true
		for _, i := range members[g] {
			for _, before := range l.after[i] {
				visit(l.group[before])
			}
		}
		list = append(list, turn{g, members[g][0]})
	}
	for i := range l.p.Steps {
		if g := l.group[i]; i == members[g][len(members[g])-1] {
			visit(g)
		}
	}
	return list
}
