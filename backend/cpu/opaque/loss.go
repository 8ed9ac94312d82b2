package opaque

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/rows"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// The reductions of losses, numbered as their enum.
const (
	reduceNone = iota
	reduceMean
)

// A classLoss is the parts of a loss over classes of an x [rows/inner, classes,
// inner], where rows are numbered as the targets are.
type classLoss[T float] struct {
	classes, inner int
	class          []int     // of each row; -1 where it counts nothing
	counted        int       // rows that do count
	losses         []float64 // of each row, to be set
	weight         []T       // by class; nil for ones
	reduction      int
	memory         *scratch.Block // of class and losses
}

// classLossOf reads the operands target, by its position, and weight, the last,
// for an x of a shape. The last two attributes are ignore_index and reduction. What it
// returns is to be released.
func classLossOf[T float](c *ir.Call, shape []int, target int) (*classLoss[T], error) {
	attrs := c.Attrs[len(c.Attrs)-2:]
	_, classes, inner := around(shape, min(len(shape)-1, 1))
	targets := in[int64](c, target, ir.Int64)
	n := len(targets)
	l := &classLoss[T]{classes: classes, inner: inner, reduction: int(attrs[1].Int), memory: scratch.Get(16 * n)}
	l.counted = n
	l.class, l.losses = scratch.Slice[int](l.memory, n), unsafe.Slice((*float64)(unsafe.Add(l.memory.Ptr(), 8*n)), n)
	for i, k := range targets {
		switch {
		case k == attrs[0].Int:
			k = -1
			l.counted--
		case k < 0 || k >= int64(classes):
			l.release()
			return nil, fmt.Errorf("target %d at position %v is out of range for %d classes (%s)",
				k, coordinates(c.In[target].Shape, i), classes, ir.WantBelow(classes))
		}
		l.class[i] = int(k)
	}
	if w := len(c.In) - 1; c.In[w].Given() {
		l.weight = in[T](c, w, c.Compute)
	}
	return l, nil
}

func (l *classLoss[T]) release() { l.memory.Put() }

// first returns the offset of a row's element of class 0; the others follow at
// distances of inner.
func (l *classLoss[T]) first(row int) int {
	if l.inner == 1 { // without divisions
		return row * l.classes
	}
	return row/l.inner*l.classes*l.inner + row%l.inner
}

// weightOf returns the weight of a row, 0 where it counts nothing.
func (l *classLoss[T]) weightOf(row int) float64 {
	switch k := l.class[row]; {
	case k < 0:
		return 0
	case l.weight == nil:
		return 1
	default:
		return float64(l.weight[k])
	}
}

// weights returns the sum of the weights of the rows [lo, hi), halves first as sumOf.
func (l *classLoss[T]) weights(lo, hi int) float64 {
	if mid := lo + (hi-lo)/2; hi-lo > 256 {
		return l.weights(lo, mid) + l.weights(mid, hi)
	}
	sum := 0.0
	for i := lo; i < hi; i++ {
		sum += l.weightOf(i)
	}
	return sum
}

// total returns the sum of the weights of all rows.
func (l *classLoss[T]) total() float64 {
	if l.weight == nil {
		return float64(l.counted)
	}
	return l.weights(0, len(l.class))
}

// finish writes the loss, the first result, of the losses of the rows, and the
// total, the last.
func (l *classLoss[T]) finish(c *ir.Call) {
	loss, total := tile.TargetOf(c.Out[0], c.Compute), tile.TargetOf(c.Out[len(c.Out)-1], ir.Float64)
	to, sum := tile.Elements[T](loss), tile.Elements[float64](total)
	sum[0] = 0
	switch l.reduction {
	case reduceNone:
		for i, v := range l.losses {
			to[i] = T(v)
		}
	case reduceMean:
		sum[0] = l.total()
		to[0] = T(sumOf(l.losses) / sum[0])
	default:
		to[0] = T(sumOf(l.losses))
	}
	tile.Finish(c.Out[0], loss)
	tile.Finish(c.Out[len(c.Out)-1], total)
}

type callFunc func(c *ir.Call) error

