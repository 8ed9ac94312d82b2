package fusion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// A Norm is an operator of ir.TagChannels and a fold of all elements of each channel of its first
// result, as the gradient by the bias is of a convolution before a norm. The attributes of Of follow
// the scalars of Sums.
//
// A call's operands are those of Of, and its results are those of Of, then that of Sums, which has
// no gaps. Its space is the shape of the first result, which is row-major.
type Norm struct {
	Op       *ir.Op // opaque, with code for one kind of device
	Kernel   *ir.Kernel
	Of, Sums *ir.Kernel
}

// Names returns the operators.
func (n *Norm) Names() []string { return []string{n.Of.Op.Name, n.Sums.Op.Name} }

// A normShape is a norm before it has an operator.
type normShape struct {
	of, sums *ir.Kernel
	folds    []ir.AttrKind // scalars of sums
	out, in  []ir.DType
}

// key makes k what norms have in common of which one is the other.
func (s *normShape) key(kind string) key {
	k := append(make(key, 0, 128), kind...)
	k.number(int(s.of.Serial()))
	k.number(int(s.sums.Serial()))
	numbers(&k, s.out)
	numbers(&k, s.in)
	return k
}

// norm makes the operator.
func (s *normShape) norm() (*Norm, error) {
	n := &Norm{Of: s.of, Sums: s.sums, Op: &ir.Op{Kind: ir.Opaque, DTypes: ir.DTypeSet(1) << s.of.DType, Switch: -1, Tags: ir.TagFused}}
	for i, d := range s.in {
		n.Op.In = append(n.Op.In, ir.Operand{Name: fmt.Sprintf("x%d", i), Fixed: d})
	}
	for i, kind := range s.folds {
		n.Op.Attrs = append(n.Op.Attrs, ir.Attr{Name: fmt.Sprintf("s%d", i), Kind: kind})
	}
	n.Op.Attrs = append(n.Op.Attrs, s.of.Op.Attrs...)
	for i, d := range s.out {
		n.Op.Out = append(n.Op.Out, ir.Result{Name: fmt.Sprintf("y%d", i), DType: d})
	}
	n.Op.Name = "fused_" + strings.Join(brief(n.Names()), "_")
	n.Op.Doc = "computes " + strings.Join(n.Names(), ", ") + " in one call."
	n.Kernel = n.Op.Kernel(0, s.of.DType)
	return n, nil
}

// normed are the norms that were made, withCode those of them that have code.
var normed, withCode memo[*Norm]

// A normBuilder makes the norm and the call of a group.
type normBuilder struct {
	*planner
	g     *Group
	step  int // the norm
	shape normShape
	made  *Norm
	key   key // of the shape that made is of
}

// normalize makes groups of norms and of what sums their first results.
func (l *planner) normalize() {
	for i := range l.p.Steps {
		s := &l.p.Steps[i]
		if s.Action != program.Launch || s.Call.Op.Tags&ir.TagChannels == 0 || s.Call.DType != s.Call.Compute || l.o.Refused(i) != "" ||
			len(l.steps[l.group[i]]) > 1 || !s.Call.Out[0].IsContiguous() || !l.madeAll(s) {
			continue
		}
		for _, u := range l.users[s.Out[0].Buffer] {
			if !l.channelSums(i, u.step) {
				continue
			}
			b := &normBuilder{planner: l, step: i}
			if b.take(u.step); b.takes() {
				at := l.group[i]
				l.merge(at, l.group[u.step])
				b.g.Steps, l.norms[at] = l.steps[at], b
			}
			break
		}
	}
}

// madeAll reports whether the program makes all results of a step in this step alone.
func (l *planner) madeAll(s *program.Step) bool {
	return !slices.ContainsFunc(s.Out, func(r program.Ref) bool { return !l.made(r) })
}

// channelSums reports whether step j folds all elements of each channel, axis 1, of the first result
// of step i, and nothing else.
func (l *planner) channelSums(i, j int) bool {
	s, own := &l.p.Steps[j], &l.p.Steps[i]
	c, shape := &s.Call, own.Call.Out[0].Shape
	if s.Action != program.Launch || c.Op.Kind != ir.Reduction || len(l.steps[l.group[j]]) > 1 || l.o.Refused(j) != "" || l.o.Place(j) != l.o.Place(i) ||
		len(c.In) != 1 || len(c.Out) != 1 || s.In[0] != own.Out[0] || c.DType != own.Call.DType || c.DType != c.Compute || c.Out[0].DType != c.DType ||
		!c.In[0].IsContiguous() || !c.Out[0].IsContiguous() || !l.made(s.Out[0]) || l.between(l.group[i], l.group[j]) {
		return false
	}
	if len(c.Space) < 2 || c.Space[0] != shape[0] || c.Space[1] != shape[1] || ir.NumElements(c.Space) != ir.NumElements(shape) || ir.NumElements(shape) == 0 {
		return false
	}
	for a, n := range c.Space {
		if folded := slices.Contains(c.Axes, a); folded != (a != 1) && n != 1 {
			return false
		}
	}
	return true
}

// take has the call do what step j does, too.
func (b *normBuilder) take(j int) {
	own, s := &b.p.Steps[b.step], &b.p.Steps[j]
	b.g = &Group{In: own.In, Out: append(slices.Clone(own.Out), s.Out[0])}
	c := &b.g.Call
	c.Space, c.In, c.Precision = own.Call.Out[0].Shape, own.Call.In, own.Call.Precision
	c.Out = append(slices.Clone(own.Call.Out), ir.View{DType: s.Call.DType, Shape: c.Space[1:2], Strides: []int{1}})
	b.shape = normShape{of: own.Call.Kernel, sums: s.Call.Kernel, folds: addScalars(c, &s.Call), in: dtypesOf(c.In), out: dtypesOf(c.Out)}
	c.Scalars, c.Attrs = append(c.Scalars, own.Call.Scalars...), append(c.Attrs, own.Call.Attrs...)
}

// takes reports whether the device has code for what the builder has found.
func (b *normBuilder) takes() bool {
	b.key = b.shape.key(b.o.Kind(b.step))
	n, err := normed.get(b.key, false, b.shape.norm)
	if err != nil {
		return false
	}
	b.made, b.g.Call.Kernel = n, n.Kernel
	return b.o.TakesNorm(b.step, n, &b.g.Call)
}

// build makes the norm of a group.
func (b *normBuilder) build(quick bool) (*Group, error) {
	n, err := withCode.get(b.key, quick, func() (*Norm, error) { return b.made, b.o.NormCode(b.step, b.made) })
	if err != nil {
		return nil, err
	}
	b.g.Call.Kernel = n.Kernel
	return b.g, nil
}
