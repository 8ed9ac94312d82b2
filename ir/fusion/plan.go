package fusion

import (
	"errors"
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
	// RoundsFolds reports whether rows where a step runs may be folded to elements of 16 bits.
	RoundsFolds func(step int) bool
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
	// FoldCode is Code for folds; nil where none are to be made.
	FoldCode func(step int, f *Fold) error
	// TakesFold reports whether a reduction may be given code with what makes its operand, by
	// the call of the reduction alone.
	TakesFold func(step int, c *ir.Call) bool
	// NormCode is Code for norms; nil where none are to be made.
	NormCode func(step int, n *Norm) error
	// TakesNorm is Takes for norms.
	TakesNorm func(step int, n *Norm, c *ir.Call) bool
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
	info  []*member // by step; nil for what is not fused
	group []int     // by step: the number of its group
	steps [][]int   // by group, ascending; none of a group that became part of another
	// several are the groups that may have several steps
	several []int
	users   [][]use // by buffer
	after   [][]int // by step: the steps that must run before it
	why     map[int]string

	folds   []*fold       // by step; nil for what folds no rows
	writers []int         // by buffer: how many steps write to it
	rows    []*rowBuilder // by group that is computed row by row

	products []*productBuilder // by group that begins with a product

	reductions []*foldBuilder // by group that ends with a reduction

	norms []*normBuilder // by group that has a norm

	passed []int // by group: the latest search that came by
	search int
}

