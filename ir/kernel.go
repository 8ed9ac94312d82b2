package ir

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Kernel is what one launch computes: a variant of an operator for operands that are
// stored in one dtype, with all that follows from these. It never changes, and there is
// one for each, so kernels are compared by their addresses. What it computes element by
// element is its typed graph, in package ir/body; an opaque one is functions written by
// hand.
type Kernel struct {
	Op      *Op
	Variant int    // index in Op.Bodies
	DType   DType  // operands without a dtype of their own are stored in it
	Compute DType  // and computed in this one
	Out, In []Port // one for each entry of Op.Out and Op.In

	Identity int  // the operand that the one result is as it is; -1 for none
	Indexed  bool // results may depend on the elements' index: axes keep their order
	// Direct: operands that are all stored in DType are computed by this kernel, and
	// nothing but DType decides the dtypes of the results.
	Direct bool
	// Seed and Offset are the places in Op.Attrs of what random numbers are drawn by, -1
	// for kernels that draw none.
	Seed, Offset int

	serial uint32                   // from 1, in the order in which kernels are made
	slots  [maxSlots]unsafe.Pointer // what is derived from the kernel, by Slot
	more   sync.Map                 // int, beyond these, to unsafe.Pointer
}

// A Port is a place of a kernel for a tensor, or for the members of a list.
type Port struct {
	Name string
	// DType is what the kernel reads or writes there. A view of another dtype is
	// converted on the way.
	DType DType
	// Compute is what its values have in the kernel's body.
	Compute DType
}

// Converts reports whether a port's elements have another dtype in memory than in the
// kernel's body.
func (k *Kernel) Converts() bool {
	other := func(p Port) bool { return p.DType != p.Compute }
	return slices.ContainsFunc(k.In, other) || slices.ContainsFunc(k.Out, other)
}

// serials counts kernels.
var serials atomic.Uint32

// Serial returns a number that no other kernel of the process has, and that tables can be
// indexed by.
func (k *Kernel) Serial() uint32 { return k.serial }

// Kernel returns the kernel of a variant for operands that are stored in dt, the dtype
// that Types finds. It is made when it is first asked for; any goroutine may ask.
func (o *Op) Kernel(variant int, dt DType) *Kernel {
	if list := o.kernels.Load(); list != nil && int(dt) < NumDTypes {
		if i := variant*NumDTypes + int(dt); uint(i) < uint(len(*list)) {
			if k := (*list)[i].Load(); k != nil {
				return k
			}
		}
	}
	return o.keep(newKernel(o, variant, dt))
}

// keep enters k, unless there is one already, and returns the one that is there.
func (o *Op) keep(k *Kernel) *Kernel {
	if k.Variant < 0 || k.Variant >= max(1, len(o.Bodies)) || int(k.DType) >= NumDTypes {
		return k // Verify says what is wrong with it
	}
	list := o.kernels.Load()
	if list == nil {
		all := make([]atomic.Pointer[Kernel], max(1, len(o.Bodies))*NumDTypes)
		o.kernels.CompareAndSwap(nil, &all)
		list = o.kernels.Load()
	}
	at := &(*list)[k.Variant*NumDTypes+int(k.DType)]
	at.CompareAndSwap(nil, k)
	return at.Load()
}

func newKernel(o *Op, variant int, dt DType) *Kernel {
	k := &Kernel{serial: serials.Add(1), Op: o, Variant: variant, DType: dt, Compute: o.ComputeIn(dt), Identity: -1, Seed: -1, Offset: -1}
	for i := range o.Out {
		k.Out = append(k.Out, Port{o.Out[i].Name, o.ResultDType(i, dt), o.ResultDType(i, k.Compute).Compute()})
	}
	for _, in := range o.In {
		p := Port{in.Name, dt, k.Compute}
		if in.Fixed != Invalid {
			p.DType, p.Compute = in.Fixed, in.Fixed.Compute()
		}
		k.In = append(k.In, p)
	}
	if variant >= 0 && variant < len(o.Bodies) {
		b := &o.Bodies[variant]
		k.Indexed = b.Indexed
		for i, in := range o.In {
			if b.Identity && in.Fixed == Invalid && in.Name == b.Exprs[0] {
				k.Identity = i
			}
		}
	}
	wider := (o.Promote == PromoteArithFloat || o.Promote == PromoteSumAcc) && dt.Category() <= CategoryInt
	k.Direct = o.DTypes.Has(dt) && o.Promote != PromoteFixed && !wider
	for i, a := range o.Attrs {
		switch a.Draws {
		case DrawsSeed:
			k.Seed = i
		case DrawsOffset:
			k.Offset = i
		}
	}
	return k
}