func dispatch(c *ir.Call, t *table[callFunc]) error {
	f, err := t.of(c.Compute)
	if err != nil {
		return err
	}
	return f(c)
}

// CrossEntropy returns the loss of the scores x, reduced, log(sum(exp(x))) of each
// row and what the mean is divided by.
func CrossEntropy(c *ir.Call) error { return dispatch(c, &crossEntropies) }

var crossEntropies = table[callFunc]{ir.Float32: crossEntropy[float32], ir.Float64: crossEntropy[float64]}

func crossEntropy[T float](c *ir.Call) error {
	l, err := classLossOf[T](c, c.In[0].Shape, 1)
	if err != nil {
		return err
	}
	defer l.release()
	n := len(l.class)
	stats, x := tile.TargetOf(c.Out[1], ir.Float64), []T(nil)
	lse, tops := tile.Elements[float64](stats), make([]T, n)
	f := rows.Active[T]()
	switch {
	case l.classes == 0 || n == 0:
		clear(lse)
		clear(l.losses)
	case l.inner == 1:
		eachRows(c.Compute, ir.View{}, c.In[0], l.classes, func(first int, _, x []T) {
			end := first + len(x)/l.classes
			f.LogSum(x, l.classes, tops[first:end], lse[first:end])
			for i := first; i < end; i++ {
				l.lossOf(i, x[(i-first)*l.classes:], tops, lse)
			}
		})
	default:
		x = in[T](c, 0, c.Compute)
		eachColumns(n/l.inner, l.classes, l.inner, func(off, first, m int) {
			f.LogSumColumns(x[off:], l.classes, m, l.inner, tops[first:], lse[first:])
			for i := first; i < first+m; i++ {
				l.lossOf(i, x[l.first(i):], tops, lse)
			}
		})
	}
	l.finish(c)
	tile.Finish(c.Out[1], stats)
	return nil
}

// lossOf writes a row's loss, where x begins with the row's scores, and turns the
// logarithm of its sum of exponentials, in lse, into the one of the scores.
func (l *classLoss[T]) lossOf(row int, x, tops []T, lse []float64) {
	top, log := float64(tops[row]), lse[row]
	lse[row] = top + log
	l.losses[row] = 0
	if k := l.class[row]; k >= 0 {
		l.losses[row] = (top - float64(x[k*l.inner]) + log) * l.weightOf(row)
	}
}

// NLL returns the loss of the logarithms of probabilities x, reduced, and what the
// mean is divided by.
func NLL(c *ir.Call) error { return dispatch(c, &nlls) }

var nlls = table[callFunc]{ir.Float32: nll[float32], ir.Float64: nll[float64]}

func nll[T float](c *ir.Call) error {
	l, err := classLossOf[T](c, c.In[0].Shape, 1)
	if err != nil {
		return err
	}
	defer l.release()
	l.pick(c.In[0])
	l.finish(c)
	return nil
}

// pick sets the rows' losses by the elements of x at their targets, which are read as
// they are stored: they are few of a large x.
func (l *classLoss[T]) pick(x ir.View) {
	x = tile.Dense(x, x.DType)
	switch x.DType {
	case ir.Float16:
		pickOf(l, tile.Elements[ir.Half](x), func(v ir.Half) float64 { return float64(v.Float32()) })
	case ir.BFloat16:
		pickOf(l, tile.Elements[ir.BF16](x), func(v ir.BF16) float64 { return float64(v.Float32()) })
	case ir.Float32:
		pickFloats(l, tile.Elements[float32](x))
	default:
		pickFloats(l, tile.Elements[float64](x))
	}
}

func pickOf[T float, S any](l *classLoss[T], x []S, value func(S) float64) {
	for i, k := range l.class {
		if l.losses[i] = 0; k >= 0 {
			l.losses[i] = -value(x[l.first(i)+k*l.inner]) * l.weightOf(i)
		}
	}
}

// pickFloats is pickOf of numbers that need no function. Without weights rows whose classes
// lie side by side are read without a call, so that many reads are under way at once.
func pickFloats[T, S float](l *classLoss[T], x []S) {
	if l.weight != nil || l.inner != 1 {
		pickOf(l, x, func(v S) float64 { return float64(v) })
		return
	}
	losses, first := l.losses[:len(l.class)], 0
	for i, k := range l.class {
		if losses[i] = 0; k >= 0 {
			losses[i] = -float64(x[first+k])
		}
		first += l.classes
	}
}

