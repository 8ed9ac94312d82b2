package fusion

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/ir/program"
)

// A member is a launch that may become a part of a region.
type member struct {
	body    *body.Body
	out, in []access
	flat    bool // views are row-major or one element, so that any shape of as many elements serves
}

// An access is a view of a buffer's version, or a number.
type access struct {
	ref    program.Ref
	view   ir.View
	kind   expr.Kind
	number bool
	value  ir.Scalar
}

// at reports whether two views of one buffer name the same elements, one for one.
func (a *access) at(b *access) bool {
	return a.ref.Offset == b.ref.Offset && a.view.DType == b.view.DType && slices.Equal(a.view.Shape, b.view.Shape) && slices.Equal(a.view.Strides, b.view.Strides)
}

// look returns what there is to know of step i, or nil where it is not fused.
func (l *planner) look(i int) *member {
	s := &l.p.Steps[i]
	k := s.Call.Kernel
	refuse := func(why string) *member {
		l.why[i] = why
		return nil
	}
	switch why := l.o.Refused(i); {
	case why != "":
		return refuse(why)
	case k.Indexed || k.Seed >= 0:
		return refuse("it depends on the elements' indices")
	case k.DType != k.Compute && !(short(k.DType) && l.o.Rounds(i)) || k.Compute.IsComplex():
		return refuse(fmt.Sprintf("%s is computed in %s", k.DType, k.Compute))
	case ir.NumElements(s.Call.Space) == 0:
		return refuse("it has no elements")
	}
	b, err := body.Of(k)
	if err != nil {
		return refuse(err.Error())
	}
	m := &member{body: b, flat: true}
	all := make([]access, len(s.Out), len(s.Out)+len(s.In))
	m.out, m.in = all, all[len(s.Out):]
	for j, r := range s.Out {
		m.out[j] = access{ref: r, view: s.Call.Out[j], kind: b.Expr.Roots[j].Kind}
	}
	for j, r := range s.In {
		a := access{ref: r, view: s.Call.In[j]}
		if r.Buffer < 0 {
			return refuse("an operand is not given")
		}
		if a.kind, err = kindOf(k, j); err != nil {
			return refuse(err.Error())
		}
		if a.value, a.number = l.o.Number(i, j); a.number {
			if a.ref.Buffer = -1; short(k.DType) && len(s.In) == 1 {
				return refuse("its number is rounded")
			}
		} else if a.view.DType != k.In[j].DType && !(short(a.view.DType) && k.In[j].DType == ir.Float32 && l.o.Rounds(i)) {
			return refuse(fmt.Sprintf("an operand of %s is converted to %s", a.view.DType, k.In[j].DType))
		}
		m.in = append(m.in, a)
	}
	for j := range m.out {
		v, own := &m.out[j].view, b.Expr.KindDType(m.out[j].kind)
		switch {
		case v.DType == k.Out[j].DType && (v.DType == own || short(v.DType)):
		case short(v.DType) && k.Out[j].DType == ir.Float32 && own == ir.Float32 && l.o.Rounds(i):
		default:
			return refuse(fmt.Sprintf("a result of %s is converted to %s", k.Out[j].DType, v.DType))
		}
	}
	for _, list := range [2][]access{m.out, m.in} {
		for j := range list {
			a := &list[j]
			m.flat = m.flat && (a.number || a.view.IsContiguous() || one(a.view.Strides))
		}
	}
	return m
}

// one reports whether strides repeat one element.
func one(strides []int) bool {
	return !slices.ContainsFunc(strides, func(s int) bool { return s != 0 })
}

// kindOf returns the kind that a kernel's expression has operand j in.
func kindOf(k *ir.Kernel, j int) (expr.Kind, error) {
	switch f := k.Op.In[j].Fixed; {
	case f == ir.Bool, f == ir.Invalid && k.Compute == ir.Bool:
		return expr.BoolKind, nil
	case f == ir.Int64:
		return expr.IntKind, nil
	case f == ir.Invalid:
		return expr.TKind, nil
	default:
		return 0, fmt.Errorf("an operand is always %s", f)
	}
}

// space returns the shape that all steps can run over, and false where there is none.
func (l *planner) space(steps []int) ([]int, bool) {
	var s []int
	for _, i := range steps {
		if c := &l.p.Steps[i].Call; !l.info[i].flat || s == nil {
			if s = c.Space; !l.info[i].flat {
				break
			}
		}
	}
	for _, i := range steps {
		c := &l.p.Steps[i].Call
		if !slices.Equal(c.Space, s) && (!l.info[i].flat || ir.NumElements(c.Space) != ir.NumElements(s)) {
			return nil, false
		}
	}
	return s, true
}

