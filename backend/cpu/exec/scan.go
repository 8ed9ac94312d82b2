package exec

import (
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A scan is a scan call made ready: every position of the kept axes has a line
// of elements along the scanned axis.
type scan struct {
	loops   *ir.ReduceLoops
	scalars []ir.Scalar
	kept    axes
	x, out  tile.Operand // one line
	xSize   int          // bytes of a stored element
	oSize   int
	length  int // of a line
}

func runScan(c *ir.Call) error {
	loops := pick(c, c.Op.CPU.Scan)
	if loops == nil {
		return unsupported(c)
	}
	if len(c.Out) != 1 || len(c.In) != 1 || len(c.Axes) != 1 {
		return fmt.Errorf("%d results, %d operands and %d axes for one of each", len(c.Out), len(c.In), len(c.Axes))
	}
	x, out, axis := c.In[0], c.Out[0], c.Axes[0]
	s := &scan{
		loops: loops, scalars: c.Scalars, length: c.Space[axis],
		xSize: x.DType.Size(), oSize: out.DType.Size(),
	}
	s.kept, _ = split(c)
	if s.length == 0 || s.kept.n == 0 {
		return nil
	}
	if a := s.kept.nearest(x.Strides[axis]); a >= 0 && s.length > 1 {
		s.scanRows(c, a)
		return nil
	}
	line := c.Space[axis : axis+1]
	s.x.InitAxes(x.Ptr, x.DType, line, x.Strides[axis:axis+1], c.Compute)
	s.out.InitAxes(out.Ptr, out.DType, line, out.Strides[axis:axis+1], loops.Out)
	pool.For(s.kept.n, max(1, grain/s.length), s.lines)
	return nil
}

// lines scans the lines at kept positions [lo, hi), each by itself.
func (s *scan) lines(lo, hi int) {
	buf := tile.Borrow(3)
	defer buf.Return()
	acc := buf.Buffer(2).Ptr()
	for ; lo < hi; lo++ {
		off, outOff := s.kept.offsets(lo)
		from, to := unsafe.Add(s.x.Ptr(), off*s.xSize), unsafe.Add(s.out.Ptr(), outOff*s.oSize)
		s.loops.Init(1, acc, s.scalars)
		for i := 0; i < s.length; i += tile.Size {
			n := min(tile.Size, s.length-i)
			res := s.out.TargetAt(to, i, n, buf.Buffer(1))
			s.loops.Prefix(n, res, acc, s.x.LoadFrom(from, i, n, buf.Buffer(0)), s.scalars)
			s.out.StoreAt(to, i, n, res)
		}
	}
}

// scanRows scans many lines at once where elements of neighbouring lines, along
// kept axis a, lie closer together than those of one line.
func (s *scan) scanRows(c *ir.Call, a int) {
	x, out, axis := c.In[0], c.Out[0], c.Axes[0]
	rest := s.kept.without(a)
	extent, step, outStep := s.kept.shape[a], s.kept.steps[a], s.kept.outs[a]
	load, store := convert.Between(c.Compute, x.DType), convert.Between(out.DType, s.loops.Out)
	tiles := (extent + columns - 1) / columns
	pool.For(rest.n*tiles, max(1, grain/(min(extent, columns)*s.length)), func(lo, hi int) {
		buf := tile.Borrow(3)
		defer buf.Return()
		acc, row, res := buf.Buffer(0).Ptr(), buf.Buffer(1).Ptr(), buf.Buffer(2).Ptr()
		for ; lo < hi; lo++ {
			off, outOff := rest.offsets(lo / tiles)
			first := lo % tiles * columns
			n := min(columns, extent-first)
			off, outOff = off+first*step, outOff+first*outStep
			s.loops.Init(n, acc, s.scalars)
			for i := range s.length {
				load(n, row, 1, unsafe.Add(x.Ptr, (off+i*x.Strides[axis])*s.xSize), step)
				s.loops.Rows(n, acc, row, s.scalars)
				s.loops.Finish(n, res, acc, s.scalars, int64(i)+1)
				store(n, unsafe.Add(out.Ptr, (outOff+i*out.Strides[axis])*s.oSize), outStep, res, 1)
			}
		}
	})
}