// Stored returns the kernel for views as they are stored: that of dt, or, where dt is a
// 16-bit float and not all are of it, that of what it computes in, so that every value is
// rounded once. Views in host memory are converted wherever they are read, and those of
// opaque and joint operators have their ports' dtypes before, or of joint ones others that these read.
func (o *Op) Stored(variant int, dt DType, out, in []View) *Kernel {
	k := o.Kernel(variant, dt)
	if k.Compute == dt || o.Kind == Opaque || o.Kind == Joint {
		return k
	}
	wide := o.Kernel(variant, k.Compute)
	for i := range out {
		narrow := k.Out[min(i, len(k.Out)-1)].DType
		if i < len(wide.Out) && out[i].DType != narrow && narrow != wide.Out[i].DType {
			return wide
		}
	}
	for i := range in {
		v := &in[i]
		if p := k.In[min(i, len(k.In)-1)]; v.Given() && v.Ptr == nil && p.DType == dt && v.DType != dt {
			return wide
		}
	}
	return k
}

// String returns the kernel on one line: its name, ports and what it computes.
func (k *Kernel) String() string {
	if k.Op == nil {
		return "opaque in " + k.Compute.String()
	}
	var s strings.Builder
	s.WriteString(k.Op.Name)
	if sw := k.Op.Switch; sw >= 0 && sw < len(k.Op.Attrs) && len(k.Op.Bodies) > 1 && k.Variant < len(k.Op.Attrs[sw].Enum) {
		s.WriteString("." + k.Op.Attrs[sw].Enum[k.Variant])
	}
	fmt.Fprintf(&s, "(%s) -> (%s)", ports(k.In), ports(k.Out))
	if k.Compute != k.DType {
		fmt.Fprintf(&s, " in %s", k.Compute)
	}
	s.WriteString(": " + k.meaning())
	return s.String()
}

func ports(list []Port) string {
	var s strings.Builder
	for i, p := range list {
		if i > 0 {
			s.WriteString(", ")
		}
		s.WriteString(p.Name + " " + p.DType.String())
	}
	return s.String()
}

// meaning is the source of what is computed.
func (k *Kernel) meaning() string {
	if k.Op.Kind == Opaque || k.Variant < 0 || k.Variant >= len(k.Op.Bodies) {
		return "opaque"
	}
	b := &k.Op.Bodies[k.Variant]
	var parts []string
	for _, s := range b.States {
		parts = append(parts, fmt.Sprintf("%s: init %s, map %s, combine %s", s.Of("a"), s.Init, s.Map, s.Combine))
	}
	switch {
	case b.States == nil && (k.Op.Kind == Reduction || k.Op.Kind == Scan):
		return fmt.Sprintf("init %s, map %s, combine %s, finish %s", b.Init, b.Map, b.Combine, b.Finish)
	case b.States == nil && k.Op.Kind == Elementwise && len(b.Exprs) == 1:
		return b.Exprs[0]
	}
	for i, text := range b.Exprs {
		if i < len(k.Out) {
			parts = append(parts, fmt.Sprintf("%s = %s", k.Out[i].Name, text))
		}
	}
	return strings.Join(parts, "; ")
}

