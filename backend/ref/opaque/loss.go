package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// The reductions of losses, numbered as their enum.
const (
	reduceNone = iota
	reduceMean
)

// A classLoss is the parts of a loss over classes: the lines of x along its
// classes, in the order of the targets, and for each its class, or -1 where it
// counts nothing, and the weight of that.
type classLoss[T any] struct {
	lines     []line
	class     []int
	weight    []T
	reduction int
}

// classLossOf reads the operands target, by its position, and weight, the last,
// for an x of a shape. The last two attributes are ignore_index and reduction.
func classLossOf[T any](c *ir.Call, f field[T], shape []int, target int) (*classLoss[T], error) {
	attrs := c.Attrs[len(c.Attrs)-2:]
	axis := min(len(shape)-1, 1)
	l := &classLoss[T]{reduction: int(attrs[1].Int)}
	if shape[axis] > 0 {
		l.lines = lines(shape, axis)
	} else {
		l.lines = make([]line, ir.NumElements(c.In[target].Shape))
	}
	var weights []T
	if w := c.In[len(c.In)-1]; w.Given() {
		weights = decode(w, c.Compute, f.ring).v
	}
	for i, s := range load(c.In[target], ir.Int64).v {
		k, w := int(s.Int()), f.number(1)
		switch {
		case s.Int() == attrs[0].Int:
			k, w = -1, f.number(0)
		case k < 0 || k >= shape[axis]:
			return nil, fmt.Errorf("target %d at position %v is out of range for %d classes (%s)",
				k, coordinates(c.In[target].Shape, i), shape[axis], ir.WantBelow(shape[axis]))
		case weights != nil:
			w = weights[k]
		}
		l.class, l.weight = append(l.class, k), append(l.weight, w)
	}
	return l, nil
}

// finish writes the loss, the first result, of the losses of the rows, and the
// total, the last.
func (l *classLoss[T]) finish(c *ir.Call, f field[T], losses []T) {
	total := newTensor(nil, f.number(0))
	loss := tensor[T]{c.Out[0].Shape, losses}
	if l.reduction != reduceNone {
		loss.v = []T{sum(f, losses)}
	}
	if l.reduction == reduceMean {
		total.v[0] = sum(f, l.weight)
		loss.v[0] = f.quo(loss.v[0], total.v[0])
	}
	encode(c.Out[0], c.Compute, f.ring, loss)
	encode(c.Out[len(c.Out)-1], ir.Float64, f.ring, total)
}

// CrossEntropy returns the loss of the scores x, reduced, log(sum(exp(x))) of each
// row and what the mean is divided by.
func CrossEntropy(c *ir.Call) error {
	return inField(c, crossEntropy[float64], crossEntropy[wide.Float])
}

func crossEntropy[T any](c *ir.Call, f field[T]) error {
	x := decode(c.In[0], c.Compute, f.ring)
	l, err := classLossOf(c, f, x.shape, 1)
	if err != nil {
		return err
	}
	lse, losses := newTensor(c.Out[1].Shape, f.number(0)), make([]T, len(l.class))
	for i, line := range l.lines {
		losses[i] = f.number(0)
		if len(line) == 0 {
			continue
		}
		row, powers := make([]T, len(line)), make([]T, len(line))
		for k, at := range line {
			row[k] = x.v[at]
		}
		top := largest(f, row)
		for k := range row {
			powers[k] = f.exp(f.sub(row[k], top))
		}
		lse.v[i] = f.add(top, f.log(sum(f, powers)))
		if k := l.class[i]; k >= 0 {
			losses[i] = f.mul(f.sub(lse.v[i], row[k]), l.weight[i])
		}
	}
	l.finish(c, f, losses)
	encode(c.Out[1], ir.Float64, f.ring, lse)
	return nil
}

// NLL returns the loss of the logarithms of probabilities x, reduced, and what the
// mean is divided by.
func NLL(c *ir.Call) error { return inField(c, nll[float64], nll[wide.Float]) }

func nll[T any](c *ir.Call, f field[T]) error {
	x := decode(c.In[0], c.Compute, f.ring)
	l, err := classLossOf(c, f, x.shape, 1)
	if err != nil {
		return err
	}
	losses := make([]T, len(l.class))
	for i, k := range l.class {
		losses[i] = f.number(0)
		if k >= 0 {
			losses[i] = f.mul(f.sub(f.number(0), x.v[l.lines[i][k]]), l.weight[i])
		}
	}
	l.finish(c, f, losses)
	return nil
}

// CrossEntropyGrad returns (exp(x - lse) - 1 at the target)*g*weight, over total
// for the mean. Operands: g, x, target, lse, total, and perhaps weight.
func CrossEntropyGrad(c *ir.Call) error {
	return inField(c, crossEntropyGrad[float64], crossEntropyGrad[wide.Float])
}

func crossEntropyGrad[T any](c *ir.Call, f field[T]) error {
	x, lse := decode(c.In[1], c.Compute, f.ring), decode(c.In[3], ir.Float64, f.ring)
	return lossGrad(c, f, x.shape, 2, 4, func(at, row int) T { return f.exp(f.sub(x.v[at], lse.v[row])) })
}

// NLLGrad returns -g*weight at the target and 0 elsewhere, over total for the
// mean. Operands: g, target, total, and perhaps weight.
func NLLGrad(c *ir.Call) error { return inField(c, nllGrad[float64], nllGrad[wide.Float]) }

func nllGrad[T any](c *ir.Call, f field[T]) error {
	return lossGrad(c, f, c.Out[0].Shape, 1, 2, nil)
}

// lossGrad writes the gradient of a loss over classes. Share gives the share that
// the model gave an element of a row, nil where classes but the target's have no part;
// target and total are operands.
func lossGrad[T any](c *ir.Call, f field[T], shape []int, target, total int, share func(at, row int) T) error {
	l, err := classLossOf(c, f, shape, target)
	if err != nil {
		return err
	}
	g, sum := decode(c.In[0], c.Compute, f.ring), decode(c.In[total], ir.Float64, f.ring)
	out := newTensor(shape, f.number(0))
	for i, line := range l.lines {
		if l.class[i] < 0 {
			continue
		}
		factor := f.mul(g.v[min(i, len(g.v)-1)], l.weight[i])
		if l.reduction == reduceMean {
			factor = f.quo(factor, sum.v[0])
		}
		for k, at := range line {
			if share == nil && k != l.class[i] {
				continue
			}
			d := f.number(0)
			if share != nil {
				d = share(at, i)
			}
			if k == l.class[i] {
				d = f.sub(d, f.number(1))
			}
			out.v[at] = f.mul(d, factor)
		}
	}
	encode(c.Out[0], c.Compute, f.ring, out)
	return nil
}
