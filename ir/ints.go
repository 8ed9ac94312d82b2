package ir

import "fmt"

// ShapeErrorf returns an error that wraps ErrShape.
func ShapeErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrShape}, args...)...)
}

// SumInts adds; ok is false where the sum overflows.
func SumInts(list ...int) (sum int, ok bool) {
	for _, v := range list {
		s := sum + v
		if (v > 0 && s < sum) || (v < 0 && s > sum) {
			return 0, false
		}
		sum = s
	}
	return sum, true
}

// MulInts multiplies; ok is false where the product overflows.
func MulInts(a, b int) (product int, ok bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	p := a * b
	if p/b != a || (a == -1 && b == -b) || (b == -1 && a == -a) {
		return 0, false
	}
	return p, true
}
