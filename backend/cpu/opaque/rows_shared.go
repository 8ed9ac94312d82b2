package opaque

import (
	"sort"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/lines"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Where all of a batch share an index, what each row of the result is made of is found once,
// and the gradient is a sum of rows, too: each row of x takes what the points that read it
// give, in the points' order, as if it were added to by one after the other.

// longestIndex is the longest index that is gone through ahead: what is found takes 16 bytes for each of its elements.
const longestIndex = 1 << 20

// A mixture is what the rows of a result are made of, each of rows of an operand.
type mixture[T float] struct {
	batch, from, to int // rows of the operand, and of the result, for each of a batch
	width           int // elements of a row
	pitch           int // elements from one line that is worked on to the next: a row's, or of several batches' rows of one
	runs            []mixRun[T]
}

// A mixRun is rows of a result from first on that are made of equally many lines each.
type mixRun[T float] struct {
	first, rows, taps int
	list              []lines.Tap[T]
}

const (
	// besideBytes is a line of rows of one element of several batches, and leastBeside how many
	// there are at least.
	besideBytes = 256
	leastBeside = 16
	// besideRows is how many such lines of the operand there are, at most.
	besideRows = 1024
)

// newMixture returns one without runs.
func newMixture[T float](batch, from, to, width int) *mixture[T] {
	m := &mixture[T]{batch: batch, from: from, to: to, width: width, pitch: width}
	if width == 1 && batch >= leastBeside && from <= besideRows {
		m.pitch = besideBytes / int(unsafe.Sizeof(T(0)))
	}
	return m
}

// sumsOf returns the mixture that is the sums of w, whose index all of a batch share.
func sumsOf[T float](w *weighted, index []int64, weight []T) *mixture[T] {
	m := newMixture[T](w.batch, w.rows, w.points, w.width)
	list, ends := make([]lines.Tap[T], 0, w.index), make([]int, w.points)
	for p := range ends {
		for k := p * w.taps; k < (p+1)*w.taps; k++ {
			if weight[k] != 0 {
				list = append(list, lines.Tap[T]{At: int(index[k]) * m.pitch, Weight: weight[k]})
			}
		}
		ends[p] = len(list)
	}
	m.divide(list, ends)
	return m
}

// gradientOf returns the mixture that is the gradient of w.
func gradientOf[T float](w *weighted, index []int64, weight []T) *mixture[T] {
	m := newMixture[T](w.batch, w.points, w.rows, w.width)
	ends := make([]int, w.rows+1)
	for k, at := range index {
		if weight[k] != 0 {
			ends[at+1]++
		}
	}
	for r := range w.rows {
		ends[r+1] += ends[r]
	}
	list := make([]lines.Tap[T], ends[w.rows])
	for k, at := range index {
		if weight[k] != 0 {
			list[ends[at]] = lines.Tap[T]{At: k / w.taps * m.pitch, Weight: weight[k]}
			ends[at]++
		}
	}
	m.divide(list, ends[:w.rows])
	return m
}

// divide divides a list, in which the taps of row r end at ends[r], into runs.
func (m *mixture[T]) divide(list []lines.Tap[T], ends []int) {
	begin := 0
	for r, end := range ends {
		taps := end - begin
		if last := len(m.runs) - 1; last < 0 || m.runs[last].taps != taps || m.runs[last].rows == rowRun {
			m.runs = append(m.runs, mixRun[T]{first: r, taps: taps, list: list[begin:]})
		}
		run := &m.runs[len(m.runs)-1]
		run.rows++
		run.list = run.list[:run.rows*taps]
		begin = end
	}
}

// taps returns how many lines one of the result is made of, at most.
func (m *mixture[T]) taps() int {
	n := 1
	for i := range m.runs {
		n = max(n, m.runs[i].taps)
	}
	return n
}

// run computes the results.
func (m *mixture[T]) run(to, from []T) {
	switch {
	case len(to) == 0:
		return
	case len(from) == 0:
		clear(to)
		return
	case m.pitch != m.width:
		m.columns(to, from)
		return
	}
	pool.For(m.batch*m.to, max(1, rowWork/max(1, m.width*m.taps())), func(lo, hi int) {
		mix := lines.Points[T]{N: m.width, Step: m.width}
		funcs := lines.Of[T](simd.Active())
		for lo < hi {
			b, first := lo/m.to, lo%m.to
			last := min(m.to, first+hi-lo)
			own, other := to[(b*m.to+first)*m.width:], from[b*m.from*m.width:][:m.from*m.width]
			if m.width == 1 {
				m.elements(own, other, first, last)
			} else {
				m.lines(&mix, funcs, own, other, first, last)
			}
			lo += last - first
		}
	})
}

// columns computes rows of one element: some of the batch are turned, so that their rows lie
// beside each other, and what comes of them is turned back.
func (m *mixture[T]) columns(to, from []T) {
	size, tall := int(unsafe.Sizeof(T(0))), min(m.to, rowRun)
	turn := move.Transpose(simd.Active(), size)
	pool.For((m.batch+m.pitch-1)/m.pitch, max(1, rowWork/max(1, m.pitch*m.to*m.taps())), func(lo, hi int) {
		room := scratch.Get((m.from + tall) * besideBytes)
		defer room.Put()
		all := scratch.Slice[T](room, (m.from+tall)*m.pitch)
		other, own := all[:m.from*m.pitch], all[m.from*m.pitch:]
		mix := lines.Points[T]{Step: m.pitch}
		funcs := lines.Of[T](simd.Active())
		for ; lo < hi; lo++ {
			first := lo * m.pitch
			mix.N = min(m.pitch, m.batch-first)
			turn(unsafe.Pointer(&other[0]), unsafe.Pointer(&from[first*m.from]), besideBytes, m.from*size, mix.N, m.from)
			for r := 0; r < m.to; r += tall {
				last := min(m.to, r+tall)
				m.lines(&mix, funcs, own, other, r, last)
				turn(unsafe.Pointer(&to[first*m.to+r]), unsafe.Pointer(&own[0]), m.to*size, besideBytes, last-r, mix.N)
			}
		}
	})
}

// leastMixed is how many elements of lines a call computes at least, however many lines they are of.
const leastMixed = 16

// lines sets the lines of rows [first, last), the first of which is to's.
func (m *mixture[T]) lines(mix *lines.Points[T], funcs lines.Funcs[T], to, from []T, first, last int) {
	width := mix.N
	defer func() { mix.N = width }()
	for _, run := range m.within(first, last) {
		some := min(width, max(leastMixed, lines.Longest/max(1, run.taps)))
		each := max(1, lines.Longest/max(1, some*run.taps))
		for lo, end := max(first, run.first), min(last, run.first+run.rows); lo < end; {
			n := min(end-lo, each)
			own := to[(lo-first)*m.pitch:][:(n-1)*m.pitch+width]
			if mix.Taps = run.taps; mix.Taps == 0 {
				clear(own)
				lo += n
				continue
			}
			mix.List = run.list[(lo-run.first)*run.taps:][:n*run.taps]
			for c := 0; c < width; c += some {
				mix.N = min(some, width-c)
				funcs.Mix(mix, own[c:], from[c:])
			}
			lo += n
		}
	}
}

// elements is lines of rows of one element.
func (m *mixture[T]) elements(to, from []T, first, last int) {
	for _, run := range m.within(first, last) {
		for r := max(first, run.first); r < min(last, run.first+run.rows); r++ {
			sum := T(0)
			for _, t := range run.list[(r-run.first)*run.taps:][:run.taps] {
				sum += T(from[t.At] * t.Weight)
			}
			to[r-first] = sum
		}
	}
}

// within returns the runs that have some of rows [first, last).
func (m *mixture[T]) within(first, last int) []mixRun[T] {
	lo := sort.Search(len(m.runs), func(i int) bool { return m.runs[i].first+m.runs[i].rows > first })
	hi := sort.Search(len(m.runs), func(i int) bool { return m.runs[i].first >= last })
	return m.runs[lo:max(lo, hi)]
}
