package exec

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

const (
	// stateLanes is how many accumulators one result is folded into, at most.
	stateLanes = 256
	// stateSteps is how many elements an accumulator takes in before it is merged.
	stateSteps = 32
	// stateGroup is how many elements of a result one processor folds.
	stateGroup = 64 << 10
	// stateColumns is how many results are folded side by side from rows, and stateRows
	// how many rows before their accumulators are merged.
	stateColumns = 512
	stateRows    = 256
	// fewElements are better folded as columns, one step for each of them.
	fewElements = 64
)

// A states is a reduction with States made ready. Its accumulators are an array for each
// state, and loops go over these as over those of element-wise operators: element i of a
// result goes to accumulator i modulo the number of lanes, or, from rows, each result has
// its own. How parts are merged depends on the call alone.
type states struct {
	start, first, step, merge, finish vector.Func
	scalars, counted                  []ir.Scalar // for finish, behind the others, the number of elements
	sizes                             []int       // bytes of each state
	firsts                            []int       // of each number that is made of first elements
	kept, folded                      []tile.Operand
	leads                             []tile.Operand // kept, as first reads them
	reads                             []int          // bytes of an element of each operand, as it is computed with
	outs                              []tile.Operand
	results, count                    int
	lanes                             int
	alone                             []*vector.FoldFuncs // of each state, or none: then step folds all of them
}

// runStates computes a reduction with States.
func runStates(c *ir.Call) error {
	p := &codes.Of(c.Kernel).parts
	if p.start == nil {
		return unsupported(c)
	}
	if len(c.Out) != len(c.Op.Out) || len(c.In) != len(c.Op.In) {
		return fmt.Errorf("%d results and %d operands for %d and %d", len(c.Out), len(c.In), len(c.Op.Out), len(c.Op.In))
	}
	r := borrowStates()
	defer r.giveBack()
	r.start, r.first, r.step, r.merge, r.finish = p.start, p.first, p.step, p.merge, p.finish
	r.scalars, r.count = c.Scalars, int(c.ReducedCount())
	r.counted = append(append(r.counted, c.Scalars...), ir.IntScalar(c.ReducedCount()))
	for _, s := range c.Op.Bodies[c.Variant].States {
		r.sizes = append(r.sizes, s.Held(c.Compute).Size())
	}
	for range c.Op.Bodies[c.Variant].First {
		r.firsts = append(r.firsts, c.Compute.Size())
	}
	r.results = 1
	kept, folded := make([]int, 0, usualAxes), make([]int, 0, usualAxes)
	for a, d := range c.Space {
		if slices.Contains(c.Axes, a) {
			folded = append(folded, a)
		} else {
			kept, r.results = append(kept, a), r.results*d
		}
	}
	narrow := p.narrow
	if narrow != nil && len(p.alone) == 0 && !slices.ContainsFunc(c.In, func(v ir.View) bool { return v.DType != ir.Float32 }) {
		r.step = narrow
	} else {
		narrow = nil
	}
	for i, v := range c.In {
		d := c.Kernel.In[i].Compute
		if r.first != nil {
			r.leads = along(r.leads, v, c.Space, kept, d)
		}
		if narrow != nil {
			d = ir.Float32
		}
		r.reads = append(r.reads, d.Size())
		r.kept, r.folded = along(r.kept, v, c.Space, kept, d), along(r.folded, v, c.Space, folded, d)
	}
	for i, v := range c.Out {
		r.outs = along(r.outs, v, c.Space, kept, c.Kernel.Out[i].Compute)
	}
	if r.results == 0 {
		return nil
	}
	r.lanes = min(stateLanes, max(8, 1<<(bits.Len(uint(r.count/8)|1)-1)))
	if r.alone = p.alone; c.Op.Ordered || len(r.alone) > 0 {
		r.lanes = 1
	}
	if r.results > 1 && (c.Op.Ordered || r.results >= shortestRow && (r.count < fewElements || nearer(c, kept, folded))) {
		r.columns()
	} else {
		r.rows()
	}
	return nil
}

// usualAxes is how many axes views have at most without memory of Go's heap for them.
const usualAxes = 8

