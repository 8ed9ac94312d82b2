package kernel

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A fold joins what is written to an element with what is there.
type fold[T ordered] interface {
	join(a, b T) T
	none() T // what join leaves any other number as it is with
}

type (
	times[T ordered]    struct{}
	largest[T ordered]  struct{}
	smallest[T ordered] struct{}
)

func (times[T]) join(a, b T) T { return a * b }
func (times[T]) none() T       { return 1 }

// join returns the larger number; a NaN is larger than every number.
func (largest[T]) join(a, b T) T {
	if (larger[T]{}).better(b, a) {
		return b
	}
	return a
}
func (largest[T]) none() T { lo, _ := extremes[T](); return lo }

// join returns the smaller number; a NaN is smaller than every number.
func (smallest[T]) join(a, b T) T {
	if (smaller[T]{}).better(b, a) {
		return b
	}
	return a
}
func (smallest[T]) none() T { _, hi := extremes[T](); return hi }

// extremes returns the least and the greatest number of a type.
func extremes[T ordered]() (lo, hi T) {
	zero := T(0)
	switch any(zero).(type) {
	case float32, float64:
		inf := math.Inf(1)
		return T(-inf), T(inf)
	}
	if bits := 8 * unsafe.Sizeof(zero); zero-1 < zero { // signed
		least := int64(-1) << (bits - 1)
		return T(least), T(-(least + 1))
	}
	return 0, zero - 1
}

// A foldFunc folds the elements of src into those of a copy of x; where alone is set
// into numbers that change nothing.
type foldFunc = func(s *scattering, alone bool)

func scatterFold[T ordered, F fold[T]](s *scattering, alone bool) {
	var f F
	size := int(unsafe.Sizeof(*new(T)))
	out, src := s.out.Ptr, s.src.Ptr
	step, inner, fromInner := s.to.step*size, s.to.inner*size, s.from.inner*size
	if alone {
		s.each(func(index []int64, to, _ int) {
			for j, i := range index {
				*(*T)(unsafe.Add(out, to*size+j*inner+int(i)*step)) = f.none()
			}
		})
	}
	s.each(func(index []int64, to, from int) {
		out, src := unsafe.Add(out, to*size), unsafe.Add(src, from*size)
		for j, i := range index {
			at := (*T)(unsafe.Add(out, j*inner+int(i)*step))
			*at = f.join(*at, *(*T)(unsafe.Add(src, j*fromInner)))
		}
	})
}

var scatterProds = table[foldFunc]{
	ir.Bool:  scatterFold[uint8, smallest[uint8]],
	ir.Uint8: scatterFold[uint8, times[uint8]], ir.Int8: scatterFold[int8, times[int8]],
	ir.Int16: scatterFold[int16, times[int16]], ir.Int32: scatterFold[int32, times[int32]],
	ir.Int64: scatterFold[int64, times[int64]], ir.Float32: scatterFold[float32, times[float32]],
	ir.Float64: scatterFold[float64, times[float64]],
}

var scatterMaxima = table[foldFunc]{
	ir.Bool:  scatterFold[uint8, largest[uint8]],
	ir.Uint8: scatterFold[uint8, largest[uint8]], ir.Int8: scatterFold[int8, largest[int8]],
	ir.Int16: scatterFold[int16, largest[int16]], ir.Int32: scatterFold[int32, largest[int32]],
	ir.Int64: scatterFold[int64, largest[int64]], ir.Float32: scatterFold[float32, largest[float32]],
	ir.Float64: scatterFold[float64, largest[float64]],
}

var scatterMinima = table[foldFunc]{
	ir.Bool:  scatterFold[uint8, smallest[uint8]],
	ir.Uint8: scatterFold[uint8, smallest[uint8]], ir.Int8: scatterFold[int8, smallest[int8]],
	ir.Int16: scatterFold[int16, smallest[int16]], ir.Int32: scatterFold[int32, smallest[int32]],
	ir.Int64: scatterFold[int64, smallest[int64]], ir.Float32: scatterFold[float32, smallest[float32]],
	ir.Float64: scatterFold[float64, smallest[float64]],
}

// ScatterProd multiplies the elements of src to those of a copy of x that index names
// along attribute dim; without attribute include_self, x's own do not count.
func ScatterProd(c *ir.Call) error { return scatterInto(c, &scatterProds) }

// ScatterMax is ScatterProd for the largest element; NaN is the largest.
func ScatterMax(c *ir.Call) error { return scatterInto(c, &scatterMaxima) }

// ScatterMin is ScatterProd for the smallest element; NaN is the smallest too.
func ScatterMin(c *ir.Call) error { return scatterInto(c, &scatterMinima) }

func scatterInto(c *ir.Call, t *table[foldFunc]) error {
	f, err := t.of(c.Compute)
	if err != nil {
		return err
	}
	c = c.Raised()
	s, err := newScattering(c, c.Compute)
	if err != nil {
		return err
	}
	if len(s.index) > 0 {
		f(s, c.Attrs[1].Int == 0)
	}
	tile.Finish(c.Out[0], s.out)
	return nil
}
