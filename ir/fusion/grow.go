package fusion

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/program"
)

const (
	shortestRow = 32      // elements that are worth folding together with what is around
	longestRow  = 1 << 16 // that stay in a cache
	leastRows   = 16      // for all processors to have some
	// Rows of manyFew elements or more that are fewer than fewRows are folded in several parts
	// by themselves, which is quicker.
	fewRows = 256
	manyFew = 1 << 12

	mostStages    = 24
	mostRowValues = 16 // operands, and results
)

// FoldsRows reports whether so many rows, of length elements each, are worth folding together with
// what is around.
func FoldsRows(rows, length int) bool {
	return length >= shortestRow && length <= longestRow && rows >= leastRows && (rows >= fewRows || length < manyFew)
}

// A fold is a launch that folds rows and may become a stage.
type fold struct {
	in, out      access
	rows, length int
}

// lookFold returns what there is to know of step i, a reduction, or nil where it is no stage.
func (l *planner) lookFold(i int) *fold {
	c := &l.p.Steps[i].Call
	k, s := c.Kernel, &l.p.Steps[i]
	if l.o.Refused(i) != "" || len(c.In) != 1 || len(c.Out) != 1 || k.Op.Ordered || k.DType != k.Compute && !(short(k.DType) && l.o.RoundsFolds(i)) ||
		k.Compute != ir.Float32 && k.Compute != ir.Float64 || s.In[0].Buffer < 0 || k.Op.Bodies[k.Variant].States != nil {
		return nil
	}
	if _, number := l.o.Number(i, 0); number || c.In[0].DType != k.Compute && !(short(c.In[0].DType) && l.o.Rounds(i)) || c.Out[0].DType != k.DType || k.Out[0].DType != k.DType {
		return nil
	}
	if _, err := body.Of(k); err != nil {
		return nil
	}
	f := &fold{in: access{ref: s.In[0], view: c.In[0]}, out: access{ref: s.Out[0], view: c.Out[0]}, rows: 1, length: 1}
	for a, n := range c.Space {
		switch folded := slices.Contains(c.Axes, a); {
		case n == 1:
		case folded:
			f.length *= n
		case f.length > 1:
			return nil // it folds axes before others
		default:
			f.rows *= n
		}
	}
	if !FoldsRows(f.rows, f.length) {
		return nil
	}
	_, element, ok := split(&f.in.view, f.rows, f.length)
	_, _, dense := split(&f.out.view, f.rows, 1)
	if !ok || element != 1 || !dense || !f.out.view.IsContiguous() || !l.made(f.out.ref) {
		return nil
	}
	return f
}

// made reports whether a place is in a buffer that the program makes in one step.
func (l *planner) made(r program.Ref) bool {
	if b := &l.p.Buffers[r.Buffer]; b.Kind != program.Temporary && b.Kind != program.Result || r.Version != 1 {
		return false
	}
	return l.writers[r.Buffer] == 1
}

// single reports whether an element-wise step computes one element of each of f's rows; ok
// is false where it computes neither that nor all elements of rows.
func (l *planner) single(i int, f *fold) (single, ok bool) {
	m := l.info[i]
	length := f.length
	switch ir.NumElements(l.p.Steps[i].Call.Space) {
	case f.rows:
		single, length = true, 1
	case f.rows * f.length:
	default:
		return false, false
	}
	for j := range m.out {
		row, _, dense := split(&m.out[j].view, f.rows, length)
		if !dense || row != length || !m.out[j].view.IsContiguous() || !l.made(m.out[j].ref) {
			return false, false
		}
	}
	for j := range m.in {
		if _, _, rows := split(&m.in[j].view, f.rows, length); !rows && !m.in[j].number {
			return false, false
		}
	}
	return single, true
}

// joins reports whether all of a group's steps may be stages over f's rows.
func (l *planner) joins(group int, f *fold, step int) bool {
	for _, i := range l.steps[group] {
		if l.p.Steps[i].Action != program.Launch || l.o.Place(i) != l.o.Place(step) {
			return false
		}
		compute, want := l.p.Steps[i].Call.Compute, l.p.Steps[step].Call.Compute
		switch {
		case compute != want && compute != ir.Bool:
			return false
		case l.folds[i] != nil:
			if l.folds[i].rows != f.rows || l.folds[i].length != f.length {
				return false
			}
		case l.info[i] == nil:
			return false
		default:
			if _, ok := l.single(i, f); !ok {
				return false
			}
		}
	}
	return true
}

// near reports whether a step of one group follows one of the other at once.
func (l *planner) near(a, b int) bool {
	follows := func(x, y int) bool {
		return slices.ContainsFunc(l.steps[x], func(i int) bool {
			return slices.ContainsFunc(l.after[i], func(before int) bool { return l.group[before] == y })
		})
	}
	return follows(a, b) || follows(b, a)
}