// Make plans a program. What it does is the same; nothing of it is changed.
func Make(p *program.Program, o Options) *Plan {
	n := len(p.Steps)
	l := &planner{p: p, o: o, info: make([]*member, n), group: make([]int, n), steps: make([][]int, n), why: map[int]string{},
		rows: make([]*rowBuilder, n), products: make([]*productBuilder, n), reductions: make([]*foldBuilder, n), norms: make([]*normBuilder, n), passed: make([]int, n)}
	l.after = p.Before(func(i int) bool { return Pinned(p, i, o.Refused) })
	l.findUsers()
	numbers := make([]int, n)
	for i := range p.Steps {
		numbers[i], l.group[i] = i, i
		l.steps[i] = numbers[i : i+1 : i+1]
		if s := &p.Steps[i]; s.Action == program.Launch && s.Call.Op.Kind == ir.Elementwise {
			l.info[i] = l.look(i)
		}
	}
	for i := range p.Steps {
		for _, before := range slices.Backward(l.after[i]) {
			l.join(i, before)
		}
	}
	for i := range p.Steps {
		for _, before := range l.after[i] {
			l.accompany(i, before)
		}
	}
	l.countWriters()
	if o.RowCode != nil {
		l.grow()
	}
	if o.ProductCode != nil {
		l.attach()
	}
	if o.NormCode != nil {
		l.normalize()
	}
	if o.FoldCode != nil {
		l.reduce()
	}
	made := l.groups()
	plan := &Plan{Why: l.why, Order: make([]Item, 0, n)}
	for _, first := range l.order() {
		if g := made[first]; g != nil {
			plan.Order, plan.Groups = append(plan.Order, Item{Step: g.Steps[0], Group: g}), append(plan.Groups, g)
		} else {
			plan.Order = append(plan.Order, Item{Step: first})
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

// A building is a group of several steps that is made.
type building struct {
	steps []int
	by    maker
	g     *Group
	err   error
}

// A maker makes a group; where quick is set, only of what has code, else errNoCode is the error.
type maker interface {
	build(quick bool) (*Group, error)
}

// errNoCode is the error of code that has to be made first.
var errNoCode = errors.New("it has no code yet")

// groups makes the groups of several steps and returns them by their first steps. Those whose
// code has to be compiled are made side by side.
func (l *planner) groups() []*Group {
	several := 0
	for _, steps := range l.steps {
		if len(steps) > 1 {
			several++
		}
	}
	list, room := make([]*building, 0, several), make([]building, several)
	var slow []*building
	for id, steps := range l.steps {
		if len(steps) < 2 {
			continue
		}
		b := &room[len(list)]
		b.steps = steps
		if rows := l.rows[id]; rows != nil {
			b.by = rows
		} else if product := l.products[id]; product != nil {
			b.by = product
		} else if fold := l.reductions[id]; fold != nil {
			b.by = fold
		} else if norm := l.norms[id]; norm != nil {
			b.by = norm
		} else {
			b.by = &elements{l, steps}
		}
		list = append(list, b)
		if b.g, b.err = b.by.build(true); b.err == errNoCode {
			slow = append(slow, b)
		}
	}
	for len(slow) > 0 {
		var wait sync.WaitGroup
		for _, b := range slow {
			wait.Go(func() { b.g, b.err = b.by.build(false) })
		}
		wait.Wait()
		var parts []*building
		for _, b := range slow {
			for _, part := range b.apart() {
				if b.err != nil && len(part) > 1 {
					parts = append(parts, &building{steps: part, by: &elements{l, part}})
				}
			}
		}
		slow = parts
		list = append(list, parts...) // parts come behind what they are of
	}
	made := make([]*Group, len(l.p.Steps))
	for _, b := range list {
		for _, i := range b.steps {
			if l.group[i] = b.steps[0]; b.err != nil {
				l.why[i], l.group[i] = b.err.Error(), i
			}
		}
		if b.err == nil {
			made[b.steps[0]] = b.g
		}
	}
	return made
}

// apart returns the groups that are made where this one cannot be.
func (b *building) apart() [][]int {
	switch by := b.by.(type) {
	case *rowBuilder:
		return by.parts
	case *productBuilder:
		return [][]int{by.after}
	case *foldBuilder:
		return [][]int{by.before}
	}
	return nil
}

// elements are element-wise steps of which a group is made.
type elements struct {
	l     *planner
	steps []int
}

func (e *elements) build(quick bool) (*Group, error) { return e.l.build(e.steps, quick) }

// join makes one group of those of two steps of which the first follows the second, where
// that may be.
func (l *planner) join(i, before int) {
	a, b := l.group[before], l.group[i]
	if a == b || l.info[i] == nil || l.info[before] == nil || !l.reads(i, before) {
		return
	}
	if why := l.fits(l.steps[a], l.steps[b]); why != "" {
		l.why[i] = why
		return
	}
	if l.between(a, b) {
		l.why[i] = "what it reads also goes through a step that is not element-wise"
		return
	}
	l.merge(a, b)
}

// merge makes the steps of group other those of group at.
func (l *planner) merge(at, other int) {
	if !slices.Contains(l.several, at) {
		l.several = append(l.several, at)
	}
	for _, s := range l.steps[other] {
		l.group[s] = at
	}
	all := slices.Concat(l.steps[at], l.steps[other])
	slices.Sort(all)
	l.steps[at], l.steps[other] = all, nil
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

// path reports whether group from depends on group to through another. Steps that come before
// all of to's count where a group that they depend on may have a later step.
func (l *planner) path(from, to int) bool {
	first := l.steps[to][0]
	if !l.spanned(first, from, to) {
		return l.leads(from, to, first)
	}
	return l.leads(from, to, 0)
}

// spanned reports whether a group but two has steps before a step and from it on.
func (l *planner) spanned(step, from, to int) bool {
	return slices.ContainsFunc(l.several, func(g int) bool {
		s := l.steps[g]
		return len(s) > 1 && g != from && g != to && s[0] < step && s[len(s)-1] >= step
	})
}

// leads is path by steps from first on.
func (l *planner) leads(from, to, first int) bool {
	l.search++
	l.passed[from] = l.search
	var room [32]int
	stack := append(room[:0], from)
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
				case h != to && l.passed[h] != l.search:
					l.passed[h] = l.search
					stack = append(stack, h)
				}
			}
		}
	}
	return false
}

// order returns the first steps of the groups such that each follows what it depends on,
// otherwise in the order in which their last steps were given.
func (l *planner) order() []int {
	n := len(l.group)
	first, next, last := slices.Repeat([]int{-1}, n), slices.Repeat([]int{-1}, n), slices.Repeat([]int{-1}, n)
	for i, g := range l.group { // next leads from step to step of a group
		if first[g] < 0 {
			first[g] = i
		} else {
			next[last[g]] = i
		}
		last[g] = i
	}
	done, list := make([]bool, n), make([]int, 0, n)
	var visit func(g int)
	visit = func(g int) {
		if done[g] {
			return
		}
		done[g] = true
		for i := first[g]; i >= 0; i = next[i] {
			for _, before := range l.after[i] {
				visit(l.group[before])
			}
		}
		list = append(list, first[g])
	}
	for i, g := range l.group {
		if i == last[g] {
			visit(g)
		}
	}
	return list
}