// over returns an access as one over another shape, if its launch is flat. Along axes of
// one element strides become 0: then accesses of the same elements, in the same order and
// over the same shape, have the same strides.
func (a access) over(space []int) access {
	same := slices.Equal(a.view.Shape, space)
	if same && !a.number {
		as := true
		for i, n := range space {
			as = as && (n != 1 || a.view.Strides[i] == 0)
		}
		if as {
			a.view.Shape = space
			return a
		}
	}
	strides := make([]int, len(space))
	switch {
	case a.number:
	case same:
		copy(strides, a.view.Strides)
	case !one(a.view.Strides) || a.view.NumElements() == 1:
		copy(strides, ir.ContiguousStrides(space))
	}
	for i, n := range space {
		if n == 1 {
			strides[i] = 0
		}
	}
	a.view.Shape, a.view.Strides = space, strides
	return a
}

// fits returns why the steps of two groups cannot be one region; "" where they can.
func (l *planner) fits(a, b []int) string {
	all := slices.Concat(a, b)
	compute := ir.Bool
	for _, i := range all {
		k := l.p.Steps[i].Call.Kernel
		switch {
		case l.o.Place(i) != l.o.Place(all[0]):
			return "it runs elsewhere"
		case k.Compute == ir.Bool || k.Compute == compute:
		case compute == ir.Bool:
			compute = k.Compute
		default:
			return fmt.Sprintf("one part computes in %s, another in %s", compute, k.Compute)
		}
	}
	if len(all) > mostMembers {
		return fmt.Sprintf("a region of more than %d operators", mostMembers)
	}
	space, ok := l.space(all)
	if !ok {
		return "shapes differ"
	}
	for _, i := range a {
		for _, j := range b {
			if l.disturb(l.info[i], l.info[j], space) {
				return "one part writes elements that another uses at other places"
			}
		}
	}
	operands, scalars := map[int]bool{}, 0
	for _, i := range all {
		scalars += len(l.info[i].body.Params)
		for _, x := range l.info[i].in {
			if x.number {
				scalars++
			} else {
				operands[x.ref.Buffer] = true
			}
		}
	}
	if len(operands) > mostOperands || scalars > mostScalars {
		return "a region of too many operands or numbers"
	}
	return ""
}

// disturb reports whether one launch writes into a buffer that the other uses, but not the
// same elements one for one, nor both elements that the other does not.
func (l *planner) disturb(x, y *member, space []int) bool {
	meet := func(a, b []access, written bool) bool {
		for _, p := range a {
			for _, q := range b {
				if p.ref.Buffer < 0 || p.ref.Buffer != q.ref.Buffer {
					continue
				}
				if p, q := p.over(space), q.over(space); !p.at(&q) && !(written && p.apart(&q)) {
					return true
				}
			}
		}
		return false
	}
	return meet(x.out, y.in, false) || meet(x.in, y.out, false) || meet(x.out, y.out, true)
}

// regions are those that were made.
var regions memo[*Region]

// build makes a group of steps.
func (l *planner) build(steps []int, quick bool) (*Group, error) {
	b := l.builder(steps)
	defer b.done()
	b.space, _ = l.space(steps)
	if err := b.collect(); err != nil {
		return nil, err
	}
	c := &b.g.Call
	c.Space = b.space
	c.Flat = c.AllFlat()
	r, err := b.region(steps[0], quick)
	if err != nil {
		return nil, err
	}
	c.Kernel = r.Kernel
	return b.g, nil
}

// collect finds the shape of the region, and what the group reads and stores.
func (b *builder) collect() error {
	for _, i := range b.g.Steps {
		if k := b.p.Steps[i].Call.Kernel; k.Compute != ir.Bool {
			b.shape.compute = k.Compute
		} else if b.shape.compute == ir.Invalid {
			b.shape.compute = ir.Bool
		}
	}
	if err := b.operands(); err != nil {
		return err
	}
	b.members()
	if err := b.results(); err != nil {
		return err
	}
	if len(b.g.In) > 2*mostOperands || len(b.g.Out) > mostResults || len(b.shape.attrs) > mostScalars {
		return errors.New("a region of too many operands or results")
	}
	return nil
}

// region returns the one of the builder's shape.
func (b *builder) region(step int, quick bool) (*Region, error) {
	b.text = append(b.text[:0], b.o.Kind(step)...)
	b.shape.key(&b.text)
	return regions.get(b.text, quick, func() (*Region, error) {
		r, err := b.shape.region()
		if err == nil {
			err = b.o.Code(step, r, &b.g.Call)
		}
		return r, err
	})
}

