package num

import "math"

// Uniform returns a number in [0, 1): the high 24 bits of Word for float32, the high
// 53 of Pair for float64.
func Uniform[T Float](seed, offset, index int64) T {
	var zero T
	if _, single := any(zero).(float32); single {
		return T(float32(Word(seed, offset, index)>>8) * 0x1p-24)
	}
	w0, w1 := Pair(seed, offset, index)
	return T(float64((uint64(w0)<<32|uint64(w1))>>11) * 0x1p-53)
}

// Normal returns a number of the standard normal distribution by the transform
// of Box and Muller, sqrt(-2 log u)·cos(2π v) and sqrt(-2 log u)·sin(2π v) for an
// index and the next: the words are Pair's of index/2, u = (w0 + 1)/2^32 in
// (0, 1], v = w1/2^32 in [0, 1). It computes in float64 and rounds to T.
func Normal[T Float](seed, offset, index int64) T {
	w0, w1 := Pair(seed, offset, int64(uint64(index)>>1))
	u := (float64(w0) + 1) * 0x1p-32
	v := float64(w1)*0x1p-32 - 0.25*float64(index&1) // the sine is the cosine a quarter turn before
	return T(math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v))
}

// CUniform returns a number whose parts are uniform in [0, 1): the real one is Uniform's,
// the imaginary one that of the offset's complement, which no generator reaches.
func CUniform[T Complex](seed, offset, index int64) T {
	var zero T
	if _, single := any(zero).(complex64); single {
		return T(complex(float64(Uniform[float32](seed, offset, index)), float64(Uniform[float32](seed, ^offset, index))))
	}
	return T(complex(Uniform[float64](seed, offset, index), Uniform[float64](seed, ^offset, index)))
}

// CNormal returns a number of the standard normal distribution, with parts of variance
// 1/2: Normal's of index twice and of the next, over the root of 2.
func CNormal[T Complex](seed, offset, index int64) T {
	return T(complex(Normal[float64](seed, offset, 2*index)/math.Sqrt2, Normal[float64](seed, offset, 2*index+1)/math.Sqrt2))
}
