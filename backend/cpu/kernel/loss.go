package kernel

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/backend/cpu/pool"
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
	identity := func(v float64) float64 { return v }
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
		sum[0] = sumOf(weights, identity)
		to[0] = T(sumOf(losses, identity) / sum[0])
	default:
		to[0] = T(sumOf(losses, identity))
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
	x, losses := in[T](c, 0, c.Compute), make([]float64, len(l.class))
	stats := tile.TargetOf(c.Out[1], ir.Float64)
	lse := tile.Elements[float64](stats)
	pool.For(len(l.class), max(1, expWork/max(l.classes, 1)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			top, log := l.logSum(x, lo)
			lse[lo] = top + log
			if k := l.class[lo]; k >= 0 {
				losses[lo] = (top - float64(x[l.first(lo)+k*l.inner]) + log) * l.weightOf(lo)
			}
		}
	})
	l.finish(c, losses)
	tile.Finish(c.Out[1], stats)
	return nil
}

// logSum returns a row's largest element and log(sum(exp(x - largest))).
func (l *classLoss[T]) logSum(x []T, row int) (top, log float64) {
	if l.classes == 0 {
		return 0, 0
	}
	first, end := l.first(row), l.first(row)+l.classes*l.inner
	largest := x[first]
	for i := first; i < end; i += l.inner {
		largest = max(largest, x[i])
	}
	sum := 0.0
	for i := first; i < end; i += l.inner {
		sum += math.Exp(float64(x[i] - largest))
	}
	return float64(largest), math.Log(sum)
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
	x, losses := in[T](c, 0, c.Compute), make([]float64, len(l.class))
	for i, k := range l.class {
		if k >= 0 {
			losses[i] = -float64(x[l.first(i)+k*l.inner]) * l.weightOf(i)
		}
	}
	l.finish(c, losses)
	return nil
}

// CrossEntropyGrad returns (exp(x - lse) - 1 at the target)*g*weight, over total
// for the mean. Operands: g, x, target, lse, total, and perhaps weight.
func CrossEntropyGrad(c *ir.Call) error { return dispatch(c, &crossEntropyGrads) }

var crossEntropyGrads = table[callFunc]{ir.Float32: crossEntropyGrad[float32], ir.Float64: crossEntropyGrad[float64]}

func crossEntropyGrad[T float](c *ir.Call) error {
	x, lse := in[T](c, 1, c.Compute), in[float64](c, 3, ir.Float64)
	return lossGrad[T](c, 2, 4, func(at, row int) float64 { return math.Exp(float64(x[at]) - lse[row]) })
}

// NLLGrad returns -g*weight at the target and 0 elsewhere, over total for the
// mean. Operands: g, target, total, and perhaps weight.
func NLLGrad(c *ir.Call) error { return dispatch(c, &nllGrads) }

var nllGrads = table[callFunc]{ir.Float32: nllGrad[float32], ir.Float64: nllGrad[float64]}

func nllGrad[T float](c *ir.Call) error { return lossGrad[T](c, 1, 2, nil) }

// lossGrad writes the gradient of a loss over classes. Share gives the share that
// the model gave an element of a row, nil is none; target and total are operands.
func lossGrad[T float](c *ir.Call, target, total int, share func(at, row int) float64) error {
	l, err := classLossOf[T](c, c.Out[0].Shape, target)
	if err != nil {
		return err
	}
	g, sum := in[T](c, 0, c.Compute), in[float64](c, total, ir.Float64)
	d := tile.TargetOf(c.Out[0], c.Compute)
	out := tile.Elements[T](d)
	pool.For(len(l.class), max(1, expWork/max(l.classes, 1)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			factor := float64(g[min(lo, len(g)-1)]) * l.weightOf(lo)
			if l.reduction == reduceMean {
				factor /= sum[0]
			}
			l.gradRow(out, lo, factor, share)
		}
	})
	tile.Finish(c.Out[0], d)
	return nil
}

// gradRow writes one row of a gradient.
func (l *classLoss[T]) gradRow(out []T, row int, factor float64, share func(at, row int) float64) {
	at := l.first(row)
	for k := range l.classes {
		v := 0.0
		if l.class[row] >= 0 {
			if share != nil {
				v = share(at, row)
			}
			if k == l.class[row] {
				v--
			}
			v *= factor
		}
		out[at] = T(v)
		at += l.inner
	}
}
