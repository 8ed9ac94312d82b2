package expr

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// integer evaluates a function of integers of dtype t exactly, and wraps.
func (in *Interpreter[F]) integer(v *Value, args []Number[F], t ir.DType) (Number[F], error) {
	x := args[0].Int
	var y int64
	if len(args) > 1 {
		y = args[1].Int
	}
	if b, ok := compareInts(v.Name, x, y); ok {
		return Number[F]{Bool: b}, nil
	}
	r, ok := integerOp(v.Name, x, y, 8*t.Size())
	if !ok {
		return Number[F]{}, fmt.Errorf("internal error: the interpreter has no integer %s", v.Name)
	}
	return Number[F]{Int: Wrap(r, in.g.KindDType(v.Kind))}, nil
}

// compareInts computes what gives a bool for integers. The tests for NaN and infinities
// have an answer too, so that one expression serves all dtypes.
func compareInts(fn string, x, y int64) (result, ok bool) {
	switch fn {
	case "signbit":
		return x < 0, true
	case "isnan", "isinf":
		return false, true
	case "isfinite":
		return true, true
	}
	return compared(fn, x, y)
}

// integerOp computes in 64 bits, of which the caller keeps the low width: sums and
// products of narrower integers wrap to the same.
func integerOp(fn string, x, y int64, width int) (int64, bool) {
	switch fn {
	case "add":
		return x + y, true
	case "sub":
		return x - y, true
	case "mul":
		return x * y, true
	case "neg":
		return -x, true
	case "and":
		return x & y, true
	case "or":
		return x | y, true
	case "xor":
		return x ^ y, true
	case "andnot":
		return x &^ y, true
	case "not":
		return ^x, true
	case "min":
		return min(x, y), true
	case "max":
		return max(x, y), true
	case "abs":
		return max(x, -x), true
	case "sign":
		if x == 0 {
			return 0, true
		}
		return x>>63 | 1, true
	case "floor", "ceil", "trunc", "round":
		return x, true
	case "imag":
		return 0, true
	case "shl", "shr":
		return shift(fn, x, y, width), true
	case "pow":
		return power(x, y), true
	}
	return divide(fn, x, y)
}

// shift moves bits by n, which may be anything: beyond the width, and for a negative n,
// all bits are gone, and a right shift leaves the sign.
func shift(fn string, x, n int64, width int) int64 {
	out := n < 0 || n >= int64(width)
	switch {
	case fn == "shl" && out:
		return 0
	case fn == "shl":
		return x << n
	case out && x < 0:
		return -1
	case out:
		return 0
	}
	return x >> n
}

// power multiplies n times.
func power(x, n int64) int64 {
	if n < 0 {
		switch x {
		case 1:
			return 1
		case -1:
			return 1 - 2*(n&1)
		}
		return 0
	}
	r := int64(1)
	for bit := 62; bit >= 0; bit-- {
		r *= r
		if n>>bit&1 == 1 {
			r *= x
		}
	}
	return r
}

// divide computes quotients and remainders. Division by 0 is 0 with remainder x rather
// than a fault, and the least integer by -1 wraps: processors differ there, and no
// backend may stop a program for an element.
func divide(fn string, x, y int64) (int64, bool) {
	q, r := int64(0), x
	if y == -1 {
		q, r = -x, 0
	} else if y != 0 {
		q, r = x/y, x%y
	}
	opposite := r != 0 && y != 0 && (r < 0) != (y < 0)
	switch fn {
	case "div", "truncdiv":
		return q, true
	case "rem", "fmod":
		return r, true
	case "floordiv":
		if opposite {
			q--
		}
		return q, true
	case "remainder":
		if opposite {
			r += y
		}
		return r, true
	}
	return 0, false
}