// along appends the operand that a view is along some axes of a space.
func along(list []tile.Operand, v ir.View, space, axes []int, want ir.DType) []tile.Operand {
	shape, strides := make([]int, 0, usualAxes), make([]int, 0, usualAxes)
	for _, a := range axes {
		shape, strides = append(shape, space[a]), append(strides, v.Strides[a])
	}
	if n := len(list); n < cap(list) {
		list = list[:n+1] // an operand from before, whose memory serves again
	} else {
		list = append(list, tile.Operand{})
	}
	list[len(list)-1].InitAxes(v.Ptr, v.DType, shape, strides, want)
	return list
}

var madeStates = sync.Pool{New: func() any { return new(states) }}

// borrowStates returns one without anything, for giveBack.
func borrowStates() *states { return madeStates.Get().(*states) }

func (r *states) giveBack() {
	for _, list := range [][]tile.Operand{r.leads, r.kept, r.folded, r.outs} {
		for i := range list {
			list[i].Clear()
		}
	}
	*r = states{
		counted: r.counted[:0], sizes: r.sizes[:0], firsts: r.firsts[:0], reads: r.reads[:0],
		kept: r.kept[:0], folded: r.folded[:0], leads: r.leads[:0], outs: r.outs[:0],
	}
	madeStates.Put(r)
}

// nearer reports whether elements of neighbouring results are closer together than those
// that one is folded of.
func nearer(c *ir.Call, kept, folded []int) bool {
	least := func(axes []int) int {
		step := math.MaxInt
		for _, a := range axes {
			if s := c.In[0].Strides[a]; s > 0 && c.Space[a] > 1 {
				step = min(step, s)
			}
		}
		return step
	}
	return least(kept) < least(folded)
}

// A bank is accumulators: an array for each state.
type bank []unsafe.Pointer

// A folding is what one goroutine folds with. Its banks are those of a tree, merged
// pairwise. The arguments of loops are made once: of each bank how it starts, takes in
// elements and is merged into the one below.
type folding struct {
	*states
	s                   *tile.Scratch
	room, own           *scratch.Block
	banks               []bank // of width accumulators each
	starts, steps, into [][]unsafe.Pointer
	halves              [][]unsafe.Pointer // of the first bank: the second half of 2, 4, ... accumulators into the first
	xs, places          []unsafe.Pointer   // elements; where those of a result begin
	begin               bank               // what is made of the first elements: of one result for each lane, or of columns
	batch               bank               // of the results of a batch
	outs                []unsafe.Pointer
	depth, added        int // banks in use; those that were added
	lists               pointers
}

// Pointers is memory for lists of pointers.
type pointers struct {
	room []unsafe.Pointer
	used int
}

// take returns a list of n.
func (p *pointers) take(n int) []unsafe.Pointer {
	if p.used+n > len(p.room) { // what was taken stays as it is
		p.room, p.used = make([]unsafe.Pointer, max(256, 2*len(p.room), n)), 0
	}
	p.used += n
	return p.room[p.used-n : p.used : p.used]
}

// concat returns a list of the elements of several.
func (p *pointers) concat(parts ...[]unsafe.Pointer) []unsafe.Pointer {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	list, at := p.take(n), 0
	for _, part := range parts {
		at += copy(list[at:], part)
	}
	return list
}

var foldings = sync.Pool{New: func() any { return new(folding) }}

// newFolding returns what merges up to n banks of some width. Release it.
func (r *states) newFolding(width, n int) *folding {
	k := foldings.Get().(*folding)
	k.states, k.s = r, tile.Borrow(len(r.kept)+len(r.outs))
	k.banks, k.room = k.lists.banks(k.banks, r.sizes, width, bits.Len(uint(n))+1)
	var two [2]bank
	firsts, own := k.lists.banks(two[:0], r.firsts, max(width, batch), 2)
	k.begin, k.batch, k.own = firsts[0], firsts[1], own
	k.xs, k.places, k.outs = k.lists.take(len(r.kept)), k.lists.take(len(r.kept)), k.lists.take(len(r.outs))
	for i, b := range k.banks {
		k.starts = append(k.starts, b)
		k.steps = append(k.steps, k.lists.concat(b, b, k.begin, k.xs))
		if i > 0 {
			k.into = append(k.into, k.lists.concat(k.banks[i-1], k.banks[i-1], b))
		}
	}
	for n := 1; n < min(r.lanes, width); n *= 2 { // of columns there are none: they would lie past the end
		first := k.banks[0]
		both := k.lists.concat(first, first, first)
		for j, p := range first {
			both[2*len(first)+j] = unsafe.Add(p, n*r.sizes[j])
		}
		k.halves = append(k.halves, both)
	}
	return k
}

