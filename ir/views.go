package ir

import (
	"fmt"
	"slices"
)

// ViewRules holds the rules that a schema's `view:` may name. A rule takes the
// operand's layout and the arguments, and returns the layout of a view of the
// same storage. The Go name of rule "as_strided" is AsStridedView. A rule
// changes neither the layout nor the lists it is given.
var ViewRules = map[string]any{
	"same":         SameView,
	"reshape":      ReshapeView,
	"permute":      PermuteView,
	"transpose":    TransposeView,
	"narrow":       NarrowView,
	"slice":        SliceView,
	"select_index": SelectView,
	"region":       RegionView,
	"expand":       ExpandView,
	"squeeze":      SqueezeView,
	"unsqueeze":    UnsqueezeView,
	"diagonal":     DiagonalView,
	"unfold":       UnfoldView,
	"as_strided":   AsStridedView,
	"rank":         RankView,
	"least_rank":   LeastRankView,
	"most_rank":    MostRankView,
	"padded_axes":  PaddedAxesView,
	"value_range":  ValueRangeView,
	"axis":         AxisView,
	"refuse":       RefuseView,
	"refuse_of":    RefuseOfView,
	"first_part":   FirstPartView,
}

// SameView returns l.
func SameView(l Layout) (Layout, error) { return l, nil }

// RankView returns l, which must have the given rank.
func RankView(l Layout, rank int) (Layout, error) {
	if len(l.Shape) != rank {
		return Layout{}, ShapeErrorf("want a tensor of rank %d, have shape %v", rank, l.Shape)
	}
	return l, nil
}

// LeastRankView returns l, which must have at least the given rank.
func LeastRankView(l Layout, rank int) (Layout, error) {
	if len(l.Shape) < rank {
		return Layout{}, ShapeErrorf("want a tensor of rank %d or more, have shape %v", rank, l.Shape)
	}
	return l, nil
}

// MostRankView returns l, which must have at most the given rank.
func MostRankView(l Layout, rank int) (Layout, error) {
	if len(l.Shape) > rank {
		return Layout{}, ShapeErrorf("want at most as many axes as the %d numbers given, have shape %v", rank, l.Shape)
	}
	return l, nil
}

// PaddedAxesView returns l, which padding must suit: pairs of numbers for at most
// the given number of l's last axes, none of them more than the axis' extent less
// short, and where one is negative an element left. A negative short sets no bound.
func PaddedAxesView(l Layout, padding []int, most, short int) (Layout, error) {
	most = min(most, len(l.Shape))
	if len(padding)%2 != 0 || len(padding) > 2*most {
		return Layout{}, ShapeErrorf("padding %v must hold a pair of numbers for each of at most the last %d axes of shape %v", padding, most, l.Shape)
	}
	for i, p := range padding {
		a := len(l.Shape) - 1 - i/2
		n := l.Shape[a]
		if p > 0 && (n == 0 || short >= 0 && p > n-short) {
			return Layout{}, ShapeErrorf("padding %d is too much for axis %d of shape %v, want at most %d", p, a, l.Shape, max(n-max(short, 0), 0))
		}
		if p < 0 && n+p+padding[i^1] < 1 {
			return Layout{}, ShapeErrorf("padding %v leaves no element along axis %d of shape %v", padding, a, l.Shape)
		}
	}
	return l, nil
}

// ValueRangeView returns l if value is between lo and hi, both included.
func ValueRangeView(l Layout, what string, value, lo, hi float64) (Layout, error) {
	switch {
	case lo <= value && value <= hi:
	case hi < lo:
		return Layout{}, fmt.Errorf("%s is %v, and no number is accepted", what, value)
	default:
		return Layout{}, fmt.Errorf("%s is %v, want a number from %v to %v", what, value, lo, hi)
	}
	return l, nil
}

// AxisView returns l, which must have the axis dim.
func AxisView(l Layout, dim int) (Layout, error) {
	if _, err := Axis(dim, len(l.Shape)); err != nil {
		return Layout{}, err
	}
	return l, nil
}

// RefuseView returns an error that says what is wrong, and with which shape
// unless it is a scalar's.
func RefuseView(l Layout, what string) (Layout, error) {
	if len(l.Shape) == 0 {
		return Layout{}, ShapeErrorf("%s", what)
	}
	return Layout{}, ShapeErrorf("%s; x has shape %v", what, l.Shape)
}

