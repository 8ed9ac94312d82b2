package fusion

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/ir/program"
)

// A Pooling is four steps of which the first two change places, and the last two: Cut had 0 for what
// is not positive, Pool took the greatest elements of windows, Unpool added gradients up where these
// came from, and Mask had 0 for the gradient where Cut had.
type Pooling struct {
	Cut, Pool, Unpool, Mask int
	Saved                   int64 // bytes that are not moved
}

// Pooled returns the steps of a program such that what has 0 for negative numbers runs behind a
// pooling that takes the greatest elements of windows, not before it, and its gradient before that of
// the pooling: over fewer elements, to the same bits. The greatest of a window that has a positive
// element or NaN is the same, at the same place. Of another window it is 0, at a place whose gradient is
// 0, whichever that is; so nobody else may read places. Windows hold an element each, where nothing is
// padded. refused is Options.Refused. The program stays as it is.
func Pooled(p *program.Program, refused func(step int) string) ([]program.Step, []Pooling) {
	if !slices.ContainsFunc(p.Steps, func(s program.Step) bool { return s.Action == program.Launch && s.Call.Op.Tags&ir.TagUnpool != 0 }) {
		return nil, nil
	}
	d := newDirector(p, refused)
	var found []Pooling
	for i := range p.Steps {
		if f, ok := d.pooling(i); ok {
			d.swap(f)
			found = append(found, f)
		}
	}
	return d.steps, found
}

// pooling returns what step i cuts for; false where it is no such step.
func (d *director) pooling(i int) (f Pooling, ok bool) {
	cut := d.launch(i, 0)
	if cut == nil || !cuts(cut.Call.Kernel, 0, 0) {
		return f, false
	}
	readers := d.readers(cut.Out[0])
	if len(readers) != 2 {
		return f, false
	}
	f.Cut, f.Pool, f.Mask = i, readers[0], readers[1]
	pool, mask := d.launch(f.Pool, ir.TagPool), d.launch(f.Mask, 0)
	if pool == nil || mask == nil || padded(&pool.Call) || !cuts(mask.Call.Kernel, 0, 1) || pool.In[0] != cut.Out[0] || mask.In[1] != cut.Out[0] {
		return f, false
	}
	places := d.readers(pool.Out[1])
	if len(places) != 1 {
		return f, false
	}
	f.Unpool = places[0]
	unpool := d.launch(f.Unpool, ir.TagUnpool)
	if unpool == nil || unpool.In[1] != pool.Out[1] || mask.In[0] != unpool.Out[0] || !slices.Equal(d.readers(unpool.Out[0]), []int{f.Mask}) {
		return f, false
	}
	whole, part := cut.Call.Out[0].Shape, pool.Call.Out[0].Shape
	for _, v := range []ir.View{cut.Call.In[0], pool.Call.In[0], mask.Call.In[0], mask.Call.In[1], mask.Call.Out[0], unpool.Call.Out[0]} {
		if !slices.Equal(v.Shape, whole) {
			return f, false
		}
	}
	n, few := ir.NumElements(whole), ir.NumElements(part)
	f.Saved = 5 * int64(n-few) * int64(cut.Call.DType.Size())
	return f, slices.Equal(unpool.Call.In[0].Shape, part) && few < n && i < f.Pool && f.Pool < f.Unpool && f.Unpool < f.Mask
}

// launch returns a step of an operator with a tag, or element-wise for tag 0, that launches dense
// operands of one dtype, and whose results the program makes there alone; nil where it is none.
func (d *director) launch(i int, tag ir.Tag) *program.Step {
	s := &d.steps[i]
	if s.Action != program.Launch || d.refused(i) != "" || s.Call.DType != s.Call.Compute || s.Call.Op.Tags&tag != tag || (s.Call.Op.Kind == ir.Elementwise) != (tag == 0) {
		return nil
	}
	for j := range s.Out {
		if !d.made(s.Out[j].Buffer) || !s.Call.Out[j].IsContiguous() {
			return nil
		}
	}
	for j := range s.In {
		if s.In[j].Buffer < 0 || !s.Call.In[j].IsContiguous() {
			return nil
		}
	}
	return s
}

