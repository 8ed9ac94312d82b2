package launch

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// A number is one element of some dtype, as it is in memory.
type number [16]byte

// low returns the first 8 bytes.
func (n *number) low() uint64 { return binary.LittleEndian.Uint64(n[:]) }

// readNumber reads the element at p and converts it.
func readNumber(p unsafe.Pointer, from, to ir.DType) (n number) {
	if from == to {
		copy(n[:], unsafe.Slice((*byte)(p), from.Size()))
		return n
	}
	switch from {
	case ir.Bool:
		return numberOfInt(int64(*(*uint8)(p)), to)
	case ir.Uint8:
		return numberOfInt(int64(*(*uint8)(p)), to)
	case ir.Int8:
		return numberOfInt(int64(*(*int8)(p)), to)
	case ir.Int16:
		return numberOfInt(int64(*(*int16)(p)), to)
	case ir.Int32:
		return numberOfInt(int64(*(*int32)(p)), to)
	case ir.Int64:
		return numberOfInt(*(*int64)(p), to)
	case ir.Float16:
		return numberOf(ir.FloatScalar(float64((*(*ir.Half)(p)).Float32())), to)
	case ir.BFloat16:
		return numberOf(ir.FloatScalar(float64((*(*ir.BF16)(p)).Float32())), to)
	case ir.Float32:
		return numberOf(ir.FloatScalar(float64(*(*float32)(p))), to)
	case ir.Float64:
		return numberOf(ir.FloatScalar(*(*float64)(p)), to)
	case ir.Complex64:
		return numberOf(ir.ComplexScalar(complex128(*(*complex64)(p))), to)
	case ir.Complex128:
		return numberOf(ir.ComplexScalar(*(*complex128)(p)), to)
	}
	return n
}

// numberOfInt converts i, rounding once.
func numberOfInt(i int64, to ir.DType) (n number) {
	switch to {
	case ir.Float32, ir.Complex64:
		binary.LittleEndian.PutUint32(n[:], math.Float32bits(float32(i)))
		return n
	case ir.Float16, ir.BFloat16:
		return numberOf(ir.FloatScalar(oddFloat(i)), to)
	}
	return numberOf(ir.IntScalar(i), to)
}

// oddFloat returns i as a number that rounds to fewer than 50 bits as i does:
// where i lies between two such numbers, one with an odd last bit.
func oddFloat(i int64) float64 {
	const low = 1<<10 - 1 // what the 53 bits of a float64 may not hold
	if i > -1<<53 && i < 1<<53 || i&low == 0 {
		return float64(i)
	}
	return float64(i&^low | (low + 1))
}

// oddFloat32 returns f as a float32 that rounds to 16 bits as f does.
func oddFloat32(f float64) float32 {
	x := float32(f)
	if float64(x) == f || f != f {
		return x
	}
	b := math.Float32bits(x)
	if math.Abs(float64(x)) > math.Abs(f) {
		b-- // toward zero
	}
	return math.Float32frombits(b | 1)
}

// numberOf returns s as an element of a dtype: integers keep the low bits, to
// bool is "not zero", floats round once.
func numberOf(s ir.Scalar, to ir.DType) (n number) {
	le := binary.LittleEndian
	switch to {
	case ir.Bool:
		if s.Bool() {
			n[0] = 1
		}
	case ir.Uint8, ir.Int8, ir.Int16, ir.Int32:
		le.PutUint64(n[:], uint64(integerOf(s, to)))
		clear(n[to.Size():])
	case ir.Int64:
		le.PutUint64(n[:], uint64(s.Int()))
	case ir.Float16:
		le.PutUint16(n[:], uint16(ir.HalfFrom(oddFloat32(s.Float()))))
	case ir.BFloat16:
		le.PutUint16(n[:], uint16(ir.BF16From(oddFloat32(s.Float()))))
	case ir.Float32:
		le.PutUint32(n[:], math.Float32bits(float32(s.Float())))
	case ir.Float64:
		le.PutUint64(n[:], math.Float64bits(s.Float()))
	case ir.Complex64:
		le.PutUint32(n[:], math.Float32bits(float32(real(s.Complex()))))
		le.PutUint32(n[4:], math.Float32bits(float32(imag(s.Complex()))))
	case ir.Complex128:
		le.PutUint64(n[:], math.Float64bits(real(s.Complex())))
		le.PutUint64(n[8:], math.Float64bits(imag(s.Complex())))
	}
	return n
}

// integerOf returns s as a small integer: fractions saturate, integers wrap.
func integerOf(s ir.Scalar, to ir.DType) int64 {
	if s.Category() <= ir.CategoryInt {
		return s.Int()
	}
	low, high := to.IntRange()
	return min(max(s.Int(), low), high)
}

// functor adds the last parameter of a loop: the scalar attributes, in order.
func (x *Context) functor(c *ir.Call) error {
	if len(c.Scalars) == 0 {
		x.params.Uint8(0) // an empty struct has a byte
		return nil
	}
	align, i := 1, 0
	for _, a := range c.Op.Attrs {
		if dt := scalarDType(a.Kind, c.Compute); dt != ir.Invalid {
			align = max(align, dt.Size())
		}
	}
	x.params.Align(align)
	for _, a := range c.Op.Attrs {
		dt := scalarDType(a.Kind, c.Compute)
		if dt == ir.Invalid {
			continue
		}
		if i == len(c.Scalars) {
			return fmt.Errorf("%d scalar attributes, %s takes more", len(c.Scalars), c.Op.Name)
		}
		n := numberOf(c.Scalars[i], dt)
		x.params.Struct(n[:dt.Size()], dt.Size())
		i++
	}
	x.params.Align(align)
	return nil
}

// scalarDType is the dtype of an attribute in a functor for a compute dtype, or
// Invalid where it has none.
func scalarDType(k ir.AttrKind, compute ir.DType) ir.DType {
	switch k {
	case ir.AttrScalar:
		return compute
	case ir.AttrFloat:
		return compute.Real()
	case ir.AttrInt:
		return ir.Int64
	case ir.AttrBool:
		return ir.Bool
	}
	return ir.Invalid
}

// ptr adds a device address, element elements of a dtype after base.
func ptr(p *driver.Params, base uint64, element int64, dt ir.DType) {
	p.Uint64(base + uint64(element*int64(dt.Size())))
}
