package fusion

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// A Direction is a step that a program does without, as another writes what it gives.
type Direction struct{ Step, By int }

// Direct returns the steps of a program such that products of several matrices write their
// results where those would only be copied, in whichever order of axes, and the copies that
// need not be done any more, ascending. Products of two small matrices have kernels that
// write rows, so that those of two stay as they are. refused is Options.Refused. The program
// stays as it is.
func Direct(p *program.Program, refused func(step int) string) ([]program.Step, []Direction) {
	if !slices.ContainsFunc(p.Steps, ofSeveral) {
		return nil, nil
	}
	d := newDirector(p, refused)
	for i := range d.steps {
		d.copy(i)
	}
	return d.steps, d.gone
}

// ofSeveral reports whether a step is a product of several matrices.
func ofSeveral(s program.Step) bool {
	return s.Action == program.Launch && s.Call.Op.Tags&ir.TagProduct != 0 && len(s.Out) == 1 && len(s.Call.Out[0].Shape) >= 3
}

// A director has steps write elsewhere.
type director struct {
	p       *program.Program
	steps   []program.Step
	buffers []users
	refused func(step int) string
	gone    []Direction
}

func newDirector(p *program.Program, refused func(step int) string) *director {
	d := &director{steps: slices.Clone(p.Steps), buffers: make([]users, len(p.Buffers)), p: p, refused: refused}
	d.room(p)
	for i := range p.Steps {
		for _, r := range p.Steps[i].Out {
			d.buffers[r.Buffer].writers = append(d.buffers[r.Buffer].writers, i)
		}
		for _, r := range p.Steps[i].In {
			if r.Buffer >= 0 {
				d.buffers[r.Buffer].readers = append(d.buffers[r.Buffer].readers, i)
			}
		}
	}
	return d
}

// users are the steps that use a buffer, in their order.
type users struct{ writers, readers []int }

// room makes room for the users of all buffers, which is one list.
func (d *director) room(p *program.Program) {
	type counts struct{ writers, readers int }
	of, all := make([]counts, len(p.Buffers)), 0
	for i := range p.Steps {
		for _, r := range p.Steps[i].Out {
			of[r.Buffer].writers++
			all++
		}
		for _, r := range p.Steps[i].In {
			if r.Buffer >= 0 {
				of[r.Buffer].readers++
				all++
			}
		}
	}
	list := make([]int, all)
	take := func(n int) []int {
		room := list[:0:n]
		list = list[n:]
		return room
	}
	for b, n := range of {
		d.buffers[b] = users{take(n.writers), take(n.readers)}
	}
}

// made reports whether one step makes a buffer's elements.
func (d *director) made(buffer int) bool {
	k := d.p.Buffers[buffer].Kind
	return (k == program.Temporary || k == program.Result) && len(d.buffers[buffer].writers) == 1
}

// only returns the launch with one result, without gaps, that nobody but step i reads, once,
// and where step i writes; -1 where there is none.
func (d *director) only(i int, r program.Ref) int {
	if r.Buffer < 0 || d.p.Buffers[r.Buffer].Kind != program.Temporary || !d.made(r.Buffer) || !slices.Equal(d.buffers[r.Buffer].readers, []int{i}) {
		return -1
	}
	at := d.buffers[r.Buffer].writers[0]
	w, to := &d.steps[at], d.steps[i].Out[0]
	if at > i || w.Action != program.Launch || len(w.Out) != 1 || d.refused(at) != "" ||
		w.Out[0].Offset != r.Offset || !w.Call.Out[0].IsContiguous() || d.p.Buffers[r.Buffer].Device != d.p.Buffers[to.Buffer].Device {
		return -1
	}
	return at
}

// copy takes out step i, where it copies what a product could write to where it copies.
func (d *director) copy(i int) {
	s := &d.steps[i]
	c := &s.Call
	if s.Action != program.Launch || c.Op.Kind != ir.Elementwise || c.Identity != 0 || len(c.In) != 1 || len(c.Out) != 1 || d.refused(i) != "" ||
		c.In[0].DType != c.Out[0].DType || c.In[0].NumElements() == 0 || !d.made(s.Out[0].Buffer) {
		return
	}
	at := d.only(i, s.In[0])
	if at < 0 || !ofSeveral(d.steps[at]) {
		return
	}
	w := &d.steps[at]
	v := w.Call.Out[0]
	strides, ok := moved(&v, &c.In[0], &c.Out[0])
	if !ok || v.DType != c.In[0].DType {
		return
	}
	v.Strides = strides
	w.Out, w.Call.Out = []program.Ref{s.Out[0]}, []ir.View{v}
	d.buffers[s.In[0].Buffer], d.buffers[s.Out[0].Buffer].writers = users{}, []int{at}
	d.gone = append(d.gone, Direction{i, at})
}

// moved returns the distances of own's elements, a view without gaps, where from names all
// of them in another order of axes and they are copied to view to; false where there are none.
func moved(own, from, to *ir.View) (strides []int, ok bool) {
	if from.NumElements() != own.NumElements() || len(to.Shape) != len(from.Shape) {
		return nil, false
	}
	strides = make([]int, len(own.Shape))
	left := 0
	for a, n := range own.Shape {
		if n == 1 {
			continue
		}
		at := -1
		for i, step := range from.Strides {
			if from.Shape[i] == n && step == own.Strides[a] {
				at = i
			}
		}
		if at < 0 {
			return nil, false
		}
		strides[a] = to.Strides[at]
		left++
	}
	for _, n := range from.Shape {
		if n != 1 {
			left--
		}
	}
	return strides, left == 0
}
