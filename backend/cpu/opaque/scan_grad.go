package opaque

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// scanColumns is how many lines beside each other are turned at once, so that each is read as if
// its elements were neighbours.
const scanColumns = 16

// A slope writes the gradient of a scan over one line to to, from the operands' elements of the line.
// It serves one goroutine, and needs nothing once it was released.
type slope interface {
	line(to []float32, in [][]float32)
	release()
}

// scanGrad writes the gradients of scans over lines along the axis in attribute dim, by slopes for
// lines of n elements. All operands have the result's shape.
func scanGrad(c *ir.Call, slopes func(n int) slope) error {
	to := c.Out[0]
	axis, err := axisOf(c, 0, to.Shape)
	if err != nil || to.NumElements() == 0 {
		return err
	}
	d := tile.TargetOf(to, ir.Float32)
	g := scanLines{slopes: slopes, out: tile.Elements[float32](d), in: make([][]float32, len(c.In))}
	for i := range c.In {
		g.in[i] = in[float32](c, i, ir.Float32)
	}
	var outer int
	if outer, g.n, g.inner = around(to.Shape, axis); g.inner == 1 {
		pool.For(outer, max(1, lineWork/g.n), g.rows)
	} else {
		pool.For(outer*g.bands(), max(1, lineWork/(g.n*min(g.inner, scanColumns))), g.columns)
	}
	tile.Finish(to, d)
	return nil
}

// A scanLines is a call of scanGrad on dense operands: lines of n elements, inner elements apart.
type scanLines struct {
	slopes   func(n int) slope
	out      []float32
	in       [][]float32
	n, inner int
}

// bands is how many groups of lines beside each other there are.
func (g *scanLines) bands() int { return (g.inner + scanColumns - 1) / scanColumns }

// rows computes lines [lo, hi), whose elements are neighbours.
func (g *scanLines) rows(lo, hi int) {
	s := g.slopes(g.n)
	defer s.release()
	line := make([][]float32, len(g.in))
	for ; lo < hi; lo++ {
		for i, x := range g.in {
			line[i] = x[lo*g.n:][:g.n]
		}
		s.line(g.out[lo*g.n:][:g.n], line)
	}
}

// columns computes bands [lo, hi).
func (g *scanLines) columns(lo, hi int) {
	s := g.slopes(g.n)
	defer s.release()
	size := min(scanColumns, g.inner) * g.n // elements of a band
	block := scratch.Get((len(g.in) + 1) * size * 4)
	defer block.Put()
	room := scratch.Slice[float32](block, (len(g.in)+1)*size)
	turned := make([][]float32, len(g.in)+1) // the operands' lines one after the other, and the result's
	for i := range turned {
		turned[i] = room[i*size:][:size]
	}
	line := make([][]float32, len(g.in))
	for ; lo < hi; lo++ {
		first := lo % g.bands() * scanColumns
		at, columns := lo/g.bands()*g.n*g.inner+first, min(scanColumns, g.inner-first)
		for i, x := range g.in {
			turnLines(turned[i], x[at:], g.n, columns, g.n, g.inner)
		}
		for k := range columns {
			for i := range line {
				line[i] = turned[i][k*g.n:][:g.n]
			}
			s.line(turned[len(line)][k*g.n:][:g.n], line)
		}
		turnLines(g.out[at:], turned[len(line)], columns, g.n, g.inner, g.n)
	}
}

// turnLines copies rows rows of cols elements of x to columns of to: x[r*xStride+c] to
// to[c*toStride+r].
func turnLines(to, x []float32, rows, cols, toStride, xStride int) {
	turn := move.Transpose(simd.Active(), 4)
	tall, wide := rows, cols // of a call
	if rows > cols {
		tall = max(1, min(rows, move.Chunk/cols))
	} else {
		wide = max(1, min(cols, move.Chunk/rows))
	}
	for r := 0; r < rows; r += tall {
		for c := 0; c < cols; c += wide {
			p, q := to[c*toStride+r:], x[r*xStride+c:]
			turn(unsafe.Pointer(&p[0]), unsafe.Pointer(&q[0]), toStride*4, xStride*4, min(tall, rows-r), min(wide, cols-c))
		}
	}
}