// seen tells values of one region apart: a version of a buffer, seen in one way. All values
// of a region are over one shape.
type seen struct {
	ref     program.Ref
	dtype   ir.DType
	strides [4]int
	more    string // strides of further axes
}

func (a *access) id() seen {
	s := seen{ref: a.ref, dtype: a.view.DType}
	if n := copy(s.strides[:], a.view.Strides); n < len(a.view.Strides) {
		var more []byte
		for _, step := range a.view.Strides[n:] {
			more = binary.AppendVarint(more, int64(step))
		}
		s.more = string(more)
	}
	return s
}

// A builder makes the region and the call of a group.
type builder struct {
	*planner
	g     *Group
	space []int
	shape shape

	// lists that nobody needs when the group is made; others use their room then
	values  []value
	made    []seen
	written []version
	writes  []write
	text    key
}

// A value is the number of what is seen in one way.
type value struct {
	seen
	number int
}

// value returns the number of what is seen in one way; below 0 where it has none. Regions have
// few values, of which a list is quicker than a map.
func (b *builder) value(id *seen) int {
	for i := range b.values {
		if v := &b.values[i]; v.ref == id.ref && v.seen == *id {
			return v.number
		}
	}
	return -1
}

// number gives what is seen in one way its number, instead of any that it has.
func (b *builder) number(id seen, n int) {
	for i := range b.values {
		if b.values[i].seen == id {
			b.values[i].number = n
			return
		}
	}
	b.values = append(b.values, value{id, n})
}

// builders are those that nobody uses.
var builders = sync.Pool{New: func() any { return new(builder) }}

// builder returns one for steps. The caller calls its done when it has read what it found.
func (l *planner) builder(steps []int) *builder {
	b := builders.Get().(*builder)
	if b.text == nil {
		b.text = make(key, 0, 256)
	}
	b.planner, b.g = l, &Group{Steps: steps}
	return b
}

// done gives the builder, which refers to nothing any more, to whoever makes the next group.
func (b *builder) done() {
	*b = builder{values: emptied(b.values), made: emptied(b.made), written: b.written[:0], writes: emptied(b.writes), text: b.text[:0]}
	builders.Put(b)
}

// emptied returns an empty list with the room of list, which refers to nothing.
func emptied[T any](list []T) []T {
	clear(list)
	return list[:0]
}

// A write is a result of a member.
type write struct {
	access
	value int
}

// operands numbers what the group reads and does not make.
func (b *builder) operands() error {
	for _, i := range b.g.Steps {
		for _, x := range b.info[i].in {
			if x.number {
				continue
			}
			x = x.over(b.space)
			id := x.id()
			if b.value(&id) >= 0 || slices.Contains(b.made, id) {
				continue
			}
			if slices.Contains(b.written, version{x.ref.Buffer, x.ref.Version}) {
				return errors.New("one part writes elements that another reads at other places")
			}
			b.values = append(b.values, value{id, len(b.g.In)})
			if b.g.In == nil {
				n := b.reads()
				b.g.In, b.g.Call.In = make([]program.Ref, 0, n), make([]ir.View, 0, n)
				b.shape.in, b.shape.stored = make([]expr.Kind, 0, n), make([]ir.DType, 0, n)
			}
			b.g.In, b.g.Call.In = append(b.g.In, x.ref), append(b.g.Call.In, x.view)
			stored := ir.Invalid
			if short(x.view.DType) {
				stored = x.view.DType
			}
			b.shape.in, b.shape.stored = append(b.shape.in, x.kind), append(b.shape.stored, stored)
		}
		for _, y := range b.info[i].out {
			y = y.over(b.space)
			b.made, b.written = append(b.made, y.id()), append(b.written, version{y.ref.Buffer, y.ref.Version})
		}
	}
	return nil
}

// reads returns how many operands the group's calls have.
func (b *builder) reads() (n int) {
	for _, i := range b.g.Steps {
		n += len(b.info[i].in)
	}
	return n
}

// A version is what a buffer has in it at some time.
type version struct{ buffer, version int }

