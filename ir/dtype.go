package ir

import "fmt"

// A DType is the type of a tensor's elements.
type DType uint8

// The element types. Invalid is the zero value, so a forgotten dtype is noticed.
const (
	Invalid DType = iota
	Bool
	Uint8
	Int8
	Int16
	Int32
	Int64
	Float16
	BFloat16
	Float32
	Float64
	Complex64
	Complex128

	// Tables of code are indexed by the dtypes below, which devices have code for.
	NumDTypes = iota
)

// The element types that others carry, DType.Carried.
const (
	Uint16 DType = NumDTypes + iota
	Uint32
	Uint64

	numStored = NumDTypes + iota
)

// A Category orders dtypes for promotion: bool < int < float < complex.
type Category uint8

// The categories, lowest first.
const (
	CategoryNone Category = iota
	CategoryBool
	CategoryInt
	CategoryFloat
	CategoryComplex
)

type dtypeInfo struct {
	name     string
	size     int // bytes an element
	category Category
	compute  DType // type arithmetic is done in
	real     DType // type of an absolute value
	bits     DType // type of the same size that devices have code for
	holder   DType // type that has these values, of which devices have code
}

var dtypes = [numStored]dtypeInfo{
	Invalid:    {"invalid", 0, CategoryNone, Invalid, Invalid, Invalid, Invalid},
	Bool:       {"bool", 1, CategoryBool, Bool, Bool, Bool, Bool},
	Uint8:      {"uint8", 1, CategoryInt, Uint8, Uint8, Uint8, Uint8},
	Int8:       {"int8", 1, CategoryInt, Int8, Int8, Int8, Int8},
	Int16:      {"int16", 2, CategoryInt, Int16, Int16, Int16, Int16},
	Int32:      {"int32", 4, CategoryInt, Int32, Int32, Int32, Int32},
	Int64:      {"int64", 8, CategoryInt, Int64, Int64, Int64, Int64},
	Float16:    {"float16", 2, CategoryFloat, Float32, Float16, Float16, Float16},
	BFloat16:   {"bfloat16", 2, CategoryFloat, Float32, BFloat16, BFloat16, BFloat16},
	Float32:    {"float32", 4, CategoryFloat, Float32, Float32, Float32, Float32},
	Float64:    {"float64", 8, CategoryFloat, Float64, Float64, Float64, Float64},
	Complex64:  {"complex64", 8, CategoryComplex, Complex64, Float32, Complex64, Complex64},
	Complex128: {"complex128", 16, CategoryComplex, Complex128, Float64, Complex128, Complex128},
	Uint16:     {"uint16", 2, CategoryInt, Uint16, Uint16, Int16, Int32},
	Uint32:     {"uint32", 4, CategoryInt, Uint32, Uint32, Int32, Int64},
	Uint64:     {"uint64", 8, CategoryInt, Uint64, Uint64, Int64, Int64},
}

func (d DType) info() *dtypeInfo {
	if int(d) < len(dtypes) {
		return &dtypes[d]
	}
	return &dtypes[Invalid]
}

// String returns the dtype's name, such as "float32".
func (d DType) String() string { return d.info().name }

// Size returns the bytes one element takes.
func (d DType) Size() int { return d.info().size }

// Category returns the dtype's promotion category.
func (d DType) Category() Category { return d.info().category }

// Compute returns the dtype that arithmetic on d is done in: float32 for the
// two 16-bit floats, d itself otherwise.
func (d DType) Compute() DType { return d.info().compute }

// Real returns the dtype of a complex dtype's parts, and d itself otherwise.
func (d DType) Real() DType { return d.info().real }

// Bits returns the dtype of the same size that devices have code for: the signed
// integers for uint16, uint32 and uint64, d itself otherwise. Where the sign of
// integers is no matter, what is computed of the one is what is computed of the other.
func (d DType) Bits() DType { return d.info().bits }