// countWriters counts the steps that write to each buffer.
func (l *planner) countWriters() {
	l.writers = make([]int, len(l.p.Buffers))
	for i := range l.p.Steps {
		for j, r := range l.p.Steps[i].Out {
			if !slices.ContainsFunc(l.p.Steps[i].Out[:j], func(o program.Ref) bool { return o.Buffer == r.Buffer }) {
				l.writers[r.Buffer]++
			}
		}
	}
}

// grow makes groups of folds, of what is folded and of what becomes of the results, where
// all is over the same rows.
func (l *planner) grow() {
	l.folds = make([]*fold, len(l.p.Steps))
	for i := range l.p.Steps {
		if s := &l.p.Steps[i]; s.Action == program.Launch && s.Call.Op.Kind == ir.Reduction {
			l.folds[i] = l.lookFold(i)
		}
	}
	for i, f := range l.folds {
		if f == nil || len(l.steps[l.group[i]]) > 1 {
			continue
		}
		group, steps := slices.Clone(l.group), slices.Clone(l.steps)
		l.growFrom(i, f)
		at := l.group[i]
		if len(l.steps[at]) == 1 {
			continue
		}
		b, err := l.stages(l.steps[at], f)
		if err != nil {
			l.group, l.steps = group, steps
			l.why[i] = err.Error()
			continue
		}
		for _, s := range l.steps[at] {
			if was := steps[group[s]]; was[0] == s {
				b.parts = append(b.parts, was)
			}
		}
		l.rows[at] = b
	}
}

// growFrom adds to the group of step i, a fold, what it can be computed with.
func (l *planner) growFrom(i int, f *fold) {
	at := l.group[i]
	for changed := true; changed; {
		changed = false
		for k := range l.p.Steps {
			other := l.group[k]
			if other == at || l.rows[other] != nil || !l.near(at, other) || !l.joins(other, f, i) || l.between(at, other) ||
				len(l.steps[at])+len(l.steps[other]) > mostMembers {
				continue
			}
			l.merge(at, other)
			changed = true
		}
	}
}

// A rowBuilder makes the rows and the call of a group.
type rowBuilder struct {
	*planner
	g        *Group
	f        *fold
	shape    rowShape
	parts    [][]int             // the groups that it was made of
	given    map[program.Ref]int // what stages give
	operands map[rowOperand]int
	outs     []access // by number of what stages give: where it would be stored
}

// A rowOperand tells operands of rows apart.
type rowOperand struct {
	ref          program.Ref
	row, element int
	single       bool
}

// stages makes a group's stages.
func (l *planner) stages(steps []int, f *fold) (*rowBuilder, error) {
	b := &rowBuilder{planner: l, g: &Group{Steps: steps}, f: f, given: map[program.Ref]int{}, operands: map[rowOperand]int{}}
	b.shape.compute = l.p.Steps[steps[slices.IndexFunc(steps, func(i int) bool { return l.folds[i] != nil })]].Call.Compute
	levels := l.levels(steps)
	var parts [3][]int // of one level: over one element a row, over all, folds
	for level := 0; level <= slices.Max(levels); level++ {
		clear(parts[:])
		for n, i := range steps {
			if levels[n] != level {
				continue
			}
			part := 2
			if l.folds[i] == nil {
				single, _ := l.single(i, f)
				part = map[bool]int{true: 0, false: 1}[single]
			}
			parts[part] = append(parts[part], i)
		}
		for part, list := range parts[:2] {
			if len(list) > 0 {
				if err := b.elements(list, part == 0); err != nil {
					return nil, err
				}
			}
		}
		for _, i := range parts[2] {
			if err := b.fold(i); err != nil {
				return nil, err
			}
		}
	}
	return b, b.results()
}

// levels returns for each step how many folds are behind one another before it. What a fold
// need not wait for comes as late as what reads it.
func (l *planner) levels(steps []int) []int {
	of := map[int]int{}
	for _, i := range steps {
		at := 0
		for _, before := range l.after[i] {
			if level, in := of[before]; in {
				if l.folds[before] != nil {
					level++
				}
				at = max(at, level)
			}
		}
		of[i] = at
	}
	for _, i := range slices.Backward(steps) {
		if l.folds[i] != nil {
			continue
		}
		latest := -1
		for _, k := range steps {
			if slices.Contains(l.after[k], i) && (latest < 0 || of[k] < latest) {
				latest = of[k]
			}
		}
		of[i] = max(of[i], latest)
	}
	list := make([]int, len(steps))
	for n, i := range steps {
		list[n] = of[i]
	}
	return list
}

