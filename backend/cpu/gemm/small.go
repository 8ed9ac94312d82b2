package gemm

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A small is a small product made ready: what is the same wherever its operands
// begin. They are read where they are, and one processor computes it at once, without
// a job: what surrounds the kernels counts.
type small[T Number] struct {
	e     *engine
	t     tile // less the places of operands
	n     int
	whole strip
	edge  strip // the last panel, if it is cut short
	add   bool
	bias  unsafe.Pointer
}

// A strip is how a panel is computed.
type strip struct {
	class, last int
	rows        split
	aStep       int // bytes of the next A to ask for with each term of the larger groups
	bStep       int // and of the next B with each of the others
}

// places are where operands begin.
type places struct{ a, b, c unsafe.Pointer }

// ready makes a small product ready and reports true, or does nothing. It may be one
// of many.
func (s *small[T]) ready(e *engine, p *Product[T], many bool) bool {
	if packsA, packsB := p.packs(e); packsA || packsB || e.family == portable || p.M*p.N*p.K > e.share || p.K > e.depth || p.Stretch > 0 && p.K > p.Stretch ||
		p.N > 1 && p.C.Col != 1 || p.BiasRows && p.Bias != nil {
		return false
	}
	s.e, s.n, s.add = e, p.N, p.Add
	s.t.aRow, s.t.aCol, s.t.bRow = p.A.Row*e.size, p.A.Col*e.size, p.B.Row*e.size
	s.t.k, s.t.cRow = p.K, p.C.Row*e.size
	if p.Add {
		s.t.srcRow = s.t.cRow
	} else {
		s.bias = p.Bias
	}
	n := p.N
	if width := e.columns(); n >= width {
		setStrip(&s.whole, e, p, width, many)
		n %= width
	}
	if n > 0 {
		setStrip(&s.edge, e, p, n, many)
	}
	return true
}

// setStrip decides how a panel of so many columns is computed.
func setStrip[T Number](s *strip, e *engine, p *Product[T], columns int, many bool) {
	s.class, s.last = e.classOf(columns)
	s.rows = e.split(p.M, s.class, p.M)
	if many {
		s.aStep, s.bStep = p.M*e.size/max(s.rows.large, 1), p.N*e.size/s.rows.small
	}
}

// run computes the product of operands that begin at some places, and asks for
// those of the next one meanwhile.
func (s *small[T]) run(at, next places) {
	width, size := s.e.columns(), s.e.size
	t := s.t
	for j := 0; j < s.n; j += width {
		how := &s.whole
		if j+width > s.n {
			how = &s.edge
		}
		t.last = how.last
		t.a, t.b, t.c = at.a, unsafe.Add(at.b, j*size), unsafe.Add(at.c, j*size)
		switch {
		case s.add:
			t.src = t.c
		case s.bias != nil:
			t.src = unsafe.Add(s.bias, j*size)
		}
		if n := how.rows.large; n > 0 {
			rows := how.rows.rows + 1
			t.groups, t.ahead, t.aheadStep = n, next.a, how.aStep
			runTile[T](s.e.family, how.class, rows, &t)
			t.a, t.c = unsafe.Add(t.a, n*rows*t.aRow), unsafe.Add(t.c, n*rows*t.cRow)
			if t.src != nil {
				t.src = unsafe.Add(t.src, n*rows*t.srcRow)
			}
		}
		t.groups, t.ahead, t.aheadStep = how.rows.small, next.b, how.bStep
		runTile[T](s.e.family, how.class, how.rows.rows, &t)
	}
}

// runSmall computes a small product and reports true, or does nothing.
func runSmall[T Number](e *engine, p *Product[T]) bool {
	var s small[T]
	if !s.ready(e, p, false) {
		return false
	}
	at := places{p.A.Ptr, p.B.Ptr, p.C.Ptr}
	s.run(at, at)
	if p.Done != nil {
		p.Done(0, p.M, 0, p.N)
	}
	return true
}

// Each computes n products of matrices that lie like those of p but begin where at
// says, one after the other.
func (p *Product[T]) Each(n int, at func(i int) (a, b, c unsafe.Pointer)) {
	eachAt(simd.Active(), p, n, at)
}

// eachAt is Each at a level of instructions.
func eachAt[T Number](level simd.Level, p *Product[T], n int, at func(i int) (a, b, c unsafe.Pointer)) {
	e := engineOf[T](level)
	var s small[T]
	if p.M == 0 || p.N == 0 || p.K == 0 || min(p.M, p.N) <= thinRows || !s.ready(e, p, true) {
		for i := range n {
			q := *p
			q.A.Ptr, q.B.Ptr, q.C.Ptr = at(i)
			runAt(level, &q)
		}
		return
	}
	var now places
	for i := range n + 1 {
		next := now
		if i < n {
			next.a, next.b, next.c = at(i)
		}
		if i > 0 {
			s.run(now, next)
		}
		now = next
	}
}
