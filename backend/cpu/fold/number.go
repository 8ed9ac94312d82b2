package fold

import (
	"math"

	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

type integerOrFloat interface {
	uint8 | int8 | int16 | int32 | int64 | float32 | float64
}

type number interface {
	integerOrFloat | complex64 | complex128
}

// numeric returns the loops of a sum or a product.
func numeric[T number](kind Kind, x ir.DType) *vector.FoldFuncs {
	switch kind {
	case Sum:
		return folder[T]{0, func(a, b T) T { return a + b }, sum[T], sumRows[T], sumPrefix[T]}.loops(x)
	case Prod:
		return folder[T]{1, func(a, b T) T { return a * b }, prod[T], prodRows[T], prodPrefix[T]}.loops(x)
	}
	return nil
}

// ordered returns the loops of any kind for numbers between two.
func ordered[T integerOrFloat](kind Kind, x ir.DType, _, lowest, highest T) *vector.FoldFuncs {
	switch kind {
	case Max:
		return folder[T]{lowest, larger[T], maxBlock[T](lowest), maxRows[T], maxPrefix[T]}.loops(x)
	case Min:
		return folder[T]{highest, smaller[T], minBlock[T](highest), minRows[T], minPrefix[T]}.loops(x)
	}
	return numeric[T](kind, x)
}

// sum and prod work on eight accumulators at once, an eighth of all apart: the
// first three halvings combine just these. Part has the results, of which at most
// 32 are left for the other halvings.

func sum[T number](x []T) T {
	var part [lanesBytes / 8]T
	k := Lanes[T]()
	m, full := k/8, len(x)/k*k
	for j := range m {
		a0, a1, a2, a3, a4, a5, a6, a7 := T(0), T(0), T(0), T(0), T(0), T(0), T(0), T(0)
		p := j
		for ; p < full; p += k {
			r := x[p : p+7*m+1]
			a0 += r[0]
			a1 += r[m]
			a2 += r[2*m]
			a3 += r[3*m]
			a4 += r[4*m]
			a5 += r[5*m]
			a6 += r[6*m]
			a7 += r[7*m]
		}
		if p < len(x) {
			a0 += x[p]
		}
		if p+m < len(x) {
			a1 += x[p+m]
		}
		if p+2*m < len(x) {
			a2 += x[p+2*m]
		}
		if p+3*m < len(x) {
			a3 += x[p+3*m]
		}
		if p+4*m < len(x) {
			a4 += x[p+4*m]
		}
		if p+5*m < len(x) {
			a5 += x[p+5*m]
		}
		if p+6*m < len(x) {
			a6 += x[p+6*m]
		}
		if p+7*m < len(x) {
			a7 += x[p+7*m]
		}
		part[j] = ((a0 + a4) + (a2 + a6)) + ((a1 + a5) + (a3 + a7))
	}
	for m /= 2; m > 0; m /= 2 {
		for j := range m {
			part[j] += part[j+m]
		}
	}
	return part[0]
}

func prod[T number](x []T) T {
	var part [lanesBytes / 8]T
	k := Lanes[T]()
	m, full := k/8, len(x)/k*k
	for j := range m {
		a0, a1, a2, a3, a4, a5, a6, a7 := T(1), T(1), T(1), T(1), T(1), T(1), T(1), T(1)
		p := j
		for ; p < full; p += k {
			r := x[p : p+7*m+1]
			a0 *= r[0]
			a1 *= r[m]
			a2 *= r[2*m]
			a3 *= r[3*m]
			a4 *= r[4*m]
			a5 *= r[5*m]
			a6 *= r[6*m]
			a7 *= r[7*m]
		}
		if p < len(x) {
			a0 *= x[p]
		}
		if p+m < len(x) {
			a1 *= x[p+m]
		}
		if p+2*m < len(x) {
			a2 *= x[p+2*m]
		}
		if p+3*m < len(x) {
			a3 *= x[p+3*m]
		}
		if p+4*m < len(x) {
			a4 *= x[p+4*m]
		}
		if p+5*m < len(x) {
			a5 *= x[p+5*m]
		}
		if p+6*m < len(x) {
			a6 *= x[p+6*m]
		}
		if p+7*m < len(x) {
			a7 *= x[p+7*m]
		}
		part[j] = ((a0 * a4) * (a2 * a6)) * ((a1 * a5) * (a3 * a7))
	}
	for m /= 2; m > 0; m /= 2 {
		for j := range m {
			part[j] *= part[j+m]
		}
	}
	return part[0]
}

func sumRows[T number](a, x []T) {
	for i := range a {
		a[i] += x[i]
	}
}

func prodRows[T number](a, x []T) {
	for i := range a {
		a[i] *= x[i]
	}
}

func sumPrefix[T number](out, x []T, a T) T {
	for i := range out {
		a += x[i]
		out[i] = a
	}
	return a
}

func prodPrefix[T number](out, x []T, a T) T {
	for i := range out {
		a *= x[i]
		out[i] = a
	}
	return a
}

// larger and smaller are max and min whose NaN is always the same one, whatever the order of the
// elements and the instructions.

func larger[T integerOrFloat](a, b T) T { return quiet(max(a, b)) }

func smaller[T integerOrFloat](a, b T) T { return quiet(min(a, b)) }

// quiet returns v, and the NaN that folds give for any NaN.
func quiet[T integerOrFloat](v T) T {
	if v != v {
		return T(math.NaN())
	}
	return v
}

// maxBlock and minBlock need not keep an order: the result is the same in any.

func maxBlock[T integerOrFloat](lowest T) func(x []T) T {
	return func(x []T) T {
		a, b, c, d := lowest, lowest, lowest, lowest
		for ; len(x) >= 4; x = x[4:] {
			a, b, c, d = max(a, x[0]), max(b, x[1]), max(c, x[2]), max(d, x[3])
		}
		for _, v := range x {
			a = max(a, v)
		}
		return quiet(max(a, b, c, d))
	}
}

func minBlock[T integerOrFloat](highest T) func(x []T) T {
	return func(x []T) T {
		a, b, c, d := highest, highest, highest, highest
		for ; len(x) >= 4; x = x[4:] {
			a, b, c, d = min(a, x[0]), min(b, x[1]), min(c, x[2]), min(d, x[3])
		}
		for _, v := range x {
			a = min(a, v)
		}
		return quiet(min(a, b, c, d))
	}
}

func maxRows[T integerOrFloat](a, x []T) {
	for i := range a {
		a[i] = larger(a[i], x[i])
	}
}

func minRows[T integerOrFloat](a, x []T) {
	for i := range a {
		a[i] = smaller(a[i], x[i])
	}
}

func maxPrefix[T integerOrFloat](out, x []T, a T) T {
	for i := range out {
		a = larger(a, x[i])
		out[i] = a
	}
	return a
}

func minPrefix[T integerOrFloat](out, x []T, a T) T {
	for i := range out {
		a = smaller(a, x[i])
		out[i] = a
	}
	return a
}