// members adds the calls.
func (b *builder) members() {
	next := len(b.g.In)
	b.shape.members = make([]Member, 0, len(b.g.Steps))
	sources := make([]Source, 0, b.reads())
	for _, i := range b.g.Steps {
		c, m := &b.p.Steps[i].Call, Member{Out: next}
		m.Kernel = c.Kernel
		from := len(sources)
		scalar := 0
		for j, a := range c.Op.Attrs {
			switch a.Kind {
			case ir.AttrScalar, ir.AttrFloat, ir.AttrInt, ir.AttrBool:
				m.Scalars = append(m.Scalars, b.scalar(a.Kind, c.Scalars[scalar], c.Attrs[j]))
				scalar++
			}
		}
		for _, x := range b.info[i].in {
			if x.number {
				kind := numberKinds[x.kind]
				value := ir.Value{Scalar: x.value, Int: x.value.Int()}
				if kind == ir.AttrBool {
					value = ir.BoolValue(x.value.Bool())
				}
				sources = append(sources, Source{-1, b.scalar(kind, x.value, value)})
				continue
			}
			x = x.over(b.space)
			id := x.id()
			sources = append(sources, Source{b.value(&id), 0})
		}
		m.In = sources[from:len(sources):len(sources)]
		for _, y := range b.info[i].out {
			y = y.over(b.space)
			if short(y.view.DType) {
				m.Rounded = append(m.Rounded, Rounding{next, y.view.DType})
			}
			b.number(y.id(), next)
			b.writes = append(b.writes, write{y, next})
			next++
		}
		b.shape.members = append(b.shape.members, m)
	}
}

// numberKinds are the kinds of scalars that stand for operands which are numbers.
var numberKinds = map[expr.Kind]ir.AttrKind{expr.BoolKind: ir.AttrBool, expr.IntKind: ir.AttrInt, expr.TKind: ir.AttrScalar}

// scalar adds a scalar of the region.
func (b *builder) scalar(kind ir.AttrKind, s ir.Scalar, v ir.Value) int {
	b.shape.attrs = append(b.shape.attrs, kind)
	b.g.Call.Scalars, b.g.Call.Attrs = append(b.g.Call.Scalars, s), append(b.g.Call.Attrs, v)
	return len(b.shape.attrs) - 1
}

// results finds which values are stored: what is read outside, and of what is not the
// program's own what was written last.
func (b *builder) results() error {
	for n, w := range b.writes {
		later := slices.ContainsFunc(b.writes[n+1:], func(o write) bool { return o.ref.Buffer == w.ref.Buffer && o.at(&w.access) })
		if later || b.p.Buffers[w.ref.Buffer].Kind == program.Temporary && !b.usedOutside(b.g.Steps, w.ref) {
			continue
		}
		b.shape.outs = append(b.shape.outs, w.value)
		b.g.Out, b.g.Call.Out = append(b.g.Out, w.ref), append(b.g.Call.Out, w.view)
	}
	over := func(o program.Ref) bool {
		return slices.ContainsFunc(b.g.In, func(r program.Ref) bool { return r.Buffer == o.Buffer })
	}
	switch {
	case len(b.g.Out) == 0:
		return errors.New("nobody reads the results")
	case len(b.g.Out) > 1 && slices.ContainsFunc(b.g.Out, over):
		return errors.New("there would be several results, of which one is written over an operand")
	}
	return nil
}

// usedOutside reports whether another step than those of a list uses a buffer from a version
// on, or the program returns it.
func (l *planner) usedOutside(steps []int, r program.Ref, more ...int) bool {
	for _, u := range l.users[r.Buffer] {
		if u.version >= r.Version && !slices.Contains(steps, u.step) && !slices.Contains(more, u.step) {
			return true
		}
	}
	return slices.ContainsFunc(l.p.Results, func(o program.Ref) bool { return o.Buffer == r.Buffer && o.Version >= r.Version })
}

// A use is that of a version of a buffer by a step.
type use struct{ step, version int }

// findUsers lists by buffer the steps that use it, ascending.
func (l *planner) findUsers() {
	count, total := make([]int, len(l.p.Buffers)), 0
	each := func(f func(step int, r program.Ref)) {
		for i := range l.p.Steps {
			for _, list := range [2][]program.Ref{l.p.Steps[i].In, l.p.Steps[i].Out} {
				for _, r := range list {
					if r.Buffer >= 0 {
						f(i, r)
					}
				}
			}
		}
	}
	each(func(_ int, r program.Ref) { count[r.Buffer]++; total++ })
	all := make([]use, total)
	l.users = make([][]use, len(l.p.Buffers))
	for b, n := range count {
		l.users[b], all = all[:0:n], all[n:]
	}
	each(func(i int, r program.Ref) { l.users[r.Buffer] = append(l.users[r.Buffer], use{i, r.Version}) })
}
