package opaque

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/offheap"
)

const (
	// tileBytes is how large the weights are that tiles are multiplied with one after the
	// other, so that the first cache holds them.
	tileBytes = 24 * 1024
	// stretchWindows is how many windows are taken at once: their sums stay in the second
	// cache until they are complete.
	stretchWindows = 1024
	// mostSums is how many bytes of sums a task computes at once, of several blocks if
	// there is room: they use what is read of the images, then, while it is in a cache.
	mostSums = 320 * 1024
	// askTiles is how many tiles are computed between asking for parts of the weights
	// that come next.
	askTiles = 8
)

// A tiling is a correlation over images that are laid out, computed in tiles: windows,
// which are neighbours, are their rows, and as many rows of the weight their lanes. It
// is cut into stretches of windows, which may reach over images, and blocks of rows.
type tiling[T float] struct {
	*correlation
	l      *layout
	level  simd.Level
	size   int // windows of an image
	lanes  int
	blocks int            // of a group
	chunk  int            // terms whose weights are used at once
	packed unsafe.Pointer // weights of all blocks, [groups, blocks, terms, lanes]; nil: packed when they are used
	memory *offheap.Block // of packed, if it is kept
	room   *scratch.Block // of packed, unless it is kept

	data, out unsafe.Pointer
	images    int // that there are
	stretches int
	near      int             // blocks of a task
	cuttings  [2]conv.Cutting // for blocks that need all lanes, and for narrow ones
	sums      [2][]conv.Terms // of each chunk, for the reaches of each of these
}

// newTiling returns what computes a correlation over images like l's. End gives back
// its memory.
func newTiling[T float](s *correlation, l *layout) *tiling[T] {
	size := int(unsafe.Sizeof(T(0)))
	t := &tiling[T]{correlation: s, l: l, level: simd.Active(), size: ir.NumElements(s.windows)}
	t.lanes = conv.Lanes(t.level, size)
	t.blocks = (s.rows + t.lanes - 1) / t.lanes
	unit := 1
	if s.repeat == 1 { // chunks begin with the first place
		for _, places := range s.kernel {
			unit *= len(places)
		}
	}
	most := max(1, tileBytes/(t.lanes*size)/unit) * unit
	chunks := (s.depth + most - 1) / most
	t.chunk = ((s.depth+chunks-1)/chunks + unit - 1) / unit * unit
	if g := s.geometry; g != nil {
		g.once.Do(func() {
			t.cutWindows()
			g.cuttings, g.sums = t.cuttings, t.sums
		})
		t.cuttings, t.sums = g.cuttings, g.sums
	} else {
		t.cutWindows()
	}
	bytes := s.groups * t.blocks * s.depth * t.lanes * size
	key := tilePacking{s.weight, s.rows, s.groups, s.depth, size, t.level}
	pack := func() any {
		b := offheap.New(bytes)
		t.packAll(b.Ptr())
		return b
	}
	if kept, ok := s.kept.Form(key, pack).(*offheap.Block); ok {
		t.memory, t.packed = kept, kept.Ptr()
		return t
	}
	if l.view.Shape[0] == l.images && t.cut(l.images) == 1 {
		return t
	}
	t.room = scratch.Get(bytes)
	t.packAll(t.room.Ptr())
	t.packed = t.room.Ptr()
	return t
}

// A tilePacking says which weight was packed for tiles, and for which of them.
type tilePacking struct {
	weight              unsafe.Pointer
	rows, groups, depth int
	size                int // bytes of an element
	level               simd.Level
}

// packAll packs the weights of all blocks at dst.
func (t *tiling[T]) packAll(dst unsafe.Pointer) {
	row := t.lanes * int(unsafe.Sizeof(T(0)))
	chunks := (t.depth + t.chunk - 1) / t.chunk
	pool.For(t.groups*t.blocks*chunks, max(1, moveWork/(t.lanes*t.chunk)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			b, p := lo/chunks, lo%chunks*t.chunk
			t.pack(unsafe.Add(dst, (b*t.depth+p)*row), b/t.blocks, b%t.blocks, p, min(p+t.chunk, t.depth))
		}
	})
}

