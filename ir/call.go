package ir

import "unsafe"

// A View is a tensor as a kernel sees it: typed, strided memory. Exactly one of
// Ptr and Addr is set, by where the memory is. A zero View stands for an
// optional operand that was not given.
type View struct {
	Ptr     unsafe.Pointer // first element, in host memory
	Addr    uint64         // first element, in a device's memory
	DType   DType
	Shape   []int // elements along each axis
	Strides []int // in elements; 0 along broadcast axes
}

// Given reports whether the view stands for an operand that was given.
func (v View) Given() bool { return v.DType != Invalid }

// NumElements returns the number of elements v addresses.
func (v View) NumElements() int { return NumElements(v.Shape) }

// IsContiguous reports whether v is row-major without gaps.
func (v View) IsContiguous() bool { return IsContiguous(v.Shape, v.Strides) }

// Bytes returns how many bytes of memory v names: elements that are repeated count once.
func (v View) Bytes() int64 {
	n := int64(v.DType.Size())
	for i, d := range v.Shape {
		if v.Strides[i] != 0 || d == 0 {
			n *= int64(d)
		}
	}
	return n
}

// A Call is one launch: a kernel, the iteration space and the operands.
//
// Elementwise: every view has shape Space; operands are expanded with stride 0.
// Reduction: In has shape Space; Out is expanded to Space with stride 0 along
// the axes in Axes. Scan: In and Out have shape Space, Axes holds the one axis.
// Joint: Out has a list of tensors for each result, one list after the other, In for
// each operand, and Space is nil. Tensors of one place have one shape; those of In may
// have no axes.
// Opaque: views keep their own shapes, and Space is nil; a variadic operand
// takes the rest of In.
type Call struct {
	*Kernel

	Out, In   []View
	Space     []int
	Flat      bool      // Elementwise: every view is row-major and of shape Space
	Axes      []int     // reduced or scanned axes of Space, ascending
	Scalars   []Scalar  // the scalar attributes (int, float, Scalar, bool) in the order of Op.Attrs
	Attrs     []Value   // every attribute, in the order of Op.Attrs
	Precision Precision // Opaque: what products may round
	FFTPlans  FFTPlans  // what the device keeps for kernels; nil where it keeps nothing
	Kept      []*Kept   // by operand: forms of what does not change between calls; nil, or shorter than In, where there are none

	// Room is for the one goroutine that runs the call, which lets go of what is in
	// it when the call is forgotten: it needs no memory of its own for a small call.
	Room [6]unsafe.Pointer
}

// FFTPlans keeps, for one device, what kernels prepare once and use in every call of
// one geometry. Any goroutine may use it.
type FFTPlans interface {
	// Use calls f with the plan of a key, which make makes where there is none. The
	// key is a comparable value of a type that is the kernel's own; nothing of the
	// plan is destroyed before f has returned. It returns make's error or f's.
	Use(key any, make func() (any, error), f func(plan any) error) error
}

// ReducedCount returns the number of elements folded into each result.
func (c *Call) ReducedCount() int64 {
	n := int64(1)
	for _, a := range c.Axes {
		n *= int64(c.Space[a])
	}
	return n
}

// AllFlat reports whether every view is row-major and of shape Space. Who makes an
// element-wise call asks once, and the call carries the answer.
func (c *Call) AllFlat() bool {
	for _, list := range [2][]View{c.Out, c.In} {
		for i := range list {
			if v := &list[i]; len(v.Shape) != len(c.Space) || !v.IsContiguous() {
				return false
			}
		}
	}
	return true
}

// Copied returns the operand that the call's result is as it is, and which is of the
// compute dtype or stands for it, so that nothing need be computed; nil where there is none.
func (c *Call) Copied() *View {
	if c.Identity < 0 || c.In[c.Identity].DType.Compute() != c.Compute {
		return nil
	}
	return &c.In[c.Identity]
}

// Raised returns the call with the result and the first two operands, x and an index
// into it, as tensors of one axis where one of them has an axis and another none.
func (c *Call) Raised() *Call {
	if len(c.In[0].Shape) == len(c.In[1].Shape) {
		return c
	}
	out := *c
	out.Out = append([]View{c.Out[0].raised()}, c.Out[1:]...)
	out.In = append([]View{c.In[0].raised(), c.In[1].raised()}, c.In[2:]...)
	return &out
}

// raised returns a view without axes as one of one axis.
func (v View) raised() View {
	if len(v.Shape) == 0 {
		v.Shape, v.Strides = []int{1}, []int{1}
	}
	return v
}
