package shapes

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// CrossEntropyShape returns the shapes of the loss of scores x [n, classes, ...]
// (or [classes]) against target [n, ...], of the rows' statistics and of the total:
// those of target, or for the loss of no axes unless rows is set, target and no
// axes. Weight, where weighted is set, has one element a class.
func CrossEntropyShape(x, target, weight []int, weighted, rows bool) ([][]int, error) {
	loss, err := lossOfClasses(x, target, weight, weighted, rows)
	return [][]int{loss, target, {}}, err
}

// NLLShape is CrossEntropyShape without the statistics.
func NLLShape(x, target, weight []int, weighted, rows bool) ([][]int, error) {
	loss, err := lossOfClasses(x, target, weight, weighted, rows)
	return [][]int{loss, {}}, err
}

// CrossEntropyGradShape returns x, of which CrossEntropyShape gives the shapes g,
// stats and total.
func CrossEntropyGradShape(g, x, target, stats, total, weight []int, weighted, rows bool) ([]int, error) {
	if !slices.Equal(stats, target) {
		return nil, ir.ShapeErrorf("statistics of shape %v for targets of shape %v", stats, target)
	}
	return NLLGradShape(g, target, total, x, weight, weighted, rows)
}

// NLLGradShape returns x, of which NLLShape gives the shapes g and total.
func NLLGradShape(g, target, total, x, weight []int, weighted, rows bool) ([]int, error) {
	loss, err := lossOfClasses(x, target, weight, weighted, rows)
	switch {
	case err != nil:
		return nil, err
	case !slices.Equal(g, loss):
		return nil, ir.ShapeErrorf("the gradient has shape %v, the loss %v", g, loss)
	case len(total) != 0:
		return nil, ir.ShapeErrorf("the total has shape %v, want one of no axes", total)
	}
	return x, ir.CheckShape(x)
}

// lossOfClasses returns the shape of a loss over classes, axis 1 of x or its only
// one.
func lossOfClasses(x, target, weight []int, weighted, rows bool) ([]int, error) {
	if len(x) == 0 {
		return nil, ir.ShapeErrorf("want an x of shape [classes] or [n, classes, ...], not of no axes")
	}
	axis := min(len(x)-1, 1)
	if len(target) != len(x)-1 || !slices.Equal(target[:axis], x[:axis]) || !slices.Equal(target[axis:], x[axis+1:]) {
		want := slices.Delete(slices.Clone(x), axis, axis+1)
		return nil, ir.ShapeErrorf("target must have shape %v for x of shape %v, whose axis %d is the classes, has %v", want, x, axis, target)
	}
	if weighted && !slices.Equal(weight, x[axis:axis+1]) {
		return nil, ir.ShapeErrorf("weight must have shape %v, one element a class, has %v", x[axis:axis+1], weight)
	}
	if !rows {
		return []int{}, nil
	}
	return target, nil
}