// cutWindows cuts the windows into tiles.
func (t *tiling[T]) cutWindows() {
	for i := range t.cuttings {
		t.cuttings[i] = conv.Cut(t.level, t.l.frame, t.windows, t.kernel, i == 1)
	}
	t.setTerms()
}

// setTerms makes the terms of each chunk that pieces need. Where a channel's terms follow
// one another, those of a chunk lie like the first one's.
func (t *tiling[T]) setTerms() {
	row := t.lanes * int(unsafe.Sizeof(T(0)))
	for i, cut := range t.cuttings {
		if i == 1 != t.narrow(t.blocks-1) && (i == 1 || t.blocks == 1) {
			continue // no block is cut so
		}
		for p := 0; p < t.depth; p += t.chunk {
			n := min(t.chunk, t.depth-p)
			if p > 0 && n == t.chunk && t.repeat == 1 {
				t.sums[i] = append(t.sums[i], t.sums[i][:len(cut.Reaches)]...)
				continue
			}
			first := p
			if t.repeat == 1 {
				first = 0
			}
			for _, r := range cut.Reaches {
				t.sums[i] = append(t.sums[i], r.Terms(t.terms, first, first+n, t.repeat, row))
			}
		}
	}
}

// chunkOf returns the terms of a chunk for the reaches of a cutting, and how far behind
// the first chunk's its elements lie.
func (t *tiling[T]) chunkOf(cutting, first int) (terms []conv.Terms, behind int) {
	n := len(t.cuttings[cutting].Reaches)
	if t.repeat == 1 {
		behind = t.terms[first] - t.terms[0]
	}
	return t.sums[cutting][first/t.chunk*n:][:n], behind
}

// narrow reports whether a block needs only the first half of the lanes.
func (t *tiling[T]) narrow(block int) bool { return t.rows-block*t.lanes <= t.lanes/2 }

func (t *tiling[T]) end() {
	if t.room != nil {
		t.room.Put()
	}
	runtime.KeepAlive(t.memory)
}

// cut returns into how many stretches so many images are cut.
func (t *tiling[T]) cut(images int) int {
	n, tasks := (images*t.size+stretchWindows-1)/stretchWindows, t.groups*t.blocks
	most := images * len(t.cuttings[1].Groups)
	if procs := runtime.GOMAXPROCS(0); procs > 1 {
		n = max(n, (tasksEach*procs+tasks-1)/tasks)
		if n*tasks < 2*tasksEach*procs && tasks%procs != 0 {
			n = evenly(n, most, procs)
		}
	}
	return min(n, most)
}

// tasksEach is into how many tasks for each processor images are cut at least: one of them is
// what others wait for at the end.
const tasksEach = 8

// evenly returns a multiple of procs that is not below n, or else the next one below, or n
// where these are more than most or none. So all processors have as much to do.
func evenly(n, most, procs int) int {
	if up := (n + procs - 1) / procs * procs; up <= most {
		return up
	}
	if down := min(n, most) / procs * procs; down > 0 {
		return down
	}
	return n
}

// pack copies the weights of terms [p0, p1) for a block of rows of a group: those of a
// term side by side.
func (t *tiling[T]) pack(dst unsafe.Pointer, group, block, p0, p1 int) {
	size := int(unsafe.Sizeof(T(0)))
	first := block * t.lanes
	n, row := min(t.lanes, t.rows-first), t.lanes*size
	if t.places == 0 {
		from := unsafe.Add(t.weight, ((group*t.rows+first)*t.depth+p0)*size)
		turn(t.level, size, dst, from, row, t.depth*size, n, p1-p0)
		return
	}
	for p := p0; p < p1; p += t.places {
		to, from := unsafe.Add(dst, (p-p0)*row), unsafe.Add(t.weight, ((group*t.depth+p)*t.rows+first*t.places)*size)
		turn(t.level, size, to, from, row, t.places*size, n, t.places)
	}
}

