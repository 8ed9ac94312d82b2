package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/rows"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// ArgMax returns the index of the largest element along the one axis in
// attribute dim, or in x read in row-major order where it is nil. The first of
// equal elements wins; NaN is the largest.
func ArgMax(c *ir.Call) error { return argReduce(c, &argMax) }

// ArgMin is ArgMax for the smallest element; NaN is the smallest too.
func ArgMin(c *ir.Call) error { return argReduce(c, &argMin) }

type argFunc func(x, out ir.View, along, inner int)

var argMax = table[argFunc]{
	ir.Uint8: args[uint8, larger[uint8]], ir.Int8: args[int8, larger[int8]], ir.Int16: args[int16, larger[int16]],
	ir.Int32: args[int32, larger[int32]], ir.Int64: args[int64, larger[int64]],
	ir.Float32: vectorArgs[float32](false), ir.Float64: vectorArgs[float64](false),
}

var argMin = table[argFunc]{
	ir.Uint8: args[uint8, smaller[uint8]], ir.Int8: args[int8, smaller[int8]], ir.Int16: args[int16, smaller[int16]],
	ir.Int32: args[int32, smaller[int32]], ir.Int64: args[int64, smaller[int64]],
	ir.Float32: vectorArgs[float32](true), ir.Float64: vectorArgs[float64](true),
}

func argReduce(c *ir.Call, t *table[argFunc]) error {
	f, err := t.of(c.Compute)
	if err != nil {
		return err
	}
	x := c.In[0]
	along, inner := x.NumElements(), 1
	if dims := c.Attrs[0].Ints; len(dims) == 1 {
		axis, err := ir.Axis(dims[0], len(x.Shape))
		if err != nil {
			return err
		}
		_, along, inner = around(x.Shape, axis)
	}
	if along == 0 {
		return fmt.Errorf("no elements to compare in shape %v", x.Shape)
	}
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	d := tile.TargetOf(c.Out[0], ir.Int64)
	f(tile.Dense(x, c.Compute), d, along, inner)
	tile.Finish(c.Out[0], d)
	return nil
}

// An order says whether b comes before a in a search for the best.
type order[T ordered] interface{ better(b, a T) bool }

type larger[T ordered] struct{}

// better reports b > a; a NaN is better than every number.
func (larger[T]) better(b, a T) bool { return b > a || b != b && a == a }

type smaller[T ordered] struct{}

// better reports b < a; a NaN is better than every number.
func (smaller[T]) better(b, a T) bool { return b < a || b != b && a == a }

// args finds the best element of each line of x, along elements inner apart.
func args[T ordered, O order[T]](x, out ir.View, along, inner int) {
	data, index := tile.Elements[T](x), tile.Elements[int64](out)
	lines := len(data) / along
	if inner == 1 {
		pool.For(lines, max(1, moveWork/along), func(lo, hi int) {
			for ; lo < hi; lo++ {
				index[lo] = int64(best[T, O](data[lo*along : (lo+1)*along]))
			}
		})
		return
	}
	pool.For(lines/inner, max(1, moveWork/(along*inner)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			bestRows[T, O](data[lo*along*inner:(lo+1)*along*inner], index[lo*inner:(lo+1)*inner])
		}
	})
}

// vectorArgs is args for floats.
func vectorArgs[T float](least bool) argFunc {
	return func(x, out ir.View, along, inner int) {
		f, data, index := rows.Active[T](), tile.Elements[T](x), tile.Elements[int64](out)
		switch outer := len(data) / (along * inner); {
		case inner > 1:
			eachColumns(outer, along, inner, func(off, column, n int) {
				f.ArgColumns(data[off:], along, n, inner, index[column:column+n], least)
			})
		case outer == 1 && along > stretch:
			longArg(f, data, index, least)
		default:
			pool.For(outer, max(1, lineWork/along), func(lo, hi int) { f.Arg(data[lo*along:hi*along], along, index[lo:hi], least) })
		}
	}
}

// longArg is for one line of many elements: stretches are searched by themselves,
// then the best of each.
func longArg[T float](f *rows.Funcs[T], x []T, index []int64, least bool) {
	n := (len(x) + stretch - 1) / stretch
	found, best, at := make([]int64, n), make([]T, n), make([]int64, 1)
	pool.For(n, 1, func(lo, hi int) {
		for ; lo < hi; lo++ {
			part := x[lo*stretch : min((lo+1)*stretch, len(x))]
			f.Arg(part, len(part), found[lo:lo+1], least)
			best[lo] = part[found[lo]]
		}
	})
	f.Arg(best, n, at, least)
	index[0] = at[0]*stretch + found[at[0]]
}

// stretch is how many elements of one line a processor searches at least.
const stretch = 64 * 1024

// best returns the index of the best element of x.
func best[T ordered, O order[T]](x []T) int {
	if len(x) <= stretch {
		return bestOf[T, O](x)
	}
	found := make([]int, (len(x)+stretch-1)/stretch)
	pool.For(len(x), stretch, func(lo, hi int) {
		for ; lo < hi; lo += stretch {
			found[lo/stretch] = lo + bestOf[T, O](x[lo:min(lo+stretch, len(x))])
		}
	})
	var o O
	at := found[0]
	for _, f := range found[1:] {
		if o.better(x[f], x[at]) {
			at = f
		}
	}
	return at
}

func bestOf[T ordered, O order[T]](x []T) int {
	var o O
	at, top := 0, x[0]
	for i, v := range x {
		if o.better(v, top) {
			at, top = i, v
		}
	}
	return at
}

// bestRows finds the best element of each column of x, whose rows are as long
// as index.
func bestRows[T ordered, O order[T]](x []T, index []int64) {
	var o O
	n := len(index)
	top := append([]T(nil), x[:n]...)
	clear(index)
	for r := 1; r < len(x)/n; r++ {
		for j, v := range x[r*n : (r+1)*n] {
			if o.better(v, top[j]) {
				top[j], index[j] = v, int64(r)
			}
		}
	}
}
