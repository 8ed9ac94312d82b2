package ir

import (
	"slices"
	"sync/atomic"
)

// BodyKind says how an operator computes its results.
type BodyKind uint8

// The kinds of body.
const (
	Elementwise BodyKind = iota // a scalar expression over broadcast operands
	Reduction                   // init, map, combine, finish over some axes
	Scan                        // the same along one axis, every prefix kept
	Opaque                      // functions written by hand, one a kind of device
	ViewBody                    // a new layout over the operand's storage
	Composition                 // other operators; never reaches a backend
	Joint                       // scalar expressions over lists of tensors, written over some of them
)

// Promotion says how the compute dtype follows from the operands' dtypes, and
// the result dtype from both.
type Promotion uint8

// The promotion rules.
const (
	PromoteNone       Promotion = iota // operands must agree; the result has their dtype; an option may override
	PromoteArith                       // bool < int < float < complex, three priority groups
	PromoteArithFloat                  // arith, then bool and integers become the default float; an option may override
	PromoteCompare                     // arith to compute; the result is bool
	PromoteSumAcc                      // arith, then bool and integers become int64; an option may override
	PromoteToReal                      // operands must agree; a complex result becomes its real dtype
	PromoteFixed                       // operands are loaded as, and the result is, Op.Fixed
	PromoteOption                      // the result has the dtype option's dtype; operands must agree
	PromoteToComplex                   // operands must agree; a float result becomes its complex dtype
	PromoteFirst                       // the first operand's; others agree, or have no axes and are of no higher category
)

// MaxJoint is how many lists a Joint operator has at most, those that are written and
// others: a GPU is given the addresses of 64 tensors of each in the 4 KiB of a launch.
const MaxJoint = 6

// An Op describes one operator completely: what it accepts, what it means, and
// the code that computes it on each kind of device. Descriptors are emitted from a schema and never
// change; backends receive a pointer to one with every call.
type Op struct {
	Name    string
	Doc     string // one sentence, without the leading name
	Kind    BodyKind
	In      []Operand
	Attrs   []Attr
	Out     []Result
	DTypes  DTypeSet // compute dtypes accepted after promotion
	Promote Promotion
	Fixed   DType // PromoteFixed: the dtype
	Switch  int   // index in Attrs of the enum that selects the body, or -1
	Bodies  []Body
	Code    []Code
	Tags    Tag
	// Parts: devices of a kind that has no Code compute it by another operator.
	Parts bool
	// EmptyFail: a reduction over no elements is an error.
	EmptyFail bool
	// Ordered: the order of elements shows in what a reduction gives, so it is kept.
	Ordered bool
	// Special: numbers for one operand of an element-wise operator that make it another one.
	Special []Special
	// Require: what attributes must be; all of it is to be met.
	Require []Requirement

	kernels atomic.Pointer[[]atomic.Pointer[Kernel]] // by variant and dtype; made as they are asked for
}

// A Special says that an operator of two operands is Op of the other one where every
// element of operand Operand is Value. The results are at least as accurate; of complex
// numbers only the operator itself is asked for. Who makes a call decides it, by numbers
// in host memory, so that it is the same on every device.
type Special struct {
	Operand int
	Value   float64
	Op      *Op
}

// An Operand is a tensor an operator takes.
type Operand struct {
	Name     string
	DTypes   DTypeSet // accepted before promotion; 0 where only the compute dtype matters
	Fixed    DType    // not Invalid: loaded as this dtype and left out of promotion
	Optional bool     // may be absent
	Variadic bool     // a list of tensors; only the last operand may be one
	Number   Number   // which numbers it may be given as
}

// A Number says which numbers may stand for an operand in a compute dtype that does
// not hold them (Scalar.Fits).
type Number uint8

// The kinds of operands that numbers may stand for.
const (
	NumberAny   Number = iota // any: the result is right modulo two to the width of integers, and floats overflow
	NumberInt                 // what integers hold; floats overflow
	NumberExact               // what the dtype holds: the number itself may be the result
)

// AttrKind is the type of an attribute.
type AttrKind uint8

// The attribute kinds.
const (
	AttrInt AttrKind = iota
	AttrInts
	AttrFloat
	AttrScalar
	AttrBool
	AttrEnum
	AttrDType
	AttrString
)