// RefuseOfView returns an error that says what is wrong with an operand, and its shape.
func RefuseOfView(l Layout, name, what string) (Layout, error) {
	return Layout{}, ShapeErrorf("%s %s; it has shape %v", name, what, l.Shape)
}

// ReshapeView returns a view of l's elements, in row-major order, as shape, in
// which one extent may be -1 for what is left. It fails where no strides can
// say that.
func ReshapeView(l Layout, shape []int) (Layout, error) {
	shape, err := InferShape(shape, NumElements(l.Shape))
	if err != nil {
		return Layout{}, err
	}
	strides := reshapeStrides(l, shape)
	if strides == nil {
		return Layout{}, ShapeErrorf("shape %v with strides %v cannot be viewed as %v without a copy; use reshape", l.Shape, l.Strides, shape)
	}
	return Layout{shape, strides, l.Offset}, nil
}

// InferShape replaces the one -1 that shape may hold by the extent that makes
// n elements, and checks that there are n.
func InferShape(shape []int, n int) ([]int, error) {
	out, at, known := slices.Clone(shape), -1, 1
	if out == nil {
		out = []int{}
	}
	for i, d := range shape {
		ok := true
		switch {
		case d == -1 && at >= 0:
			return nil, ShapeErrorf("only one extent of %v may be -1", shape)
		case d == -1:
			at = i
		case d < 0:
			return nil, ShapeErrorf("negative extent in %v", shape)
		default:
			known, ok = MulInts(known, d)
		}
		if !ok {
			return nil, ShapeErrorf("%v has too many elements", shape)
		}
	}
	switch {
	case at < 0 && known == n:
		return out, nil
	case at < 0 || known == 0 || n%known != 0:
		if at >= 0 && known == 0 && n == 0 {
			return nil, ShapeErrorf("-1 in %v could be anything for a tensor of no elements", shape)
		}
		return nil, ShapeErrorf("%d elements cannot have shape %v", n, shape)
	}
	out[at] = n / known
	return out, nil
}

// reshapeStrides returns the strides that read l as shape, which has as many
// elements, or nil where there are none. Axes of l that follow each other
// without a gap form a run; each run must be split by axes of shape alone.
func reshapeStrides(l Layout, shape []int) []int {
	if NumElements(shape) == 0 {
		return ContiguousStrides(shape)
	}
	strides := make([]int, len(shape))
	at := len(shape) - 1
	for i := len(l.Shape) - 1; i >= 0; {
		base, run := l.Strides[i], l.Shape[i]
		for i--; i >= 0 && (l.Shape[i] == 1 || run == 1 || l.Strides[i] == base*run); i-- {
			if run == 1 {
				base = l.Strides[i]
			}
			run *= l.Shape[i]
		}
		step := base
		for ; at >= 0 && run%shape[at] == 0 && (run > 1 || shape[at] == 1); at-- {
			strides[at] = step
			step *= shape[at]
			run /= shape[at]
		}
		if run != 1 {
			return nil
		}
	}
	for ; at >= 0; at-- { // what is left has extent 1
		strides[at] = 1
	}
	return strides
}

// PermuteView returns l with its axes in the order of dims, which names each
// once.
func PermuteView(l Layout, dims []int) (Layout, error) {
	rank := len(l.Shape)
	if len(dims) != rank {
		return Layout{}, ShapeErrorf("permutation %v must name each of the %d axes of shape %v once", dims, rank, l.Shape)
	}
	out := Layout{make([]int, rank), make([]int, rank), l.Offset}
	seen := make([]bool, rank)
	for i, d := range dims {
		a, err := Axis(d, rank)
		if err != nil {
			return Layout{}, err
		}
		if seen[a] {
			return Layout{}, ShapeErrorf("dim %d appears multiple times in %v", a, dims)
		}
		seen[a] = true
		out.Shape[i], out.Strides[i] = l.Shape[a], l.Strides[a]
	}
	return out, nil
}

