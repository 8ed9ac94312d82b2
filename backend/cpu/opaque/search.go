package opaque

import (
	"sort"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A searchFunc writes to out, for each of values, how many elements of the sorted
// line are smaller, or where equal counts no larger.
type searchFunc func(out []int64, line, values unsafe.Pointer, n int, equal bool)

var searches = table[searchFunc]{
	ir.Uint8: searchInts[uint8], ir.Int8: searchInts[int8], ir.Int16: searchInts[int16], ir.Int32: searchInts[int32], ir.Int64: searchInts[int64],
	ir.Float32: searchFloats[float32], ir.Float64: searchFloats[float64],
}

// SearchSorted returns, for each of values, how many elements of its row of
// sorted are smaller, or with attribute right no larger. NaN is larger than any
// number.
func SearchSorted(c *ir.Call) error {
	search, err := searches.of(c.Compute)
	if err != nil {
		return err
	}
	right, n := c.Attrs[0].Int != 0, c.In[1].NumElements()
	if n == 0 {
		return nil
	}
	sorted, values := tile.Dense(c.In[0], c.Compute), tile.Dense(c.In[1], c.Compute)
	row := c.In[0].Shape[len(c.In[0].Shape)-1]
	width := n // values that share a row of sorted
	if len(c.In[0].Shape) > 1 {
		width = max(1, c.In[1].Shape[len(c.In[1].Shape)-1])
	}
	d := tile.TargetOf(c.Out[0], ir.Int64)
	out, size := tile.Elements[int64](d), c.Compute.Size()
	pool.For(n, moveWork/8, func(lo, hi int) {
		for lo < hi {
			end := min(hi, (lo/width+1)*width)
			search(out[lo:end], unsafe.Add(sorted.Ptr, lo/width*row*size), unsafe.Add(values.Ptr, lo*size), row, right)
			lo = end
		}
	})
	tile.Finish(c.Out[0], d)
	return nil
}

// search writes to out how many elements of an ascending line without NaN are
// smaller than each of values, or where equal counts no larger. Four values are
// looked for at a time: their searches take the same steps, and wait for memory
// together. The halves are chosen without a branch, which nothing could predict.
func search[T ordered](out []int64, line, values []T, equal bool) {
	eq := 0
	if equal {
		eq = 1
	}
	for len(values) > 0 {
		var v [4]T
		copy(v[:], values)
		v0, v1, v2, v3 := v[0], v[1], v[2], v[3]
		at0, at1, at2, at3 := 0, 0, 0, 0
		for n := len(line); n > 0; {
			half := (n + 1) / 2
			from := line[half-1:]
			at0 += half & -isBefore(from[at0], v0, eq)
			at1 += half & -isBefore(from[at1], v1, eq)
			at2 += half & -isBefore(from[at2], v2, eq)
			at3 += half & -isBefore(from[at3], v3, eq)
			n -= half
		}
		found := [4]int64{int64(at0), int64(at1), int64(at2), int64(at3)}
		done := copy(out, found[:min(4, len(values))])
		out, values = out[done:], values[done:]
	}
}

// isBefore returns 1 where e < v, or e == v and eq is 1, else 0.
func isBefore[T ordered](e, v T, eq int) int {
	less, same := 0, 0
	if e < v {
		less = 1
	}
	if e == v {
		same = 1
	}
	return less | same&eq
}

func searchInts[T uint8 | int8 | int16 | int32 | int64](out []int64, line, values unsafe.Pointer, n int, equal bool) {
	search(out, unsafe.Slice((*T)(line), n), unsafe.Slice((*T)(values), len(out)), equal)
}

func searchFloats[T float](out []int64, line, values unsafe.Pointer, n int, equal bool) {
	sorted, wanted := unsafe.Slice((*T)(line), n), unsafe.Slice((*T)(values), len(out))
	numbers := n - sort.Search(n, func(i int) bool { return sorted[n-1-i] == sorted[n-1-i] })
	search(out, sorted[:numbers], wanted, equal)
	for i, v := range wanted {
		switch {
		case v == v:
		case equal:
			out[i] = int64(n)
		default:
			out[i] = int64(numbers)
		}
	}
}
