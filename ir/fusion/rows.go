package fusion

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// A Rows is what several calls compute row by row, whatever the shapes: stages, of which
// each computes something of all elements of a row, or of one element a row, or folds rows.
// Its values are numbered: the operands come first, then what stages give, in their order.
//
// A call's space is the number of rows and their length. A view of a value with one element
// a row has one column.
type Rows struct {
	Op     *ir.Op // opaque, with code for one kind of device
	Kernel *ir.Kernel
	Stages []Stage
	Single []bool // by value: it has one element a row
	Outs   []int  // the values that are results
}

// A Stage is one of the steps by which rows are computed.
type Stage struct {
	Kernel *ir.Kernel // element-wise or a reduction
	Region *Region    // what an element-wise one computes, which has no code; nil for a fold
	Single bool       // element-wise, over one element a row
	In     []int      // the values that it reads
	Out    int        // the value of the first result; others follow
	Scalar int        // the first of its scalars among those of the call; others follow
}

// DType returns what elements of a value are.
func (r *Rows) DType(value int) ir.DType {
	if value < len(r.Op.In) {
		return r.Kernel.In[value].DType
	}
	for i := range r.Stages {
		if s := &r.Stages[i]; value >= s.Out && value < s.Out+len(s.Kernel.Out) {
			return s.Kernel.Out[value-s.Out].DType
		}
	}
	return ir.Invalid
}

// Names returns the operators of the stages.
func (r *Rows) Names() []string {
	var list []string
	for i := range r.Stages {
		if s := &r.Stages[i]; s.Region != nil {
			list = append(list, s.Region.Names()...)
		} else {
			list = append(list, s.Kernel.Op.Name)
		}
	}
	return list
}

// A stage is a Stage before it has a region.
type stage struct {
	Stage
	shape shape  // of an element-wise one
	reads []read // by operand of the stage
}

// A read is an operand of a call, or where given is set, what a stage gives: as its result
// number.
type read struct {
	given bool
	at    int
}

// rowShape is rows before they have an operator.
type rowShape struct {
	compute ir.DType
	in      []ir.DType
	single  []bool // by operand, then by what stages give
	attrs   []ir.AttrKind
	stages  []stage
	outs    []int // numbers of what stages give
	dtypes  []ir.DType
}

// key returns what shapes have in common of which one is the other.
func (s *rowShape) key(kind string) key {
	k := append(make(key, 0, 256), kind...)
	k.number(int(s.compute))
	numbers(&k, s.in)
	k.flags(s.single)
	numbers(&k, s.attrs)
	numbers(&k, s.outs)
	for i := range s.stages {
		g := &s.stages[i]
		k.flags([]bool{g.Single, g.Kernel != nil})
		k.number(len(g.reads))
		for _, r := range g.reads {
			k.flags([]bool{r.given})
			k.number(r.at)
		}
		k.number(g.Out)
		k.number(g.Scalar)
		if g.Kernel != nil {
			k.number(int(g.Kernel.Serial()))
		} else {
			g.shape.key(&k)
		}
	}
	return k
}

// rows makes the operator.
func (s *rowShape) rows() (*Rows, error) {
	r := &Rows{Op: &ir.Op{Kind: ir.Opaque, DTypes: ir.DTypeSet(1) << s.compute, Switch: -1, Tags: ir.TagFused}, Single: s.single}
	for i, d := range s.in {
		r.Op.In = append(r.Op.In, ir.Operand{Name: fmt.Sprintf("x%d", i), Fixed: d})
	}
	for i, kind := range s.attrs {
		r.Op.Attrs = append(r.Op.Attrs, ir.Attr{Name: fmt.Sprintf("s%d", i), Kind: kind})
	}
	for i, v := range s.outs {
		r.Op.Out = append(r.Op.Out, ir.Result{Name: fmt.Sprintf("y%d", i), DType: s.dtypes[v]})
		r.Outs = append(r.Outs, len(s.in)+v)
	}
	for i := range s.stages {
		g := s.stages[i].Stage
		if g.Kernel == nil {
			var err error
			if g.Region, err = s.stages[i].shape.region(); err != nil {
				return nil, err
			}
			g.Kernel = g.Region.Kernel
		}
		g.Out += len(s.in)
		for _, from := range s.stages[i].reads {
			if from.given {
				from.at += len(s.in)
			}
			g.In = append(g.In, from.at)
		}
		r.Stages = append(r.Stages, g)
	}
	r.Op.Name = "fused_" + strings.Join(brief(r.Names()), "_")
	r.Op.Doc = "computes " + strings.Join(r.Names(), ", ") + " row by row."
	r.Kernel = r.Op.Kernel(0, s.compute)
	return r, nil
}

// madeRows are rows that were made.
var madeRows memo[*Rows]

// rowsOf returns the rows of a shape for where a step runs.
func (l *planner) rowsOf(s *rowShape, step int, quick bool) (*Rows, error) {
	return madeRows.get(s.key(l.o.Kind(step)), quick, func() (*Rows, error) {
		r, err := s.rows()
		if err == nil {
			err = l.o.RowCode(step, r)
		}
		return r, err
	})
}

// errRows is why calls are not one kernel over rows.
var errRows = errors.New("views of rows are no rows")

// split returns the distances of rows and of a row's elements in a view of so many of both;
// false where there is none.
func split(v *ir.View, rows, length int) (row, element int, ok bool) {
	switch {
	case v.NumElements() != rows*length:
		return 0, 0, false
	case v.IsContiguous():
		return length, 1, true
	}
	p, n := 0, 1
	for n < rows && p < len(v.Shape) {
		n *= v.Shape[p]
		p++
	}
	if n != rows {
		return 0, 0, false
	}
	row, ok = joined(v.Shape[:p], v.Strides[:p])
	if !ok {
		return 0, 0, false
	}
	element, ok = joined(v.Shape[p:], v.Strides[p:])
	return row, element, ok
}

// joined returns the distance of elements of several axes as one; false where there is none.
func joined(shape, strides []int) (step int, ok bool) {
	size := 1
	for i, n := range slices.Backward(shape) {
		switch {
		case n == 1:
		case size == 1:
			step, size = strides[i], n
		case strides[i] != step*size:
			return 0, false
		default:
			size *= n
		}
	}
	return step, true
}
