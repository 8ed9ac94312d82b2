package format

import "strconv"

// An Elem is the type of a tensor's elements, as the standard numbers it.
type Elem int32

// The types of elements.
const (
	Undefined      Elem = 0
	Float          Elem = 1
	Uint8          Elem = 2
	Int8           Elem = 3
	Uint16         Elem = 4
	Int16          Elem = 5
	Int32          Elem = 6
	Int64          Elem = 7
	String         Elem = 8
	Bool           Elem = 9
	Float16        Elem = 10
	Double         Elem = 11
	Uint32         Elem = 12
	Uint64         Elem = 13
	Complex64      Elem = 14
	Complex128     Elem = 15
	BFloat16       Elem = 16
	Float8E4M3FN   Elem = 17
	Float8E4M3FNUZ Elem = 18
	Float8E5M2     Elem = 19
	Float8E5M2FNUZ Elem = 20
	Uint4          Elem = 21
	Int4           Elem = 22
	Float4E2M1     Elem = 23
	Float8E8M0     Elem = 24
	Uint2          Elem = 25
	Int2           Elem = 26
	Float6E2M3     Elem = 27
	Float6E3M2     Elem = 28

	numElems = 29
)

// elems has the standard's name of each type and the bits that an element takes; 0
// bits are none that a file can have as bytes.
var elems = [numElems]struct {
	name string
	bits int
}{
	{"undefined", 0}, {"float", 32}, {"uint8", 8}, {"int8", 8}, {"uint16", 16}, {"int16", 16}, {"int32", 32}, {"int64", 64},
	{"string", 0}, {"bool", 8}, {"float16", 16}, {"double", 64}, {"uint32", 32}, {"uint64", 64}, {"complex64", 64},
	{"complex128", 128}, {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8}, {"float8e5m2fnuz", 8},
	{"uint4", 4}, {"int4", 4}, {"float4e2m1", 4}, {"float8e8m0", 8}, {"uint2", 2}, {"int2", 2}, {"float6e2m3", 0}, {"float6e3m2", 0},
}

// String returns the standard's name of the type.
func (e Elem) String() string {
	if e >= 0 && e < numElems {
		return elems[e].name
	}
	return "type " + strconv.Itoa(int(e))
}

// Bits returns the bits that an element takes in a file, 0 where that is not defined.
func (e Elem) Bits() int {
	if e >= 0 && e < numElems {
		return elems[e].bits
	}
	return 0
}
