package opaque

import (
	"github.com/sinter-go/sinter/backend/cpu/channel"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/softmaxgrad"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

const (
	// pullColumns is how many columns are computed at once, at most.
	pullColumns = 2048
	// pullWrapped is how many elements of few columns are computed at once, at most.
	pullWrapped = 512
	// pullNarrow is how many columns are not worth calls of loops.
	pullNarrow = 16
	// pullShort is how many elements of a line are not worth calls of loops.
	pullShort = 48
	// pullRows is how many rows of columns are added up before sums go on in float64.
	pullRows = 64
)

// SoftmaxPull returns y*(g - sum(g*y)) along attribute dim, the gradient of Softmax from that of its
// result, operand g, and the result, operand y.
func SoftmaxPull(c *ir.Call) error { return dispatch(c, &softmaxPulls) }

var softmaxPulls = table[callFunc]{ir.Float32: softmaxPull[float32], ir.Float64: softmaxPull[float64]}

func softmaxPull[T float](c *ir.Call) error {
	shape := c.Out[0].Shape
	axis, err := axisOf(c, 0, shape)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	outer, along, inner := around(shape, axis)
	d := tile.TargetOf(c.Out[0], c.Compute)
	s := sharesPull[T]{out: tile.Elements[T](d), g: in[T](c, 0, c.Compute), y: in[T](c, 1, c.Compute), n: along, inner: inner}
	switch {
	case inner == 1 && along < pullShort:
		pool.For(outer, max(1, lineWork/along), s.shortRows)
	case inner == 1:
		pool.For(outer, max(1, lineWork/along), s.rows)
	case inner < pullNarrow && along <= pullRows:
		pool.For(outer, max(1, lineWork/(along*inner)), s.narrow)
	case inner < pullNarrow:
		pool.For(outer, max(1, lineWork/(along*inner)), s.wrapped)
	default:
		eachColumnsBy(outer, along, inner, s.columns)
	}
	tile.Finish(c.Out[0], d)
	return nil
}

// A sharesPull is a call of SoftmaxPull on dense operands: lines of n elements, inner elements apart.
type sharesPull[T float] struct {
	out, g, y []T
	n, inner  int
}

// rows computes lines [lo, hi), whose elements are neighbours.
func (s *sharesPull[T]) rows(lo, hi int) {
	f, pull := channel.Of[T](simd.Active()), softmaxgrad.New[T](simd.Active())
	for ; lo < hi; lo++ {
		sum := 0.0
		eachPart(lo*s.n, s.n, func(r channel.Rows, at int) {
			var two [2]T
			f.Sums(r, 0, &s.g[at], &s.y[at], &two)
			sum += float64(two[1])
		})
		eachPart(lo*s.n, s.n, func(r channel.Rows, at int) {
			pull.PullOf(s.out[at:][:r.N], s.g[at:], s.y[at:], T(sum))
		})
	}
}

// shortRows is rows for lines of few elements.
func (s *sharesPull[T]) shortRows(lo, hi int) {
	n := s.n
	for at := lo * n; at < hi*n; at += n {
		g, y, out := s.g[at:at+n], s.y[at:at+n], s.out[at:at+n]
		var s0, s1, s2, s3 T // of which none waits for the others
		i := 0
		for ; i+4 <= n; i += 4 {
			g4, y4 := g[i:i+4:i+4], y[i:i+4:i+4]
			s0, s1, s2, s3 = s0+T(g4[0]*y4[0]), s1+T(g4[1]*y4[1]), s2+T(g4[2]*y4[2]), s3+T(g4[3]*y4[3])
		}
		for ; i < n; i++ {
			s0 += T(g[i] * y[i])
		}
		sum := (s0 + s1) + (s2 + s3)
		for i, v := range g {
			out[i] = y[i] * (v - sum)
		}
	}
}

// narrow computes matrices [lo, hi) of few columns, each of which is a line.
func (s *sharesPull[T]) narrow(lo, hi int) {
	size := s.n * s.inner
	for at := lo * size; at < hi*size; at += size {
		g, y, out := s.g[at:at+size], s.y[at:at+size], s.out[at:at+size]
		for first := range s.inner {
			var sum T
			for i := first; i < len(g) && i < len(y); i += s.inner {
				sum += T(g[i] * y[i])
			}
			for i := first; i < len(g) && i < len(y) && i < len(out); i += s.inner {
				out[i] = y[i] * (g[i] - sum)
			}
		}
	}
}

// wrapped computes matrices [lo, hi) of few columns and many rows, of which as many as fit are one row
// of more columns, so that each column has several sums.
func (s *sharesPull[T]) wrapped(lo, hi int) {
	pull, size := softmaxgrad.New[T](simd.Active()), s.n*s.inner
	part, sums := make([]T, min(pullWrapped/s.inner, s.n)*s.inner), make([]float64, s.inner)
	for from, end := lo*size, (lo+1)*size; from < hi*size; from, end = end, end+size {
		clear(sums)
		for r := from; r < end; r += pullRows * len(part) {
			clear(part)
			for at := r; at < min(r+pullRows*len(part), end); at += len(part) {
				pull.Add(part[:min(len(part), end-at)], s.g[at:], s.y[at:])
			}
			for i := 0; i < len(part); i += s.inner {
				for c, v := range part[i:][:s.inner] {
					sums[c] += float64(v)
				}
			}
		}
		for i := 0; i < len(part); i += s.inner {
			for c, v := range sums {
				part[i+c] = T(v)
			}
		}
		for at := from; at < end; at += len(part) {
			pull.Pull(s.out[at:][:min(len(part), end-at)], s.g[at:], s.y[at:], part)
		}
	}
}

// columns returns a function that computes n neighbouring lines, the first element of which is at
// off, and serves one goroutine.
func (s *sharesPull[T]) columns() func(off, _, n int) {
	pull, most := softmaxgrad.New[T](simd.Active()), min(s.inner, pullColumns)
	sums, part := make([]float64, most), make([]T, most)
	return func(off, _, n int) {
		for ; n > 0; n, off = n-most, off+most {
			s.someColumns(pull, off, sums[:min(n, most)], part[:min(n, most)])
		}
	}
}

// someColumns computes as many neighbouring lines as sums and part have room for.
func (s *sharesPull[T]) someColumns(pull *softmaxgrad.Puller[T], off int, sums []float64, part []T) {
	clear(sums)
	for r := 0; r < s.n; r += pullRows {
		clear(part)
		for at := off + r*s.inner; at < off+min(r+pullRows, s.n)*s.inner; at += s.inner {
			pull.Add(part, s.g[at:], s.y[at:])
		}
		for i, v := range part {
			sums[i] += float64(v)
		}
	}
	for i, v := range sums {
		part[i] = T(v)
	}
	for at := off; at < off+s.n*s.inner; at += s.inner {
		pull.Pull(s.out[at:][:len(part)], s.g[at:], s.y[at:], part)
	}
}
