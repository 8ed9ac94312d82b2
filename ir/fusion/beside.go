package fusion

import (
	"slices"

	"github.com/sinter-go/sinter/ir/program"
)

// apart reports whether two views of one buffer, of one shape, have no element in common, as far
// as their distances tell it.
func (a *access) apart(b *access) bool {
	size := int64(a.view.DType.Size())
	between := b.ref.Offset - a.ref.Offset
	if a.view.DType != b.view.DType || !slices.Equal(a.view.Shape, b.view.Shape) || !slices.Equal(a.view.Strides, b.view.Strides) || between%size != 0 {
		return false
	}
	type axis struct{ step, most int } // the largest difference of two positions
	axes := make([]axis, 0, 8)
	for i, n := range a.view.Shape {
		if step := a.view.Strides[i]; n > 1 && step != 0 {
			axes = append(axes, axis{max(step, -step), n - 1})
		}
	}
	slices.SortFunc(axes, func(x, y axis) int { return y.step - x.step })
	reach := 0 // of the axes that are left
	for _, x := range axes {
		reach += x.step * x.most
	}
	// Elements of both are one where differences of positions make up what is between the first
	// ones. Of each axis few do that the axes behind it can make up for.
	var meets func(left, reach int, axes []axis) bool
	meets = func(left, reach int, axes []axis) bool {
		if len(axes) == 0 {
			return left == 0
		}
		x := axes[0]
		reach -= x.step * x.most
		const most = 3
		low, high := ceil(left-reach, x.step), floor(left+reach, x.step)
		if low, high = max(low, -x.most), min(high, x.most); high-low >= most {
			return true
		}
		for n := low; n <= high; n++ {
			if meets(left-n*x.step, reach, axes[1:]) {
				return true
			}
		}
		return false
	}
	return !meets(int(between/size), reach, axes)
}

// floor and ceil return x/y, y being above 0, rounded down and up.
func floor(x, y int) int {
	if x < 0 {
		return -((-x + y - 1) / y)
	}
	return x / y
}

func ceil(x, y int) int { return -floor(-x, y) }

// accompany makes one group of those of two steps that write parts of one buffer, where they
// read one: its elements are then read once.
func (l *planner) accompany(i, before int) {
	a, b := l.group[before], l.group[i]
	if a == b || l.info[i] == nil || l.info[before] == nil || !l.parts(i, before) || !l.share(l.steps[a], l.steps[b]) ||
		l.fits(l.steps[a], l.steps[b]) != "" || l.between(a, b) {
		return
	}
	l.merge(a, b)
}

// parts reports whether two steps write to one buffer.
func (l *planner) parts(i, before int) bool {
	x, y := l.p.Steps[i].Out, l.p.Steps[before].Out
	return len(x) == 1 && len(y) == 1 && x[0].Buffer == y[0].Buffer
}

// share reports whether two groups read a buffer, nothing from outside that one of them
// writes, and have few enough operands and results for one.
func (l *planner) share(a, b []int) bool {
	steps := slices.Concat(a, b)
	results, operands := 0, 0
	var written []int
	for _, i := range steps {
		operands += len(l.info[i].in)
		for _, y := range l.info[i].out {
			written = append(written, y.ref.Buffer)
			if l.p.Buffers[y.ref.Buffer].Kind != program.Temporary || l.usedOutside(steps, y.ref) {
				results++
			}
		}
	}
	if results > mostResults || operands > 2*mostOperands {
		return false
	}
	x, y := l.outside(a), l.outside(b)
	of := func(list []int) func(int) bool { return func(buffer int) bool { return slices.Contains(list, buffer) } }
	return slices.ContainsFunc(x, of(y)) && !slices.ContainsFunc(x, of(written)) && !slices.ContainsFunc(y, of(written))
}

// outside returns the buffers that steps read, of which none gives what is read.
func (l *planner) outside(steps []int) (buffers []int) {
	for _, i := range steps {
		for _, x := range l.info[i].in {
			given := slices.ContainsFunc(steps, func(k int) bool {
				return slices.ContainsFunc(l.info[k].out, func(y access) bool { return y.ref == x.ref })
			})
			if !x.number && !given {
				buffers = append(buffers, x.ref.Buffer)
			}
		}
	}
	return buffers
}
