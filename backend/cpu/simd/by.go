package simd

// By is what differs by level: what is for AVX2 serves up to AVX512, which serves all above it.
type By[V any] struct{ AVX2, AVX512 V }

// At returns what there is at a level: the zero value at Portable.
func (b By[V]) At(level Level) (v V) {
	switch {
	case level >= AVX512:
		return b.AVX512
	case level >= AVX2:
		return b.AVX2
	}
	return v
}

// Of returns what there is of type V at a level, given a By of one type and one of another, which V
// must be one of.
func Of[V, A, B any](level Level, a By[A], b By[B]) V {
	if v, ok := any(a.At(level)).(V); ok {
		return v
	}
	return any(b.At(level)).(V)
}
