package exec

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// axes are some axes of the iteration space.
type axes struct {
	n     int // positions
	shape []int
	steps []int // of x
	outs  []int // of out
}

func (a *axes) reset() {
	a.n, a.shape, a.steps, a.outs = 1, a.shape[:0], a.steps[:0], a.outs[:0]
}

// split separates the kept axes of c's space from the reduced ones. Neighbours
// that are one run in both views are joined.
func split(c *ir.Call, kept, folded *axes) {
	kept.reset()
	folded.reset()
	next := 0
	for i, d := range c.Space {
		to := kept
		if next < len(c.Axes) && c.Axes[next] == i {
			to = folded
			next++
		}
		to.add(d, c.In[0].Strides[i], c.Out[0].Strides[i])
	}
}

func (a *axes) add(extent, step, out int) {
	a.n *= extent
	if extent == 1 {
		return
	}
	if last := len(a.shape) - 1; last >= 0 && a.steps[last] == step*extent && a.outs[last] == out*extent {
		a.shape[last] *= extent
		a.steps[last], a.outs[last] = step, out
		return
	}
	a.shape, a.steps, a.outs = append(a.shape, extent), append(a.steps, step), append(a.outs, out)
}

// offsets returns how far position i is from the first, in x and in out.
func (a *axes) offsets(i int) (x, out int) {
	for k := len(a.shape) - 1; k >= 0; k-- {
		if k == 0 {
			return x + i*a.steps[0], out + i*a.outs[0]
		}
		q := i / a.shape[k]
		m := i - q*a.shape[k]
		x, out, i = x+m*a.steps[k], out+m*a.outs[k], q
	}
	return x, out
}

// except makes a the axes of b other than k.
func (a *axes) except(b *axes, k int) {
	a.reset()
	a.n = b.n / b.shape[k]
	for i := range b.shape {
		if i != k {
			a.shape, a.steps, a.outs = append(a.shape, b.shape[i]), append(a.steps, b.steps[i]), append(a.outs, b.outs[i])
		}
	}
}

// shortestRow is the extent from which whole rows are folded into rows of
// accumulators.
const shortestRow = 8

// rowAxis returns the kept axis along which x lies closer together than along
// any reduced one, or -1: then each result is folded by itself.
func rowAxis(kept, folded *axes) int {
	if len(folded.shape) == 0 || folded.n == 0 {
		return -1
	}
	return kept.nearest(slices.Min(folded.steps))
}

// widen has the last of several reduced axes be shorter, or not be there, where its places are runs
// along kept axis k that follow one another: it returns how many of these are one longer run, of
// rowColumns elements at most.
func (a *axes) widen(kept *axes, k int) int {
	last, n := len(a.shape)-1, kept.shape[k]
	if last < 1 || kept.steps[k] != 1 || a.steps[last] != n {
		return 1
	}
	beside := max(1, min(a.shape[last], rowColumns/n))
	for a.shape[last]%beside != 0 {
		beside--
	}
	if a.shape[last] /= beside; a.shape[last] == 1 {
		a.shape, a.steps, a.outs = a.shape[:last], a.steps[:last], a.outs[:last]
	} else {
		a.steps[last] *= beside
	}
	return beside
}

// nearest returns the axis with the smallest step of x below the given one, or
// -1 where there is none that is worth working along.
func (a *axes) nearest(step int) int {
	best := -1
	for i, s := range a.steps {
		if a.shape[i] >= shortestRow && s < step {
			best, step = i, s
		}
	}
	return best
}

// longest returns the axis of the largest extent, or -1 where none is worth working
// along.
func (a *axes) longest() int {
	best := -1
	for i, d := range a.shape {
		if d >= shortestRow && (best < 0 || d > a.shape[best]) {
			best = i
		}
	}
	return best
}
