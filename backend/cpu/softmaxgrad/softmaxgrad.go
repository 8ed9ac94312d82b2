// Package softmaxgrad computes gradients of shares of a whole, such as softmax gives, from those of the
// shares: for each element the share y, times its gradient g less the sum of all g*y. Vectors and
// portable Go give the same bits. Calls should have loop.Longest
// elements at most. The package knows nothing of tensors.
package softmaxgrad

import (
	"github.com/sinter-go/sinter/backend/cpu/loop"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A Puller has the functions of a level, for one goroutine. It is made by New.
type Puller[T loop.Float] struct {
	add, pull, pullOf loop.Func // or none
	caller            loop.Caller[T]
}

// New returns one.
func New[T loop.Float](level simd.Level) *Puller[T] {
	return &Puller[T]{add: loop.At[T](adds, level), pull: loop.At[T](pulls, level), pullOf: loop.At[T](pullsOf, level)}
}

// Add adds g*y to sums, element by element.
func (f *Puller[T]) Add(sums, g, y []T) {
	if f.caller.Call(f.add, sums, g, y, sums) {
		return
	}
	y = y[:len(sums)]
	for i, v := range g[:len(sums)] {
		sums[i] += T(v * y[i])
	}
}

// Pull sets out to y*(g - sums), element by element.
func (f *Puller[T]) Pull(out, g, y, sums []T) {
	if f.caller.Call(f.pull, out, g, y, sums) {
		return
	}
	y, sums = y[:len(out)], sums[:len(out)]
	for i, v := range g[:len(out)] {
		out[i] = y[i] * (v - sums[i])
	}
}

// PullOf is Pull with one sum.
func (f *Puller[T]) PullOf(out, g, y []T, sum T) {
	f.caller.Scalars[0] = loop.Bits(sum)
	if f.caller.Call(f.pullOf, out, g, y) {
		return
	}
	y = y[:len(out)]
	for i, v := range g[:len(out)] {
		out[i] = y[i] * (v - sum)
	}
}