// TransposeView returns l with two axes exchanged.
func TransposeView(l Layout, dim0, dim1 int) (Layout, error) {
	a, b, err := TwoAxes(dim0, dim1, len(l.Shape))
	if err != nil || len(l.Shape) == 0 {
		return l, err
	}
	out := l.clone()
	out.Shape[a], out.Shape[b] = out.Shape[b], out.Shape[a]
	out.Strides[a], out.Strides[b] = out.Strides[b], out.Strides[a]
	return out, nil
}

func (l Layout) clone() Layout {
	n := len(l.Shape)
	if n == 0 || n != len(l.Strides) {
		return Layout{slices.Clone(l.Shape), slices.Clone(l.Strides), l.Offset}
	}
	both := make([]int, 2*n) // one object
	copy(both, l.Shape)
	copy(both[n:], l.Strides)
	return Layout{both[:n:n], both[n:], l.Offset}
}

func TwoAxes(dim0, dim1, rank int) (a, b int, err error) {
	if a, err = Axis(dim0, rank); err != nil {
		return 0, 0, err
	}
	b, err = Axis(dim1, rank)
	return a, b, err
}

// ownAxis is Axis for views that take an axis apart, which a scalar does not have.
func ownAxis(dim int, shape []int) (int, error) {
	if len(shape) == 0 {
		return 0, ShapeErrorf("a tensor of rank 0 has no dimension %d", dim)
	}
	return Axis(dim, len(shape))
}

// NarrowView returns the length elements of l from start along dim. A negative
// start counts from the end.
func NarrowView(l Layout, dim, start, length int) (Layout, error) {
	a, err := ownAxis(dim, l.Shape)
	if err != nil {
		return Layout{}, err
	}
	n, from := l.Shape[a], start
	if from < 0 {
		from += n
	}
	if from < 0 || from > n || length < 0 || length > n-from {
		return Layout{}, ShapeErrorf("start %d and length %d do not lie within the %d elements of dim %d of shape %v", start, length, n, dim, l.Shape)
	}
	out := l.clone()
	out.Shape[a] = length
	out.Offset += from * l.Strides[a]
	return out.normal(), nil
}

// normal gives an empty layout its storage's beginning, so that an offset never
// points past the storage.
func (l Layout) normal() Layout {
	if NumElements(l.Shape) == 0 {
		l.Offset = 0
	}
	return l
}

// SliceView returns every step-th element of l from start to before end along
// dim. Negative bounds count from the end, and bounds outside are cut, as Python's.
func SliceView(l Layout, dim, start, end, step int) (Layout, error) {
	a, err := ownAxis(dim, l.Shape)
	if err != nil {
		return Layout{}, err
	}
	if step < 1 {
		return Layout{}, ShapeErrorf("step %d is less than 1", step)
	}
	from, length := SliceBounds(l.Shape[a], start, end, step)
	out := l.clone()
	out.Shape[a] = length
	if length > 1 {
		out.Strides[a] *= step
	}
	out.Offset += from * l.Strides[a]
	return out.normal(), nil
}

// SliceBounds returns where a slice of n elements begins and how many it has.
func SliceBounds(n, start, end, step int) (from, length int) {
	cut := func(i int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	from, to := cut(start), cut(end)
	if to <= from {
		return from, 0
	}
	return from, (to-from-1)/step + 1
}

// RegionView returns, along each axis of l, extents elements that are step apart,
// from start on. Steps are positive, and all elements lie within l.
func RegionView(l Layout, start, extents, step []int) (Layout, error) {
	rank := len(l.Shape)
	if len(start) != rank || len(extents) != rank || len(step) != rank {
		return Layout{}, ShapeErrorf("a region of shape %v has as many starts, extents and steps as axes, not %d, %d and %d", l.Shape, len(start), len(extents), len(step))
	}
	out := Layout{slices.Clone(extents), slices.Clone(l.Strides), l.Offset}
	for a, n := range l.Shape {
		last, ok := MulInts(max(extents[a]-1, 0), step[a])
		if !ok || start[a] < 0 || extents[a] < 0 || step[a] < 1 || start[a] > n || extents[a] > 0 && last > n-1-start[a] {
			return Layout{}, ShapeErrorf("%d elements from %d on, %d apart, do not lie within the %d of axis %d of shape %v", extents[a], start[a], step[a], n, a, l.Shape)
		}
		if extents[a] > 1 {
			out.Strides[a] *= step[a]
		}
		out.Offset += start[a] * l.Strides[a]
	}
	return out.normal(), nil
}

// SelectView returns l without the axis dim, at index along it. A negative
// index counts from the end.
func SelectView(l Layout, dim, index int) (Layout, error) {
	a, err := ownAxis(dim, l.Shape)
	if err != nil {
		return Layout{}, err
	}
	n, i := l.Shape[a], index
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return Layout{}, ShapeErrorf("index %d is out of range for the %d elements of dim %d of shape %v", index, n, dim, l.Shape)
	}
	return Layout{
		slices.Delete(slices.Clone(l.Shape), a, a+1), slices.Delete(slices.Clone(l.Strides), a, a+1), l.Offset + i*l.Strides[a],
	}.normal(), nil
}

