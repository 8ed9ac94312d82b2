package opaque

import (
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A prefixFunc finds the extreme of every prefix of lines of x, along elements
// that are inner apart, and its place.
type prefixFunc func(x, values, index ir.View, along, inner int, smallest bool)

var prefixes = table[prefixFunc]{
	ir.Bool: prefix[uint8], ir.Uint8: prefix[uint8], ir.Int8: prefix[int8], ir.Int16: prefix[int16], ir.Int32: prefix[int32],
	ir.Int64: prefix[int64], ir.Float32: prefix[float32], ir.Float64: prefix[float64],
}

// CumulativeExtreme returns the largest element up to each along the axis in
// attribute dim, or the smallest with attribute smallest, and its place on the axis:
// the last of equal ones. NaN comes before every number.
func CumulativeExtreme(c *ir.Call) error {
	f, err := prefixes.of(c.Compute)
	if err != nil {
		return err
	}
	x := c.In[0]
	axis, err := axisOf(c, 0, x.Shape)
	if err != nil || x.NumElements() == 0 {
		return err
	}
	_, along, inner := around(x.Shape, axis)
	values, index := tile.TargetOf(c.Out[0], c.Compute), tile.TargetOf(c.Out[1], ir.Int64)
	f(tile.Dense(x, c.Compute), values, index, along, inner, c.Attrs[1].Int != 0)
	tile.Finish(c.Out[0], values)
	tile.Finish(c.Out[1], index)
	return nil
}

func prefix[T ordered](x, values, index ir.View, along, inner int, smallest bool) {
	data, best, at := tile.Elements[T](x), tile.Elements[T](values), tile.Elements[int64](index)
	lines := len(data) / along
	if inner == 1 {
		line := prefixMax[T]
		if smallest {
			line = prefixMin[T]
		}
		pool.For(lines, max(1, moveWork/along), func(lo, hi int) {
			for ; lo < hi; lo++ {
				from, to := lo*along, (lo+1)*along
				line(data[from:to], best[from:to], at[from:to])
			}
		})
		return
	}
	row := nextMax[T]
	if smallest {
		row = nextMin[T]
	}
	eachColumns(lines/inner, along, inner, func(off, _, n int) {
		copy(best[off:off+n], data[off:])
		clear(at[off : off+n])
		for r := 1; r < along; r++ {
			last := off
			off += inner
			row(int64(r), data[off:off+n], best[last:last+n], at[last:last+n], best[off:off+n], at[off:off+n])
		}
	})
}

// prefixMax is for one line. No NaN is as large as a number, and none is equal to itself.
func prefixMax[T ordered](x, best []T, at []int64) {
	top, place := x[0], 0
	best, at = best[:len(x)], at[:len(x)]
	for i, v := range x {
		if v >= top || v != v {
			top, place = v, i
		}
		best[i], at[i] = top, int64(place)
	}
}

func prefixMin[T ordered](x, best []T, at []int64) {
	low, place := x[0], 0
	best, at = best[:len(x)], at[:len(x)]
	for i, v := range x {
		if v <= low || v != v {
			low, place = v, i
		}
		best[i], at[i] = low, int64(place)
	}
}

// nextMax is for row r of many columns, with the largest of the rows before and where
// they were.
func nextMax[T ordered](r int64, x, top []T, place []int64, best []T, at []int64) {
	top, place, best, at = top[:len(x)], place[:len(x)], best[:len(x)], at[:len(x)]
	for i, v := range x {
		b, p := top[i], place[i]
		if v >= b || v != v {
			b, p = v, r
		}
		best[i], at[i] = b, p
	}
}

func nextMin[T ordered](r int64, x, low []T, place []int64, best []T, at []int64) {
	low, place, best, at = low[:len(x)], place[:len(x)], best[:len(x)], at[:len(x)]
	for i, v := range x {
		b, p := low[i], place[i]
		if v <= b || v != v {
			b, p = v, r
		}
		best[i], at[i] = b, p
	}
}