// elements adds a stage of element-wise steps.
func (b *rowBuilder) elements(steps []int, single bool) error {
	e := b.builder(steps)
	defer e.done()
	var ok bool
	if e.space, ok = b.space(steps); !ok {
		return errRows
	}
	if err := e.collect(); err != nil {
		return err
	}
	g := stage{Stage: Stage{Single: single, Out: len(b.outs), Scalar: len(b.shape.attrs)}, shape: e.shape}
	for j, r := range e.g.In {
		from, err := b.read(r, &e.g.Call.In[j], single)
		if err != nil {
			return err
		}
		g.reads = append(g.reads, from)
	}
	for j, r := range e.g.Out {
		b.give(r, e.g.Call.Out[j], single)
	}
	b.shape.attrs = append(b.shape.attrs, e.shape.attrs...)
	b.g.Call.Scalars, b.g.Call.Attrs = append(b.g.Call.Scalars, e.g.Call.Scalars...), append(b.g.Call.Attrs, e.g.Call.Attrs...)
	b.shape.stages = append(b.shape.stages, g)
	return nil
}

// fold adds a stage that folds rows.
func (b *rowBuilder) fold(i int) error {
	c, f := &b.p.Steps[i].Call, b.folds[i]
	g := stage{Stage: Stage{Kernel: c.Kernel, Out: len(b.outs), Scalar: len(b.shape.attrs)}}
	from, err := b.read(f.in.ref, &f.in.view, false)
	if err != nil {
		return err
	}
	g.reads = []read{from}
	b.shape.attrs = append(b.shape.attrs, addScalars(&b.g.Call, c)...)
	b.give(f.out.ref, f.out.view, true)
	b.shape.stages = append(b.shape.stages, g)
	return nil
}

// give numbers what a stage gives.
func (b *rowBuilder) give(r program.Ref, v ir.View, single bool) {
	b.given[r] = len(b.outs)
	a := access{ref: r, view: ir.View{DType: v.DType, Shape: []int{b.f.rows, b.f.length}, Strides: []int{b.f.length, 1}}}
	if single {
		a.view.Shape, a.view.Strides = []int{b.f.rows, 1}, []int{1, 1}
	}
	b.outs = append(b.outs, a)
	b.shape.single, b.shape.dtypes = append(b.shape.single, single), append(b.shape.dtypes, v.DType)
}

// read returns what a stage reads.
func (b *rowBuilder) read(r program.Ref, v *ir.View, single bool) (read, error) {
	length := b.f.length
	if single {
		length = 1
	}
	row, element, ok := split(v, b.f.rows, length)
	if !ok {
		return read{}, errRows
	}
	if n, ok := b.given[r]; ok {
		whole := row == b.f.length && element == 1 && !single
		one := row == 1 && (element == 0 || single)
		if v.DType != b.outs[n].view.DType || b.shape.single[n] != one || !b.shape.single[n] != whole {
			return read{}, errRows
		}
		return read{true, n}, nil
	}
	for given := range b.given {
		if given.Buffer == r.Buffer {
			return read{}, errRows
		}
	}
	if single {
		element = 1
	}
	id := rowOperand{r, row, element, single}
	n, known := b.operands[id]
	if !known {
		n = len(b.g.In)
		b.operands[id] = n
		b.g.In = append(b.g.In, r)
		b.g.Call.In = append(b.g.Call.In, ir.View{DType: v.DType, Shape: []int{b.f.rows, length}, Strides: []int{row, element}})
		b.shape.in = append(b.shape.in, v.DType)
	}
	return read{false, n}, nil
}

// results finds which of what stages give is stored.
func (b *rowBuilder) results() error {
	for n, a := range b.outs {
		if b.p.Buffers[a.ref.Buffer].Kind == program.Temporary && !b.usedOutside(b.g.Steps, a.ref) {
			continue
		}
		b.shape.outs = append(b.shape.outs, n)
		b.g.Out, b.g.Call.Out = append(b.g.Out, a.ref), append(b.g.Call.Out, a.view)
	}
	operands := make([]bool, len(b.g.In))
	for i := range operands {
		operands[i] = b.g.Call.In[i].Shape[1] == 1
	}
	b.shape.single = append(operands, b.shape.single...)
	switch {
	case len(b.g.Out) == 0:
		return fmt.Errorf("nobody reads the results")
	case len(b.g.In) > mostRowValues || len(b.g.Out) > mostRowValues || len(b.shape.stages) > mostStages:
		return fmt.Errorf("a region of too many operands, results or folds")
	}
	b.g.Call.Space = []int{b.f.rows, b.f.length}
	return nil
}

// build makes the rows of a group.
func (b *rowBuilder) build(quick bool) (*Group, error) {
	r, err := b.rowsOf(&b.shape, b.g.Steps[0], quick)
	if err != nil {
		return nil, err
	}
	b.g.Call.Kernel = r.Kernel
	return b.g, nil
}
