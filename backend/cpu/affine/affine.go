// Package affine computes what the gradient of a normalization with a weight and a bias has for each
// element of a row: vectors and portable Go give the same bits. Calls should have
// some 16,000 elements at most: vector code cannot be preempted. The package knows nothing of tensors.
package affine

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Float is what elements are.
type Float interface{ float32 | float64 }

// fewest is how many elements are worth a call of a loop.
const fewest = 16

// A loop computes n elements; p are those of the results and of the operands.
type loop func(n int, p []unsafe.Pointer, s *[2]uint64)

// loops are those of a level.
type loops struct{ pull, weigh loop }

// A Puller has the functions of a level, for one goroutine. It is made by New.
type Puller[T Float] struct {
	loops   loops // or none
	args    [8]unsafe.Pointer
	scalars [2]uint64
}

// New returns one.
func New[T Float](level simd.Level) *Puller[T] { return &Puller[T]{loops: vectorAt[T](level)} }

// Pull takes gradients g of a row of results that x has, of which mean and rstd are the statistics. It
// sets out to g*weight, and adds g times the normalized x to weights, and g to biases.
func (f *Puller[T]) Pull(out, weights, biases, g, x, weight []T, mean, rstd T) {
	n := len(out)
	weights, biases, g, x, weight = weights[:n], biases[:n], g[:n], x[:n], weight[:n]
	if f.loops.pull != nil && n >= fewest {
		for i, v := range [...][]T{out, weights, biases, g, x, weight, weights, biases} {
			f.args[i] = unsafe.Pointer(&v[0])
		}
		f.scalars = [2]uint64{bitsOf(mean), bitsOf(rstd)}
		f.loops.pull(n, f.args[:], &f.scalars)
		return
	}
	for i, v := range g {
		out[i] = v * weight[i]
		weights[i] += T(v * T((x[i]-mean)*rstd))
		biases[i] += v
	}
}

// Weigh sets out to g*weight.
func (f *Puller[T]) Weigh(out, g, weight []T) {
	n := len(out)
	g, weight = g[:n], weight[:n]
	if f.loops.weigh != nil && n >= fewest {
		f.args[0], f.args[1], f.args[2] = unsafe.Pointer(&out[0]), unsafe.Pointer(&g[0]), unsafe.Pointer(&weight[0])
		f.loops.weigh(n, f.args[:3], &f.scalars)
		return
	}
	for i, v := range g {
		out[i] = v * weight[i]
	}
}

// bitsOf returns a number as loops read scalars.
func bitsOf[T Float](v T) uint64 {
	if unsafe.Sizeof(v) == 4 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(float64(v))
}