// Holder returns the dtype that d's values are computed in where their sign matters:
// the signed integers of twice the size for uint16 and uint32. Nothing holds those of
// uint64: int64 has its bits.
func (d DType) Holder() DType { return d.info().holder }

// Carried reports whether d is uint16, uint32 or uint64, which tensors hold and devices
// have no code for: they are carried by signed integers.
func (d DType) Carried() bool { return ClassCarried.Has(d) }

// Unsigned reports whether d is an integer dtype without negative numbers.
func (d DType) Unsigned() bool { return ClassUnsigned.Has(d) }

// Complex returns the complex dtype whose parts hold d, and d itself where it is
// complex: complex128 for float64, complex64 otherwise.
func (d DType) Complex() DType {
	switch {
	case d == Float64:
		return Complex128
	case d.IsComplex():
		return d
	}
	return Complex64
}

// IsFloat reports whether d is a real floating-point dtype.
func (d DType) IsFloat() bool { return d.Category() == CategoryFloat }

// IsComplex reports whether d is complex.
func (d DType) IsComplex() bool { return d.Category() == CategoryComplex }

// IsInt reports whether d is an integer dtype; bool is not.
func (d DType) IsInt() bool { return d.Category() == CategoryInt }

// Differentiable reports whether tensors of d can require a gradient.
func (d DType) Differentiable() bool { return d.Category() >= CategoryFloat }

// AllDTypes returns every valid dtype, in declaration order.
func AllDTypes() []DType {
	all := make([]DType, 0, numStored-1)
	for d := Bool; d < numStored; d++ {
		all = append(all, d)
	}
	return all
}

// ParseDType returns the dtype with the given name.
func ParseDType(name string) (DType, error) {
	for d := Bool; d < numStored; d++ {
		if dtypes[d].name == name {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("unknown dtype %q (have %v)", name, AllDTypes())
}

// A DTypeSet is a set of dtypes.
type DTypeSet uint32

// SetOf returns the set of the given dtypes.
func SetOf(ds ...DType) DTypeSet {
	var s DTypeSet
	for _, d := range ds {
		s |= 1 << d
	}
	return s
}

// Has reports whether d is in the set.
func (s DTypeSet) Has(d DType) bool { return s>>d&1 != 0 }

// List returns the members in declaration order.
func (s DTypeSet) List() []DType {
	var ds []DType
	for d := Bool; d < numStored; d++ {
		if s.Has(d) {
			ds = append(ds, d)
		}
	}
	return ds
}

// The dtype classes a schema may name: dtypes that devices have code for.
const (
	ClassBool    = DTypeSet(1 << Bool)
	ClassInt     = DTypeSet(1<<Uint8 | 1<<Int8 | 1<<Int16 | 1<<Int32 | 1<<Int64)
	ClassFloat   = DTypeSet(1<<Float16 | 1<<BFloat16 | 1<<Float32 | 1<<Float64)
	ClassComplex = DTypeSet(1<<Complex64 | 1<<Complex128)
	ClassReal    = ClassInt | ClassFloat
	ClassNum     = ClassInt | ClassFloat | ClassComplex
	ClassAll     = ClassBool | ClassNum
	ClassIndex   = DTypeSet(1<<Int32 | 1<<Int64)
	ClassLabel   = ClassIndex | 1<<Uint8
)

// What tensors hold: dtypes that devices have code for, and those that these carry.
const (
	ClassUnsigned = ClassCarried | 1<<Uint8
	ClassCarried  = DTypeSet(1<<Uint16 | 1<<Uint32 | 1<<Uint64)
	ClassStored   = ClassAll | ClassCarried
)

// Classes maps the names a schema uses to their dtypes.
var Classes = map[string]DTypeSet{
	"bool": ClassBool, "int": ClassInt, "float": ClassFloat, "complex": ClassComplex,
	"real": ClassReal, "num": ClassNum, "all": ClassAll, "index": ClassIndex, "label": ClassLabel,
}

// Positions maps the classes of operands that name places to the dtype these are
// loaded as.
var Positions = map[string]DType{"index": Int64, "label": Int64}
