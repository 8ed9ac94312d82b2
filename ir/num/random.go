package num

import "math"

// Uniform returns a number in [0, 1): the high 24 bits of word 0 for float32,
// the high 53 of words 0 and 1 for float64.
func Uniform[T Float](seed, offset, index int64) T {
	w0, w1 := Philox(seed, offset, index)
	var zero T
	if _, single := any(zero).(float32); single {
		return T(float32(w0>>8) * 0x1p-24)
	}
	return T(float64((uint64(w0)<<32|uint64(w1))>>11) * 0x1p-53)
}

// Normal returns a number of the standard normal distribution by the transform
// of Box and Muller: sqrt(-2 log u)·cos(2π v) with u = (w0 + 1)/2^32 in (0, 1]
// and v = w1/2^32 in [0, 1), in float64, rounded to T.
func Normal[T Float](seed, offset, index int64) T {
	w0, w1 := Philox(seed, offset, index)
	u := (float64(w0) + 1) * 0x1p-32
	v := float64(w1) * 0x1p-32
	return T(math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v))
}
