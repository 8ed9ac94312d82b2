package onnx

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// float8s are the types of floats that take at most a byte which package tensor has
// conversions for.
var float8s = map[format.Elem]tensor.Float8{
	format.Float8E4M3FN: tensor.Float8E4m3fn, format.Float8E4M3FNUZ: tensor.Float8E4m3fnuz,
	format.Float8E5M2: tensor.Float8E5m2, format.Float8E5M2FNUZ: tensor.Float8E5m2fnuz,
}

// A smallFloat is another such type: a sign, exponent bits, and the rest for the fraction. All
// its codes are numbers.
type smallFloat struct {
	bits, fraction int
	bias           int
	unsigned       bool // no sign and no zero: a power of two, and NaN where all bits are one (e8m0)
}

var smallFloats = map[format.Elem]smallFloat{
	format.Float4E2M1: {bits: 4, fraction: 1, bias: 1},
	format.Float8E8M0: {bits: 8, bias: 127, unsigned: true},
}

// isSmall reports whether a type is one of floats that take at most a byte.
func isSmall(e format.Elem) bool {
	_, ok := float8s[e]
	return ok || smallFloats[e].bits != 0
}

// smallValue returns the number that a code of such a type stands for.
func smallValue(e format.Elem, code uint32) float32 {
	if of, ok := float8s[e]; ok {
		return ir.Float8s[of].Value(uint8(code))
	}
	return smallFloats[e].value(code)
}

func (s smallFloat) value(code uint32) float32 {
	if s.unsigned {
		if code == 255 {
			return float32(math.NaN())
		}
		return float32(math.Ldexp(1, int(code)-s.bias))
	}
	sign, magnitude := code>>(s.bits-1), code&(1<<(s.bits-1)-1)
	exponent, v := int(magnitude>>s.fraction), float64(magnitude&(1<<s.fraction-1))
	if exponent > 0 {
		v += float64(uint32(1) << s.fraction)
	}
	v = math.Ldexp(v, max(exponent, 1)-s.bias-s.fraction)
	if sign == 1 {
		v = -v
	}
	return float32(v)
}

// smallValues returns the numbers at or above zero that a small float has, in ascending
// order by code.
var smallValues = func() map[format.Elem]func() []float32 {
	out := map[format.Elem]func() []float32{}
	for e, s := range smallFloats {
		out[e] = sync.OnceValue(func() []float32 {
			bits := s.bits - 1
			if s.unsigned {
				bits = s.bits
			}
			var list []float32
			for code := range uint32(1) << bits {
				if v := s.value(code); v == v {
					list = append(list, v)
				}
			}
			return list
		})
	}
	return out
}()

// narrow rounds to the nearest number that a small float has, to the even code of two. Types
// of less than 8 bits, and powers of two, are rounded on the host.
func narrow(x tensor.Tensor, to format.Elem, saturate bool, mode string) (tensor.Tensor, error) {
	if of, ok := float8s[to]; ok {
		if !x.DType().IsFloat() {
			x = x.ToType(tensor.Float64)
		}
		return x.Float8Encode(of, tensor.Saturate(saturate)).Float8Decode(of), nil
	}
	dev, shape := x.Device(), x.Shape()
	data, err := tensor.Data[float64](x.ToType(tensor.Float64))
	if err != nil {
		return x, err
	}
	s, values := smallFloats[to], smallValues[to]()
	out := make([]float32, len(data))
	for i, v := range data {
		if s.unsigned {
			out[i] = powerOfTwo(v, values, saturate, mode)
		} else {
			out[i] = nearest(v, values)
		}
	}
	return tensor.From(out, shape...).To(dev), nil
}

// nearest rounds to one of values or to the same below zero. What is too large becomes the
// largest, and NaN minus zero.
func nearest(v float64, values []float32) float32 {
	if math.IsNaN(v) {
		return float32(math.Copysign(0, -1))
	}
	mag := math.Abs(v)
	hi, _ := slices.BinarySearchFunc(values, mag, func(a float32, b float64) int { return cmp.Compare(float64(a), b) })
	if hi == len(values) {
		hi--
	} else if hi > 0 {
		if below, above := mag-float64(values[hi-1]), float64(values[hi])-mag; below < above || below == above && hi%2 != 0 {
			hi--
		}
	}
	return float32(math.Copysign(float64(values[hi]), v))
}

// powerOfTwo rounds to one of values, which are powers of two. The sign does not count.
func powerOfTwo(v float64, values []float32, saturate bool, mode string) float32 {
	mag, top := math.Abs(v), float64(values[len(values)-1])
	switch {
	case math.IsNaN(v):
		return float32(v)
	case mag <= float64(values[0]):
		return values[0]
	case mag <= top:
		frac, exp := math.Frexp(mag) // frac in [1/2, 1)
		mag = math.Ldexp(1, exp-1)
		if frac != 0.5 && mode != "down" && !(mode == "nearest" && frac < 0.75) {
			mag *= 2
		}
	}
	switch {
	case mag <= top:
		return float32(mag)
	case saturate:
		return float32(top)
	}
	return float32(math.NaN())
}
