// Package softmaxgrad computes gradients of shares of a whole, such as softmax gives, from those of the
// shares: for each element the share y, times its gradient g less the sum of all g*y. Vectors and
// portable Go give the same bits. Calls should have
// some 16,000 elements at most: vector code cannot be preempted. The package knows nothing of tensors.
package softmaxgrad

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Float is what elements are.
type Float interface{ float32 | float64 }

// fewest is how many elements are worth a call of a loop.
const fewest = 16

// A loop computes n elements; p are those of the result and of the operands.
type loop func(n int, p []unsafe.Pointer, s *[1]uint64)

// loops is what there is in assembly; all of it, or nothing.
type loops struct{ add, pull, pullOf loop }

// A Puller is the functions of a level, for one goroutine. It is made by New.
type Puller[T Float] struct {
	loops loops
	args  [4]unsafe.Pointer
	one   [1]uint64
}

// New returns one.
func New[T Float](level simd.Level) *Puller[T] { return &Puller[T]{loops: vectorsAt[T](level)} }

// Add adds g*y to sums, element by element.
func (f *Puller[T]) Add(sums, g, y []T) {
	n := len(sums)
	g, y = g[:n], y[:n]
	if f.loops.add != nil && n >= fewest {
		f.call(f.loops.add, sums, g, y, sums)
		return
	}
	for i, v := range g {
		sums[i] += T(v * y[i])
	}
}

// Pull sets out to y*(g - sums), element by element.
func (f *Puller[T]) Pull(out, g, y, sums []T) {
	n := len(out)
	g, y, sums = g[:n], y[:n], sums[:n]
	if f.loops.pull != nil && n >= fewest {
		f.call(f.loops.pull, out, g, y, sums)
		return
	}
	for i, v := range g {
		out[i] = y[i] * (v - sums[i])
	}
}

// PullOf is Pull with one sum.
func (f *Puller[T]) PullOf(out, g, y []T, sum T) {
	n := len(out)
	g, y = g[:n], y[:n]
	if f.loops.pullOf != nil && n >= fewest {
		f.one[0] = math.Float64bits(float64(sum))
		if unsafe.Sizeof(sum) == 4 {
			f.one[0] = uint64(math.Float32bits(float32(sum)))
		}
		f.call(f.loops.pullOf, out, g, y)
		return
	}
	for i, v := range g {
		out[i] = y[i] * (v - sum)
	}
}

// call runs a loop; lists have as many elements as the first one.
func (f *Puller[T]) call(l loop, lists ...[]T) {
	for i, v := range lists {
		f.args[i] = unsafe.Pointer(&v[0])
	}
	l(len(lists[0]), f.args[:len(lists)], &f.one)
}
