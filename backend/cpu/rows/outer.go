package rows

// An Outer computes an expression of rows rows of n elements at x and of an element
// at one for each of them. Strides and step, the distances of rows and of these
// elements, are in bytes. Out may be x. About 64 Ki elements are enough for a call: it
// cannot be preempted.
type Outer[T Float] func(rows, n, outStride, stride, step int, out, x, one *T)

// Outer returns what computes an expression of x and y, where the second is what has
// one element a row, or else the first; nil where there is no such function.
func (f *Funcs[T]) Outer(expr string, second bool) Outer[T] {
	switch expr {
	case "x + y", "y + x":
		return f.outerAdd
	case "x*y", "y*x":
		return f.outerMul
	case "x - y":
		return either(second, f.outerSub, f.outerSubFrom)
	case "y - x":
		return either(second, f.outerSubFrom, f.outerSub)
	case "x/y":
		return either(second, f.outerDiv, f.outerDivInto)
	case "y/x":
		return either(second, f.outerDivInto, f.outerDiv)
	}
	return nil
}

func either[F any](first bool, a, b F) F {
	if first {
		return a
	}
	return b
}
