package kernel

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/rows"
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
	class          []int // of each row; -1 where it counts nothing
	weight         []T   // by class; nil for ones
	reduction      int
}

// classLossOf reads the operands target, by its position, and weight, the last,
// for an x of a shape. The last two attributes are ignore_index and reduction.
func classLossOf[T float](c *ir.Call, shape []int, target int) (*classLoss[T], error) {
	attrs := c.Attrs[len(c.Attrs)-2:]
	_, classes, inner := around(shape, min(len(shape)-1, 1))
	targets := in[int64](c, target, ir.Int64)
	l := &classLoss[T]{classes: classes, inner: inner, class: make([]int, len(targets)), reduction: int(attrs[1].Int)}
	for i, k := range targets {
		switch {
		case k == attrs[0].Int:
			k = -1
		case k < 0 || k >= int64(classes):
			return nil, fmt.Errorf("target %d at position %v is out of range for %d classes (want 0 to %d)",
				k, coordinates(c.In[target].Shape, i), classes, classes-1)
		}
		l.class[i] = int(k)
	}
	if w := len(c.In) - 1; c.In[w].Given() {
		l.weight = in[T](c, w, c.Compute)
	}
	return l, nil
}

// first returns the offset of a row's element of class 0; the others follow at
// distances of inner.
func (l *classLoss[T]) first(row int) int { return row/l.inner*l.classes*l.inner + row%l.inner }

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

// finish writes the loss, the first result, of the losses of the rows, and the
// total, the last.
func (l *classLoss[T]) finish(c *ir.Call, losses []float64) {
	loss, total := tile.TargetOf(c.Out[0], c.Compute), tile.TargetOf(c.Out[len(c.Out)-1], ir.Float64)
	to, sum := tile.Elements[T](loss), tile.Elements[float64](total)
	sum[0] = 0
	switch l.reduction {
	case reduceNone:
		for i, v := range losses {
			to[i] = T(v)
		}
	case reduceMean:
		weights := make([]float64, len(losses))
		for i := range weights {
			weights[i] = l.weightOf(i)
		}
		sum[0] = sumOf(weights)
		to[0] = T(sumOf(losses) / sum[0])
	default:
		to[0] = T(sumOf(losses))
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
	n := len(l.class)
	stats, x := tile.TargetOf(c.Out[1], ir.Float64), []T(nil)
	lse, tops, losses := tile.Elements[float64](stats), make([]T, n), make([]float64, n)
	f := rows.Active[T]()
	switch {
	case l.classes == 0 || n == 0:
		clear(lse)
	case l.inner == 1:
		eachRows(c.Compute, ir.View{}, c.In[0], l.classes, func(first int, _, x []T) {
			end := first + len(x)/l.classes
			f.LogSum(x, l.classes, tops[first:end], lse[first:end])
			for i := first; i < end; i++ {
				l.lossOf(i, x[(i-first)*l.classes:], tops, lse, losses)
			}
		})
	default:
		x = in[T](c, 0, c.Compute)
		eachColumns(n/l.inner, l.classes, l.inner, func(off, first, m int) {
			f.LogSumColumns(x[off:], l.classes, m, l.inner, tops[first:], lse[first:])
			for i := first; i < first+m; i++ {
				l.lossOf(i, x[l.first(i):], tops, lse, losses)
			}
		})
	}
	l.finish(c, losses)
	tile.Finish(c.Out[1], stats)
	return nil
}

// lossOf writes a row's loss, where x begins with the row's scores, and turns the
// logarithm of its sum of exponentials, in lse, into the one of the scores.
func (l *classLoss[T]) lossOf(row int, x, tops []T, lse, losses []float64) {
	top, log := float64(tops[row]), lse[row]
	lse[row] = top + log
	if k := l.class[row]; k >= 0 {
		losses[row] = (top - float64(x[k*l.inner]) + log) * l.weightOf(row)
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
	score, losses := scores[T](c), make([]float64, len(l.class))
	for i, k := range l.class {
		if k >= 0 {
			losses[i] = -score(l.first(i)+k*l.inner) * l.weightOf(i)
		}
	}
	l.finish(c, losses)
	return nil
}

// scores returns what reads elements of the first operand, by their row-major places:
// few are, so that others need not be converted.
func scores[T float](c *ir.Call) func(at int) float64 {
	x := tile.Dense(c.In[0], c.In[0].DType)
	if x.DType == c.Compute {
		all := tile.Elements[T](x)
		return func(at int) float64 { return float64(all[at]) }
	}
	one, load, size := new(T), convert.Between(c.Compute, x.DType), x.DType.Size()
	return func(at int) float64 {
		load(1, unsafe.Pointer(one), 1, unsafe.Add(x.Ptr, at*size), 1)
		return float64(*one)
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
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum
}
