// Package step changes runs of elements as optimizers do, with the vector
// instructions of a level. Every operation is rounded once, on every level alike,
// so that all give the same numbers. It knows nothing of tensors.
package step

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A Float is an element type.
type Float interface{ float32 | float64 }

// Steps are the functions of a level. Each changes n elements behind every pointer;
// c has constants.
type Steps[T Float] struct {
	// SGD makes p -= rate*d with d = g + decay*p. Constants: rate, decay.
	SGD func(n int, c *[2]T, p, g *T)
	// Momentum makes v = momentum*v + share*d with d = g + decay*p, then p -= rate*v.
	// Constants: rate, momentum, share, decay.
	Momentum func(n int, c *[4]T, p, v, g *T)
	// Nesterov is Momentum, with p -= rate*(d + momentum*v) at the end.
	Nesterov func(n int, c *[4]T, p, v, g *T)
	// Adam makes m += gain1*(d - m) and v = keep2*v + gain2*(d*d) with d = g + decay*p,
	// then p = shrink*p - rate*(m/(sqrt(v) + eps)). Constants: rate, gain1, keep2,
	// gain2, eps, decay, shrink.
	Adam func(n int, c *[7]T, p, m, v, g *T)
}

// Longest is how many elements a call should have at most: vector code cannot be
// preempted.
const Longest = 16 * 1024

// Of returns the functions of a level.
func Of[T Float](level simd.Level) *Steps[T] {
	if s, ok := any(vectors32(level)).(*Steps[T]); ok && s != nil {
		return s
	}
	if s, ok := any(vectors64(level)).(*Steps[T]); ok && s != nil {
		return s
	}
	if s, ok := any(&portable32).(*Steps[T]); ok {
		return s
	}
	return any(&portable64).(*Steps[T])
}

// The functions in plain Go.
var (
	portable32 = portable[float32]()
	portable64 = portable[float64]()
)

func portable[T Float]() Steps[T] { return Steps[T]{sgd[T], momentum[T], nesterov[T], adam[T]} }

func slice[T Float](p *T, n int) []T { return unsafe.Slice(p, n) }

func sgd[T Float](n int, c *[2]T, p, g *T) {
	rate, decay := c[0], c[1]
	ps, gs := slice(p, n), slice(g, n)
	for i, p := range ps {
		ps[i] = p - T(rate*(gs[i]+T(decay*p)))
	}
}

func momentum[T Float](n int, c *[4]T, p, v, g *T) {
	rate, momentum, share, decay := c[0], c[1], c[2], c[3]
	ps, vs, gs := slice(p, n), slice(v, n), slice(g, n)
	for i, p := range ps {
		d := gs[i] + T(decay*p)
		v := T(momentum*vs[i]) + T(share*d)
		vs[i] = v
		ps[i] = p - T(rate*v)
	}
}

func nesterov[T Float](n int, c *[4]T, p, v, g *T) {
	rate, momentum, share, decay := c[0], c[1], c[2], c[3]
	ps, vs, gs := slice(p, n), slice(v, n), slice(g, n)
	for i, p := range ps {
		d := gs[i] + T(decay*p)
		v := T(momentum*vs[i]) + T(share*d)
		vs[i] = v
		ps[i] = p - T(rate*(d+T(momentum*v)))
	}
}

func adam[T Float](n int, c *[7]T, p, m, v, g *T) {
	rate, gain1, keep2, gain2, eps, decay, shrink := c[0], c[1], c[2], c[3], c[4], c[5], c[6]
	ps, ms, vs, gs := slice(p, n), slice(m, n), slice(v, n), slice(g, n)
	for i, p := range ps {
		d := gs[i] + T(decay*p)
		m := ms[i] + T(gain1*(d-ms[i]))
		v := T(keep2*vs[i]) + T(gain2*T(d*d))
		ms[i], vs[i] = m, v
		ps[i] = T(p*shrink) - T(rate*(m/(T(math.Sqrt(float64(v)))+eps)))
	}
}