// ExpandView returns l as shape, with stride 0 along the axes that are added or
// grow from extent 1; -1 keeps an extent.
func ExpandView(l Layout, shape []int) (Layout, error) {
	to, err := expandedShape(l.Shape, shape)
	if err != nil {
		return Layout{}, err
	}
	return Layout{to, ExpandStrides(l.Shape, l.Strides, to), l.Offset}.normal(), nil
}

func expandedShape(from, shape []int) ([]int, error) {
	lead := len(shape) - len(from)
	if lead < 0 {
		return nil, ShapeErrorf("shape %v cannot be expanded to the fewer axes of %v", from, shape)
	}
	to := slices.Clone(shape)
	for i, d := range shape {
		switch {
		case d == -1 && i >= lead:
			to[i] = from[i-lead]
		case d < 0:
			return nil, ShapeErrorf("cannot expand %v to %v: -1 keeps an extent, and axis %d is new", from, shape, i)
		case i >= lead && from[i-lead] != d && from[i-lead] != 1:
			return nil, ShapeErrorf("cannot expand %v to %v: extent %d at axis %d is neither 1 nor %d", from, shape, from[i-lead], i-lead, d)
		}
	}
	return to, CheckShape(to)
}

// SqueezeView returns l without those of the axes dims (nil: all) whose extent
// is 1.
func SqueezeView(l Layout, dims []int) (Layout, error) {
	axes, err := Axes(dims, len(l.Shape))
	if err != nil {
		return Layout{}, err
	}
	out := Layout{[]int{}, []int{}, l.Offset}
	for i, d := range l.Shape {
		if d != 1 || !slices.Contains(axes, i) {
			out.Shape, out.Strides = append(out.Shape, d), append(out.Strides, l.Strides[i])
		}
	}
	return out, nil
}

// UnsqueezeView returns l with an axis of extent 1 before axis dim, which may be
// one past the last; negative axes count from the new back.
func UnsqueezeView(l Layout, dim int) (Layout, error) {
	a, err := Axis(dim, len(l.Shape)+1)
	if err != nil {
		return Layout{}, err
	}
	stride := 1
	if a < len(l.Shape) {
		s, ok := MulInts(l.Strides[a], max(l.Shape[a], 1))
		if ok {
			stride = s
		}
	}
	return Layout{slices.Insert(slices.Clone(l.Shape), a, 1), slices.Insert(slices.Clone(l.Strides), a, stride), l.Offset}, nil
}

// FirstPartView returns the first elements of l along every axis, as many as shape
// says.
func FirstPartView(l Layout, shape []int) (Layout, error) {
	if len(shape) != len(l.Shape) {
		return Layout{}, ShapeErrorf("index must have src's rank: index has shape %v, src %v", shape, l.Shape)
	}
	for a, n := range shape {
		if n > l.Shape[a] {
			return Layout{}, ShapeErrorf("index of shape %v is larger than src of shape %v at axis %d", shape, l.Shape, a)
		}
	}
	out := l.clone()
	copy(out.Shape, shape)
	return out.normal(), CheckShape(shape)
}

