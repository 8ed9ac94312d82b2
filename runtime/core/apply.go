package core

import (
	"fmt"
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
	Pinned      bool // page-locked host memory; only on the CPU
}

// PlacementLike returns the placement of x: its device and dtype.
func PlacementLike(x *Tensor) *Placement {
	return &Placement{Device: x.Device(), DType: x.DType()}
}

// DefaultFloat is the dtype of a floating-point result that nothing else decides.
const DefaultFloat = ir.Float32

// plan is an application whose operands were checked.
type plan struct {
	a       *Apply
	dev     device.Device
	drv     device.Driver
	compute ir.DType
	result  ir.DType
	scalars []ir.Scalar
	wrapped bool // every operand is a host number, and so is the result
	pinned  bool // results go to page-locked host memory
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
// where mixHost is set (P33).
func (a *Apply) check(mixHost bool) (plan, error) {
	p := plan{a: a, wrapped: allWrapped(a.In)}
	if sw := a.Op.Switch; sw >= 0 && (a.Variant < 0 || a.Variant >= len(a.Op.Attrs[sw].Enum)) {
		return p, fmt.Errorf("unknown %s %d (have 0 to %d: %s)", a.Op.Attrs[sw].Name, a.Variant, len(a.Op.Attrs[sw].Enum)-1, strings.Join(a.Op.Attrs[sw].Enum, ", "))
	}
	if err := a.checkOperands(); err != nil {
		return p, err
	}
	if err := checkEpochs(a.Op, a.In); err != nil {
		return p, err
	}
	if err := p.place(mixHost); err != nil {
		return p, err
	}
	var buf [4]ir.TypeOperand
	types := buf[:0]
	for i, t := range a.In {
		o := operandOf(a.Op, i)
		if t == nil || o.Fixed != ir.Invalid {
			continue
		}
		dt := t.promoteDType()
		if p.wrapped { // numbers among themselves keep their full precision
			dt = t.dtype
		}
		types = append(types, ir.TypeOperand{DType: dt, Rank: t.Rank(), Wrapped: t.wrapped})
	}
	var err error
	p.compute, p.result, err = a.Op.Types(types, a.option(), DefaultFloat)
	if err != nil {
		return p, fmt.Errorf("%w: %w", ErrDType, err)
	}
	if a.Place != nil && a.Place.RequireGrad && !p.resultDType(0).Differentiable() {
		return p, fmt.Errorf("%w: only floating-point and complex tensors can require gradients, not %s", ErrDType, p.resultDType(0))
	}
	p.scalars = scalarAttrs(a.Op, a.Attrs)
	return p, nil
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
			types = append(types, ir.TypeOperand{DType: a.Attrs[i].Scalar.DType(DefaultFloat), Wrapped: true})
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
		return DefaultFloat
	}
	if t.wrapped && t.dtype == ir.Complex128 {
		return ir.Complex64
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
		if o.DTypes != 0 && !o.DTypes.Has(t.dtype) {
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

// scalarAttrs picks the attributes that scalar expressions read.
func scalarAttrs(op *ir.Op, attrs []ir.Value) []ir.Scalar {
	var out []ir.Scalar
	for i, a := range op.Attrs {
		switch a.Kind {
		case ir.AttrScalar, ir.AttrFloat:
			out = append(out, attrs[i].Scalar)
		case ir.AttrInt:
			out = append(out, ir.IntScalar(attrs[i].Int))
		case ir.AttrBool:
			out = append(out, ir.BoolScalar(attrs[i].Int != 0))
		}
	}
	return out
}

// place finds the device all operands are on, or the placement's (S10, S11).
func (p *plan) place(mixHost bool) error {
	var first *Tensor
	for _, t := range p.a.In {
		if t == nil || t.wrapped || (mixHost && t.hostScalar()) {
			continue
		}
		if first == nil {
			first = t
			continue
		}
		if first.storage.dev != t.storage.dev {
			//lint:ignore ST1005 PyTorch's words, which people search for
			return fmt.Errorf("%w: Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
				device.ErrMismatch, first.storage.dev, t.storage.dev)
		}
	}
	if first == nil {
		for _, t := range p.a.In {
			if t != nil {
				first = t
				break
			}
		}
	}
	if first != nil {
		p.dev, p.drv = first.storage.dev, first.storage.drv
		return nil
	}
	if p.a.Place == nil {
		return fmt.Errorf("%w: want at least one tensor", ir.ErrShape)
	}
	var err error
	p.pinned = p.a.Place.Pinned
	p.dev, p.drv, err = device.Find(p.a.Place.Device)
	return err
}

// hostScalar reports whether t is a zero-dimensional tensor in host memory,
// which may join operands of any device.
func (t *Tensor) hostScalar() bool {
	return len(t.layout.Shape) == 0 && t.storage.dev.Kind == device.KindCPU
}

// resultDType returns the dtype of the i-th result.
func (p *plan) resultDType(i int) ir.DType {
	if d := p.a.Op.Out[i].DType; d != ir.Invalid {
		return d
	}
	return p.result
}

// allocate returns a new contiguous result.
func (p *plan) allocate(shape []int, dt ir.DType) (*Tensor, error) {
	if err := ir.CheckShape(shape); err != nil {
		return nil, err
	}
	bytes := int64(ir.NumElements(shape)) * int64(dt.Size())
	var s *Storage
	var err error
	switch {
	case !p.pinned:
		s, err = newStorage(p.dev, p.drv, bytes)
	case p.dev.Accelerator():
		err = fmt.Errorf("only host tensors can be pinned, this one is for %s", p.dev)
	default:
		s, err = newPinned(device.KindCUDA, p.drv, bytes)
	}
	if err != nil {
		return nil, err
	}
	return newTensor(s, ir.ContiguousLayout(shape), dt), nil
}

// discard releases a result that was not computed, unless it is the program's dst.
func discard(out, dst *Tensor) {
	if dst == nil {
		out.Release()
	}
}

// call returns the launch that the plan describes, without results.
func (p *plan) call() *ir.Call {
	return &ir.Call{
		Op: p.a.Op, Variant: p.a.Variant, Compute: p.compute.Compute(),
		Scalars: p.scalars, Attrs: p.a.Attrs,
	}
}

func (p *plan) launch(c *ir.Call) error { return p.drv.Launch(p.dev.Index, 0, c) }

// Elementwise applies an element-wise operator: operands broadcast (or, for a
// factory, Shapes gives the shape).
func Elementwise(a Apply) *Tensor {
	if t := FirstError(a.In...); t != nil {
		return t
	}
	out, err := elementwise(&a, nil)
	if err != nil {
		return Fail(a.Op, err)
	}
	return out
}

// elementwise runs a into dst, or into a new tensor when dst is nil.
func elementwise(a *Apply, dst *Tensor) (*Tensor, error) {
	p, err := a.check(true)
	if err != nil {
		return nil, err
	}
	space, err := a.space()
	if err != nil {
		return nil, err
	}
	out := dst
	if dst == nil {
		if out, err = p.allocate(space, p.resultDType(0)); err != nil {
			return nil, err
		}
		out.wrapped = p.wrapped
	} else if err := p.checkDst(dst, space); err != nil {
		return nil, err
	}
	if err := p.launchElementwise(out, space); err != nil {
		discard(out, dst)
		return nil, err
	}
	if dst == nil {
		record(a, &p, []*Tensor{out})
	}
	return out, nil
}

// launchElementwise writes the result of p's operator over space to out.
func (p *plan) launchElementwise(out *Tensor, space []int) error {
	if ir.NumElements(space) == 0 {
		return nil
	}
	c := p.call()
	c.Space = space
	c.Out = []ir.View{out.kernelView()}
	c.In = make([]ir.View, len(p.a.In))
	for i, t := range p.a.In {
		if t != nil {
			c.In[i] = t.expandedView(space)
		}
	}
	err := p.launch(c)
	keepAlive(p.a.In)
	return err
}

// space returns the shape an element-wise operator works on.
func (a *Apply) space() ([]int, error) {
	if a.Shapes != nil {
		shapes, err := a.Shapes()
		if err != nil {
			return nil, err
		}
		return shapes[0], ir.CheckShape(shapes[0])
	}
	if len(a.In) == 1 {
		return a.In[0].layout.Shape, nil
	}
	var buf [4][]int
	shapes := buf[:0]
	for _, t := range a.In {
		if t != nil {
			shapes = append(shapes, t.layout.Shape)
		}
	}
	first := shapes[0]
	for _, s := range shapes[1:] {
		if !equalInts(first, s) {
			return ir.Broadcast(shapes...)
		}
	}
	return first, nil
}

// Reduce applies a reduction over a.Dims.
func Reduce(a Apply) *Tensor {
	if t := FirstError(a.In...); t != nil {
		return t
	}
	out, err := reduce(&a, nil)
	if err != nil {
		return Fail(a.Op, err)
	}
	return out
}

func reduce(a *Apply, dst *Tensor) (*Tensor, error) {
	p, err := a.check(false)
	if err != nil {
		return nil, err
	}
	x := a.In[0]
	axes, err := ir.Axes(a.Dims, x.Rank())
	if err != nil {
		return nil, err
	}
	kept, final := reducedShapes(x.layout.Shape, axes, a.KeepDim)
	if a.Op.EmptyFail && ir.NumElements(x.layout.Shape) == 0 && ir.NumElements(kept) > 0 {
		return nil, fmt.Errorf("%w: no elements to reduce along dims %v of shape %v, and the operation has no identity", ir.ErrShape, axes, x.layout.Shape)
	}
	out := dst
	if dst == nil {
		if out, err = p.allocate(final, p.resultDType(0)); err != nil {
			return nil, err
		}
	} else if err := p.checkDst(dst, final); err != nil {
		return nil, err
	}
	c := p.call()
	c.Space, c.Axes = x.layout.Shape, axes
	c.In = []ir.View{x.kernelView()}
	ov := out.kernelView()
	ov.Strides = reducedStrides(ov.Strides, axes, x.Rank(), a.KeepDim)
	ov.Shape = kept
	c.Out = []ir.View{ov}
	if ir.NumElements(kept) > 0 {
		if err := p.launch(c); err != nil {
			discard(out, dst)
			return nil, err
		}
	}
	keepAlive(a.In)
	if dst == nil {
		a.Dims = axes
		record(a, &p, []*Tensor{out})
	}
	return out, nil
}

// reducedShapes returns the shape with reduced axes kept as 1, and the result's.
func reducedShapes(shape, axes []int, keep bool) (kept, final []int) {
	kept = make([]int, len(shape))
	copy(kept, shape)
	for _, a := range axes {
		kept[a] = 1
	}
	if keep {
		return kept, kept
	}
	final = make([]int, 0, len(shape)-len(axes))
	k := 0
	for i, d := range shape {
		if k < len(axes) && axes[k] == i {
			k++
			continue
		}
		final = append(final, d)
	}
	return kept, final
}

// reducedStrides expands a result's strides to the operand's rank, 0 along the
// reduced axes.
func reducedStrides(strides, axes []int, rank int, keep bool) []int {
	out := make([]int, rank)
	k, j := 0, 0
	for i := range out {
		reduced := k < len(axes) && axes[k] == i
		if reduced {
			k++
		}
		switch {
		case !reduced:
			out[i] = strides[j]
			j++
		case keep:
			j++
		}
	}
	return out
}

// Scan applies a scan along the one axis in a.Dims.
func Scan(a Apply) *Tensor {
	if t := FirstError(a.In...); t != nil {
		return t
	}
	out, err := scan(&a, nil)
	if err != nil {
		return Fail(a.Op, err)
	}
	return out
}

func scan(a *Apply, dst *Tensor) (*Tensor, error) {
	p, err := a.check(false)
	if err != nil {
		return nil, err
	}
	x := a.In[0]
	axis, err := ir.Axis(a.Dims[0], x.Rank())
	if err != nil {
		return nil, err
	}
	shape := x.layout.Shape
	out := dst
	if dst == nil {
		if out, err = p.allocate(shape, p.resultDType(0)); err != nil {
			return nil, err
		}
	} else if err := p.checkDst(dst, shape); err != nil {
		return nil, err
	}
	c := p.call()
	c.In, c.Out = []ir.View{x.kernelView()}, []ir.View{out.kernelView()}
	c.Space, c.Axes = shape, []int{axis}
	if len(shape) == 0 { // a scalar scans as a vector of one
		c.Space = []int{1}
		c.In[0].Shape, c.In[0].Strides = c.Space, c.Space
		c.Out[0].Shape, c.Out[0].Strides = c.Space, c.Space
	}
	if ir.NumElements(shape) > 0 {
		if err := p.launch(c); err != nil {
			discard(out, dst)
			return nil, err
		}
	}
	keepAlive(a.In)
	if dst == nil {
		a.Dims = []int{axis}
		record(a, &p, []*Tensor{out})
	}
	return out, nil
}