// Verify reports what is wrong with a kernel: an operator that is not launched, a dtype
// that it does not compute in, a body that is none of its kind, or ports that are not the
// operator's. That the body computes what the ports say is for package ir/body.
func (k *Kernel) Verify() error {
	o := k.Op
	if o == nil {
		return errors.New("a kernel of no operator")
	}
	if err := k.verifyBody(); err != nil {
		return fmt.Errorf("%s: %w", o.Name, err)
	}
	want := newKernel(o, k.Variant, k.DType)
	switch {
	case o.DTypes != 0 && !o.DTypes.Has(k.DType):
		return fmt.Errorf("%s: not implemented for %v (have %s)", o.Name, k.DType, dtypeNames(o.DTypes))
	case k.Compute != want.Compute:
		return fmt.Errorf("%s: operands of %v are computed in %v, not %v", o.Name, k.DType, want.Compute, k.Compute)
	case ports(k.In) != ports(want.In):
		return fmt.Errorf("%s: operands %s, want %s", o.Name, ports(k.In), ports(want.In))
	case ports(k.Out) != ports(want.Out):
		return fmt.Errorf("%s: results %s, want %s", o.Name, ports(k.Out), ports(want.Out))
	}
	return nil
}

func (k *Kernel) verifyBody() error {
	o := k.Op
	switch o.Kind {
	case Opaque:
		if k.Variant != 0 && k.Variant >= len(o.Bodies) {
			return fmt.Errorf("no variant %d: it is opaque", k.Variant)
		}
		return nil
	case ViewBody, Composition:
		return errors.New("operators of this kind are not launched")
	}
	if k.Variant < 0 || k.Variant >= len(o.Bodies) {
		return fmt.Errorf("no body %d of %d", k.Variant, len(o.Bodies))
	}
	b := &o.Bodies[k.Variant]
	fold := o.Kind == Reduction || o.Kind == Scan
	switch {
	case (!fold || b.States != nil) && (len(b.Exprs) == 0 || len(b.Exprs) != len(o.Out)):
		return fmt.Errorf("%d expressions for %d results", len(b.Exprs), len(o.Out))
	case fold && b.States == nil && (b.Init == "" || b.Combine == ""):
		return fmt.Errorf("a fold starts with an expression and combines by one, not %q and %q", b.Init, b.Combine)
	}
	return nil
}

// maxSlots is how many slots kernels have room for without a table.
const maxSlots = 8

var slots atomic.Int32 // of which maxSlots have room

// A Slot is a place in every kernel for what its owner makes of the kernel: a backend its
// code, package ir/body the typed graph. A package has one in a variable.
type Slot[T any] struct {
	index  int
	derive func(*Kernel) *T
}

// NewSlot returns a slot that derive fills, which may run more than once for a kernel
// and of which one result is kept.
func NewSlot[T any](derive func(*Kernel) *T) *Slot[T] {
	return &Slot[T]{int(slots.Add(1)) - 1, derive}
}

// Of returns what k has in the slot.
func (s *Slot[T]) Of(k *Kernel) *T {
	if s.index < maxSlots {
		if p := atomic.LoadPointer(&k.slots[s.index]); p != nil {
			return (*T)(p)
		}
	}
	return s.fill(k)
}

// Put has k hold v in the slot, unless it holds something. It is for who makes kernels
// that nothing can be derived of.
func (s *Slot[T]) Put(k *Kernel, v *T) {
	if s.index >= maxSlots {
		k.more.LoadOrStore(s.index, v)
		return
	}
	atomic.CompareAndSwapPointer(&k.slots[s.index], nil, unsafe.Pointer(v))
}

func (s *Slot[T]) fill(k *Kernel) *T {
	if s.index >= maxSlots {
		if p, ok := k.more.Load(s.index); ok {
			return p.(*T)
		}
		p, _ := k.more.LoadOrStore(s.index, s.derive(k))
		return p.(*T)
	}
	at := &k.slots[s.index]
	atomic.CompareAndSwapPointer(at, nil, unsafe.Pointer(s.derive(k)))
	return (*T)(atomic.LoadPointer(at))
}