// newBanks returns n banks of a width for elements of some sizes, in memory that is to be
// given back.
func newBanks(sizes []int, width, n int) ([]bank, *scratch.Block) {
	return new(pointers).banks(nil, sizes, width, n)
}

// banks appends what newBanks returns to a list.
func (p *pointers) banks(list []bank, sizes []int, width, n int) ([]bank, *scratch.Block) {
	bytes := 0
	for _, size := range sizes {
		bytes += (width*size + 63) &^ 63
	}
	block := scratch.Get(n * bytes)
	at := 0
	for range n {
		b := p.take(len(sizes))
		for k, size := range sizes {
			b[k] = unsafe.Add(block.Ptr(), at)
			at += (width*size + 63) &^ 63
		}
		list = append(list, b)
	}
	return list, block
}

func (k *folding) release() {
	k.room.Put()
	k.own.Put()
	k.s.Return()
	clear(k.lists.room)
	*k = folding{
		banks: k.banks[:0], starts: k.starts[:0], steps: k.steps[:0], into: k.into[:0], halves: k.halves[:0],
		lists: pointers{room: k.lists.room},
	}
	foldings.Put(k)
}

// with is call with arguments from several lists.
func (k *folding) with(loop vector.Func, n int, s []ir.Scalar, parts ...[]unsafe.Pointer) {
	at := k.lists.used
	call(loop, n, k.lists.concat(parts...), s)
	k.lists.used = min(at, k.lists.used)
}

// top makes n accumulators of the next bank those that have taken in nothing; push then
// adds it.
func (k *folding) top(n int) { call(k.start, n, k.starts[k.depth], k.scalars) }

// takeIn has the first n accumulators of the next bank take in elements each, which are at
// xs.
func (k *folding) takeIn(n int) {
	args := k.steps[k.depth]
	for j, x := range k.xs {
		args[len(args)-len(k.xs)+j] = x
	}
	call(k.step, n, args, k.scalars)
}

// push adds the bank that top began to the tree.
func (k *folding) push(n int) {
	k.depth++
	for i := k.added; i&1 != 0; i >>= 1 {
		k.mergeTop(n)
	}
	k.added++
}

func (k *folding) mergeTop(n int) {
	k.depth--
	call(k.merge, n, k.into[k.depth-1], k.scalars)
}

// root merges what is left into the first bank, which it returns, and empties the tree.
func (k *folding) root(n int) bank {
	if k.added == 0 {
		k.top(n)
	}
	for k.depth > 1 {
		k.mergeTop(n)
	}
	k.depth, k.added = 0, 0
	return k.banks[0]
}

// call is one call of a loop. It is not inlined: the collector can stop a goroutine where
// a function begins, and nowhere in assembly.
//
//go:noinline
func call(loop vector.Func, n int, p []unsafe.Pointer, s []ir.Scalar) { loop(n, p, s, 0) }

// makeFirst makes what the body has of the first elements of n results, whose operands are at
// xs; of none zeros.
func (k *folding) makeFirst(n int, to bank, xs []unsafe.Pointer) {
	if k.first == nil {
		return
	}
	if k.count > 0 {
		k.with(k.first, n, k.scalars, to, xs)
		return
	}
	for s, size := range k.firsts {
		clear(unsafe.Slice((*byte)(to[s]), n*size))
	}
}

// firstOf makes what the body has of the first elements of n results from lo on.
func (k *folding) firstOf(lo, n int, to bank) {
	if k.first == nil {
		return
	}
	for j := range k.leads {
		if k.count > 0 {
			k.xs[j] = k.leads[j].LoadFrom(k.folded[j].At(0), lo, n, k.s.Buffer(j))
		}
	}
	k.makeFirst(n, to, k.xs)
}

