package opaque

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/ir"
)

// Sort orders x along attribute dim, descending if that attribute says so, and
// returns the elements and where each was. It is stable in both directions.
func Sort(g code.GPU, c *ir.Call) error {
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil || c.In[0].NumElements() == 0 {
		return err
	}
	s, x, err := sortingOf(g, c.In[0], axis, c.Attrs[1].Int != 0)
	if err != nil {
		return err
	}
	values, err := contiguous(g, moveLast(c.Out[0], axis), x.DType)
	if err != nil {
		return err
	}
	places, err := contiguous(g, moveLast(c.Out[1], axis), ir.Int64)
	if err != nil {
		return err
	}
	if err := s.run(x.Addr, values.Addr, places.Addr); err != nil {
		return err
	}
	if err := values.finish(g); err != nil {
		return err
	}
	return places.finish(g)
}

// SortFirst is the first elements that Sort returns, as many as attribute k says.
// Where that is less work, they are found without sorting the rows.
func SortFirst(g code.GPU, c *ir.Call) error {
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	s, x, err := sortingOf(g, c.In[0], axis, c.Attrs[2].Int != 0)
	if err != nil {
		return err
	}
	to, index := moveLast(c.Out[0], axis), moveLast(c.Out[1], axis)
	if k := int64(c.Attrs[1].Int); s.chooses(k) || s.splits(k) {
		values, err := contiguous(g, to, x.DType)
		if err != nil {
			return err
		}
		places, err := contiguous(g, index, ir.Int64)
		if err != nil {
			return err
		}
		if err := s.first(k, x.Addr, values.Addr, places.Addr); err != nil {
			return err
		}
		if err := values.finish(g); err != nil {
			return err
		}
		return places.finish(g)
	}
	values, err := scratchView(g, x.Shape, x.DType)
	if err != nil {
		return err
	}
	places, err := scratchView(g, x.Shape, ir.Int64)
	if err != nil {
		return err
	}
	if err := s.run(x.Addr, values.Addr, places.Addr); err != nil {
		return err
	}
	values.Shape, places.Shape = to.Shape, index.Shape
	if err := g.Store(to, values); err != nil {
		return err
	}
	return g.Store(index, places)
}

// sortingOf returns the sort of x along an axis, and x dense with that axis last.
func sortingOf(g code.GPU, x ir.View, axis int, descending bool) (sorting, ir.View, error) {
	order, err := orderOf(x.DType, descending)
	if err != nil {
		return sorting{}, x, err
	}
	x, err = g.Dense(moveLast(x, axis), x.DType)
	if err != nil {
		return sorting{}, x, err
	}
	n := 1
	if len(x.Shape) > 0 {
		n = x.Shape[len(x.Shape)-1]
	}
	return sorting{g: g, size: x.DType.Size(), order: order, n: int64(n), rows: int64(x.NumElements() / n)}, x, nil
}

// moveLast returns v with an axis moved to the end.
func moveLast(v ir.View, axis int) ir.View {
	if axis >= len(v.Shape)-1 {
		return v
	}
	v.Shape = append(without(v.Shape, axis), v.Shape[axis])
	v.Strides = append(without(v.Strides, axis), v.Strides[axis])
	return v
}

// An order is the struct Order of order.cuh.
type order struct{ sign, spread, low, span, minusZero, zero, flip uint64 }

// orderOf returns the order of a dtype's elements.
func orderOf(dt ir.DType, descending bool) (o order, err error) {
	all := ^uint64(0) >> (64 - 8*dt.Size())
	top := all>>1 + 1
	infinity := map[ir.DType]uint64{
		ir.Float16: 0x7c00, ir.BFloat16: 0x7f80, ir.Float32: 0x7f800000, ir.Float64: 0x7ff0000000000000,
	}[dt]
	switch {
	case dt == ir.Bool || dt.Unsigned():
		o = order{span: all}
	case dt.IsInt():
		o = order{sign: top, span: all}
	case dt.IsFloat():
		least := ^(top | infinity) & all // key of -Inf
		o = order{sign: top, spread: all >> 1, low: least, span: (top | infinity) - least, minusZero: all >> 1, zero: top}
	default:
		return o, fmt.Errorf("not implemented for %s on cuda", dt)
	}
	if descending {
		o.flip = all
	}
	return o, nil
}

