package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// An Apply is one application of an operator to operands.
type Apply struct {
	Op       *ir.Op
	In       []*Tensor  // in the order of Op.In; nil where optional and not given; a list's members last
	Attrs    []ir.Value // every attribute, in the order of Op.Attrs
	Variant  int        // index of the chosen body
	Dims     []int      // Reduction: the axes, nil for all. Scan: the one axis
	KeepDim  bool
	DType    ir.DType                // the dtype option, or Invalid
	Shapes   func() ([][]int, error) // Kernel and factories: the results' shapes
	Backward func(*Grad)             // nil: not differentiable
	Save     Save                    // what Backward reads
	Place    *Placement              // factories: where the result goes
}

// Placement says where a factory's result goes and what it is made of.
type Placement struct {
	Device      device.Device
	DType       ir.DType // Invalid: the default float
	RequireGrad bool
	Pin         device.Kind // of the accelerators that host memory is page-locked for; KindCPU for none
}

// PlacementLike returns the placement of x: its device and dtype.
func PlacementLike(x *Tensor) *Placement {
	return &Placement{Device: x.Device(), DType: x.DType()}
}

// operandOf returns the descriptor of the i-th tensor in In; a list operand's
// descriptor stands for all its members.
func operandOf(op *ir.Op, i int) *ir.Operand {
	if n := len(op.In); i >= n && n > 0 && op.In[n-1].Variadic {
		i = n - 1
	}
	if i >= len(op.In) {
		return nil
	}
	return &op.In[i]
}

// check validates operands and finds device and dtypes. Host scalars may join
// where mixHost is set.
func (p *application) check(mixHost bool) error {
	if err := p.a.Op.Accepts(p.a.Attrs...); err != nil {
		return err
	}
	if p.alike() {
		return attrsFit(p.a.Op, p.a.Attrs, p.compute)
	}
	a := &p.a
	p.wrapped = allWrapped(a.In)
	if err := a.checkVariant(); err != nil {
		return err
	}
	if err := a.checkOperands(); err != nil {
		return err
	}
	if err := checkEpochs(a.Op, a.In); err != nil {
		return err
	}
	if err := p.place(mixHost); err != nil {
		return err
	}
	if err := p.types(); err != nil {
		return err
	}
	if err := p.checkNumbers(); err != nil {
		return err
	}
	if a.Place != nil && a.Place.RequireGrad && !p.resultDType(0).Differentiable() {
		return fmt.Errorf("%w: only floating-point and complex tensors can require gradients, not %s", ErrDType, p.resultDType(0))
	}
	return nil
}

// checkVariant reports a body that the operator does not have.
func (a *Apply) checkVariant() error {
	sw := a.Op.Switch
	if sw < 0 {
		return nil
	}
	at := &a.Op.Attrs[sw]
	if a.Variant >= 0 && a.Variant < len(at.Enum) {
		return nil
	}
	return fmt.Errorf("unknown %s %d (have 0 to %d: %s)", at.Name, a.Variant, len(at.Enum)-1, strings.Join(at.Enum, ", "))
}

func allWrapped(in []*Tensor) bool {
	for _, t := range in {
		if t == nil || !t.wrapped {
			return false
		}
	}
	return len(in) > 0
}

// option returns the dtype that was asked for: by the option, by a factory's
// placement, or by the numbers a factory is given.
func (a *Apply) option() ir.DType {
	if a.DType != ir.Invalid || a.Place == nil {
		return a.DType
	}
	if a.Place.DType != ir.Invalid || len(a.In) > 0 {
		return a.Place.DType
	}
	var types []ir.TypeOperand
	for i, at := range a.Op.Attrs {
		if at.Kind == ir.AttrScalar {
			types = append(types, ir.TypeOperand{DType: a.Attrs[i].Scalar.DType(DefaultFloat()), Wrapped: true})
		}
	}
	if len(types) == 0 {
		return ir.Invalid
	}
	return ir.Promote(types...)
}

