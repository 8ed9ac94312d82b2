package fusion

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// A Joining is a step that joined tensors, which a program does without: element-wise steps write
// parts of its result where they belong, and copies bring the others there.
type Joining struct {
	Step  int
	By    []int // steps that write parts, ascending
	Saved int64 // bytes that need not be moved to join them
}

// InPlace returns the steps of a program such that element-wise steps write their results into
// what these are joined to, and of each step that of the program which it is or stands for. The
// joining is left out, with a copy for each part that nobody writes so; there are no more of
// these than of others. What folds or products are computed with stays as it is. refused is
// Options.Refused, and copies returns the kernel that copies elements of a dtype. The program
// stays as it is; there are no steps where nothing is to be changed.
func InPlace(p *program.Program, refused func(step int) string, copies func(ir.DType) *ir.Kernel) (steps []program.Step, from []int, found []Joining) {
	if !slices.ContainsFunc(p.Steps, joins) {
		return nil, nil, nil
	}
	d := &joiner{director: newDirector(p, refused), copies: copies}
	for i := range p.Steps {
		if !joins(p.Steps[i]) || !d.join(i) {
			steps, from = append(steps, d.steps[i]), append(from, i)
			continue
		}
		steps = append(steps, d.moves...)
		from = append(from, slices.Repeat([]int{i}, len(d.moves))...)
	}
	if len(d.found) == 0 {
		return nil, nil, nil
	}
	for at, i := range from { // steps that come before what they write to was known
		if !joins(p.Steps[i]) {
			steps[at] = d.steps[i]
		}
	}
	return steps, from, d.found
}

// joins reports whether a step joins tensors.
func joins(s program.Step) bool {
	return s.Action == program.Launch && s.Call.Op.Tags&ir.TagJoin != 0 && len(s.Out) == 1
}

// A joiner has steps write where others would join what they give.
type joiner struct {
	*director
	copies func(ir.DType) *ir.Kernel
	moves  []program.Step // copies of what was joined last
	found  []Joining
}

// A place is where a part of a result belongs.
type place struct {
	operand int
	out     ir.View
	ref     program.Ref
	by      int // the step that is to write it, -1 for none
	strides []int
}

// join has others do step i, which joins tensors, and reports whether they do.
func (d *joiner) join(i int) bool {
	s := &d.steps[i]
	to := s.Out[0].Buffer
	if k := d.p.Buffers[to].Kind; d.refused(i) != "" || k != program.Temporary && k != program.Result || d.buffers[to].writers[0] != i {
		return false
	}
	list, ok := d.places(s)
	if !ok {
		return false
	}
	j, moved := Joining{Step: i}, 0
	for k := range list {
		l := &list[k]
		if l.by, l.strides = d.maker(i, l); l.by >= 0 {
			j.By, j.Saved = append(j.By, l.by), j.Saved+2*l.out.Bytes()
		} else {
			moved++
		}
	}
	if len(j.By) == 0 || moved > len(j.By) {
		return false
	}
	writers := slices.Clone(d.buffers[to].writers[1:])
	d.moves = d.moves[:0]
	for k := range list {
		l := &list[k]
		if l.by < 0 {
			d.moves = append(d.moves, d.move(s, l))
			writers = append(writers, i)
			continue
		}
		w := &d.steps[l.by]
		l.out.Shape, l.out.Strides = w.Call.Out[0].Shape, l.strides
		w.Out, w.Call.Out = []program.Ref{l.ref}, []ir.View{l.out}
		w.Call.Flat = w.Call.AllFlat()
		d.buffers[s.In[l.operand].Buffer] = users{}
		writers = append(writers, l.by)
	}
	slices.Sort(writers)
	d.buffers[to].writers = writers
	slices.Sort(j.By)
	d.found = append(d.found, j)
	return true
}

// places returns where the operands of a step that joins tensors belong in its result; false
// where one has another dtype.
func (d *joiner) places(s *program.Step) (list []place, ok bool) {
	out := &s.Call.Out[0]
	axis := s.Call.Attrs[0].Int
	if axis < 0 {
		axis += int64(len(out.Shape))
	}
	at, size := 0, out.DType.Size()
	for k := range s.Call.In {
		x := &s.Call.In[k]
		if x.NumElements() == 0 {
			continue
		}
		if x.DType != out.DType || s.In[k].Buffer < 0 || len(x.Shape) != len(out.Shape) {
			return nil, false
		}
		l := place{operand: k, out: ir.View{DType: out.DType, Shape: x.Shape, Strides: out.Strides}, ref: s.Out[0]}
		l.ref.Offset += int64(at * out.Strides[axis] * size)
		list, at = append(list, l), at+x.Shape[axis]
	}
	return list, true
}

// maker returns the element-wise step that can write a part of what step i joins where it
// belongs, and the distances of elements there; -1 where there is none.
func (d *joiner) maker(i int, l *place) (step int, strides []int) {
	r := d.steps[i].In[l.operand]
	at := d.only(i, r)
	if at < 0 || !d.elementwise(at) || d.grows(at, map[int]bool{}) {
		return -1, nil
	}
	own := &d.steps[at].Call.Out[0]
	strides, ok := moved(own, &d.steps[i].Call.In[l.operand], &l.out)
	if !ok || own.DType != l.out.DType {
		return -1, nil
	}
	return at, strides
}

// elementwise reports whether a step is an element-wise launch with one result that others
// may be one kernel with.
func (d *director) elementwise(i int) bool {
	s := &d.steps[i]
	return s.Action == program.Launch && s.Call.Op.Kind == ir.Elementwise && len(s.Out) == 1 && d.refused(i) == ""
}

// grows reports whether an element-wise step, or one before it that it may be one kernel with,
// reads or makes what is folded, reads what was, or reads all of a product: kernels of these
// take no results that lie apart.
func (d *joiner) grows(i int, seen map[int]bool) bool {
	if seen[i] {
		return false
	}
	seen[i] = true
	folded := func(k int) bool {
		s := &d.steps[k]
		return s.Action == program.Launch && s.Call.Op.Kind == ir.Reduction
	}
	s := &d.steps[i]
	if slices.ContainsFunc(d.buffers[s.Out[0].Buffer].readers, folded) {
		return true
	}
	for j, r := range s.In {
		if r.Buffer < 0 {
			continue
		}
		for _, w := range d.buffers[r.Buffer].writers {
			switch by := &d.steps[w]; {
			case w >= i || by.Action != program.Launch:
			case folded(w) && by.Call.Out[0].NumElements() >= leastRows, by.Call.Op.Tags&(ir.TagProduct|ir.TagConvolution) != 0 && by.Call.Out[0].NumElements() == s.Call.In[j].NumElements():
				return true
			case d.elementwise(w) && d.grows(w, seen):
				return true
			}
		}
	}
	return false
}

// move returns the copy of a part of what a step joins.
func (d *joiner) move(s *program.Step, l *place) program.Step {
	m := *s
	m.Out, m.In = []program.Ref{l.ref}, []program.Ref{s.In[l.operand]}
	m.Call = ir.Call{Kernel: d.copies(l.out.DType), Space: l.out.Shape, Out: []ir.View{l.out}, In: []ir.View{s.Call.In[l.operand]}}
	m.Call.Flat = m.Call.AllFlat()
	return m
}
