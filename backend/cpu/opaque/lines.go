package opaque

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

const (
	// lineWork is how many elements of rows are worth another processor.
	lineWork = 8 * 1024
	// narrowBand is how many columns one processor takes at least: whole cache lines.
	narrowBand = 32
)

// eachRows calls f, on several processors, for groups of rows of n elements of x: f
// is given the first row's number, where the rows' results go, and the rows, both
// in dtype, whose Go type is T. Out has x's shape, or is a zero View where there is
// no such result.
func eachRows[T float](dtype ir.DType, out, x ir.View, n int, f func(first int, out, x []T)) {
	if !x.IsContiguous() {
		x = tile.Dense(x, dtype)
	}
	d := out
	if out.Given() && !out.IsContiguous() {
		d = tile.NewDense(dtype, out.Shape)
	}
	r := rowGroups[T]{x: x, out: d, n: n, load: convert.Between(dtype, x.DType), inPlace: x.DType == dtype}
	r.outInPlace = !out.Given() || d.DType == dtype
	if out.Given() {
		r.store = convert.Between(d.DType, dtype)
	}
	pool.For(x.NumElements()/n, max(1, lineWork/n), func(lo, hi int) { r.run(lo, hi, f) })
	if out.Given() {
		tile.Finish(out, d)
	}
}

// rowGroups is rows of n elements, in any dtype without gaps.
type rowGroups[T float] struct {
	x, out              ir.View
	n                   int
	load, store         convert.Func
	inPlace, outInPlace bool // used where they are
}

// run calls f for rows [lo, hi), converted where need be a few at a time.
func (r *rowGroups[T]) run(lo, hi int, f func(first int, out, x []T)) {
	step := hi - lo
	var buffer []T
	if !r.inPlace || !r.outInPlace {
		step = max(1, lineWork/r.n)
		var z T
		b := scratch.Get(2 * step * r.n * int(unsafe.Sizeof(z)))
		defer b.Put()
		buffer = scratch.Slice[T](b, 2*step*r.n) // f may read rows again that it has written
	}
	for ; lo < hi; lo += step {
		m := min(step, hi-lo) * r.n
		src, dst := buffer, buffer[len(buffer)/2:]
		if r.inPlace {
			src = tile.Elements[T](r.x)[lo*r.n:]
		} else {
			r.load(m, unsafe.Pointer(&buffer[0]), 1, unsafe.Add(r.x.Ptr, lo*r.n*r.x.DType.Size()), 1)
		}
		switch {
		case !r.out.Given():
			f(lo, nil, src[:m])
			continue
		case r.outInPlace:
			dst = tile.Elements[T](r.out)[lo*r.n:]
		}
		f(lo, dst[:m], src[:m])
		if !r.outInPlace {
			r.store(m, unsafe.Add(r.out.Ptr, lo*r.n*r.out.DType.Size()), 1, unsafe.Pointer(&dst[0]), 1)
		}
	}
}

// eachColumns calls f, on several processors, for groups of n columns of outer
// matrices of rows times columns elements. Off is where the group's first element
// is, and column its number among all columns. Groups are as wide as may be while each
// processor has one; what a column gives does not depend on its group.
func eachColumns(outer, rows, columns int, f func(off, column, n int)) {
	eachColumnsBy(outer, rows, columns, func() func(off, column, n int) { return f })
}

// eachColumnsBy is eachColumns with functions that serve one goroutine: start returns one for each
// piece of the work, which calls it for all of its groups.
func eachColumnsBy(outer, rows, columns int, start func() func(off, column, n int)) {
	each := (runtime.GOMAXPROCS(0) + outer - 1) / outer // groups of a matrix
	band := max(narrowBand, columns/max(each, 4)&^(narrowBand-1))
	bands := (columns + band - 1) / band
	pool.For(outer*bands, max(1, lineWork/(min(band, columns)*rows)), func(lo, hi int) {
		f := start()
		for lo < hi {
			o, first := lo/bands, lo%bands
			last := min(bands, first+hi-lo)
			j := first * band
			f(o*rows*columns+j, o*columns+j, min(last*band, columns)-j)
			lo += last - first
		}
	})
}
