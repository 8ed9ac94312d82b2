// Package schema reads a schema file into a typed, checked Spec. It knows YAML,
// the grammar in docs/schema.md and the vocabulary of package ir; it knows
// nothing of Go or CUDA output, and nothing of what was emitted before.
//
// # How a file is read
//
// Load goes over the entries several times. First declare reads the signatures of all, so
// that any entry may name any other. Then operators takes all entries through one step
// after the other, since a step asks what earlier steps found out about other entries: a
// gradient calls operators whose bodies have been typed. The steps are describe (dtypes,
// promotion, tags), require, body, parts, special, grad, test and bench. What is about several
// entries comes last: compositions that reach themselves, names that collide.
//
// A mistake is reported where it was made, and once: what depends on a part that failed is
// not looked at, and the reading goes on.
//
// Two languages are read besides YAML, and Go's parser reads both. Scalar expressions, of
// one element, are those of package expr; here is decided which names they see and for
// which dtypes they are typed. The language of tensors, in compositions, gradients
// and shape rules, is typed here by lang: statements, values, calls. Its values are tensors,
// and numbers, lists and shapes that the host computes.
package schema

import (
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// A Pos is a place in a schema file.
type Pos struct {
	File      string
	Line, Col int // both from 1
}

// A Spec is a checked schema. Emitters may trust it: every name in it is defined, every
// expression is typed, and what it refers to is here or in Base. Nobody
// changes it once it is read, so emitters may run in any order.
type Spec struct {
	Package string            // name of the package users import
	Imports map[string]string // local name to import path
	Options map[string]string // what an option is, by its name, where the schema says so
	Groups  []*Group          // in file order
	Ops     []*Op             // every operator of this schema, sorted by name
	Base    *Spec             // the standard schema, for a user's schema; else nil
}

// Lookup returns the operator with the given schema name, here or in Base.
func (s *Spec) Lookup(name string) *Op {
	for sp := s; sp != nil; sp = sp.Base {
		for _, op := range sp.Ops {
			if op.Name == name {
				return op
			}
		}
	}
	return nil
}

// A Group is a section of operators.
type Group struct {
	Name, Doc string
	Ops       []*Op    // in file order
	Cuts      []string // names of operators, ascending, before each of which another CUDA source begins
}

// Type is the type of a parameter, a result or a value in a tensor expression.
type Type uint8

// The types.
const (
	NoType     Type = iota
	Tensor          // an operand, or a tensor value
	TensorList      // []Tensor
	Int             // int
	Ints            // []int
	Float           // float64
	Bool            // bool
	String          // string
	Scalar          // ir.Scalar
	DType           // ir.DType
	Enum            // one of Param.Enum
	ShapeList       // [][]int, of a list operand's shapes
	Layout          // ir.Layout, of an operand
	Several         // the results of an operator with several, before they are named or selected
)

var typeNames = [...]string{
	NoType: "nothing", Tensor: "Tensor", TensorList: "[]Tensor", Int: "int", Ints: "[]int", Float: "float", Bool: "bool",
	String: "string", Scalar: "Scalar", DType: "dtype", Enum: "enum", ShapeList: "[][]int", Layout: "layout",
	Several: "several results",
}

// String returns the type as a schema writes it.
func (t Type) String() string { return typeNames[t] }

// A Param is one parameter of an operator's signature. It is an operand, which is read on
// the device, or an attribute, which is a number of the call: exactly one of Operand and
// Attr is not -1.
type Param struct {
	Name     string
	Type     Type
	Option   bool     // stands after *
	Optional bool     // Tensor?
	OrScalar bool     // Tensor|Scalar
	Parallel bool     // Tensor...: a list beside others of the same length; its type is TensorList
	Enum     []string // Type == Enum
	Default  Literal  // Option: the default
	DTypes   ir.DTypeSet
	Fixed    ir.DType // loaded as this dtype, not promoted; else Invalid
	Operand  int      // Tensor and TensorList: index among the operands; else -1
	Written  bool     // Parallel: it is written over
	Attr     int      // others: index among the attributes; else -1
	Draws    ir.Draws // Type == Int: of 64 bits on every platform, where random numbers are drawn by it
	Pos      Pos
}

// A Literal is a default value. Nil stands for "not given".
type Literal struct {
	Nil    bool
	Scalar ir.Scalar // Int, Float, Bool and Scalar
	Ints   []int
	Str    string // String, and an Enum's chosen name
	DType  ir.DType

	Extents []Extent // in a Bench: an Int, or the list of an Ints
}

// A Result is one result of an operator.
type Result struct {
	Name  string   // "out" where the schema names none
	DType ir.DType // fixed dtype, or Invalid
	Acc   bool     // of a kernel: float32 where promotion gives a 16-bit float
	List  bool     // []Tensor
}

// An Op is one operator. It has one body: Kind says which, and so which of the fields for
// bodies to read.
type Op struct {
	Name    string // as in the schema
	GoName  string // exported Go name
	Doc     string
	Result  string // the shape of the results in words; "" where it follows from the body
	Group   string
	Pos     Pos
	Params  []*Param // every parameter in signature order
	Results []Result
	DTypes  ir.DTypeSet
	Promote ir.Promotion
	Fixed   ir.DType
	Shape   *Rule // nil: by kind
	Kind    ir.BodyKind
	Switch  *Param // the enum that selects the body, or nil

	Variants  []Variant        // Elementwise, Reduction, Scan: one for each name of Switch, or one
	Require   []ir.Requirement // what arguments must be
	Special   []Special        // Elementwise: numbers that make it another operator
	EmptyFail bool             // Reduction: no elements is an error
	Ordered   bool             // Reduction: the order of elements shows, and is kept
	View      *Rule
	Compose   []Block          // one, or one for each name of Switch
	GoCompose *GoRef           // Composition written in Go
	Kernel    map[string]GoRef // Opaque: the functions, by Kinds
	Only      []string         // kinds of devices that have code of it; nil for all, and for those of Kernel
	Fallback  *Op              // what devices that have no code of it run; nil for none

	Grads                      []Grad // one an operand, in operand order; empty with NoGrad
	NoGrad                     bool   // not differentiable
	Tags                       ir.Tag
	NoMethod, NoInPlace, NoOut bool
	RoundsOnce                 bool // Composition written in Go: it rounds each element once at most
	Mixed                      bool // Composition: its operands may differ in dtype, and the first result has the first's
	Test                       Test
	Bench                      []Bench      // of an operator with a public function
	Differs                    []Difference // from PyTorch, in what dtypes it takes and gives
}

// A Difference is dtypes that an operator and its counterpart in PyTorch treat otherwise.
type Difference struct {
	DTypes ir.DTypeSet
	Why    string
}

// Operands returns the tensor parameters in order.
func (o *Op) Operands() []*Param { return o.pick(func(p *Param) bool { return p.Operand >= 0 }) }

// Parallel reports whether the operands are lists of one length, some of which are
// written over. There is then a Result for each of these, and no public function.
func (o *Op) Parallel() bool {
	return slices.ContainsFunc(o.Params, func(p *Param) bool { return p.Parallel })
}

// Attrs returns the other parameters in order.
func (o *Op) Attrs() []*Param { return o.pick(func(p *Param) bool { return p.Attr >= 0 }) }

// attrKinds are what descriptors have for the types of arguments.
var attrKinds = map[Type]ir.AttrKind{
	Int: ir.AttrInt, Ints: ir.AttrInts, Float: ir.AttrFloat, Scalar: ir.AttrScalar,
	Bool: ir.AttrBool, Enum: ir.AttrEnum, DType: ir.AttrDType, String: ir.AttrString,
}

// Attributes returns the attributes of the operator's descriptor.
func (o *Op) Attributes() (list []ir.Attr) {
	for _, p := range o.Attrs() {
		list = append(list, ir.Attr{Name: p.Name, Kind: attrKinds[p.Type], Enum: p.Enum, Draws: p.Draws})
	}
	return list
}

// Factory reports whether the operator takes no tensor.
func (o *Op) Factory() bool { return o.Tags&ir.TagFactory != 0 }

// FixedFactory reports whether the operator is a factory whose result has one dtype,
// and has to be converted where another is asked for.
func (o *Op) FixedFactory() bool { return o.Factory() && o.Results[0].DType != ir.Invalid }

func (o *Op) pick(want func(*Param) bool) []*Param {
	var out []*Param
	for _, p := range o.Params {
		if want(p) {
			out = append(out, p)
		}
	}
	return out
}

// ComputeIn returns the dtype that bodies compute in for operands that promote to t.
func (o *Op) ComputeIn(t ir.DType) ir.DType {
	op := ir.Op{Tags: o.Tags}
	return op.ComputeIn(t)
}

// A Variant is one body of an elementwise operator, a reduction or a scan.
type Variant struct {
	Name  string       // the enum's name, or ""
	Exprs []*expr.Expr // Elementwise and Joint: one for each result
	// Reduction and Scan: Fold where there are several operands, states or results.
	Init, Map, Combine, Finish *expr.Expr
	Fold                       *expr.Fold

	part func(expr.FoldGraph) *expr.Graph // what is computed is a part of Fold
	name string                           // of that part
}

// Check types what an element-wise or joint variant computes, for compute dtype t.
func (v Variant) Check(t ir.DType) (*expr.Graph, error) {
	if v.part == nil {
		return expr.CheckAll(v.Exprs, t)
	}
	g, err := v.Fold.Check(t)
	if err != nil {
		return nil, err
	}
	return v.part(g), nil
}

// String returns what an element-wise or joint variant computes.
func (v Variant) String() string {
	var texts []string
	for _, x := range v.Exprs {
		texts = append(texts, x.String())
	}
	return strings.Join(texts, "; ")
}

// A Special is a number for an operand of an operator of two that makes it Op of the
// other one.
type Special struct {
	Operand *Param
	Value   float64
	Op      *Op
}

// A Rule is a call of a metadata function: a shape rule or a view rule.
type Rule struct {
	Func string // function in package ir, such as "SameShape"
	Pkg  string // import name for a user's function, else ""
	Args []Value
	Pos  Pos
}

// A GoRef is a Go function named in a schema.
type GoRef struct {
	Pkg, Func string // Pkg is a key of Spec.Imports
	With      []*Op  // compose: operators handed to the function before its arguments
	In        string // compose: the struct of Pkg that With are handed in, as fields of their Go names; "" for one argument each
	Pos       Pos
}

// Kinds are what an entry names kernels for: kinds of devices, and the reference. Those
// of Required it must name.
var (
	Kinds    = []string{"cpu", "ref", "cuda"}
	Required = Kinds[:2]
)

// A Grad is the gradient of one operand.
type Grad struct {
	Operand *Param
	None    bool
	Block   *Block       // written in the schema
	Derived []*expr.Expr // Elementwise, derived: by variant, over dy, operands, scalar arguments and out
	ByRule  bool         // Reduction, derived: see Op.Variants; Composition, derived by its parts
}

// A Block is a checked body in the tensor language: statements, the last a return.
type Block struct {
	Stmts []Stmt
	Pos   Pos
}

// A Stmt is a definition, an early return, or the final return.
type Stmt struct {
	Define string // name := Values[0]; several names for several results are joined with ","
	Names  []string
	If     *Value // condition of an early return, or nil
	Body   []Stmt // If: definitions before the return, visible there alone
	Return bool
	Values []Value
	Pos    Pos
}

// ValueKind says what a Value is.
type ValueKind uint8

// The kinds of value.
const (
	NameValue    ValueKind = iota // a parameter, dy, a result or a defined name: Name
	LiteralValue                  // Literal
	CallValue                     // operator Op with Args (all of its Params in order, defaults filled in)
	HostValue                     // host function Name with Args: one of Builtins, or of shapes.Functions
	BinaryValue                   // Name is the operator, Args two host values of one type; == and != also compare with nil and with an enum's name
	UnaryValue                    // Name is - or !, Args[0] a host value
	ListValue                     // []int{...} or []Tensor{...}: Args
	IndexValue                    // Args[0][Args[1]] of an Ints or a TensorList
	SliceValue                    // Args[0][Args[1]:Args[2]] of an Ints; absent bounds are NoType
	SelectValue                   // Args[0].Name: result Name of a several-result call
	ConvertValue                  // Args[0], a host number, as Type: Int, Float, Scalar, or Tensor (of a Scalar: a 0-dim host number)
)

// A Value is a typed expression of the tensor language.
type Value struct {
	Kind    ValueKind
	Type    Type
	Name    string
	Literal Literal
	Op      *Op
	Args    []Value
	Pos     Pos
}

// A Test is how an operator is tested.
type Test struct {
	Domain  [2]float64            // for operands without an entry in Domains
	Domains map[string][2]float64 // by operand
	ULP     float64
	Avoid   []float64
	Cases   []Case
	Samples []Sample

	NoGradient bool // gradients are no derivatives, on purpose, and are not compared with any
}

// A Case is literal operand values with the expected result.
type Case struct {
	In   []ir.Scalar
	Args map[string]Literal
	Want []ir.Scalar // by result
}

// A Sample is a set of operand shapes and argument values to test with.
type Sample struct {
	Shapes [][]int // by operand; a list operand takes the rest
	Args   map[string]Literal
	Values map[string]string // by operand: "index(n)", "perm", "domain(lo, hi)"
}
