package opaque

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/channel"
)

// A pull is what the gradient by x of a normalization is made of, for elements of the same
// statistics: rstd*(dy*weight - shift - h*c), where h = (x - mean)*scale is the normalized x.
type pull struct {
	mean, scale  float64
	rstd, weight float64
	shift, c     float64
	middle       float64 // shift/weight
}

// mostMiddle is up to where a gradient's middle is taken from it before it is multiplied: a
// weight of about zero makes it larger than any.
const mostMiddle = 1e15

// coefficientsOf returns what vectors compute a gradient by, and whether they may: the square of
// rstd, which the slope has, is out of the range of T long before the gradient is.
func coefficientsOf[T float](k *pull) (by coefficients[T], ok bool) {
	factor, slope := k.weight*k.rstd, -k.rstd*k.c*k.scale
	by = coefficients[T]{mean: T(k.mean), middle: T(k.middle), factor: T(factor), slope: T(slope)}
	if !(math.Abs(k.middle) < mostMiddle) {
		return by, false
	}
	r := rangeOf[T]()
	if !r.has(factor) && k.weight != 0 && k.rstd != 0 {
		return by, false
	}
	return by, r.has(slope) || k.c == 0 || k.rstd == 0 || k.scale == 0
}

// A normalRange is from the least number that a type has all digits of to the root of its largest: up
// to that products of two are in the type.
type normalRange struct{ least, most float64 }

func rangeOf[T float]() normalRange {
	if unsafe.Sizeof(T(0)) == 4 {
		return normalRange{0x1p-126, 0x1p63}
	}
	return normalRange{0x1p-1022, 0x1p511}
}

// has reports whether a number or its opposite is in the range.
func (r normalRange) has(v float64) bool {
	v = math.Abs(v)
	return r.least <= v && v <= r.most
}

// writeGradient writes the gradient by x of a channel's rows.
func writeGradient[T float](f channel.Funcs[T], r channel.Rows, k *pull, dx, dy, x *T) {
	if by, ok := coefficientsOf[T](k); ok {
		f.Grad(r, by.mean, by.middle, by.factor, by.slope, dx, dy, x)
		return
	}
	to, from, at := elementsOf(r, dx), elementsOf(r, dy), elementsOf(r, x)
	for lo := 0; lo < len(to); lo += r.Stride {
		for i := lo; i < lo+r.N; i++ {
			h := float64((float64(at[i]) - k.mean) * k.scale)
			to[i] = T(k.rstd * (float64(float64(from[i])*k.weight) - k.shift - float64(h*k.c)))
		}
	}
}

// gradientSums returns the sums of dy and of dy*h over a channel's rows, where h = (x - mean)*scale.
// Vectors add up dy*(x - mean) in T: where that is out of its range, elements are gone over one by one.
func gradientSums[T float](f channel.Funcs[T], r channel.Rows, mean, scale float64, dy, x *T) (sum, product float64) {
	var s [2]T
	f.Sums(r, T(mean), dy, x, &s)
	sum, product = float64(s[0]), float64(s[1])
	// Terms that are not normal are off by up to half of the least number each.
	small := math.Abs(product) < 4*rangeOf[T]().least*float64(r.Count*r.N)
	if !small && sum-sum == 0 && product-product == 0 || small && sum == 0 && zeros(r, dy) {
		return sum, product * scale
	}
	sum, product = 0, 0
	from, at := elementsOf(r, dy), elementsOf(r, x)
	for lo := 0; lo < len(at); lo += r.Stride {
		for i := lo; i < lo+r.N; i++ {
			g := float64(from[i])
			sum += g
			product += float64(g * ((float64(at[i]) - mean) * scale))
		}
	}
	return sum, product
}

// zeros reports whether rows have nothing else.
func zeros[T float](r channel.Rows, first *T) bool {
	v := elementsOf(r, first)
	for lo := 0; lo < len(v); lo += r.Stride {
		for _, v := range v[lo : lo+r.N] {
			if v != 0 {
				return false
			}
		}
	}
	return true
}

// elementsOf returns what rows lie in, from their first element to their last.
func elementsOf[T float](r channel.Rows, first *T) []T {
	return unsafe.Slice(first, (r.Count-1)*r.Stride+r.N)
}
