// Package affine computes what the gradient of a normalization with a weight and a bias has for each
// element of a row: vectors and portable Go give the same bits. Calls should have
// loop.Longest elements at most. The package knows nothing of tensors.
package affine

import (
	"github.com/sinter-go/sinter/backend/cpu/loop"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A Puller has the functions of a level, for one goroutine. It is made by New.
type Puller[T loop.Float] struct {
	pull, weigh loop.Func // or none
	caller      loop.Caller[T]
}

// New returns one.
func New[T loop.Float](level simd.Level) *Puller[T] {
	return &Puller[T]{pull: loop.At[T](pulls, level), weigh: loop.At[T](weighs, level)}
}

// Pull takes gradients g of a row of results that x has, of which mean and rstd are the statistics. It
// sets out to g*weight, and adds g times the normalized x to weights, and g to biases.
func (f *Puller[T]) Pull(out, weights, biases, g, x, weight []T, mean, rstd T) {
	f.caller.Scalars = [...]uint64{loop.Bits(mean), loop.Bits(rstd)}
	if f.caller.Call(f.pull, out, weights, biases, g, x, weight, weights, biases) {
		return
	}
	n := len(out)
	weights, biases, g, x, weight = weights[:n], biases[:n], g[:n], x[:n], weight[:n]
	for i, v := range g {
		out[i] = v * weight[i]
		weights[i] += T(v * T((x[i]-mean)*rstd))
		biases[i] += v
	}
}

// Weigh sets out to g*weight.
func (f *Puller[T]) Weigh(out, g, weight []T) {
	if f.caller.Call(f.weigh, out, g, weight) {
		return
	}
	weight = weight[:len(out)]
	for i, v := range g[:len(out)] {
		out[i] = v * weight[i]
	}
}
