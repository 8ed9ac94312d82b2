package kernel

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A pair is an element to sort: a key that orders as the elements do, and where
// the element was. Sorting by both is stable.
type pair struct {
	key uint64
	at  int
}

// keysOf writes the keys of the elements at p, step elements apart. NaN is
// larger than any number, and the zeros are equal.
type keysOf func(out []pair, p unsafe.Pointer, step int)

var sortKeys = table[keysOf]{
	ir.Bool: intKeys[uint8], ir.Uint8: intKeys[uint8], ir.Int8: intKeys[int8], ir.Int16: intKeys[int16], ir.Int32: intKeys[int32], ir.Int64: intKeys[int64],
	ir.Float32: floatKeys[float32], ir.Float64: floatKeys[float64],
}

func intKeys[T uint8 | int8 | int16 | int32 | int64](out []pair, p unsafe.Pointer, step int) {
	for i := range out {
		v := *(*T)(unsafe.Add(p, i*step*int(unsafe.Sizeof(*new(T)))))
		out[i] = pair{uint64(int64(v)) ^ 1<<63, i}
	}
}

func floatKeys[T float](out []pair, p unsafe.Pointer, step int) {
	for i := range out {
		v := float64(*(*T)(unsafe.Add(p, i*step*int(unsafe.Sizeof(*new(T))))))
		out[i] = pair{floatKey(v), i}
	}
}

func floatKey(v float64) uint64 {
	switch b := math.Float64bits(v); {
	case v != v:
		return math.MaxUint64
	case v == 0:
		return 1 << 63
	case v < 0:
		return ^b
	default:
		return b | 1<<63
	}
}

// Sort orders x along attribute dim, descending if that attribute says so, and
// returns the elements and where each was. It is stable in both directions.
func Sort(c *ir.Call) error {
	keys, err := sortKeys.of(c.Compute)
	if err != nil {
		return err
	}
	x, descending := c.In[0], c.Attrs[1].Int != 0
	axis, err := axisOf(c, 0, x.Shape)
	if err != nil || x.NumElements() == 0 {
		return err
	}
	_, n, inner := around(x.Shape, axis)
	dense := tile.Dense(x, c.Compute)
	values, places := tile.TargetOf(c.Out[0], c.Compute), tile.TargetOf(c.Out[1], ir.Int64)
	index, size := tile.Elements[int64](places), c.Compute.Size()
	move := movers.of(c.Compute)
	pool.For(x.NumElements()/n, max(1, moveWork/(16*n)), func(lo, hi int) {
		pairs, spare := make([]pair, n), make([]pair, n)
		for ; lo < hi; lo++ {
			off := lo/inner*n*inner + lo%inner
			from, to := unsafe.Add(dense.Ptr, off*size), unsafe.Add(values.Ptr, off*size)
			keys(pairs, from, inner)
			sortPairs(pairs, spare, descending)
			move(pairs, to, from, inner)
			for i, p := range pairs {
				index[off+i*inner] = int64(p.at)
			}
		}
	})
	tile.Finish(c.Out[0], values)
	tile.Finish(c.Out[1], places)
	return nil
}

var movers = bySize[func(pairs []pair, to, from unsafe.Pointer, step int)]{
	moveSorted[uint8], moveSorted[uint16], moveSorted[uint32], moveSorted[uint64], moveSorted[[2]uint64],
}

// moveSorted copies the elements that pairs name to their places.
func moveSorted[T any](pairs []pair, to, from unsafe.Pointer, step int) {
	step *= int(unsafe.Sizeof(*new(T)))
	for i, p := range pairs {
		*(*T)(unsafe.Add(to, i*step)) = *(*T)(unsafe.Add(from, p.at*step))
	}
}

// sortPairs orders pairs by key, equal ones by place. spare is as long.
func sortPairs(pairs, spare []pair, descending bool) {
	if descending {
		for i := range pairs {
			pairs[i].key = ^pairs[i].key
		}
	}
	if len(pairs) < 256 {
		slices.SortFunc(pairs, func(a, b pair) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at))
		})
		return
	}
	radixSort(pairs, spare)
}

// radixSort orders pairs by one byte of the keys after the other, the lowest
// first; bytes that are the same in all keys are passed over.
func radixSort(pairs, spare []pair) {
	differ := uint64(0)
	for _, p := range pairs {
		differ |= p.key ^ pairs[0].key
	}
	from, to := pairs, spare
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xff == 0 {
			continue
		}
		var next [256]int
		for _, p := range from {
			next[p.key>>shift&0xff]++
		}
		sum := 0
		for d, n := range next {
			next[d] = sum
			sum += n
		}
		for _, p := range from {
			d := p.key >> shift & 0xff
			to[next[d]] = p
			next[d]++
		}
		from, to = to, from
	}
	if &from[0] != &pairs[0] {
		copy(pairs, from)
	}
}

// SearchSorted returns, for each of values, how many elements of its row of
// sorted are smaller, or with attribute right no larger. NaN is larger than any
// number.
func SearchSorted(c *ir.Call) error {
	keys, err := sortKeys.of(c.Compute)
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
	table := make([]pair, sorted.NumElements())
	wanted := make([]pair, n)
	keys(table, sorted.Ptr, 1)
	keys(wanted, values.Ptr, 1)
	d := tile.TargetOf(c.Out[0], ir.Int64)
	out := tile.Elements[int64](d)
	pool.For(n, moveWork/8, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			line, v := table[i/width*row:][:row], wanted[i].key
			at, _ := slices.BinarySearchFunc(line, v, func(p pair, v uint64) int {
				if p.key < v || right && p.key == v {
					return -1
				}
				return 1
			})
			out[i] = int64(at)
		}
	})
	tile.Finish(c.Out[0], d)
	return nil
}
