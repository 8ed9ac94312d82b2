package conv

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A Float is what convolutions compute in.
type Float interface{ float32 | float64 }

// A Plane is the windows of an image, taken a vector at a time: sums over their
// places are computed where the frames lie, without packing. Vectors do not reach
// over the ends of rows.
type Plane struct {
	vectors *vectors // nil: plain Go
	elem    int
	width   int   // windows of a row
	windows int   // of all rows
	starts  []int // where each row starts in a frame, in bytes
	pieces  []int // two numbers for each vector: where it comes from and where it goes, in bytes
}

// Pieces returns into how many portions a product's windows can be cut.
func (p *Plane) Pieces() int { return max(1, len(p.starts)) }

// Rows is how many rows of a product Sum computes at once, at most.
const Rows = 6

// taps is a vector function that computes some rows, dots one that adds up products.
type (
	taps func(dst *byte, pitch int, src *byte, pieces *int, count int, offsets *int, n int, weights *byte, stride int)
	dots func(sums *byte, a *byte, src *byte, pieces *int, count int, offsets *int, n int)
)

// A vectors is the vector functions of a level for an element type.
type vectors struct {
	bytes  int           // of a vector
	blocks [Rows + 1]int // vectors that the functions of taps take at once
	taps   [Rows + 1]taps
	dots   [2]dots // of whole vectors, four or nine offsets at once
	ends   [2]dots // of the first n elements of vectors
}

// NewPlane returns the windows over frames like f, as the level takes them.
func NewPlane(f *Frame, out []int, level simd.Level) *Plane {
	p := &Plane{elem: f.Elem, width: out[len(out)-1], windows: 1}
	for _, n := range out {
		p.windows *= n
	}
	p.vectors = vectorsOf(level, f.Elem, p.width)
	p.starts = f.Rows(out)
	if p.vectors == nil {
		return p
	}
	lanes := p.vectors.bytes / p.elem
	for r, start := range p.starts {
		for x := 0; x < p.width; x += lanes {
			p.pieces = append(p.pieces, start+x*p.elem, (r*p.width+x)*p.elem)
		}
	}
	return p
}

// Waste returns how much longer vectors over rows of windows take than the level's
// widest do where each element counts: 0.25 is a quarter. It is infinite where there
// are no vectors.
func Waste(level simd.Level, elem, width int) float64 {
	v := vectorsOf(level, elem, width)
	if v == nil {
		return math.Inf(1)
	}
	widest := 32
	if level >= simd.AVX512 {
		widest = 64
	}
	lanes := v.bytes / elem
	return float64((width+lanes-1)/lanes*widest)/float64(width*elem) - 1
}

// most work of a call, in products of vectors: vector code cannot be preempted.
const mostProducts = 64 * 1024

// wholeBlocks is a number of vectors that blocks of any size divide.
const wholeBlocks = 12

// A Product is weights times windows: rows of sums over terms.
type Product[T Float] struct {
	Plane *Plane
	Rows  int
	Terms []int // where each lies for the first window, in bytes
	// Band is how many rows of windows are taken for all of Rows before the next, so that
	// what they read is still in a cache; 0 for any number.
	Band int
	// Pitch is how many numbers the rows of the result are apart; 0 where they follow one
	// another.
	Pitch int
}

// pitch returns the bytes from a row of the result to the next.
func (p *Product[T]) pitch() int { return max(p.Pitch, p.Plane.windows) * p.Plane.elem }

// Run sets portion i, of so many, of out, [Rows, Pitch], to the product of weight,
// [Rows, Terms], with the windows over the frames at data. Every sum is over terms in
// their order. Done is called once for each block of rows [r0, r1) and windows [w0, w1) when
// it is finished and may still be in a cache.
func (p *Product[T]) Run(out, weight, data unsafe.Pointer, i, portions int, done func(r0, r1, w0, w1 int)) {
	stride, pitch := len(p.Terms)*p.Plane.elem, p.pitch()
	n, f := len(p.Plane.pieces)/2, p.vectors
	if p.Plane.vectors == nil {
		n, f = len(p.Plane.starts), p.plain
	}
	groups := (p.Rows + Rows - 1) / Rows
	first, end := i*n/portions, (i+1)*n/portions
	band := max(1, end-first)
	if groups > 1 && p.Band > 0 {
		band = max(1, p.Band*n/len(p.Plane.starts)/wholeBlocks) * wholeBlocks
	}
	for ; first < end; first += band {
		w0, w1 := p.window(first), p.window(min(first+band, end))
		for g, from := 0, 0; g < groups; g++ {
			lo, hi := g*p.Rows/groups, (g+1)*p.Rows/groups
			f(unsafe.Add(out, lo*pitch), data, unsafe.Add(weight, lo*stride), hi-lo, first, min(first+band, end))
			if hi == p.Rows || (hi-from)*(w1-w0) >= doneElements {
				done(from, hi, w0, w1)
				from = hi
			}
		}
	}
}

// doneElements is how many elements of the result are finished at once, about.
const doneElements = 16 << 10

// window returns the first window of a vector, or without vectors of a row; that behind the
// last one's is there too.
func (p *Product[T]) window(i int) int {
	switch {
	case p.Plane.vectors == nil:
		return i * p.Plane.width
	case 2*i < len(p.Plane.pieces):
		return p.Plane.pieces[2*i+1] / p.Plane.elem
	}
	return p.Plane.windows
}

