package cublaslt

import "github.com/sinter-go/sinter/ir"

// A matrix is one of a product's operands, as its view has it: extents and
// strides in elements. The last two axes are rows and columns.
type matrix struct {
	addr       uint64
	rows, cols int
	rs, cs     int // strides of rows and columns
}

// transposed returns the same memory with its axes exchanged.
func (m matrix) transposed() matrix {
	return matrix{m.addr, m.cols, m.rows, m.cs, m.rs}
}

// plain returns the distance from row to row where the elements of a row lie
// together and rows do not overlap; ok is false where they do not.
func (m matrix) plain() (ld int, ok bool) {
	if m.cols != 1 && m.cs != 1 || m.rows != 1 && m.rs < m.cols {
		return 0, false
	}
	if m.rows == 1 {
		return max(m.cols, 1), true
	}
	return m.rs, true
}

// stored returns how the library, which stores columns together, finds the
// transposed of m: at distance ld from column to column, either as it is, or
// transposed once more (across). ok is false where neither axis has stride 1.
// Where an axis of extent 1 allows both, the longer runs win.
func (m matrix) stored() (ld int, across, ok bool) {
	ld, ok = m.plain()
	other, okAcross := m.transposed().plain()
	if okAcross && (!ok || m.rows > m.cols) {
		return other, true, true
	}
	return ld, false, ok
}

// An axis is a leading axis over which products repeat: its extent and the strides
// of the operands, in elements.
type axis struct {
	extent  int
	x, y, d int
}

// maxAxes is how many leading axes a product may have once those that lie
// together are joined.
const maxAxes = 8

// A product is d = x @ y, for every place of the axes.
type product struct {
	x, y, d matrix
	axes    [maxAxes]axis
	count   int // of axes
}

// describe returns the product of x and y as d has it. A tensor of one axis is a
// row on the left and a column on the right. ok is false where d has more
// leading axes than a product may.
func describe(x, y, d ir.View) (p product, ok bool) {
	xr, yr, dr := len(x.Shape), len(y.Shape), len(d.Shape)
	k := x.Shape[xr-1]
	p.x = matrix{x.Addr, 1, k, k, x.Strides[xr-1]}
	p.y = matrix{y.Addr, k, 1, y.Strides[yr-1], 1}
	p.d = matrix{addr: d.Addr, rows: 1, cols: 1, rs: 1, cs: 1}
	if yr == 1 {
		p.y.rs = y.Strides[0]
	} else {
		dr--
		p.y.rs, p.y.cols, p.y.cs = y.Strides[yr-2], y.Shape[yr-1], y.Strides[yr-1]
		p.d.cols, p.d.cs = d.Shape[dr], d.Strides[dr]
	}
	if xr > 1 {
		dr--
		p.x.rows, p.x.rs = x.Shape[xr-2], x.Strides[xr-2]
		p.d.rows, p.d.rs = d.Shape[dr], d.Strides[dr]
	}
	return p, p.lead(x, y, d, dr)
}

// lead joins the leading axes, of which d has n.
func (p *product) lead(x, y, d ir.View, n int) bool {
	for i := n - 1; i >= 0; i-- {
		a := axis{d.Shape[i], strideAt(x, i-n), strideAt(y, i-n), d.Strides[i]}
		if a.extent == 1 {
			continue
		}
		if p.count > 0 {
			in := &p.axes[p.count-1]
			if a.x == in.x*in.extent && a.y == in.y*in.extent && a.d == in.d*in.extent {
				in.extent *= a.extent
				continue
			}
		} else if p.foldRows(a) {
			continue
		}
		if p.count == maxAxes {
			return false
		}
		p.axes[p.count] = a
		p.count++
	}
	return true
}

// foldRows makes more rows of an axis along which y is the same and x and d go on
// as their rows do.
func (p *product) foldRows(a axis) bool {
	if a.y != 0 || p.x.rows == 0 {
		return false
	}
	if p.x.rows == 1 { // rows of any stride
		p.x.rs, p.d.rs = a.x, a.d
	} else if a.x != p.x.rs*p.x.rows || a.d != p.d.rs*p.d.rows {
		return false
	}
	p.x.rows *= a.extent
	p.d.rows *= a.extent
	return true
}

// strideAt returns v's stride along the leading axis at, counted from the last of
// them, which is -1; 0 where v has no such axis or repeats along it.
func strideAt(v ir.View, at int) int {
	i := len(v.Shape) - 2 + at
	if i < 0 || v.Shape[i] == 1 {
		return 0
	}
	return v.Strides[i]
}

// A geometry is a product as the library is told it: column-major matrices and one
// axis of batches. It is d' = y' @ x', whose operands the library calls A and B.
// Where columns of d lie together, it is d = x @ y, A and B swapped.
type geometry struct {
	m, n, k        int // rows and columns of what the library writes, inner extent
	lda, ldb, ldd  int
	transA, transB bool
	batch          int
	sa, sb, sd     int // from one matrix of the batch to the next
	a, b, d        uint64
	swapped        bool
}

// geometry returns p without its axes. Biased products are not swapped: the
// library adds a bias along its columns. ok is false where an operand has
// no layout the library knows.
func (p *product) geometry(biased bool) (g geometry, ok bool) {
	x, y, d := p.x, p.y, p.d
	ldd, swapped, ok := d.stored()
	g.swapped = swapped
	if biased && g.swapped {
		ldd, ok = d.plain()
		g.swapped = false
	}
	if g.swapped {
		x, y, d = y.transposed(), x.transposed(), d.transposed()
	}
	lda, transA, okA := y.stored()
	ldb, transB, okB := x.stored()
	g.m, g.n, g.k = y.cols, x.rows, x.cols
	g.lda, g.ldb, g.ldd = lda, ldb, ldd
	g.transA, g.transB = transA, transB
	g.batch = 1
	g.a, g.b, g.d = y.addr, x.addr, d.addr
	return g, ok && okA && okB
}

// aligned reports whether every row that g tells the library of begins at a multiple
// of 16 bytes, where elements have size bytes. Where one does not, the library adds
// biases after it has rounded.
func (p *product) aligned(g *geometry, size int) bool {
	all := g.a | g.b | g.d | uint64(size*(g.lda|g.ldb|g.ldd))
	for _, a := range p.axes[:p.count] {
		all |= uint64(size * (a.x | a.y | a.d))
	}
	return all%16 == 0
}

// batched gives g the axis a.
func (g *geometry) batched(a axis) {
	g.batch, g.sa, g.sb, g.sd = a.extent, a.y, a.x, a.d
	if g.swapped {
		g.sa, g.sb = g.sb, g.sa
	}
}

// widest moves the axis with most places last, where the library takes it, and
// returns how many products remain for the others.
func (p *product) widest() (axis, int) {
	best, others := 0, 1
	for i := range p.count {
		if p.axes[i].extent > p.axes[best].extent {
			best = i
		}
		others *= p.axes[i].extent
	}
	if p.count == 0 {
		return axis{extent: 1}, 1
	}
	last := p.count - 1
	p.axes[best], p.axes[last] = p.axes[last], p.axes[best]
	return p.axes[last], others / max(p.axes[last].extent, 1)
}

// at returns the distances, in elements, of the operands at place i of all axes
// but the last.
func (p *product) at(i int) (x, y, d int) {
	for _, a := range p.axes[:max(p.count-1, 0)] {
		n := i % a.extent
		i /= a.extent
		x, y, d = x+n*a.x, y+n*a.y, d+n*a.d
	}
	return x, y, d
}
