package kernel

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/step"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// The steps of optimizers are over lists of tensors: results are changed where they
// are. Attributes are rounded to the compute dtype, in which each operation is
// rounded once, as the CUDA kernels do.

// SGDStep makes p -= rate*d with d = g + decay*p. Lists: results p, operands g.
// Attributes: rate, decay.
func SGDStep(c *ir.Call) error { return stepOf(c, &sgdSteps) }

// SGDMomentumStep makes v = momentum*v + share*d with d = g + decay*p, then
// p -= rate*v, with nesterov p -= rate*(d + momentum*v). Lists: results p and v,
// operands g. Attributes: rate, momentum, share, decay, nesterov.
func SGDMomentumStep(c *ir.Call) error { return stepOf(c, &sgdMomentumSteps) }

// AdamStep moves m towards d by 1 - beta1 and v towards d*d by 1 - beta2, with
// d = g + decay*p, then makes p = shrink*p - rate*m/(sqrt(v) + eps). Lists: results
// p, m and v, operands g. Attributes: rate, beta1, beta2, eps, decay, shrink.
func AdamStep(c *ir.Call) error { return stepOf(c, &adamSteps) }

// A stepFunc makes the function that changes n elements: x has the address of the
// first of every result, then of every operand, in the compute dtype.
type stepFunc func(attrs []ir.Value) func(n int, x []unsafe.Pointer)

var (
	sgdSteps         = table[stepFunc]{ir.Float32: sgdStep[float32], ir.Float64: sgdStep[float64]}
	sgdMomentumSteps = table[stepFunc]{ir.Float32: sgdMomentumStep[float32], ir.Float64: sgdMomentumStep[float64]}
	adamSteps        = table[stepFunc]{ir.Float32: adamStep[float32], ir.Float64: adamStep[float64]}
)

// stepWork is how many elements are worth another worker.
const stepWork = 16 * tile.Size

// maxLists is how many lists of tensors a step has at most.
const maxLists = 4

func stepOf(c *ir.Call, t *table[stepFunc]) error {
	f, err := t.of(c.Compute)
	if err != nil {
		return err
	}
	change := f(c.Attrs)
	results := len(c.Op.Out)
	n := len(c.Out) / results
	var lists [maxLists]tile.Operand // the k-th tensor of each
	used := lists[:results+len(c.Op.In)]
	for k := range n {
		size := c.Out[k].NumElements()
		for i := range used {
			if i < results {
				used[i].Init(c.Out[i*n+k], c.Compute)
				continue
			}
			v := c.In[(i-results)*n+k]
			if len(v.Shape) == 0 { // one element for all
				v.Shape, v.Strides = []int{size}, []int{0}
			}
			used[i].Init(v, c.Compute)
		}
		if size <= stepWork {
			stepRange(used, results, 0, size, change)
			continue
		}
		pool.For(size, stepWork, func(lo, hi int) { stepRange(used, results, lo, hi, change) })
	}
	return nil
}

// stepRange changes positions [lo, hi) of the tensors in lists, the first of which
// are results.
func stepRange(lists []tile.Operand, results, lo, hi int, f func(n int, x []unsafe.Pointer)) {
	s := tile.Borrow(len(lists))
	defer s.Return()
	x := s.Pointers(len(lists))
	size := tile.Size
	if direct(lists) {
		size = step.Longest
	}
	for lo < hi {
		n := min(hi-lo, size)
		for i := range lists {
			x[i] = lists[i].Load(lo, n, s.Buffer(i))
		}
		f(n, x)
		for i := range results {
			lists[i].Store(lo, n, x[i])
		}
		lo += n
	}
}

// direct reports whether no piece needs a buffer.
func direct(lists []tile.Operand) bool {
	for i := range lists {
		if !lists[i].Contiguous() {
			return false
		}
	}
	return true
}

func element[T float](x unsafe.Pointer) *T { return (*T)(x) }

// rounded returns a float attribute in the compute dtype.
func rounded[T float](attrs []ir.Value, i int) T { return T(attrs[i].Scalar.Float()) }

func sgdStep[T float](attrs []ir.Value) func(n int, x []unsafe.Pointer) {
	f, c := step.Of[T](simd.Active()).SGD, &[2]T{rounded[T](attrs, 0), rounded[T](attrs, 1)}
	return func(n int, x []unsafe.Pointer) { f(n, c, element[T](x[0]), element[T](x[1])) }
}

func sgdMomentumStep[T float](attrs []ir.Value) func(n int, x []unsafe.Pointer) {
	s := step.Of[T](simd.Active())
	f, c := s.Momentum, &[4]T{rounded[T](attrs, 0), rounded[T](attrs, 1), rounded[T](attrs, 2), rounded[T](attrs, 3)}
	if attrs[4].Int != 0 {
		f = s.Nesterov
	}
	return func(n int, x []unsafe.Pointer) { f(n, c, element[T](x[0]), element[T](x[1]), element[T](x[2])) }
}

func adamStep[T float](attrs []ir.Value) func(n int, x []unsafe.Pointer) {
	beta1, beta2 := attrs[1].Scalar.Float(), attrs[2].Scalar.Float()
	f, c := step.Of[T](simd.Active()).Adam, &[7]T{
		rounded[T](attrs, 0), T(1 - beta1), T(beta2), T(1 - beta2),
		rounded[T](attrs, 3), rounded[T](attrs, 4), rounded[T](attrs, 5),
	}
	return func(n int, x []unsafe.Pointer) {
		f(n, c, element[T](x[0]), element[T](x[1]), element[T](x[2]), element[T](x[3]))
	}
}
