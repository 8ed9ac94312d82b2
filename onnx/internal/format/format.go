// Package format reads the messages of ONNX files: models, graphs, nodes, tensors. It
// reads protobuf itself, without copying what is large, and knows what the fields are
// called and which values they may have, nothing of operators or of running a model.
//
// A file may be hostile. Whatever it says, reading it takes time and memory in
// proportion to its size, and what does not hold is an error that wraps ErrFormat.
package format

// A Model is a file: a graph, the functions it calls, and what they were written for.
type Model struct {
	IRVersion       int64
	Producer        string
	ProducerVersion string
	Domain          string
	Version         int64
	Doc             string
	Graph           *Graph
	Opsets          []Opset
	Functions       []*Function
	Metadata        map[string]string
}

// An Opset is the version of a domain's operators that nodes mean.
type Opset struct {
	Domain  string
	Version int64
}

// A Graph is a list of nodes in an order in which they can run.
type Graph struct {
	Name         string
	Nodes        []*Node
	Initializers []*Tensor
	Sparse       []string // the names of sparse initializers
	Inputs       []*Value
	Outputs      []*Value
	Values       []*Value
}

// A Function is an operator that a model, or the standard, defines by nodes.
type Function struct {
	Name, Domain, Overload string
	Inputs, Outputs        []string
	Attributes             []string     // without a default
	Defaults               []*Attribute // those that have one
	Nodes                  []*Node
	Opsets                 []Opset
}

// A Node is a call of an operator. An empty name of an input is one that is not given.
type Node struct {
	Name, Operator, Domain, Overload string
	Inputs, Outputs                  []string
	Attributes                       []*Attribute
}

// A Kind is the type of an attribute.
type Kind int32

// The kinds of attributes, as the standard numbers them.
const (
	KindUndefined Kind = 0
	KindFloat     Kind = 1
	KindInt       Kind = 2
	KindString    Kind = 3
	KindTensor    Kind = 4
	KindGraph     Kind = 5
	KindFloats    Kind = 6
	KindInts      Kind = 7
	KindStrings   Kind = 8
	KindTensors   Kind = 9
	KindGraphs    Kind = 10
	KindSparse    Kind = 11
	KindSparses   Kind = 12
	KindType      Kind = 13
	KindTypes     Kind = 14
)

var kinds = map[Kind]string{
	KindFloat: "FLOAT", KindInt: "INT", KindString: "STRING", KindTensor: "TENSOR", KindGraph: "GRAPH",
	KindFloats: "FLOATS", KindInts: "INTS", KindStrings: "STRINGS", KindTensors: "TENSORS", KindGraphs: "GRAPHS",
	KindSparse: "SPARSE_TENSOR", KindSparses: "SPARSE_TENSORS", KindType: "TYPE_PROTO", KindTypes: "TYPE_PROTOS",
}

// String returns the standard's name of the kind.
func (k Kind) String() string {
	if s, ok := kinds[k]; ok {
		return s
	}
	return "UNDEFINED"
}

// An Attribute is a value that belongs to a node. Ref names the attribute of the
// enclosing function that it stands for.
type Attribute struct {
	Name, Ref string
	Kind      Kind
	Float     float32
	Int       int64
	String    string
	Tensor    *Tensor
	Graph     *Graph
	Floats    []float32
	Ints      []int64
	Strings   []string
	Graphs    []*Graph
}

// A Value names an input, an output or a value in between.
type Value struct {
	Name string
	Type *Type
}

// A Form is what a value is.
type Form uint8

// The forms of values.
const (
	FormUnknown Form = iota
	FormTensor
	FormSequence
	FormOptional
	FormOther // maps, sparse tensors and opaque values
)

// A Type is the form of a value, what it consists of, and a tensor's axes.
type Type struct {
	Form  Form
	Elem  Elem  // of a tensor
	Of    *Type // of a sequence or an optional value
	Axes  []Axis
	Ranks bool // Axes are known
}

// An Axis is an extent, a name for one that varies, or neither.
type Axis struct {
	Extent int64 // negative where it varies
	Name   string
}

// A Tensor is elements, as bytes in little-endian order or as lists of numbers, or the
// place of bytes in another file.
type Tensor struct {
	Name     string
	Elem     Elem
	Dims     []int64
	Raw      []byte // a part of the file
	HasRaw   bool
	Floats   []float32
	Int32s   []int64
	Int64s   []int64
	Uint64s  []int64
	Doubles  []float64
	Strings  []string
	External map[string]string // nil where the elements are here
}

// A Sequence is a list of tensors, or of lists.
type Sequence struct {
	Name      string
	Tensors   []*Tensor
	Sequences []*Sequence
	Optionals []*Optional
	Elem      int64 // 1 tensor, 2 sparse, 3 sequence, 4 map, 5 optional
}

// An Optional is a value or none.
type Optional struct {
	Name     string
	Tensor   *Tensor
	Sequence *Sequence
	Optional *Optional
}