// promoteDType is the dtype t takes part in promotion with: a wrapped number is
// stored wide but counts as its category's default.
func (t *Tensor) promoteDType() ir.DType {
	if t.wrapped && t.dtype == ir.Float64 {
		return DefaultFloat()
	}
	if t.wrapped && t.dtype == ir.Complex128 {
		return defaultComplex()
	}
	if t.wrapped && t.dtype == ir.Uint64 { // a number that int64 does not hold
		return ir.Int64
	}
	return t.dtype
}

func (a *Apply) checkOperands() error {
	for i, t := range a.In {
		o := operandOf(a.Op, i)
		if o == nil {
			return fmt.Errorf("internal error: %d operands for %d", len(a.In), len(a.Op.In))
		}
		if t == nil {
			if o.Optional {
				continue
			}
			return fmt.Errorf("operand %s: %w", o.Name, ErrZeroTensor)
		}
		if o.DTypes != 0 && !o.DTypes.Has(t.dtype) && (o.Fixed != ir.Invalid || !o.DTypes.Takes(t.dtype)) {
			return fmt.Errorf("%w: %s must be %s, not %s", ErrDType, o.Name, dtypeList(o.DTypes), t.dtype)
		}
	}
	return nil
}

func dtypeList(s ir.DTypeSet) string {
	var names []string
	for _, d := range s.List() {
		names = append(names, d.String())
	}
	if len(names) > 1 {
		last := len(names) - 1
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return strings.Join(names, "")
}

// Elementwise applies an element-wise operator: operands broadcast (or, for a
// factory, Shapes gives the shape). They are a.In, or in: a list that is given apart
// is not kept, so that none need be allocated.
func Elementwise(a Apply, in ...*Tensor) *Tensor {
	if in == nil {
		in = a.In
	}
	if out, ok, err := short(&a, in); ok {
		if err != nil {
			return Fail(a.Op, err)
		}
		return out
	}
	if t := badOperand(a.Op, in...); t != nil {
		return t
	}
	if a.carries(in) {
		return conveyedOne(a, slices.Clone(in), func(a Apply) *Tensor { return Elementwise(a) })
	}
	p := newApplication(&a)
	p.a.In = append(p.ins[:0], in...)
	out, err := p.elementwise(nil)
	p.free()
	if err != nil {
		return Fail(a.Op, err)
	}
	return out
}

// ElementwiseAll is Elementwise for an operator with several results. Where there is an
// error, every one of them carries it.
func ElementwiseAll(a Apply, in ...*Tensor) []*Tensor {
	if in == nil {
		in = a.In
	}
	if a.carries(in) && FirstError(in...) == nil {
		return conveyed(a, slices.Clone(in), func(a Apply) []*Tensor { return ElementwiseAll(a) })
	}
	return all(&a, in, func(p *application, outs []*Tensor) error {
		p.a.In = append(p.ins[:0], in...)
		return p.elementwiseAll(outs)
	})
}

// all applies an operator with several results by run, which makes them.
func all(a *Apply, in []*Tensor, run func(p *application, outs []*Tensor) error) []*Tensor {
	n := len(a.Op.Out)
	if t := badOperand(a.Op, in...); t != nil {
		return repeat(t, n)
	}
	outs, p := make([]*Tensor, n), newApplication(a)
	err := run(p, outs)
	p.free()
	if err != nil {
		releaseAll(outs)
		return repeat(Fail(a.Op, err), n)
	}
	return outs
}

func (p *application) elementwiseAll(outs []*Tensor) error {
	if err := p.check(true); err != nil {
		return err
	}
	space, err := p.a.space()
	if err != nil {
		return err
	}
	for i := range outs {
		if outs[i], err = p.allocateLike(space, p.resultDType(i)); err != nil {
			return err
		}
	}
	if ir.NumElements(space) > 0 {
		c := p.prepare(len(outs), len(p.a.In))
		c.Space = space
		for i, t := range outs {
			t.storage.view(&c.Out[i], &t.layout, t.dtype)
		}
		for i, t := range p.a.In {
			p.expand(&c.In[i], t, space)
		}
		if err := p.launch(); err != nil {
			return err
		}
	}
	for _, t := range outs {
		t.wrapped = p.wrapped
	}
	p.record(outs...)
	return nil
}

// apply runs a by one of the application's methods into dst, or into a new tensor when
// dst is nil.
func apply(a *Apply, dst *Tensor, run func(*application, *Tensor) (*Tensor, error)) (*Tensor, error) {
	p := newApplication(a)
	out, err := run(p, dst)
	p.free()
	return out, err
}

func (p *application) elementwise(dst *Tensor) (*Tensor, error) {
	if err := p.check(true); err != nil {
		return nil, err
	}
	flat := p.even()
	space, err := p.space(flat)
	if err != nil {
		return nil, err
	}
	out := dst
	switch {
	case dst != nil:
		if err := p.checkDst(dst, space); err != nil {
			return nil, err
		}
		flat = flat && rowMajor(dst.layout)
	case flat:
		out, err = p.fill(ir.Layout{Shape: space, Strides: p.a.In[0].layout.Strides}, p.resultDType(0))
	default:
		out, err = p.allocateLike(space, p.resultDType(0))
	}
	if err != nil {
		return nil, err
	}
	if err := p.launchElementwise(out, space, flat); err != nil {
		discard(out, dst)
		return nil, err
	}
	if dst == nil {
		out.wrapped = p.wrapped
		p.record(out)
	}
	return out, nil
}

// launchElementwise writes the result of p's operator over space to out. Flat says
// that operands and result are row-major and have the shape of space.
func (p *application) launchElementwise(out *Tensor, space []int, flat bool) error {
	if ir.NumElements(space) == 0 {
		return nil
	}
	c := p.prepare(1, len(p.a.In))
	c.Space = space
	out.storage.view(&c.Out[0], &out.layout, out.dtype)
	spread := false
	for i, t := range p.a.In {
		switch {
		case flat:
			t.storage.view(&c.In[i], &t.layout, t.dtype)
		case t != nil:
			spread = p.expand(&c.In[i], t, space) || spread
		}
	}
	c.Flat = flat || !spread && c.AllFlat()
	return p.launch()
}

// space returns the shape that p's operator works on; even says that it is that of
// the first operand.
func (p *application) space(even bool) ([]int, error) {
	if even {
		return p.a.In[0].layout.Shape, nil
	}
	return p.a.space()
}

// space returns the shape an element-wise operator works on.
func (a *Apply) space() ([]int, error) {
	if a.Shapes != nil {
		shapes, err := a.Shapes()
		if err != nil {
			return nil, err
		}
		if len(a.In) == 0 {
			return shapes[0], nil // the allocation checks it, and knows what for
		}
		return shapes[0], ir.CheckShape(shapes[0])
	}
	if len(a.In) == 1 {
		return a.In[0].layout.Shape, nil
	}
	largest := a.In[0].shape() // by rank, where it is that of all others expanded
	for _, t := range a.In[1:] {
		if s := t.shape(); len(s) > len(largest) {
			largest = s
		}
	}
	for _, t := range a.In {
		if t != nil && !expandsTo(t.layout.Shape, largest) {
			return a.broadcast()
		}
	}
	return largest, nil
}

// shape returns the extents of an operand; none where it was not given.
func (t *Tensor) shape() []int {
	if t == nil {
		return nil
	}
	return t.layout.Shape
}

// expandsTo reports whether elements of shape s can be read as shape to.
func expandsTo(s, to []int) bool {
	lead := len(to) - len(s)
	if lead < 0 {
		return false
	}
	for i, d := range s {
		if d != to[lead+i] && d != 1 {
			return false
		}
	}
	return true
}

// broadcast returns the shape that the operands expand to together.
func (a *Apply) broadcast() ([]int, error) {
	var buf [4][]int
	shapes := buf[:0]
	for _, t := range a.In {
		if t != nil {
			shapes = append(shapes, t.layout.Shape)
		}
	}
	return ir.Broadcast(shapes...)
}
