// Package lines computes with points that are made of lines of an image, each times a
// weight: sums of lines, their gradient, and products of lines. Lines are of float32 or
// float64. The package knows nothing of tensors, nor of where the weights come from, and
// starts no goroutines.
package lines

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Float is what elements are.
type Float interface{ float32 | float64 }

// A Tap is a line, by its first element in the image, and its weight. It has 16 bytes.
type Tap[T Float] struct {
	At     int
	Weight T
}

// Points are points of as many taps each, and of lines of N elements: list has the taps of
// a point after those of the one before. The points' own lines begin Step elements apart.
type Points[T Float] struct {
	N, Taps, Step int
	List          []Tap[T]
}

// Longest is how many products a call should have at most: vector code cannot be preempted.
const Longest = 64 << 10

// Funcs are the functions of a level.
type Funcs[T Float] struct{ vector vector[T] }

// vector is what there is in assembly; all of it, or, at level Portable, nothing. Steps are
// in bytes.
type vector[T Float] struct {
	mix, spread func(points, n, taps, step int, own, image *T, list *byte)
	dots        func(points, n, taps, step int, own, image, out *T, list *byte)
}

// Of returns the functions of a level.
func Of[T Float](level simd.Level) Funcs[T] { return Funcs[T]{vectorAt[T](level)} }

func (p *Points[T]) count() int  { return len(p.List) / p.Taps }
func (p *Points[T]) bytes() int  { return p.Step * int(unsafe.Sizeof(T(0))) }
func (p *Points[T]) list() *byte { return (*byte)(unsafe.Pointer(&p.List[0])) }

// Mix sets the line of each point to the sum of its taps' lines times their weights, in
// order.
func (f Funcs[T]) Mix(p *Points[T], to, image []T) {
	if len(p.List) == 0 || p.N == 0 {
		return
	}
	if f.vector.mix != nil {
		f.vector.mix(p.count(), p.N, p.Taps, p.bytes(), &to[0], &image[0], p.list())
		return
	}
	for i := range p.count() {
		own := to[i*p.Step:][:p.N]
		clear(own)
		for _, t := range p.List[i*p.Taps:][:p.Taps] {
			line := image[t.At:][:p.N]
			for c, v := range line {
				own[c] += T(v * t.Weight)
			}
		}
	}
}

// Spread adds the line of each point, times the weights of its taps, to their lines, which
// must differ.
func (f Funcs[T]) Spread(p *Points[T], from, image []T) {
	if len(p.List) == 0 || p.N == 0 {
		return
	}
	if f.vector.spread != nil {
		f.vector.spread(p.count(), p.N, p.Taps, p.bytes(), &from[0], &image[0], p.list())
		return
	}
	for i := range p.count() {
		own := from[i*p.Step:][:p.N]
		for _, t := range p.List[i*p.Taps:][:p.Taps] {
			line := image[t.At:][:p.N]
			for c, v := range own {
				line[c] += T(v * t.Weight)
			}
		}
	}
}

// Dots sets out, which has an element for each tap, to the product of the point's line with
// the tap's. Vector code adds in another order, and does not round products.
func (f Funcs[T]) Dots(p *Points[T], own, image, out []T) {
	if len(p.List) == 0 {
		return
	}
	if f.vector.dots != nil && p.N > 0 {
		f.vector.dots(p.count(), p.N, p.Taps, p.bytes(), &own[0], &image[0], &out[0], p.list())
		return
	}
	for i, t := range p.List {
		a, sum := own[i/p.Taps*p.Step:][:p.N], T(0)
		for c, v := range image[t.At:][:p.N] {
			sum += T(a[c] * v)
		}
		out[i] = sum
	}
}
