// Package fusion makes one kernel of several calls of a program: of those that are
// element-wise, of folds of rows with what comes before and after, and of other reductions with
// what comes before. It decides which calls
// become one, in which order a program then runs, and what is computed: typed graphs,
// composed of the calls' own, so that results are theirs to the bit. It knows nothing of
// devices; a backend makes code of a Region, of Rows, of a Product or of a Fold.
package fusion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
)

// A Region is what several calls compute, whatever the shapes. Its values are numbered: the
// operands come first, then what members give, in their order.
type Region struct {
	Op      *ir.Op // element-wise, with code for one kind of device
	Kernel  *ir.Kernel
	Members []Member
	Outs    []int // the values that are results
}

// A Member is a call in a region.
type Member struct {
	Kernel  *ir.Kernel
	In      []Source
	Out     int   // the value of the first result; others follow
	Scalars []int // for each of the kernel's scalars, the one of the region
	Rounded []Rounding
}

// A Rounding is a value that is rounded to a float of 16 bits, as it would be in memory.
type Rounding struct {
	Value int
	To    ir.DType
}

// A Source is what a member reads: a value, or where that is below 0 a number, which is a
// scalar of the region.
type Source struct{ Value, Scalar int }

// Graph returns what the region computes.
func (r *Region) Graph() (*expr.Graph, error) {
	b, err := body.Of(r.Kernel)
	if err != nil {
		return nil, err
	}
	return b.Expr, nil
}

// Values returns how many values there are.
func (r *Region) Values() int {
	n := len(r.Op.In)
	for i := range r.Members {
		n += len(r.Members[i].Kernel.Out)
	}
	return n
}

// Names returns the members' operators.
func (r *Region) Names() []string {
	var list []string
	for i := range r.Members {
		list = append(list, r.Members[i].Kernel.Op.Name)
	}
	return list
}

// A shape is a region before it has an operator, and what tells it from others.
type shape struct {
	compute ir.DType
	in      []expr.Kind // of operands
	stored  []ir.DType  // of operands: floats of 16 bits, or Invalid
	attrs   []ir.AttrKind
	members []Member
	outs    []int
	wide    int // 1 more than the place among outs of one that is rounded, and given as it is computed with; or 0
}

// key adds what shapes have in common of which one is the other.
func (s *shape) key(k *key) {
	k.number(int(s.compute))
	numbers(k, s.in)
	numbers(k, s.stored)
	numbers(k, s.attrs)
	numbers(k, s.outs)
	k.number(s.wide)
	k.number(len(s.members))
	for i := range s.members {
		m := &s.members[i]
		k.number(int(m.Kernel.Serial()))
		for _, from := range m.In { // as many as the kernel reads
			k.number(from.Value)
			k.number(from.Scalar)
		}
		numbers(k, m.Scalars)
		k.number(len(m.Rounded))
		for _, r := range m.Rounded {
			k.number(r.Value<<8 | int(r.To))
		}
	}
}

// region composes the graph and makes the operator.
func (s *shape) region() (*Region, error) {
	c := expr.NewComposer(s.compute)
	env, op := expr.Env{}, &ir.Op{Kind: ir.Elementwise, DTypes: ir.DTypeSet(1) << s.compute, Switch: -1, Tags: ir.TagPointwise | ir.TagFused}
	var values []*expr.Value
	for i, k := range s.in {
		o := ir.Operand{Name: fmt.Sprintf("x%d", i), Fixed: fixed(k)}
		env.Operands = append(env.Operands, expr.Operand{Name: o.Name, Fixed: o.Fixed})
		if s.stored[i] != ir.Invalid {
			o.Fixed = s.stored[i]
		}
		op.In = append(op.In, o)
		values = append(values, c.Name(o.Name, k))
	}
	var scalars []*expr.Value
	for i, kind := range s.attrs {
		name := fmt.Sprintf("s%d", i)
		p := attrs[kind]
		op.Attrs, env.Params = append(op.Attrs, ir.Attr{Name: name, Kind: kind}), append(env.Params, expr.Param{Name: name, Kind: p.param})
		k := p.kind
		if s.compute == ir.Bool && k == expr.TKind {
			k = expr.BoolKind
		}
		scalars = append(scalars, c.Name(name, k))
	}
	rounded := map[int]ir.DType{} // values
	for _, m := range s.members {
		given, err := s.member(c, &m, values, scalars)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Kernel.Op.Name, err)
		}
		for _, r := range m.Rounded {
			i := r.Value - len(values)
			given[i], rounded[r.Value] = c.Rounded(given[i], r.To), r.To
		}
		values = append(values, given...)
	}
	roots := make([]*expr.Value, len(s.outs))
	for i, v := range s.outs {
		roots[i] = values[v]
	}
	g := c.Graph(env, roots)
	r := &Region{Op: op, Members: s.members, Outs: s.outs}
	for i, root := range g.Roots {
		o := ir.Result{Name: fmt.Sprintf("y%d", i), DType: g.KindDType(root.Kind)}
		if d := rounded[s.outs[i]]; short(d) && i != s.wide-1 {
			o.DType = d
		}
		op.Out = append(op.Out, o)
	}
	op.Name = "fused_" + strings.Join(brief(r.Names()), "_")
	op.Doc = "computes " + strings.Join(r.Names(), ", ") + " in one pass."
	op.Bodies = []ir.Body{{Exprs: slices.Repeat([]string{strings.Join(r.Names(), ", ")}, len(roots))}}
	r.Kernel = op.Kernel(0, s.compute)
	body.Define(r.Kernel, g)
	return r, nil
}

// member adds the graph of a call and returns the values that it gives.
func (s *shape) member(c *expr.Composer, m *Member, values, scalars []*expr.Value) ([]*expr.Value, error) {
	b, err := body.Of(m.Kernel)
	if err != nil {
		return nil, err
	}
	names := map[string]*expr.Value{}
	for i, from := range m.In {
		x := scalars
		at := from.Scalar
		if from.Value >= 0 {
			x, at = values, from.Value
		}
		names[m.Kernel.Op.In[i].Name] = x[at]
	}
	for i, p := range b.Params {
		names[p.Name] = scalars[m.Scalars[i]]
	}
	return c.Add(b.Expr, names)
}

// Portable reports whether all devices give the same bits of an element-wise kernel's results.
func Portable(k *ir.Kernel) bool {
	b, err := body.Of(k)
	return err == nil && b.Expr.Portable()
}

// attrs says how expressions see the attributes of regions.
var attrs = map[ir.AttrKind]struct {
	param expr.ParamKind
	kind  expr.Kind
}{
	ir.AttrScalar: {expr.ScalarParam, expr.TKind},
	ir.AttrFloat:  {expr.FloatParam, expr.TKind},
	ir.AttrInt:    {expr.IntParam, expr.IntKind},
	ir.AttrBool:   {expr.BoolParam, expr.BoolKind},
}

// short reports whether elements are floats of 16 bits, which are computed with as float32.
func short(d ir.DType) bool { return d == ir.Float16 || d == ir.BFloat16 }

// fixed is the dtype of operands of a kind that does not follow from the compute dtype.
func fixed(k expr.Kind) ir.DType {
	switch k {
	case expr.BoolKind:
		return ir.Bool
	case expr.IntKind:
		return ir.Int64
	}
	return ir.Invalid
}

// brief returns the first names of many.
func brief(names []string) []string {
	const most = 6
	if len(names) <= most {
		return names
	}
	return append(slices.Clone(names[:most-1]), fmt.Sprintf("%d_more", len(names)-most+1))
}