// vectors computes the vectors [first, last) of some rows.
func (p *Product[T]) vectors(out, data, w unsafe.Pointer, rows, first, last int) {
	v, pieces := p.Plane.vectors, p.Plane.pieces
	stride, pitch := len(p.Terms)*p.Plane.elem, p.pitch()
	end := p.Plane.windows * p.Plane.elem // of what is to be written of a row
	if 2*last < len(pieces) {
		end = pieces[2*last+1]
	}
	pieces = pieces[2*first : 2*last]
	n, blocks, f := len(pieces)/2, v.blocks[rows], v.taps[rows]
	whole := n // vectors that end before that
	for whole > 0 && pieces[2*whole-1]+v.bytes > end {
		whole--
	}
	whole -= whole % blocks
	most := max(1, mostProducts/(rows*blocks*len(p.Terms))) * blocks
	for at := 0; at < whole; at += most {
		f((*byte)(out), pitch, (*byte)(data), &pieces[2*at], min(most, whole-at), &p.Terms[0], len(p.Terms), (*byte)(w), stride)
	}
	if whole == n {
		return
	}
	// The others go into room, and from there what belongs to a row.
	room := rows * blocks * v.bytes
	block := scratch.Get(room + 2*8*blocks)
	defer block.Put()
	table := unsafe.Slice((*int)(unsafe.Add(block.Ptr(), room)), 2*blocks)
	for at := whole; at < n; at += blocks {
		for b := range blocks {
			table[2*b], table[2*b+1] = pieces[2*min(at+b, n-1)], b*v.bytes
		}
		f((*byte)(block.Ptr()), blocks*v.bytes, (*byte)(data), &table[0], blocks, &p.Terms[0], len(p.Terms), (*byte)(w), stride)
		for b := range min(blocks, n-at) {
			to := pieces[2*(at+b)+1]
			bytes := min(v.bytes, end-to)
			for r := range rows {
				from := unsafe.Add(block.Ptr(), (r*blocks+b)*v.bytes)
				copy(unsafe.Slice((*byte)(unsafe.Add(out, r*pitch+to)), bytes), unsafe.Slice((*byte)(from), bytes))
			}
		}
	}
}

// plain computes rows [first, last) of windows.
func (p *Product[T]) plain(out, data, w unsafe.Pointer, rows, first, last int) {
	width := p.Plane.width
	weights := unsafe.Slice((*T)(w), rows*len(p.Terms))
	for r := range rows {
		for i := first; i < last; i++ {
			to := unsafe.Slice((*T)(unsafe.Add(out, r*p.pitch()+i*width*p.Plane.elem)), width)
			clear(to)
			for t, at := range p.Terms {
				from, weight := unsafe.Slice((*T)(unsafe.Add(data, p.Plane.starts[i]+at)), width), weights[r*len(p.Terms)+t]
				for x, e := range from {
					to[x] += weight * e
				}
			}
		}
	}
}

// Dots are products of images' windows with one number for each window, summed up
// over windows: a sum for each term.
type Dots[T Float] struct {
	Plane *Plane
	Terms []int // where each lies for the first window, in bytes
	terms []int // the same, the last one repeated to fill groups
	whole []int // the plane's vectors that are in rows as a whole
	ends  []int // and the others
	lanes int
	width int // elements of the others
}

// NewDots returns the sums for the terms of a plane's windows.
func NewDots[T Float](p *Plane, terms []int) *Dots[T] {
	d := &Dots[T]{Plane: p, Terms: terms, terms: append([]int(nil), terms...), lanes: 1}
	for len(d.terms)%9%4 > 0 {
		d.terms = append(d.terms, terms[len(terms)-1])
	}
	if p.vectors == nil {
		return d
	}
	d.lanes = p.vectors.bytes / p.elem
	d.width = p.width % d.lanes
	row := (p.width + d.lanes - 1) / d.lanes
	for i := 0; i < len(p.pieces); i += 2 {
		if d.width > 0 && i/2%row == row-1 {
			d.ends = append(d.ends, p.pieces[i:i+2]...)
		} else {
			d.whole = append(d.whole, p.pieces[i:i+2]...)
		}
	}
	return d
}

// Len returns how many partial sums Add adds to.
func (d *Dots[T]) Len() int { return len(d.terms) * d.lanes }

// Add adds an image to partial sums: the frames at data, and the numbers at g.
func (d *Dots[T]) Add(sums []T, g, data unsafe.Pointer) {
	v := d.Plane.vectors
	if v == nil {
		d.plain(sums, g, data)
		return
	}
	for t := 0; t < len(d.terms); {
		group, f := 4, 0
		if len(d.terms)-t >= 9 {
			group, f = 9, 1
		}
		to := (*byte)(unsafe.Pointer(&sums[t*d.lanes]))
		for list := d.whole; len(list) > 0; {
			n := min(mostProducts/8, len(list))
			v.dots[f](to, (*byte)(g), (*byte)(data), &list[0], n/2, &d.terms[t], d.lanes)
			list = list[n:]
		}
		for list := d.ends; len(list) > 0; {
			n := min(mostProducts/8, len(list))
			v.ends[f](to, (*byte)(g), (*byte)(data), &list[0], n/2, &d.terms[t], d.width)
			list = list[n:]
		}
		t += group
	}
}

func (d *Dots[T]) plain(sums []T, g, data unsafe.Pointer) {
	p := d.Plane
	for t, at := range d.Terms {
		for r, start := range p.starts {
			from := unsafe.Slice((*T)(unsafe.Add(data, start+at)), p.width)
			for x, e := range unsafe.Slice((*T)(unsafe.Add(g, r*p.width*p.elem)), p.width) {
				sums[t] += e * from[x]
			}
		}
	}
}

// Sums sets to to the sum of each term: the lanes of its partial sums one after the
// other.
func (d *Dots[T]) Sums(to, sums []T) {
	for t := range to {
		sum := T(0)
		for _, e := range sums[t*d.lanes : (t+1)*d.lanes] {
			sum += e
		}
		to[t] = sum
	}
}