// An Attr is a non-tensor argument of an operator.
type Attr struct {
	Name  string
	Kind  AttrKind
	Enum  []string // AttrEnum: the names, in order
	Draws Draws    // AttrInt: what random numbers are drawn by
}

// Draws says what an attribute is to an operator that draws random numbers: who replays
// a call gives it a new place in the sequence.
type Draws uint8

// What attributes are to random numbers.
const (
	DrawsNothing Draws = iota
	DrawsSeed          // names the sequence
	DrawsOffset        // the place in it
)

// A Result names one result and, where it does not follow from promotion, its dtype.
type Result struct {
	Name  string
	DType DType // Invalid: by the operator's promotion rule
	Acc   bool  // the dtype that 16-bit floats are accumulated in, where promotion gives one of these
}

// A Body is the meaning of one variant of an operator as expression sources
// in the language of package ir/expr. Element-wise and joint bodies use Exprs alone,
// over the operands' names and the scalar attributes'; in joint ones the results'
// names stand for what is written over. Scans, and reductions of one operand to one
// result by one state, use Init, Map over the operand's name, Combine over a and b, and
// Finish over a and count (the number of elements reduced, an int). Other reductions
// have States, and in Exprs what is made of these: over the states' names behind a and
// a point, a.mean, and count. What they have in First may be named in Map and there,
// too: first.pivot.
//
// What backends decide by when they launch stands beside the expressions.
type Body struct {
	Exprs                      []string // one for each result
	Init, Map, Combine, Finish string
	States                     []State
	First                      []First
	Identity                   bool // the one expression is an operand as it is
	Indexed                    bool // an expression reads the element's index, by name or for random numbers
}

// A State is one of the numbers that a reduction folds elements into: what it starts
// with, what it is of one element, over the operands' names, and of two parts, over all
// states' names behind a and b: a.mean, b.mean. A state without a name is a and b.
type State struct {
	Name               string
	DType              DType // Bool or Int64 where it is one of these whatever is computed in; else Invalid
	Init, Map, Combine string
}

// A First is a number that a reduction makes of the first elements that it folds into a
// result, over the operands' names; 0 where there is none. It is of the compute dtype.
type First struct{ Name, Expr string }

// Full returns the number's name in an expression.
func (f First) Full() string { return "first." + f.Name }

// Of returns the state's name in an expression, of part "a" or "b".
func (s State) Of(part string) string {
	if s.Name == "" {
		return part
	}
	return part + "." + s.Name
}

// Held returns the dtype that the state has where elements are of a compute dtype.
func (s State) Held(compute DType) DType {
	if s.DType != Invalid {
		return s.DType
	}
	return compute
}

// Float32 holds all that these do, so that nothing is rounded.
var narrow = [...]DType{Float16, BFloat16}

// Narrow returns the dtypes that the operands of an operator with TagNarrow may have in place of
// float32.
func Narrow() []DType { return slices.Clone(narrow[:]) }

// Reads reports whether an operand without a dtype of its own may be of d where results are
// of dt.
func (o *Op) Reads(d, dt DType) bool {
	return d == dt || o.Tags&TagNarrow != 0 && dt == Float32 && slices.Contains(narrow[:], d)
}

// A KernelFunc runs one call on host memory. Views in the call are valid until
// it returns. It must not keep them.
type KernelFunc func(c *Call) error

// Code is what devices of one kind run of an operator. What it is made of is the kind's
// backend's alone: a type of its own, or for an opaque operator a function.
type Code struct {
	For string // the kind, by its name: "cpu", "cuda"
	Of  any
}

// Runs reports whether devices of a kind have code of the operator, or of a composition
// whether it is one for them.
func (o *Op) Runs(kind string) bool {
	for i := range o.Code {
		if o.Code[i].For == kind {
			return true
		}
	}
	return false
}

// CodeFor returns what devices of a kind run of the operator, nil where it says nothing.
func (o *Op) CodeFor(kind string) any {
	for i := range o.Code {
		if o.Code[i].For == kind {
			return o.Code[i].Of
		}
	}
	return nil
}