func (o *order) append(p *driver.Params) {
	for _, v := range [...]uint64{o.sign, o.spread, o.low, o.span, o.minusZero, o.zero, o.flip} {
		p.Uint64(v)
	}
}

// A sorting is the sort of rows that lie one after the other.
type sorting struct {
	g       code.GPU
	size    int // bytes of an element
	order   order
	rows, n int64
}

const (
	tinyRow     = 512     // elements of the longest row that is sorted by exchanges
	smallRow    = 1024    // elements of the longest row that sort_small takes
	shortRow    = 4096    // elements of the longest row that one block sorts
	mostChosen  = 2048    // elements that a block finds of a row, at most
	splitRow    = 1 << 14 // elements of a part of a long row, of which a block finds the first
	leastChosen = 128     // threads of such a block
	choiceWork  = 1 << 18 // elements that a block looks at while launches of a sort begin
	shortGroup  = 1024    // elements that a block sorts at least, if there are rows enough
	sortThreads = 384     // of sort.cu
	sortDigits  = 256     // values of a digit
	fewElements = 1 << 30 // below it, places are 32 bits
)

// run sorts the rows at x.
func (s *sorting) run(x, values, places uint64) error {
	switch {
	case s.n <= tinyRow:
		return s.short(x, values, places)
	case s.n <= shortRow:
		return s.block(x, values, places)
	}
	if s.n >= fewElements {
		for r := range s.rows {
			if err := s.long(x, values, places, r, 1, true); err != nil {
				return err
			}
		}
		return nil
	}
	group := (fewElements - 1) / s.n
	for r := int64(0); r < s.rows; r += group {
		if err := s.long(x, values, places, r, min(group, s.rows-r), false); err != nil {
			return err
		}
	}
	return nil
}

// chooses reports whether the first k elements of rows are found by a block for each
// row in less time than all of them are sorted: a block reads its row some four times
// as long as the whole device sorts as many elements.
func (s *sorting) chooses(k int64) bool {
	if k > mostChosen || s.n <= tinyRow/2 || 4*k > s.n || s.n >= space.Limit || s.rows >= space.Limit {
		return false
	}
	waves := ceil(s.rows, int64(s.g.Multiprocessors()))
	return s.n*(4*waves-s.rows) < choiceWork
}

// splits reports whether the first k elements of rows are found in parts of each.
func (s *sorting) splits(k int64) bool { return k <= mostChosen && s.n >= 2*splitRow }

// first writes the first k elements of the rows sorted: those of a row without parts are
// found by a block, be it the best choice or not.
func (s *sorting) first(k int64, x, values, places uint64) error {
	if s.chooses(k) || !s.splits(k) {
		return s.choose(k, x, values, places)
	}
	one := *s
	one.rows = 1
	for r := range uint64(s.rows) {
		if err := one.split(k, x+r*uint64(s.n)*uint64(s.size), values+r*uint64(k)*uint64(s.size), places+8*r*uint64(k)); err != nil {
			return err
		}
	}
	return nil
}

// split writes the first k elements of the one row sorted: those of its parts, and the
// first of these. Equal elements keep their order, as those of the parts have it.
func (s *sorting) split(k int64, x, values, places uint64) error {
	parts := *s
	parts.n = splitRow
	parts.rows = s.n / splitRow
	some := sorting{g: s.g, size: s.size, order: s.order, rows: 1, n: parts.rows * k}
	candidates, err := s.g.Scratch(some.n * int64(s.size))
	if err != nil {
		return err
	}
	from, err := s.g.Scratch(8 * some.n)
	if err != nil {
		return err
	}
	last := parts // has what is left of the row, too
	parts.rows--
	last.rows, last.n = 1, s.n-parts.rows*splitRow
	if err := parts.choose(k, x, candidates, from); err != nil {
		return err
	}
	before := uint64(parts.rows)
	err = last.choose(k, x+before*splitRow*uint64(s.size), candidates+before*uint64(k)*uint64(s.size), from+before*uint64(k)*8)
	if err != nil {
		return err
	}
	if err := some.first(k, candidates, values, places); err != nil {
		return err
	}
	var p driver.Params
	p.Int64(k)
	p.Uint64(places)
	p.Uint64(from)
	p.Int64(splitRow)
	return s.g.Launch("sort_rows", "sort_origin", grid(k, blockThreads), block(blockThreads), 0, p.Bytes())
}