// at makes the result at a position the one that fold folds; it is the i-th of the batch.
func (k *folding) at(result, i int) {
	for j := range k.kept {
		k.places[j] = k.kept[j].At(result)
	}
	for s, size := range k.firsts {
		convert.Copy(size)(k.lanes, k.begin[s], 1, unsafe.Add(k.batch[s], i*size), 0)
	}
}

// copyElements copies bytes of elements.
func copyElements(to, from unsafe.Pointer, bytes int) {
	copy(unsafe.Slice((*byte)(to), bytes), unsafe.Slice((*byte)(from), bytes))
}

// fold folds elements [lo, hi) of a result into a few accumulators, as many as tails says,
// which it writes to the i-th of each of as many runs of a bank.
func (k *folding) fold(lo, hi int, to bank, i, run int) {
	if len(k.alone) > 0 {
		k.foldAlone(lo, hi, to, i)
		return
	}
	for lo < hi {
		k.top(k.lanes)
		for end := min(hi, lo+stateSteps*k.lanes); lo < end; {
			some := min(tile.Size, end-lo)
			for j := range k.folded {
				k.xs[j] = k.folded[j].LoadFrom(k.places[j], lo, some, k.s.Buffer(j))
			}
			lo += some
			for ; some > 0; some -= k.lanes {
				n := min(k.lanes, some)
				k.takeIn(n)
				if n == some {
					break
				}
				for j := range k.xs {
					k.xs[j] = unsafe.Add(k.xs[j], n*k.reads[j])
				}
			}
		}
		k.push(k.lanes)
	}
	b := k.root(k.lanes)
	few := k.tails()
	for level := len(k.halves) - 1; level >= 0 && 1<<level >= few; level-- {
		call(k.merge, 1<<level, k.halves[level], k.scalars)
	}
	for s, size := range k.sizes {
		convert.Copy(size)(few, unsafe.Add(to[s], i*size), run, b[s], 1)
	}
}

// mostTails is how many accumulators of a result are merged together with those of other
// results, at most.
const mostTails = 16

// tails is how many these are.
func (r *states) tails() int { return min(mostTails, r.lanes) }

// mergeTails merges what fold left of n results, in runs of run accumulators, into the
// first run.
func (k *folding) mergeTails(n, run int, b bank) {
	for few := k.tails() / 2; few > 0; few /= 2 {
		at := k.lists.used
		args := k.lists.concat(b, b, b)
		for s, p := range b {
			args[2*len(b)+s] = unsafe.Add(p, few*run*k.sizes[s])
		}
		call(k.merge, (few-1)*run+n, args, k.scalars)
		k.lists.used = min(at, k.lists.used)
	}
}

// copy copies n accumulators from the j-th of one bank to the i-th of another.
func (r *states) copy(to bank, i int, from bank, j, n int) {
	for s, size := range r.sizes {
		copyElements(unsafe.Add(to[s], i*size), unsafe.Add(from[s], j*size), n*size)
	}
}

// end makes results of n accumulators, and of what was made of first elements, those at
// positions [lo, lo+n), n at most tile.Size.
func (k *folding) end(lo, n int, b, first bank) {
	for i := range k.outs {
		k.outs[i] = k.states.outs[i].Target(lo, n, k.s.Buffer(len(k.kept)+i))
	}
	k.with(k.finish, n, k.counted, k.outs, b, first)
	for i := range k.outs {
		k.states.outs[i].Store(lo, n, k.outs[i])
	}
}

// fills returns how many banks the elements of a group fill.
func (r *states) fills() int { return min(r.count, stateGroup)/(r.lanes*stateSteps) + 2 }

