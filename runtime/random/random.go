// Package random holds the state of the random number generator. Numbers are
// counter-based (Philox 4x32-10): a call draws a seed and an offset here, and
// every element's value follows from these and its position alone, on every
// backend. The package knows nothing of tensors.
//
//	random.Seed(1) // this goroutine's generator, from the beginning
//	x = tensor.Randn([]int{2, 3})
//	err := random.With(random.New(7), func() error { // numbers of their own
//		y = tensor.Rand([]int{2, 3})
//		return y.Err()
//	})
//	if err != nil {
//		return err
//	}
package random

import (
	"sync"

	"github.com/sinter-go/sinter/runtime/local"
)

// A State is everything that decides the numbers to come.
type State struct {
	Seed   int64 // key of the sequence
	Offset int64 // calls drawn so far
}

// A Generator hands out positions in one random sequence. It is safe for
// concurrent use; concurrent callers receive distinct positions.
type Generator struct {
	mu    sync.Mutex
	state State
}

// New returns a generator at the start of the sequence of seed.
func New(seed int64) *Generator { return &Generator{state: State{Seed: seed}} }

// Next returns the seed and offset for one call of a random operator.
func (g *Generator) Next() (seed, offset int64) {
	if g == nil {
		return 0, 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	seed, offset = g.state.Seed, g.state.Offset
	g.state.Offset++
	return seed, offset
}

// State returns the generator's state.
func (g *Generator) State() State {
	if g == nil {
		return State{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state
}

// SetState makes the generator continue from s.
func (g *Generator) SetState(s State) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state = s
}

var (
	defaultGenerator = New(0)
	chosen           = local.NewKey[*Generator]()
)

// Default returns the process's generator, which starts with seed 0.
func Default() *Generator { return defaultGenerator }

// Seed restarts the calling goroutine's generator with the given seed.
func Seed(seed int64) { Current().SetState(State{Seed: seed}) }

// Current returns the generator that random operators of the calling goroutine
// draw from.
func Current() *Generator {
	if g, ok := chosen.Get(); ok && g != nil {
		return g
	}
	return defaultGenerator
}

// With calls f with g as the calling goroutine's generator, and returns f's error. A
// nil g stands for the process's.
func With(g *Generator, f func() error) error { return chosen.Try(g, f) }

// Next draws from the calling goroutine's generator, or onto its tape.
func Next() (seed, offset int64) {
	if t, ok := taping.Get(); ok && t != nil {
		return t.draw(Current())
	}
	return Current().Next()
}