// CrossEntropyGrad returns (exp(x - lse) - 1 at the target)*g*weight, over total
// for the mean. Operands: g, x, target, lse, total, and perhaps weight.
func CrossEntropyGrad(c *ir.Call) error { return dispatch(c, &crossEntropyGrads) }

var crossEntropyGrads = table[callFunc]{ir.Float32: crossEntropyGrad[float32], ir.Float64: crossEntropyGrad[float64]}

func crossEntropyGrad[T float](c *ir.Call) error {
	return lossGrad(c, 2, 4, &shares[T]{in[T](c, 1, c.Compute), in[float64](c, 3, ir.Float64)})
}

// NLLGrad returns -g*weight at the target and 0 elsewhere, over total for the
// mean. Operands: g, target, total, and perhaps weight.
func NLLGrad(c *ir.Call) error { return dispatch(c, &nllGrads) }

var nllGrads = table[callFunc]{ir.Float32: nllGrad[float32], ir.Float64: nllGrad[float64]}

func nllGrad[T float](c *ir.Call) error { return lossGrad[T](c, 1, 2, nil) }

// shares are what says the share that a model gave each class of a row: exp of the
// score less the row's lse.
type shares[T float] struct {
	x   []T
	lse []float64
}

// lossGrad writes the gradient of a loss over classes: the shares, or none where
// they are nil, less 1 at the target, times the row's factor. Target and total are
// operands.
func lossGrad[T float](c *ir.Call, target, total int, share *shares[T]) error {
	l, err := classLossOf[T](c, c.Out[0].Shape, target)
	if err != nil {
		return err
	}
	defer l.release()
	g, sum := in[T](c, 0, c.Compute), in[float64](c, total, ir.Float64)
	d := tile.TargetOf(c.Out[0], c.Compute)
	out := tile.Elements[T](d)
	pool.For(len(l.class), max(1, lineWork/max(l.classes, 1)), func(lo, hi int) {
		line := make([]T, l.classes)
		for ; lo < hi; lo++ {
			factor := float64(g[min(lo, len(g)-1)]) * l.weightOf(lo)
			if l.reduction == reduceMean {
				factor /= sum[0]
			}
			to := line
			if l.inner == 1 {
				to = out[lo*l.classes : (lo+1)*l.classes]
			}
			l.gradRow(to, lo, factor, share)
			if l.inner != 1 {
				for k, v := range to {
					out[l.first(lo)+k*l.inner] = v
				}
			}
		}
	})
	tile.Finish(c.Out[0], d)
	return nil
}

// gradRow writes one row of a gradient.
func (l *classLoss[T]) gradRow(to []T, row int, factor float64, share *shares[T]) {
	k, first := l.class[row], l.first(row)
	if k < 0 || share == nil {
		clear(to)
		if k >= 0 {
			to[k] = T(-factor)
		}
		return
	}
	x := share.x[first:]
	if l.inner == 1 {
		x = x[:l.classes]
	} else {
		for i := range to {
			to[i] = x[i*l.inner]
		}
		x = to
	}
	at := float64(share.x[first+k*l.inner])
	rows.Active[T]().ExpScale(to, x, share.lse[row], factor)
	to[k] = T((math.Exp(at-share.lse[row]) - 1) * factor)
}

// sumOf adds up x, halves first: the error grows with the logarithm of the number
// of elements.
func sumOf(x []float64) float64 {
	if n := len(x); n > 256 {
		return sumOf(x[:n/2]) + sumOf(x[n/2:])
	}
	var sums [4]float64 // that need not wait for each other
	for ; len(x) >= 4; x = x[4:] {
		sums[0], sums[1], sums[2], sums[3] = sums[0]+x[0], sums[1]+x[1], sums[2]+x[2], sums[3]+x[3]
	}
	for i, v := range x {
		sums[i] += v
	}
	return sums[0] + sums[1] + (sums[2] + sums[3])
}