// ask asks for part i, of so many, of what pack reads, or of what it has packed.
func (t *tiling[T]) ask(group, block, p0, p1, i, parts int) {
	size := int(unsafe.Sizeof(T(0)))
	first := block * t.lanes
	n := min(t.lanes, t.rows-first)
	switch {
	case p0 == p1:
	case t.packed != nil:
		lo, hi := p0+i*(p1-p0)/parts, p0+(i+1)*(p1-p0)/parts
		from := unsafe.Add(t.packed, ((group*t.blocks+block)*t.depth+lo)*t.lanes*size)
		conv.Ask(t.level, from, 0, 1, (hi-lo)*t.lanes*size)
	case t.places == 0:
		lo, hi := i*n/parts, (i+1)*n/parts
		from := unsafe.Add(t.weight, ((group*t.rows+first+lo)*t.depth+p0)*size)
		conv.Ask(t.level, from, t.depth*size, hi-lo, (p1-p0)*size)
	default:
		units := (p1 - p0) / t.places
		lo, hi := i*units/parts, (i+1)*units/parts
		from := unsafe.Add(t.weight, ((group*t.depth+p0+lo*t.places)*t.rows+first*t.places)*size)
		conv.Ask(t.level, from, t.places*t.rows*size, hi-lo, n*t.places*size)
	}
}

// turn copies rows of cols elements to columns, which are to and from bytes apart.
func turn(level simd.Level, size int, dst, src unsafe.Pointer, to, from, rows, cols int) {
	f, most := move.Transpose(level, size), max(1, move.Chunk/rows)
	for c := 0; c < cols; c += most {
		f(unsafe.Add(dst, c*to), unsafe.Add(src, c*size), to, from, rows, min(most, cols-c))
	}
}

// run sets out, [images, groups, rows, windows], to the correlation over images at data.
func (t *tiling[T]) run(data unsafe.Pointer, images int, out unsafe.Pointer) {
	t.data, t.images, t.out = data, images, out
	t.stretches = t.cut(images)
	windows := images * t.size / t.stretches
	t.near = max(1, min(t.blocks, mostSums/max(1, windows*t.lanes*int(unsafe.Sizeof(T(0))))))
	if procs := runtime.GOMAXPROCS(0); procs > 1 {
		t.near = max(1, min(t.near, t.stretches*t.groups*t.blocks/(tasksEach*procs)))
	}
	tasks := t.stretches * t.groups * ((t.blocks + t.near - 1) / t.near)
	pool.For(tasks, max(1, mulWork/max(1, t.depth*t.lanes*t.near*windows)), t.tasks)
}

// A tally is tiles by their kind.
type tally []struct {
	rows   int
	paired bool
	reach  int
	tiles  []int // for each one where it comes from and where it goes
}

func (t *tally) add(rows int, paired bool, reach, from, to int) {
	for i := range *t {
		if k := &(*t)[i]; k.rows == rows && k.paired == paired && k.reach == reach {
			k.tiles = append(k.tiles, from, to)
			return
		}
	}
	*t = append(*t, struct {
		rows   int
		paired bool
		reach  int
		tiles  []int
	}{rows, paired, reach, []int{from, to}})
}

// tasks computes tasks [from, to): some blocks of a stretch each.
func (t *tiling[T]) tasks(from, to int) {
	across := (t.blocks + t.near - 1) / t.near
	for ; from < to; from++ {
		first := from % across * t.near
		t.compute(from/across/t.groups, from/across%t.groups, first, min(first+t.near, t.blocks))
	}
}

// A slab is a block of rows of a stretch.
type slab[T float] struct {
	conv.Tiles[T]
	frames unsafe.Pointer // of the group
	tiles  tally
	which  int // of the cuttings
	lo, hi int // windows
}

// slab returns a block of a stretch.
func (t *tiling[T]) slab(stretch, group, block int) slab[T] {
	size := int(unsafe.Sizeof(T(0)))
	row, narrow, which := t.lanes*size, t.narrow(block), 0
	if narrow {
		which = 1
	}
	cut := &t.cuttings[which]
	n := t.images * len(cut.Groups)
	first, last := stretch*n/t.stretches, (stretch+1)*n/t.stretches
	p := slab[T]{frames: unsafe.Add(t.data, group*(t.l.channels/t.groups)*t.l.frame.Size*size), which: which, lo: t.window(cut, first), hi: t.window(cut, last)}
	for i := first; i < last; i++ {
		u := i / len(cut.Groups)
		for _, c := range cut.Groups[i%len(cut.Groups)] {
			p.tiles.add(c.Count, c.Paired, c.Reach, u*t.l.image()+c.From, (u*t.size+c.Window-p.lo)*row)
		}
	}
	p.Tiles = conv.Tiles[T]{
		Level: t.level, Narrow: narrow,
		Step: size, Jump: cut.Jump, Pitch: row, Leap: t.windows[len(t.windows)-1] * row,
	}
	return p
}

