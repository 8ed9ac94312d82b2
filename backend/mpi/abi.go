package mpi

import "github.com/sinter-go/sinter/ir"

// The values of the standard ABI (MPI 5.0, section 20). A test compares them with the
// header that an implementation brings.
const (
	success          = 0
	threadSerialized = 2048
	maxErrorString   = 512

	commWorld    = 0x101
	commSelf     = 0x102
	errorsReturn = 0x143
	inPlace      = 1
	undefined    = -32766 // the color of those in no group

	opSum     = 0x21
	opMin     = 0x22
	opMax     = 0x23
	opProduct = 0x24

	typeByte       = 0x247
	typeInt8       = 0x240
	typeUint8      = 0x241
	typeInt16      = 0x248
	typeUint16     = 0x249
	typeInt32      = 0x250
	typeUint32     = 0x251
	typeInt64      = 0x258
	typeUint64     = 0x259
	typeFloat      = 0x210
	typeDouble     = 0x214
	typeComplex    = 0x212
	typeComplex128 = 0x216
)

// types are what elements are reduced as. Floats of 16 bits have no type in the standard.
var types = map[ir.DType]uintptr{
	ir.Bool: typeUint8, ir.Uint8: typeUint8, ir.Int8: typeInt8, ir.Int16: typeInt16, ir.Int32: typeInt32, ir.Int64: typeInt64,
	ir.Float32: typeFloat, ir.Float64: typeDouble, ir.Complex64: typeComplex, ir.Complex128: typeComplex128,
	ir.Uint16: typeUint16, ir.Uint32: typeUint32, ir.Uint64: typeUint64,
}
