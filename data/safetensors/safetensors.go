// Package safetensors reads and writes the safetensors format: named tensors as
// little-endian, row-major bytes behind a JSON header. It knows dtypes, shapes
// and bytes, nothing of tensors on devices or of models.
//
//	file, err := safetensors.Open("model.safetensors")
//	if err != nil {
//		return err
//	}
//	defer file.Close()
//	for _, name := range file.Names() {
//		info, err := file.Info(name)
//		if err != nil {
//			return err
//		}
//		fmt.Println(name, info.DType, info.Shape)
//	}
//
// A file is an 8-byte little-endian header length, the header, and the data.
// Reading checks all the header says before any of it is used, at least as
// strictly as the reference implementation does; writing gives the bytes that
// one gives, except that metadata keys are sorted.
package safetensors

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// MaxHeader is the largest header in bytes, as in the reference implementation.
const MaxHeader = 100_000_000

// metadataKey is the header's one key that is not a tensor.
const metadataKey = "__metadata__"

const (
	// ErrFormat is wrapped by every error about bytes that are not a valid file.
	ErrFormat ir.Error = "not a valid safetensors file"
	// ErrDType is wrapped by every error about a dtype that the format or this
	// module lacks.
	ErrDType ir.Error = "unsupported dtype"
	// ErrNotFound is wrapped by every error about a name the file does not hold.
	ErrNotFound ir.Error = "no such tensor"
)

// A Tensor is a named array in host memory.
type Tensor struct {
	Name  string
	DType ir.DType
	Shape []int  // empty for a scalar
	Data  []byte // little-endian, row-major; one byte, 0 or 1, a bool
}

// An Info describes a tensor in a file.
type Info struct {
	Name   string
	DType  ir.DType // ir.Invalid when this module lacks the dtype
	Stored string   // the file's name of the dtype, such as "F32"
	Shape  []int
	Bytes  int64
}

// A kind is one of the format's dtypes.
type kind struct {
	name  string
	bits  int
	dtype ir.DType // Invalid when ir has none
}

// kinds lists the format's dtypes in its order of increasing alignment, which
// decides where a tensor's data goes.
var kinds = []kind{
	{"BOOL", 8, ir.Bool},
	{"F4", 4, ir.Invalid},
	{"F6_E2M3", 6, ir.Invalid},
	{"F6_E3M2", 6, ir.Invalid},
	{"U8", 8, ir.Uint8},
	{"I8", 8, ir.Int8},
	{"F8_E5M2", 8, ir.Invalid},
	{"F8_E4M3", 8, ir.Invalid},
	{"F8_E8M0", 8, ir.Invalid},
	{"F8_E4M3FNUZ", 8, ir.Invalid},
	{"F8_E5M2FNUZ", 8, ir.Invalid},
	{"I16", 16, ir.Int16},
	{"U16", 16, ir.Uint16},
	{"F16", 16, ir.Float16},
	{"BF16", 16, ir.BFloat16},
	{"I32", 32, ir.Int32},
	{"U32", 32, ir.Uint32},
	{"F32", 32, ir.Float32},
	{"C64", 64, ir.Complex64},
	{"F64", 64, ir.Float64},
	{"I64", 64, ir.Int64},
	{"U64", 64, ir.Uint64},
}

// supported names the dtypes both sides have, for messages.
var supported = func() (names []string) {
	for _, k := range kinds {
		if k.dtype != ir.Invalid {
			names = append(names, k.name)
		}
	}
	return names
}()

// kindNamed returns the index in kinds of a stored name, -1 when there is none.
func kindNamed(name string) int {
	return slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
}

// kindOf returns the index in kinds of a dtype, -1 when there is none.
func kindOf(d ir.DType) int {
	if d == ir.Invalid {
		return -1
	}
	return slices.IndexFunc(kinds, func(k kind) bool { return k.dtype == d })
}

// size returns the bytes that a tensor of the given shape takes.
func (k kind) size(shape []int) (int64, error) {
	if err := ir.CheckShape(shape); err != nil { // leaves room for 16 bytes an element
		return 0, err
	}
	n := int64(ir.NumElements(shape))
	if k.bits%8 == 0 {
		return n * int64(k.bits/8), nil
	}
	if n*int64(k.bits)%8 != 0 {
		return 0, fmt.Errorf("%d elements of %d bits do not fill whole bytes", n, k.bits)
	}
	return n * int64(k.bits) / 8, nil
}

// checkBools reports a bool that is stored as neither 0 nor 1.
func checkBools(d ir.DType, data []byte) error {
	if d != ir.Bool {
		return nil
	}
	if i := slices.IndexFunc(data, func(b byte) bool { return b > 1 }); i >= 0 {
		return fmt.Errorf("bool element %d is stored as %d; want 0 or 1", i, data[i])
	}
	return nil
}

// sorted returns the keys of m in ascending order.
func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