// DiagonalView returns the diagonal of the axes dim1 and dim2 as a new last
// axis. A positive offset moves it along dim2, a negative one along dim1.
func DiagonalView(l Layout, offset, dim1, dim2 int) (Layout, error) {
	if len(l.Shape) < 2 {
		return Layout{}, ShapeErrorf("a diagonal needs two axes, have shape %v", l.Shape)
	}
	a, b, err := TwoAxes(dim1, dim2, len(l.Shape))
	if err != nil {
		return Layout{}, err
	}
	if a == b {
		return Layout{}, ShapeErrorf("a diagonal needs two different axes, have %d and %d", dim1, dim2)
	}
	n, rows, cols := 0, 0, 0
	if offset >= 0 {
		cols = min(offset, l.Shape[b])
	} else {
		rows = min(-max(offset, -l.Shape[a]), l.Shape[a])
	}
	n = min(l.Shape[a]-rows, l.Shape[b]-cols)
	out := Layout{[]int{}, []int{}, l.Offset + rows*l.Strides[a] + cols*l.Strides[b]}
	for i, d := range l.Shape {
		if i != a && i != b {
			out.Shape, out.Strides = append(out.Shape, d), append(out.Strides, l.Strides[i])
		}
	}
	out.Shape = append(out.Shape, n)
	out.Strides = append(out.Strides, l.Strides[a]+l.Strides[b])
	return out.normal(), nil
}

// UnfoldView returns windows of size elements along dim, step apart, as a new
// last axis; the axis dim counts them. A scalar is one element, which no axis counts.
func UnfoldView(l Layout, dim, size, step int) (Layout, error) {
	if len(l.Shape) == 0 {
		if _, err := Axis(dim, 0); err != nil {
			return Layout{}, err
		}
		if size < 0 || size > 1 || step < 1 {
			return Layout{}, ShapeErrorf("windows of %d elements, %d apart, do not fit the one of a scalar", size, step)
		}
		return Layout{Shape: []int{size}, Strides: []int{1}, Offset: l.Offset}.normal(), nil
	}
	a, err := ownAxis(dim, l.Shape)
	if err != nil {
		return Layout{}, err
	}
	if size < 0 || size > l.Shape[a] || step < 1 {
		return Layout{}, ShapeErrorf("windows of %d elements, %d apart, do not fit the %d of dim %d of shape %v", size, step, l.Shape[a], dim, l.Shape)
	}
	out := l.clone()
	out.Shape[a] = (l.Shape[a]-size)/step + 1
	if out.Shape[a] > 1 {
		out.Strides[a] *= step
	}
	out.Shape, out.Strides = append(out.Shape, size), append(out.Strides, l.Strides[a])
	return out.normal(), CheckShape(out.Shape)
}

// AsStridedView returns a view of the storage that l is in, with the given
// shape, strides and offset in elements; an offset of -1 keeps l's. The rule
// does not know how large the storage is: whoever makes the view asks Within.
func AsStridedView(l Layout, size, stride []int, offset int) (Layout, error) {
	if err := CheckShape(size); err != nil {
		return Layout{}, err
	}
	if len(stride) != len(size) {
		return Layout{}, ShapeErrorf("size %v and stride %v must have as many entries", size, stride)
	}
	if offset == -1 {
		offset = l.Offset
	}
	if offset < 0 {
		return Layout{}, ShapeErrorf("offset %d is negative", offset)
	}
	for _, s := range stride {
		if s < 0 {
			return Layout{}, ShapeErrorf("stride %v has a negative entry", stride)
		}
	}
	out := Layout{slices.Clone(size), slices.Clone(stride), offset}.normal()
	if _, ok := out.last(); !ok {
		return Layout{}, ShapeErrorf("size %v with stride %v and offset %d is too large", size, stride, offset)
	}
	return out, nil
}

// last returns the position of the last element in the storage, -1 where there
// is no element. Ok is false where it overflows.
func (l Layout) last() (last int, ok bool) {
	if NumElements(l.Shape) == 0 {
		return -1, true
	}
	last, ok = l.Offset, true
	for i, d := range l.Shape {
		far, fits := MulInts(d-1, l.Strides[i])
		if !fits {
			return 0, false
		}
		if last, ok = SumInts(last, far); !ok {
			return 0, false
		}
	}
	return last, true
}

// Within reports elements of l outside a storage of the given number of
// elements.
func (l Layout) Within(storage int) error {
	if last, ok := l.last(); !ok || last >= storage || l.Offset < 0 {
		return ShapeErrorf("shape %v with strides %v and offset %d reaches element %d of a storage of %d", l.Shape, l.Strides, l.Offset, last, storage)
	}
	return nil
}
