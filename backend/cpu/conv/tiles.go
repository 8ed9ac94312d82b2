package conv

import (
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A Piece is windows that a tile is computed from: neighbours in a row, or as many in
// each of two rows.
type Piece struct {
	From   int // where the first one starts in a frame, in bytes
	Window int // which one of the image it is
	Count  int
	Paired bool // has two rows
	Reach  int  // which one of the cutting's
}

// A Cutting is the windows of an image in pieces. Those of a group are neighbours, from
// the first one of its first piece on, and groups follow one another.
type Cutting struct {
	Groups  [][]Piece
	Reaches []Reach // that pieces have
	Jump    int     // between two rows that are paired, in bytes
}

// Cut cuts windows over frames like f, whose kernel reads the given places along each
// axis.
func Cut(level simd.Level, f *Frame, out []int, kernel [][]int, narrow bool) (c Cutting) {
	width, rows, across := out[f.last], f.Rows(out), f.across(out, kernel)
	most, paired := MostRows(level), MostPaired(level, narrow)
	n := (width + most - 1) / most
	if width <= paired {
		n = 1
	}
	if len(rows) > 1 {
		c.Jump = rows[1] - rows[0]
	}
	known := map[string]int{}
	for r := 0; r < len(rows); r++ {
		pairs := width/n <= paired && r+1 < len(rows) && rows[r+1]-rows[r] == c.Jump && slices.Equal(across[r], across[r+1])
		var group []Piece
		for i := range n {
			lo, hi := i*width/n, (i+1)*width/n
			p := Piece{rows[r] + lo*f.Elem, r*width + lo, hi - lo, false, c.reach(known, across[r], f.along(kernel[f.last], lo, hi))}
			switch {
			case !pairs:
				c.Groups = append(c.Groups, []Piece{p})
			case p.Count <= paired:
				p.Count, p.Paired = 2*p.Count, true
				group = append(group, p)
			default:
				group = append(group, p, Piece{p.From + c.Jump, p.Window + width, p.Count, false, p.Reach})
			}
		}
		if pairs {
			c.Groups = append(c.Groups, group)
			r++
		}
	}
	return c
}

// Lanes returns how many sums a row of a tile has.
func Lanes(level simd.Level, elem int) int {
	switch {
	case level >= simd.AVX512:
		return 128 / elem
	case level >= simd.AVX2:
		return 64 / elem
	}
	return plainLanes
}

// MostRows returns how many rows a tile has at most, as gen/simd/conv has it.
func MostRows(level simd.Level) int {
	switch {
	case level >= simd.AVX512:
		return 14
	case level >= simd.AVX2:
		return 6
	}
	return 2
}

// MostPaired returns how many rows each half of a tile of two halves has at most, as
// gen/simd/conv has it.
func MostPaired(level simd.Level, narrow bool) int {
	if level >= simd.AVX512 && narrow {
		return 8
	}
	return MostRows(level) / 2
}

// Tiles are sums of products: each tile has some rows of Lanes sums side by side, and
// each sum is over the terms that its row needs in their order, of an element that the
// row has for the term and a weight that the lane has for it.
type Tiles[T Float] struct {
	Level   simd.Level
	Narrow  bool // only the first half of a row is of interest
	Add     bool // to what is there
	Src     unsafe.Pointer
	Step    int // from the element of a row to that of the next, in bytes
	Jump    int // from the first half of a tile to the second, where it has two
	Terms   Terms
	Weights unsafe.Pointer
	Dst     unsafe.Pointer
	Pitch   int // from a row of a tile to the next, in bytes
	Leap    int // from the first half of a tile to the second, where it has two
}

// A tileFunc computes tiles of some rows and vectors.
type tileFunc func(dst *byte, pitch, leap int, src *byte, step, jump int, pieces *int, count int, terms *int, first, whole, last int, weights *byte, add int)

// Run computes tiles of so many rows, which may be in two halves. pieces has two
// numbers for each of them: where it lies in Src and in Dst, in bytes.
func (t *Tiles[T]) Run(rows int, paired bool, pieces []int) {
	if t.Level == simd.Portable {
		t.plain(rows, paired, pieces)
		return
	}
	vectors, add := 2, 0
	if t.Narrow {
		vectors = 1
	}
	tiles, pairs := tilesOf(t.Level, int(unsafe.Sizeof(T(0))), vectors)
	var f tileFunc
	if paired {
		f = pairs[rows/2]
	} else {
		f = tiles[rows]
	}
	if t.Add {
		add = 1
	}
	n := &t.Terms
	list, whole := (*int)(unsafe.Pointer(unsafe.SliceData(n.List))), len(n.List)-n.First-n.Last
	most := max(1, mostProducts/(rows*vectors*max(1, len(n.List))))
	for len(pieces) > 0 {
		count := min(most, len(pieces)/2)
		f((*byte)(t.Dst), t.Pitch, t.Leap, (*byte)(t.Src), t.Step, t.Jump, &pieces[0], count, list, n.First, whole, n.Last, (*byte)(t.Weights), add)
		pieces = pieces[2*count:]
	}
}

// plainLanes is how many sums a row has where there are no vectors: with two rows,
// what registers hold.
const plainLanes = 4

// plain takes all terms for all rows: what a row does not need is padding.
func (t *Tiles[T]) plain(rows int, paired bool, pieces []int) {
	step, pitch := t.Step, t.Pitch
	if paired {
		step, pitch = t.Jump, t.Leap
	}
	for i := 0; i < len(pieces); i += 2 {
		src := unsafe.Add(t.Src, pieces[i])
		first := (*[plainLanes]T)(unsafe.Add(t.Dst, pieces[i+1]))
		if rows == 2 {
			t.plainPair(first, (*[plainLanes]T)(unsafe.Add(t.Dst, pieces[i+1]+pitch)), src, step)
			continue
		}
		var s0, s1, s2, s3 T
		if t.Add {
			s0, s1, s2, s3 = first[0], first[1], first[2], first[3]
		}
		for _, n := range t.Terms.List {
			x, w := *(*T)(unsafe.Add(src, n.At)), (*[plainLanes]T)(unsafe.Add(t.Weights, n.Weight))
			s0 += x * w[0]
			s1 += x * w[1]
			s2 += x * w[2]
			s3 += x * w[3]
		}
		*first = [plainLanes]T{s0, s1, s2, s3}
	}
}

// plainPair is plain for a tile of two rows.
func (t *Tiles[T]) plainPair(first, second *[plainLanes]T, src unsafe.Pointer, step int) {
	var a0, a1, a2, a3, b0, b1, b2, b3 T
	if t.Add {
		a0, a1, a2, a3 = first[0], first[1], first[2], first[3]
		b0, b1, b2, b3 = second[0], second[1], second[2], second[3]
	}
	for _, n := range t.Terms.List {
		x, w := unsafe.Add(src, n.At), (*[plainLanes]T)(unsafe.Add(t.Weights, n.Weight))
		a, b := *(*T)(x), *(*T)(unsafe.Add(x, step))
		a0 += a * w[0]
		a1 += a * w[1]
		a2 += a * w[2]
		a3 += a * w[3]
		b0 += b * w[0]
		b1 += b * w[1]
		b2 += b * w[2]
		b3 += b * w[3]
	}
	*first, *second = [plainLanes]T{a0, a1, a2, a3}, [plainLanes]T{b0, b1, b2, b3}
}