// readers returns the steps that read what is at a place in a buffer; none where that is more than the
// program's.
func (d *director) readers(r program.Ref) []int {
	if d.p.Buffers[r.Buffer].Kind != program.Temporary || r.Offset != 0 {
		return nil
	}
	return d.buffers[r.Buffer].readers
}

// cuts reports whether a kernel gives 0 where operand by is at most 0 and operand value elsewhere, and
// has no others.
func cuts(k *ir.Kernel, value, by int) bool {
	if len(k.Out) != 1 || len(k.In) != max(value, by)+1 {
		return false
	}
	b, err := body.Of(k)
	if err != nil || b.Expr == nil {
		return false
	}
	zero := func(v *expr.Value) bool {
		return v.Op == expr.OpConst && v.Const.Float() == 0 && !math.Signbit(v.Const.Float())
	}
	named := func(v *expr.Value, operand int) bool { return v.Op == expr.OpName && v.Name == k.Op.In[operand].Name }
	r := b.Expr.Roots[0]
	if r.Op != expr.OpCall || r.Name != "where" || !zero(r.Args[1]) || !named(r.Args[2], value) {
		return false
	}
	c := r.Args[0]
	return c.Op == expr.OpCall && c.Name == "le" && named(c.Args[0], by) && zero(c.Args[1])
}

// padded reports whether a pooling pads.
func padded(c *ir.Call) bool {
	for i, a := range c.Op.Attrs {
		if a.Name == "padding" {
			return slices.Max(c.Attrs[i].Ints) > 0
		}
	}
	return true
}

// swap has steps change places. What is between the first two is where the elements were that were cut,
// and what is between the others where the gradient was that was added up.
func (d *director) swap(f Pooling) {
	cut, pool, unpool, mask := d.steps[f.Cut], d.steps[f.Pool], d.steps[f.Unpool], d.steps[f.Mask]
	part := pool.Call.Out[0]
	greatest, gradient := program.Ref{Buffer: cut.Out[0].Buffer}, program.Ref{Buffer: unpool.Out[0].Buffer}
	with := func(s program.Step, in, out []program.Ref, from, to []ir.View) program.Step {
		s.In, s.Out, s.Call.In, s.Call.Out = in, out, from, to
		if s.Call.Op.Kind == ir.Elementwise {
			s.Call.Space, s.Call.Flat = part.Shape, true
		}
		return s
	}
	d.steps[f.Cut] = with(pool, []program.Ref{cut.In[0]}, []program.Ref{greatest, pool.Out[1]}, cut.Call.In, pool.Call.Out)
	d.steps[f.Pool] = with(cut, []program.Ref{greatest}, []program.Ref{pool.Out[0]}, []ir.View{part}, []ir.View{part})
	d.steps[f.Unpool] = with(mask, []program.Ref{unpool.In[0], pool.Out[0]}, []program.Ref{gradient}, []ir.View{unpool.Call.In[0], part}, []ir.View{part})
	d.steps[f.Mask] = with(unpool, []program.Ref{gradient, unpool.In[1]}, []program.Ref{mask.Out[0]}, []ir.View{part, unpool.Call.In[1]}, mask.Call.Out)
	d.buffers[greatest.Buffer] = users{[]int{f.Cut}, []int{f.Pool}}
	d.buffers[pool.Out[1].Buffer] = users{[]int{f.Cut}, []int{f.Mask}}
	d.buffers[gradient.Buffer] = users{[]int{f.Unpool}, []int{f.Mask}}
	rest := d.buffers[pool.Out[0].Buffer].readers
	d.buffers[pool.Out[0].Buffer].readers = append(slices.Clip(rest), f.Unpool)
}