// compute computes blocks [b0, b1) of a stretch.
func (t *tiling[T]) compute(stretch, group, b0, b1 int) {
	row := t.lanes * int(unsafe.Sizeof(T(0)))
	slabs, sums := make([]slab[T], b1-b0), 0
	for i := range slabs {
		slabs[i] = t.slab(stretch, group, b0+i)
		sums += (slabs[i].hi - slabs[i].lo) * row
	}
	room := scratch.Get(sums + t.chunk*row)
	defer room.Put()
	used := 0
	for i := range slabs {
		slabs[i].Dst = unsafe.Add(room.Ptr(), used)
		used += (slabs[i].hi - slabs[i].lo) * row
	}
	to := unsafe.Add(room.Ptr(), used)
	for p := 0; p < t.depth; p += t.chunk {
		end := min(p+t.chunk, t.depth)
		for i := range slabs {
			c := &slabs[i]
			if c.Add = p > 0; t.packed == nil {
				c.Weights = to
				t.pack(to, group, b0+i, p, end)
			} else {
				c.Weights = unsafe.Add(t.packed, ((group*t.blocks+b0+i)*t.depth+p)*row)
			}
			block, from, to := b0+i+1, p, end // what comes next
			if block == b1 {
				block, from, to = b0, end, min(end+t.chunk, t.depth)
			}
			terms, behind := t.chunkOf(c.which, p)
			c.Src = unsafe.Add(c.frames, behind)
			c.run(terms, func(i, shares int) { t.ask(group, block, from, to, i, shares) })
		}
	}
	for i := range slabs {
		t.store(slabs[i].Dst, group, b0+i, slabs[i].lo, slabs[i].hi)
	}
}

// run computes the tiles from the terms of their reaches, and calls ask now and then,
// with its turn of so many.
func (s *slab[T]) run(terms []conv.Terms, ask func(i, n int)) {
	most := 0 // of a kind
	for _, k := range s.tiles {
		most = max(most, len(k.tiles))
	}
	for _, k := range s.tiles {
		s.Terms = terms[k.reach]
		asks, turns := len(k.tiles) == most, (len(k.tiles)/2+askTiles-1)/askTiles
		for i := range turns {
			s.Run(k.rows, k.paired, k.tiles[2*i*askTiles:min(2*(i+1)*askTiles, len(k.tiles))])
			if asks {
				ask(i, turns)
			}
		}
		if asks {
			most = -1
		}
	}
}

// window returns the first window of a group of the images' pieces; that behind the
// last one's is there too.
func (t *tiling[T]) window(c *conv.Cutting, i int) int {
	return i/len(c.Groups)*t.size + c.Groups[i%len(c.Groups)][0].Window
}

// store takes the sums of windows [lo, hi) to the rows of a block.
func (t *tiling[T]) store(sums unsafe.Pointer, group, block, lo, hi int) {
	size := int(unsafe.Sizeof(T(0)))
	first, whole := block*t.lanes, 0 // images that are finished
	for at := lo; at < hi; {
		u, w := at/t.size, at%t.size
		n := min(t.size-w, hi-at)
		pitch := max(t.size, t.pitch)
		to := unsafe.Add(t.out, (((u*t.groups+group)*t.rows+first)*pitch+w)*size)
		turn(t.level, size, to, unsafe.Add(sums, (at-lo)*t.lanes*size), pitch*size, t.lanes*size, n, min(t.lanes, t.rows-first))
		if whole++; n < t.size {
			t.finishImages((u-whole+1)*t.groups+group, whole-1, first, min(first+t.lanes, t.rows))
			t.finish(u*t.groups+group, first, min(first+t.lanes, t.rows), w, w+n)
			whole = 0
		}
		at += n
	}
	t.finishImages((hi/t.size-whole)*t.groups+group, whole, first, min(first+t.lanes, t.rows))
}
