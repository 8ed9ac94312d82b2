package opaque

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/fold"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

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

func leastOf[T ordered]() T    { lo, _ := extremes[T](); return lo }
func greatestOf[T ordered]() T { _, hi := extremes[T](); return hi }

// A foldFunc folds the elements of src into those of a copy of x; where alone is set
// into numbers that change nothing. Each is a loop of its own: functions that are given to
// one loop are not inlined.
type foldFunc = func(s *scattering, alone bool)

// A foldTable has a foldFunc by dtype, and the kind of fold that does the same to rows.
type foldTable struct {
	kind fold.Kind
	of   table[foldFunc]
}

// writeNamed writes v to the elements that index names.
func writeNamed[T ordered](s *scattering, v T) {
	size := int(unsafe.Sizeof(v))
	step, inner := s.to.step*size, s.to.inner*size
	s.each(func(index []int64, to, _ int) {
		for j, i := range index {
			*(*T)(unsafe.Add(s.out.Ptr, to*size+j*inner+int(i)*step)) = v
		}
	})
}

// scatterProd multiplies.
func scatterProd[T ordered](s *scattering, alone bool) {
	none := T(1)
	size := int(unsafe.Sizeof(none))
	step, inner, fromInner := s.to.step*size, s.to.inner*size, s.from.inner*size
	if alone {
		writeNamed(s, none)
	}
	s.each(func(index []int64, to, from int) {
		out, src := unsafe.Add(s.out.Ptr, to*size), unsafe.Add(s.src.Ptr, from*size)
		for j, i := range index {
			at, v := (*T)(unsafe.Add(out, j*inner+int(i)*step)), *(*T)(unsafe.Add(src, j*fromInner))
			*at *= v
		}
	})
}

// scatterMax takes the largest; a NaN is larger than every number.
func scatterMax[T ordered](s *scattering, alone bool) {
	none := leastOf[T]()
	size := int(unsafe.Sizeof(none))
	step, inner, fromInner := s.to.step*size, s.to.inner*size, s.from.inner*size
	if alone {
		writeNamed(s, none)
	}
	s.each(func(index []int64, to, from int) {
		out, src := unsafe.Add(s.out.Ptr, to*size), unsafe.Add(s.src.Ptr, from*size)
		for j, i := range index {
			at, v := (*T)(unsafe.Add(out, j*inner+int(i)*step)), *(*T)(unsafe.Add(src, j*fromInner))
			*at = max(*at, v) // without a branch, which would be foretold badly
		}
	})
}

// scatterMin takes the smallest; a NaN is smaller than every number, too.
func scatterMin[T ordered](s *scattering, alone bool) {
	none := greatestOf[T]()
	size := int(unsafe.Sizeof(none))
	step, inner, fromInner := s.to.step*size, s.to.inner*size, s.from.inner*size
	if alone {
		writeNamed(s, none)
	}
	s.each(func(index []int64, to, from int) {
		out, src := unsafe.Add(s.out.Ptr, to*size), unsafe.Add(s.src.Ptr, from*size)
		for j, i := range index {
			at, v := (*T)(unsafe.Add(out, j*inner+int(i)*step)), *(*T)(unsafe.Add(src, j*fromInner))
			*at = min(*at, v)
		}
	})
}

var scatterProds = foldTable{kind: fold.Prod, of: table[foldFunc]{
	ir.Bool:  scatterMin[uint8],
	ir.Uint8: scatterProd[uint8], ir.Int8: scatterProd[int8], ir.Int16: scatterProd[int16], ir.Int32: scatterProd[int32], ir.Int64: scatterProd[int64],
	ir.Float32: scatterProd[float32], ir.Float64: scatterProd[float64],
}}

var scatterMaxima = foldTable{kind: fold.Max, of: table[foldFunc]{
	ir.Bool:  scatterMax[uint8],
	ir.Uint8: scatterMax[uint8], ir.Int8: scatterMax[int8], ir.Int16: scatterMax[int16], ir.Int32: scatterMax[int32], ir.Int64: scatterMax[int64],
	ir.Float32: scatterMax[float32], ir.Float64: scatterMax[float64],
}}

var scatterMinima = foldTable{kind: fold.Min, of: table[foldFunc]{
	ir.Bool:  scatterMin[uint8],
	ir.Uint8: scatterMin[uint8], ir.Int8: scatterMin[int8], ir.Int16: scatterMin[int16], ir.Int32: scatterMin[int32], ir.Int64: scatterMin[int64],
	ir.Float32: scatterMin[float32], ir.Float64: scatterMin[float64],
}}

// ScatterProd multiplies the elements of src to those of a copy of x that index names
// along attribute dim; without attribute include_self, x's own do not count.
func ScatterProd(c *ir.Call) error { return scatterInto(c, &scatterProds) }

// ScatterMax is ScatterProd for the largest element; NaN is the largest.
func ScatterMax(c *ir.Call) error { return scatterInto(c, &scatterMaxima) }

// ScatterMin is ScatterProd for the smallest element; NaN is the smallest too.
func ScatterMin(c *ir.Call) error { return scatterInto(c, &scatterMinima) }

func scatterInto(c *ir.Call, t *foldTable) error {
	f, err := t.of.of(c.Compute)
	if err != nil {
		return err
	}
	c = c.Raised()
	alone := c.Attrs[1].Int == 0
	if rows := t.rows(c.Compute); rows != nil && !alone {
		done, err := scatterSlices(c, c.Compute, func(s *slicing, out, src ir.View) { s.fold(out, src, rows) })
		if done || err != nil {
			return err
		}
	}
	s, err := newScattering(c, c.Compute)
	if err != nil {
		return err
	}
	if len(s.index) > 0 {
		f(s, alone)
	}
	s.dealt.put()
	tile.Finish(c.Out[0], s.out)
	return nil
}

// rows returns the loop that folds a row into another of the same dtype; nil where there
// is none, or it has accumulators of another dtype.
func (t *foldTable) rows(d ir.DType) func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) {
	if l := fold.Loops(t.kind, d, d, nil); l != nil && l.Acc == d {
		return l.Rows
	}
	return nil
}
