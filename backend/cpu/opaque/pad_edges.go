package opaque

import (
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A padAxis is an axis of n elements that is surrounded with its own.
type padAxis struct {
	n      int
	from   []int // the element that each position of the padded axis shows
	lo, hi int   // positions [lo, hi) show neighbours
}

// newPadAxis returns an axis of n elements with as many before and after it, negative where
// they are removed. How is 0 to mirror, 1 to repeat the edge, and 2 to continue at the other
// end.
func newPadAxis(n, before, after, how int) (padAxis, error) {
	a := padAxis{n: n, from: make([]int, n+before+after)}
	a.lo = min(max(before, 0), len(a.from))
	a.hi = min(max(before+n, a.lo), len(a.from))
	for k := range a.from {
		i := k - before
		switch {
		case how == 0:
			i = abs(n - 1 - abs(n-1-abs(i)))
		case how == 1:
			i = min(max(i, 0), n-1)
		case n > 0:
			i = (i%n + n) % n
		}
		if i < 0 || i >= n {
			return a, fmt.Errorf("padding %d and %d does not fit an axis of %d elements", before, after, n)
		}
		a.from[k] = i
	}
	return a, nil
}

func abs(i int) int { return max(i, -i) }

// shown returns the positions that show each element, in order.
func (a *padAxis) shown() [][]int {
	list := make([][]int, a.n)
	for k, i := range a.from {
		list[i] = append(list[i], k)
	}
	return list
}

// padAxes returns the last three axes of a shape that padding surrounds, of which those that
// it does not have are one element.
func padAxes(shape, padding []int, how int) (axes [3]padAxis, err error) {
	for i := range axes {
		n, before, after := 1, 0, 0
		if i < len(shape) {
			n = shape[len(shape)-1-i]
		}
		if 2*i < len(padding) {
			before, after = padding[2*i], padding[2*i+1]
		}
		if axes[2-i], err = newPadAxis(n, before, after, how); err != nil {
			return axes, err
		}
	}
	return axes, nil
}

// An elementMove moves elements of a size: of count rows, which begin toStep and fromStep
// bytes apart.
type elementMove func(to, from unsafe.Pointer, count, toStep, fromStep int)

var elementMoves = bySize[elementMove]{moveElements[uint8], moveElements[uint16], moveElements[uint32], moveElements[uint64], moveElements[[2]uint64]}

func moveElements[T any](to, from unsafe.Pointer, count, toStep, fromStep int) {
	for r := range count {
		*(*T)(unsafe.Add(to, r*toStep)) = *(*T)(unsafe.Add(from, r*fromStep))
	}
}

// padRows is how many bytes of rows are written before the elements at their ends are.
const padRows = 16 * 1024

// PadEdges surrounds at most three axes of x with elements of its own. Attributes: padding,
// as PadConstant has it; how, as newPadAxis takes it.
func PadEdges(c *ir.Call) error {
	out := c.Out[0]
	if out.NumElements() == 0 {
		return nil
	}
	axes, err := padAxes(c.In[0].Shape, c.Attrs[0].Ints, int(c.Attrs[1].Int))
	if err != nil {
		return err
	}
	x, d := tile.Dense(c.In[0], out.DType), tile.TargetOf(out, out.DType)
	depth, height, width := &axes[0], &axes[1], &axes[2]
	size, level, element := out.DType.Size(), simd.Active(), elementMoves.of(out.DType)
	row, source, most := len(width.from)*size, width.n*size, max(1, padRows/(len(width.from)*size))
	pool.For(d.NumElements()/len(width.from), max(1, moveWork/len(width.from)), func(lo, hi int) {
		for count := 0; lo < hi; lo += count {
			plane, h := lo/len(height.from), lo%len(height.from)
			if count = 1; h >= height.lo && h < height.hi {
				count = min(hi-lo, height.hi-h, most)
			}
			plane = plane/len(depth.from)*depth.n + depth.from[plane%len(depth.from)]
			to, from := unsafe.Add(d.Ptr, lo*row), unsafe.Add(x.Ptr, (plane*height.n+height.from[h])*source)
			if width.hi > width.lo {
				move.CopyRows(level, unsafe.Add(to, width.lo*size), unsafe.Add(from, width.from[width.lo]*size), count, (width.hi-width.lo)*size, row, source)
			}
			for k := range width.lo {
				element(unsafe.Add(to, k*size), unsafe.Add(from, width.from[k]*size), count, row, source)
			}
			for k := width.hi; k < len(width.from); k++ {
				element(unsafe.Add(to, k*size), unsafe.Add(from, width.from[k]*size), count, row, source)
			}
		}
	})
	tile.Finish(out, d)
	return nil
}

var padEdgesGrads = table[func(axes *[3]padAxis, dx, g ir.View)]{
	ir.Uint8: padEdgesGrad[uint8], ir.Int8: padEdgesGrad[int8], ir.Int16: padEdgesGrad[int16], ir.Int32: padEdgesGrad[int32], ir.Int64: padEdgesGrad[int64],
	ir.Float32: padEdgesGrad[float32], ir.Float64: padEdgesGrad[float64], ir.Complex64: padEdgesGrad[complex64], ir.Complex128: padEdgesGrad[complex128],
}

// PadEdgesGrad returns the gradient of PadEdges from that of its result. Attributes: the
// padding with its signs turned; how. Elements are added up along the third axis from the
// end, then the second, then the last, in the order of their positions.
func PadEdgesGrad(c *ir.Call) error {
	f, err := padEdgesGrads.of(c.Compute)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	padding := make([]int, len(c.Attrs[0].Ints))
	for i, n := range c.Attrs[0].Ints {
		padding[i] = -n
	}
	axes, err := padAxes(c.Out[0].Shape, padding, int(c.Attrs[1].Int))
	if err != nil {
		return err
	}
	d := tile.TargetOf(c.Out[0], c.Compute)
	f(&axes, d, tile.Dense(c.In[0], c.Compute))
	tile.Finish(c.Out[0], d)
	return nil
}

func padEdgesGrad[T number](axes *[3]padAxis, dx, g ir.View) {
	depth, height := &axes[0], &axes[1]
	shown := [2][][]int{depth.shown(), height.shown()}
	fold, to, from := newFoldedRow[T](&axes[2]), tile.Elements[T](dx), tile.Elements[T](g)
	width, padded := axes[2].n, len(axes[2].from)
	most := max(1, padRows/(width*dx.DType.Size()))
	pool.For(len(to)/width, max(1, moveWork/width), func(lo, hi int) {
		var room []T
		for count := 0; lo < hi; lo += count {
			plane, h := lo/height.n, lo%height.n
			planes, rows, first := shown[0][plane%depth.n], shown[1][h], plane/depth.n*len(depth.from)
			count = 1
			if len(planes) == 1 && len(rows) == 1 {
				for last := min(hi-lo, height.n-h, most); count < last && len(shown[1][h+count]) == 1 && shown[1][h+count][0] == rows[0]+count; {
					count++
				}
				fold.run(to[lo*width:], from[((first+planes[0])*len(height.from)+rows[0])*padded:], count)
				continue
			}
			if room == nil {
				room = make([]T, 2*padded)
			}
			sum, part := room[:padded], room[padded:]
			clear(sum)
			for _, r := range rows {
				clear(part)
				for _, p := range planes {
					addTo(part, from[((first+p)*len(height.from)+r)*padded:])
				}
				addTo(sum, part)
			}
			fold.run(to[lo*width:], sum, 1)
		}
	})
}

func addTo[T number](to, from []T) {
	from = from[:len(to)]
	for i, v := range from {
		to[i] += v
	}
}

// A foldedRow adds the ends of padded rows to what they show.
type foldedRow[T number] struct {
	*padAxis
	before []shownBy // elements that positions before the middle show
}

type shownBy struct {
	element int
	at      []int
}

func newFoldedRow[T number](a *padAxis) *foldedRow[T] {
	f, of := &foldedRow[T]{padAxis: a}, map[int]int{}
	for k, i := range a.from[:a.lo] {
		if _, found := of[i]; !found {
			of[i] = len(f.before)
			f.before = append(f.before, shownBy{element: i})
		}
		s := &f.before[of[i]]
		s.at = append(s.at, k)
	}
	return f
}

// run sets count rows of to. What lies before the middle is added up first, then the middle
// to that, then what lies behind it.
func (f *foldedRow[T]) run(to, from []T, count int) {
	n, padded, size := f.n, len(f.from), int(unsafe.Sizeof(*new(T)))
	first, last := 0, 0 // elements that the middle shows
	if f.hi > f.lo {
		first, last = f.from[f.lo], f.from[f.hi-1]+1
		move.CopyRows(simd.Active(), unsafe.Pointer(&to[first]), unsafe.Pointer(&from[f.lo]), count, (last-first)*size, n*size, padded*size)
	}
	if last-first < n {
		for r := range count {
			clear(to[r*n : r*n+first])
			clear(to[r*n+last : (r+1)*n])
		}
	}
	for _, s := range f.before {
		for r := range count {
			row, sum := from[r*padded:(r+1)*padded], T(0)
			for _, k := range s.at {
				sum += row[k]
			}
			to[r*n+s.element] = sum + to[r*n+s.element]
		}
	}
	for k := f.hi; k < padded; k++ {
		i := f.from[k]
		for r := range count {
			to[r*n+i] += from[r*padded+k]
		}
	}
}