// choose writes the first k elements of the rows sorted, by a block for each row.
func (s *sorting) choose(k int64, x, values, places uint64) error {
	width := 1 << bits.Len64(uint64(k-1))
	each := 8
	if s.size == 8 {
		each = 12
	}
	threads := int(min(1024, max(leastChosen, ceil(s.n, 8*warp)*warp)))
	var p driver.Params
	p.Uint64(x)
	p.Uint64(values)
	p.Uint64(places)
	p.Int32(int32(s.n))
	p.Int32(int32(k))
	p.Int32(int32(width))
	s.order.append(&p)
	return s.g.Launch("sort_rows", ofUnit("sort_first", s.size), [3]int{int(s.rows), 1, 1}, block(threads), each*width, p.Bytes())
}

// block sorts each row by radix in one block.
func (s *sorting) block(x, values, places uint64) error {
	kernel, threads, items := "sort_block", 256, 8 // elements a thread
	switch {
	case s.n <= smallRow:
		kernel, items = "sort_small", 4
	case s.n > int64(threads*items):
		threads = 512
	}
	var p driver.Params
	p.Uint64(x)
	p.Uint64(values)
	p.Uint64(places)
	p.Int64(s.rows)
	p.Int32(int32(s.n))
	s.order.append(&p)
	shared := threads * (items*(s.size+2) + 32)
	return s.g.Launch("sort_rows", ofUnit(kernel, s.size), grid(s.rows, 1), block(threads), shared, p.Bytes())
}

// short sorts each row in one block, by exchanges.
func (s *sorting) short(x, values, places uint64) error {
	width := 1 << bits.Len64(uint64(s.n-1))
	group := int(max(1, min(int64(shortGroup/width), s.rows)))
	elements := group * width
	shared := 8 * elements
	if s.size == 8 {
		shared = 12 * elements
	}
	threads := min(512, max(32, (elements/2+31)/32*32))
	var p driver.Params
	p.Uint64(x)
	p.Uint64(values)
	p.Uint64(places)
	p.Int64(s.rows)
	p.Int32(int32(s.n))
	p.Int32(int32(width))
	p.Int32(int32(group))
	s.order.append(&p)
	return s.g.Launch("sort_rows", ofUnit("sort_short", s.size), grid(s.rows, int64(group)), block(threads), shared, p.Bytes())
}

// A radix is the state of a radix sort of rows first to first+rows.
type radix struct {
	*sorting
	rows, count   int64
	wide          bool // places have 64 bits
	keyDigits     int
	digits        int // with those of the row
	tiles         int64
	counts        uint64 // for each digit place
	states        uint64 // for each digit place
	tickets       uint64
	active        uint64 // whether each digit's pass does anything
	x             uint64 // elements
	values, index uint64 // results
	keys, places  uint64 // scratch
}

// placeSize is the bytes of a place.
func (r *radix) placeSize() int64 {
	if r.wide {
		return 8
	}
	return 4
}

func (r *radix) suffix() string {
	if r.wide {
		return "_long"
	}
	return ""
}

// long sorts rows of any length together, by all digits of the elements and then
// by those of the row.
func (s *sorting) long(x, values, places uint64, first, rows int64, wide bool) error {
	start := uint64(first * s.n)
	r := radix{
		sorting: s, rows: rows, count: rows * s.n, wide: wide, keyDigits: s.size,
		values: values + start*uint64(s.size), index: places + start*8,
	}
	r.digits = r.keyDigits + (bits.Len64(uint64(rows-1))+7)/8
	tile := int64(sortThreads * 16)
	if s.size == 8 || wide {
		tile = sortThreads * 8
	}
	r.tiles = ceil(r.count, tile)
	if err := r.allocate(); err != nil {
		return err
	}
	r.x = x + start*uint64(s.size)
	if err := r.histogram(); err != nil {
		return err
	}
	for d := range r.digits {
		if err := r.pass(d); err != nil {
			return err
		}
	}
	return nil
}

