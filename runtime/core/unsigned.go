package core

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// IntegerOps are the element-wise operators that conversions from and to uint16, uint32
// and uint64 are made of, and what of uint64 no signed integers compute. Package tensor sets them.
type IntegerOps struct {
	And, Or, Xor, Add, Sub, Mul, FloorDivide, ShiftRight, Lt, Ge, Ne, Where, Clamp *ir.Op
}

var integers IntegerOps

const errNoIntegers ir.Error = "unsigned integers need package tensor, which has what they are computed by"

// SetIntegers sets what unsigned integers are computed by, before there are any.
func SetIntegers(ops IntegerOps) { integers = ops }

// do applies an operator that has nothing but operands.
func do(op *ir.Op, in ...*Tensor) *Tensor {
	if op == nil {
		return Fail(copyOp, errNoIntegers)
	}
	return Elementwise(Apply{Op: op}, in...)
}

// whole returns a host number.
func whole(i int64) *Tensor { return ScalarTensor(ir.IntScalar(i)) }

// highest is the bit of 64 that is the sign of signed integers.
const highest = math.MinInt64

// turn turns over the highest bit of 64, which brings unsigned numbers in the order of
// signed ones, and back.
func turn(x *Tensor) *Tensor { return do(integers.Xor, x, whole(highest)) }

// chosen returns a where cond is, and b elsewhere.
func chosen(cond, a, b *Tensor) *Tensor { return do(integers.Where, cond, a, b) }

// halved returns the bits of unsigned numbers shifted right by one.
func halved(x *Tensor) *Tensor {
	return do(integers.And, do(integers.ShiftRight, x, whole(1)), whole(math.MaxInt64))
}

// holder returns the values of x, of a carried dtype, in the signed integers that hold
// them; of uint64 its bits.
func holder(x *Tensor) *Tensor {
	dt := x.dtype
	if dt == ir.Uint64 || x.fail.Load() != nil {
		return x.as(dt.Bits())
	}
	return do(integers.And, castTo(x.as(dt.Bits()), dt.Holder()), whole(1<<(8*dt.Size())-1))
}

// castCarried returns x in dtype dt, one of which is carried.
func castCarried(x *Tensor, dt ir.DType) *Tensor {
	return Composing(func() *Tensor {
		if x.dtype.Carried() {
			return fromCarried(x, dt)
		}
		return toCarried(x, dt)
	})
}

// fromCarried converts from unsigned integers.
func fromCarried(x *Tensor, dt ir.DType) *Tensor {
	bits := x.as(x.dtype.Bits())
	switch {
	case dt == ir.Bool || dt.IsInt() && dt.Size() <= x.dtype.Size():
		return castTo(bits, dt.Bits()).as(dt)
	case x.dtype != ir.Uint64:
		return castTo(holder(x), dt.Bits()).as(dt)
	case dt.IsComplex():
		return castTo(fromCarried(x, dt.Real()), dt)
	}
	// Numbers that are negative as signed ones are halved, such that the bit which falls
	// off still decides how the rest is rounded, and doubled, which is exact.
	odd := do(integers.And, bits, whole(1))
	half := castTo(do(integers.Or, halved(bits), odd), dt)
	return chosen(do(integers.Lt, bits, whole(0)), do(integers.Mul, half, whole(2)), castTo(bits, dt))
}

// toCarried converts to unsigned integers. Floats are truncated and limited to the range,
// as everywhere, and NaN becomes 0.
func toCarried(x *Tensor, dt ir.DType) *Tensor {
	switch {
	case x.dtype.Category() <= ir.CategoryInt:
		return castTo(x, dt.Bits()).as(dt)
	case x.dtype.IsComplex():
		return toCarried(castTo(x, x.dtype.Real()), dt)
	case dt != ir.Uint64:
		held := do(integers.Clamp, castTo(x, dt.Holder()), whole(0), whole(1<<(8*dt.Size())-1))
		return castTo(held, dt.Bits()).as(dt)
	}
	wide := castTo(x, ir.Float64)
	half := ScalarTensor(ir.FloatScalar(1 << 63))
	small := do(integers.Clamp, castTo(wide, ir.Int64), whole(0), whole(math.MaxInt64))
	large := turn(castTo(do(integers.Sub, wide, half), ir.Int64))
	return chosen(do(integers.Ge, wide, half), large, small).as(dt)
}

// unsignedParts returns how the operator of a name is computed of the bits of uint64,
// where it neither ignores the sign nor only compares; nil where there is no way.
func unsignedParts(name string) func(x []*Tensor) *Tensor {
	switch name {
	case "abs":
		return func(x []*Tensor) *Tensor { return Copy(x[0]) }
	case "sign":
		return func(x []*Tensor) *Tensor { return castTo(do(integers.Ne, x[0], whole(0)), ir.Int64) }
	case "floor_divide", "trunc_divide":
		return func(x []*Tensor) *Tensor { return quotient(x[0], x[1]) }
	case "fmod", "remainder":
		return func(x []*Tensor) *Tensor { return rest(x[0], x[1], quotient(x[0], x[1])) }
	case "bitwise_right_shift":
		return func(x []*Tensor) *Tensor { return shifted(x[0], x[1]) }
	}
	return nil
}

// quotient divides unsigned numbers, and gives 0 for the division by 0, as other integers
// do. Half of x is no negative number, so twice its quotient is one less than that of x, or
// it; and by a y with the highest bit it is 1 at most.
func quotient(x, y *Tensor) *Tensor {
	q := do(integers.FloorDivide, halved(x), y)
	q = do(integers.Add, q, q)
	q = do(integers.Add, q, do(integers.Ge, turn(rest(x, y, q)), turn(y)))
	zero := whole(0)
	q = chosen(do(integers.Lt, y, zero), castTo(do(integers.Ge, turn(x), turn(y)), ir.Int64), q)
	return chosen(do(integers.Ne, y, zero), q, zero)
}

// rest returns x - q*y.
func rest(x, y, q *Tensor) *Tensor { return do(integers.Sub, x, do(integers.Mul, q, y)) }

// shifted shifts x right by y bits: once as unsigned numbers, which leaves no sign.
func shifted(x, y *Tensor) *Tensor {
	moved := do(integers.ShiftRight, halved(x), do(integers.Sub, y, whole(1)))
	return chosen(do(integers.Ne, y, whole(0)), moved, x)
}

// unsignedOf computes op of uint64 operands in parts.
func unsignedOf(op *ir.Op, in []*Tensor) *Tensor {
	bits := make([]*Tensor, len(in))
	for i, t := range in {
		if bits[i] = t.as(ir.Int64); t.fail.Load() != nil {
			return t
		}
	}
	return unsignedParts(op.Name)(bits).as(ir.Uint64)
}
