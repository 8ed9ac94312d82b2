package fusion

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// A Fold is a reduction and the element-wise calls that make its operand, whatever the axes
// that are folded: all, those of columns, or rows that are too long to be Rows. The scalars
// of the reduction follow those of Before.
//
// A call's operands are those of Before. Its results are those of Before, without the one
// that is folded unless Stored is set, then that of the reduction. Its space and axes are
// the reduction's. The operand of the reduction has no gaps, and as many elements in the same
// order as views of Before, which are all of one shape. Where that is of 16 bits and no result of
// the call, Before gives float32 that are rounded to them.
type Fold struct {
	Op     *ir.Op // opaque, with code for one kind of device
	Kernel *ir.Kernel
	Before *Region    // which has no code
	Folded int        // the result of Before that is folded
	Stored bool       // it is a result of the call
	Of     *ir.Kernel // the reduction
}

// Names returns the operators.
func (f *Fold) Names() []string { return append(f.Before.Names(), f.Of.Op.Name) }

// A foldShape is a fold before it has an operator.
type foldShape struct {
	before  shape
	of      *ir.Kernel
	folded  int
	stored  bool
	attrs   []ir.AttrKind // scalars of the reduction
	out, in []ir.DType
}

func (s *foldShape) key(kind string) key {
	k := append(make(key, 0, 256), kind...)
	k.number(int(s.of.Serial()))
	k.flags([]bool{s.stored})
	k.number(s.folded)
	numbers(&k, s.out)
	numbers(&k, s.in)
	s.before.key(&k)
	return k
}

// fold makes the operator.
func (s *foldShape) fold() (*Fold, error) {
	f := &Fold{Folded: s.folded, Stored: s.stored, Of: s.of, Op: &ir.Op{Kind: ir.Opaque, DTypes: ir.DTypeSet(1) << s.of.DType, Switch: -1, Tags: ir.TagFused}}
	var err error
	if f.Before, err = s.before.region(); err != nil {
		return nil, err
	}
	for i, d := range s.in {
		f.Op.In = append(f.Op.In, ir.Operand{Name: fmt.Sprintf("x%d", i), Fixed: d})
	}
	for i, kind := range slices.Concat(s.before.attrs, s.attrs) {
		f.Op.Attrs = append(f.Op.Attrs, ir.Attr{Name: fmt.Sprintf("s%d", i), Kind: kind})
	}
	for i, d := range s.out {
		f.Op.Out = append(f.Op.Out, ir.Result{Name: fmt.Sprintf("y%d", i), DType: d})
	}
	f.Op.Name = "fused_" + strings.Join(brief(f.Names()), "_")
	f.Op.Doc = "computes " + strings.Join(f.Names(), ", ") + " in one pass."
	f.Kernel = f.Op.Kernel(0, s.of.DType)
	return f, nil
}

// folds are those that were made.
var folds memo[*Fold]

// A foldBuilder makes the fold and the call of a group.
type foldBuilder struct {
	*planner
	g      *Group
	step   int   // the reduction
	before []int // the steps of its region
	shape  foldShape
}

// errFold is why calls are not one kernel with a fold.
var errFold = errors.New("its operand is not made element by element, in its order")

// reduce makes groups of reductions and of what makes their operands.
func (l *planner) reduce() {
	for i := range l.p.Steps {
		s := &l.p.Steps[i]
		c := &s.Call
		if s.Action != program.Launch || c.Op.Kind != ir.Reduction || len(l.steps[l.group[i]]) > 1 || l.o.Refused(i) != "" || len(c.In) != 1 || len(c.Out) != 1 ||
			s.In[0].Buffer < 0 || !c.In[0].IsContiguous() || c.In[0].NumElements() == 0 || !l.made(s.Out[0]) || !l.o.TakesFold(i, c) {
			continue
		}
		for _, u := range l.users[s.In[0].Buffer] {
			if l.info[u.step] == nil || !slices.Contains(l.p.Steps[u.step].Out, s.In[0]) {
				continue
			}
			if err := l.foldOf(i, l.group[u.step]); err != nil {
				l.why[i] = err.Error()
			}
			break
		}
	}
}

// foldOf makes a group of step i, a reduction, and of the group that makes its operand, unless
// there is an error.
func (l *planner) foldOf(i, group int) error {
	at := l.group[i]
	if l.rows[group] != nil || l.products[group] != nil || l.reductions[group] != nil || l.norms[group] != nil || l.between(at, group) {
		return errFold
	}
	b := &foldBuilder{planner: l, g: &Group{}, step: i, before: l.steps[group]}
	for _, k := range b.before {
		if l.info[k] == nil || l.o.Place(k) != l.o.Place(i) {
			return errFold
		}
	}
	if err := b.collect(); err != nil {
		return err
	}
	l.merge(at, group)
	b.g.Steps = l.steps[at]
	l.reductions[at] = b
	return nil
}

// collect finds what the call reads and stores.
func (b *foldBuilder) collect() error {
	e := b.builder(b.before)
	defer e.done()
	var ok bool
	if e.space, ok = b.space(b.before); !ok {
		return errFold
	}
	if err := e.collect(); err != nil {
		return err
	}
	s := &b.p.Steps[b.step]
	at := slices.Index(e.g.Out, s.In[0])
	if at < 0 || len(e.g.In) == 0 {
		return errFold
	}
	x := &e.g.Call.Out[at]
	if !x.IsContiguous() || x.NumElements() != s.Call.In[0].NumElements() || x.DType != s.Call.In[0].DType {
		return errFold
	}
	g, c := b.g, &b.g.Call
	b.shape = foldShape{before: e.shape, of: s.Call.Kernel, folded: at,
		stored: b.p.Buffers[s.In[0].Buffer].Kind != program.Temporary || b.usedOutside(b.before, s.In[0], b.step)}
	if !b.shape.stored && short(x.DType) && b.o.Rounds(b.step) {
		b.shape.before.wide = at + 1
	}
	g.In, c.In = e.g.In, e.g.Call.In
	for j, r := range e.g.Out {
		if j != at || b.shape.stored {
			g.Out, c.Out = append(g.Out, r), append(c.Out, e.g.Call.Out[j])
		}
	}
	g.Out, c.Out = append(g.Out, s.Out[0]), append(c.Out, s.Call.Out[0])
	c.Space, c.Axes, c.Scalars, c.Attrs = s.Call.Space, s.Call.Axes, e.g.Call.Scalars, e.g.Call.Attrs
	b.shape.attrs = addScalars(c, &s.Call)
	b.shape.in, b.shape.out = dtypesOf(c.In), dtypesOf(c.Out)
	return nil
}

// build makes the fold of a group.
func (b *foldBuilder) build(quick bool) (*Group, error) {
	f, err := folds.get(b.shape.key(b.o.Kind(b.step)), quick, func() (*Fold, error) {
		f, err := b.shape.fold()
		if err == nil {
			err = b.o.FoldCode(b.step, f)
		}
		return f, err
	})
	if err != nil {
		return nil, err
	}
	b.g.Call.Kernel = f.Kernel
	return b.g, nil
}