// allocate makes the scratch memory, and clears what passes count in.
func (r *radix) allocate() (err error) {
	counts := int64(r.digits) * sortDigits * r.placeSize()
	states := counts * r.tiles
	if r.counts, err = r.g.Scratch(counts + states + 8*int64(r.digits)); err != nil {
		return err
	}
	r.states = r.counts + uint64(counts)
	r.tickets = r.states + uint64(states)
	r.active = r.tickets + 4*uint64(r.digits)
	if err := r.g.Zero(r.counts, counts+states+4*int64(r.digits)); err != nil {
		return err
	}
	if r.digits == 1 {
		return nil
	}
	if r.keys, err = r.g.Scratch(r.count * int64(r.size)); err != nil {
		return err
	}
	r.places, err = r.g.Scratch(r.count * r.placeSize())
	return err
}

// histogram counts the digits.
func (r *radix) histogram() error {
	var p driver.Params
	p.Uint64(r.x)
	p.Int64(r.count)
	r.order.append(&p)
	p.Uint64(r.counts)
	blocks := grid(r.count, 512*8)
	blocks[0] = min(blocks[0], max(4*r.g.Multiprocessors(), int(r.count>>31)))
	if err := r.g.Launch("sort", ofUnit("sort_histogram", r.size)+r.suffix(), blocks, block(512), 0, p.Bytes()); err != nil {
		return err
	}
	p.Reset()
	p.Uint64(r.counts)
	p.Uint64(r.active)
	p.Int32(int32(r.keyDigits))
	p.Int64(r.rows)
	p.Int64(r.n)
	return r.g.Launch("sort", "sort_scan"+r.suffix(), grid(int64(r.digits), 1), block(sortDigits), 0, p.Bytes())
}

// passState is the bytes of a Pass after its parameters: two bools, and four pointers
// at the next multiple of 8.
const passState = 2 + 5 + 4*8

// pass sorts by digit d, if the elements differ in it. What it reads and writes is
// known on the device alone: struct Pass of sort.cu.
func (r *radix) pass(d int) error {
	name, shift, row := ofUnit("sort_pass", r.size)+r.suffix(), 8*d, int64(1)
	if d >= r.keyDigits {
		name, shift = ofUnit("sort_row_pass", r.size), 8*(d-r.keyDigits)
	}
	if r.rows > 1 {
		row = r.n
	}
	var p driver.Params
	for _, addr := range [...]uint64{r.x, r.values, r.index, r.keys, r.places, r.active} {
		p.Uint64(addr)
	}
	p.Int32(int32(d))
	p.Int32(int32(r.digits))
	counts := uint64(sortDigits * r.placeSize())
	p.Uint64(r.counts + uint64(d)*counts)
	p.Uint64(r.states + uint64(d)*counts*uint64(r.tiles))
	p.Uint64(r.tickets + 4*uint64(d))
	p.Int64(r.count)
	space.AppendDivider(&p, int(row))
	p.Int32(int32(shift))
	r.order.append(&p)
	p.Bool(r.rows > 1)
	p.Struct(make([]byte, passState), 1)
	p.Align(8)
	return r.g.Launch("sort", name, grid(r.tiles, 1), block(sortThreads), 0, p.Bytes())
}

// SearchSorted returns, for each of values, how many elements of its row of
// sorted are smaller, or with attribute right no larger. NaN is larger than any
// number.
func SearchSorted(g code.GPU, c *ir.Call) error {
	count := c.In[1].NumElements()
	if count == 0 {
		return nil
	}
	dt := comparedIn(c.Compute)
	if !slices.Contains([]ir.DType{ir.Int32, ir.Int64, ir.Float32, ir.Float64}, dt) {
		return fmt.Errorf("not implemented for %s on cuda", c.Compute)
	}
	sorted, err := g.Dense(c.In[0], dt)
	if err != nil {
		return err
	}
	values, err := g.Dense(c.In[1], dt)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], ir.Int64)
	if err != nil {
		return err
	}
	width := count // values that share a row of sorted
	if len(sorted.Shape) > 1 {
		width = values.Shape[len(values.Shape)-1]
	}
	var p driver.Params
	p.Uint64(sorted.Addr)
	p.Uint64(values.Addr)
	p.Uint64(out.Addr)
	p.Int64(int64(count))
	p.Int64(int64(width))
	p.Int64(int64(sorted.Shape[len(sorted.Shape)-1]))
	p.Bool(c.Attrs[0].Int != 0)
	if err := g.Launch("search", ofType("searchsorted", dt), grid(int64(count), blockThreads), block(blockThreads), 0, p.Bytes()); err != nil {
		return err
	}
	return out.finish(g)
}