// rows folds the elements of each result by themselves: groups of elements, then the
// groups of each result, where there are several.
func (r *states) rows() {
	groups := (r.count + stateGroup - 1) / stateGroup
	if groups > 1 {
		r.groups(groups)
		return
	}
	pool.For(r.results, max(1, grain/max(r.count, 1)), func(lo, hi int) {
		k := r.newFolding(r.lanes, r.fills())
		defer k.release()
		var one [1]bank
		sums, room := k.lists.banks(one[:0], r.sizes, r.tails()*batch, 1)
		defer room.Put()
		for ; lo < hi; lo += batch {
			n := min(batch, hi-lo)
			k.firstOf(lo, n, k.batch)
			for i := range n {
				k.at(lo+i, i)
				k.fold(0, r.count, sums[0], i, batch)
			}
			k.mergeTails(n, batch, sums[0])
			k.end(lo, n, sums[0], k.batch)
		}
	})
}

// groups folds results of many elements.
func (r *states) groups(groups int) {
	parts := r.results * groups
	all, room := newBanks(r.sizes, r.tails()*parts, 1)
	defer room.Put()
	pool.For(parts, 1, func(lo, hi int) {
		k := r.newFolding(r.lanes, r.fills())
		defer k.release()
		for i := lo; i < hi; i++ {
			from := i % groups * stateGroup
			k.firstOf(i/groups, 1, k.batch)
			k.at(i/groups, 0)
			k.fold(from, min(from+stateGroup, r.count), all[0], i, parts)
		}
	})
	k := r.newFolding(1, groups)
	defer k.release()
	k.mergeTails(parts, parts, all[0])
	for i := range r.results {
		for g := range groups {
			r.copy(k.banks[k.depth], 0, all[0], i*groups+g, 1)
			k.push(1)
		}
		k.firstOf(i, 1, k.batch)
		k.end(i, 1, k.root(1), k.batch)
	}
}

// columns folds rows of elements into the accumulators of as many results: units of
// columns in parallel or, where these are few, spans of rows of them.
func (r *states) columns() {
	units := (r.results + stateColumns - 1) / stateColumns
	span := stateRows
	for span*64 < r.count {
		span *= 2
	}
	spans := (r.count + span - 1) / span
	if units >= 16 || spans < 2 {
		pool.For(units, max(1, grain/(min(r.results, stateColumns)*max(r.count, 1))), func(lo, hi int) {
			k := r.newFolding(min(r.results, stateColumns), r.count/stateRows+2)
			defer k.release()
			for ; lo < hi; lo++ {
				from, n := r.unit(lo)
				k.firstOf(from, n, k.begin)
				for g := range spans {
					k.foldRows(from, n, g*span, min((g+1)*span, r.count))
				}
				k.end(from, n, k.root(n), k.begin)
			}
		})
		return
	}
	all, room := newBanks(r.sizes, r.results, spans)
	defer room.Put()
	pool.For(units*spans, 1, func(lo, hi int) {
		k := r.newFolding(min(r.results, stateColumns), span/stateRows+2)
		defer k.release()
		for ; lo < hi; lo++ {
			from, n := r.unit(lo % units)
			g := lo / units
			k.firstOf(from, n, k.begin)
			k.foldRows(from, n, g*span, min((g+1)*span, r.count))
			r.copy(all[g], from, k.root(n), 0, n)
		}
	})
	k := r.newFolding(min(r.results, stateColumns), spans)
	defer k.release()
	for u := range units {
		from, n := r.unit(u)
		for g := range spans {
			r.copy(k.banks[k.depth], 0, all[g], from, n)
			k.push(n)
		}
		k.firstOf(from, n, k.begin)
		k.end(from, n, k.root(n), k.begin)
	}
}

// unit returns the first result of a unit of columns, and how many there are.
func (r *states) unit(u int) (from, n int) {
	return u * stateColumns, min(stateColumns, r.results-u*stateColumns)
}

// foldRows adds rows [lo, hi) of n columns to the tree, some of them in one bank.
func (k *folding) foldRows(from, n, lo, hi int) {
	for lo < hi {
		k.top(n)
		if len(k.alone) > 0 {
			end := min(lo+stateRows, hi)
			k.rowsAlone(from, n, lo, end)
			lo = end
			k.push(n)
			continue
		}
		for end := min(lo+stateRows, hi); lo < end; lo++ {
			for j := range k.kept {
				k.xs[j] = k.kept[j].LoadFrom(k.folded[j].At(lo), from, n, k.s.Buffer(j))
			}
			k.takeIn(n)
		}
		k.push(n)
	}
}
