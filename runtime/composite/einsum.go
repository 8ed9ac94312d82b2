package composite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// TensorDot sums products of x and y over the axes xDims and yDims, which pair up.
func TensorDot(permute, reshape withInts, matmul product, x, y *core.Tensor, xDims, yDims []int) *core.Tensor {
	if t := core.FirstError(x, y); t != nil {
		return t
	}
	fail := func(err error) *core.Tensor { return core.Fail(op("tensordot"), err) }
	if len(xDims) != len(yDims) {
		return fail(fmt.Errorf("%w: %d dims of x for %d of y", ir.ErrShape, len(xDims), len(yDims)))
	}
	xFree, xSummed, err := freeAxes(x, xDims)
	if err != nil {
		return fail(err)
	}
	yFree, ySummed, err := freeAxes(y, yDims)
	if err != nil {
		return fail(err)
	}
	var shape []int
	m, n, k := 1, 1, 1
	for _, a := range xFree {
		shape = append(shape, look(x).Shape()[a])
		m *= look(x).Shape()[a]
	}
	for _, a := range yFree {
		shape = append(shape, look(y).Shape()[a])
		n *= look(y).Shape()[a]
	}
	for i, a := range xSummed {
		if look(x).Shape()[a] != look(y).Shape()[ySummed[i]] {
			return fail(fmt.Errorf("%w: dim %d of %v has %d elements, dim %d of %v has %d", ir.ErrShape,
				a, look(x).Shape(), look(x).Shape()[a], ySummed[i], look(y).Shape(), look(y).Shape()[ySummed[i]]))
		}
		k *= look(x).Shape()[a]
	}
	left := reshape(permute(x, append(xFree, xSummed...)), []int{m, k})
	right := reshape(permute(y, append(ySummed, yFree...)), []int{k, n})
	return reshape(matmul(left, right), append([]int{}, shape...))
}

// freeAxes normalises the summed axes and returns the others in order.
func freeAxes(x *core.Tensor, dims []int) (free, summed []int, err error) {
	for _, d := range dims {
		a, err := ownAxis(x, d)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(summed, a) {
			return nil, nil, fmt.Errorf("%w: dim %d appears twice in %v", ir.ErrShape, d, dims)
		}
		summed = append(summed, a)
	}
	for a := range look(x).Shape() {
		if !slices.Contains(summed, a) {
			free = append(free, a)
		}
	}
	return free, summed, nil
}

// Products are the operators that einsum is made of.
type Products struct {
	Diagonal onDiagonal
	Expand   withInts
	Permute  withInts
	Sum      sumOver
	Reshape  withInts
	MatMul   product
}

// An einsum is one under way.
type einsum struct {
	Products
	extents map[rune]int // of every label
	alone   bool         // there is one operand, so that the result is a sum as sum gives it
}

// term is an operand whose axes have distinct labels.
type term struct {
	t      *core.Tensor
	labels []rune
}

// Einsum returns the sum of products that equation describes.
func Einsum(o Products, equation string, xs []*core.Tensor) *core.Tensor {
	if t := core.FirstError(xs...); t != nil {
		return t
	}
	e := &einsum{o, map[rune]int{}, len(xs) == 1}
	terms, out, err := e.parse(equation, xs)
	if err != nil {
		return core.Fail(op("einsum"), fmt.Errorf("%q: %w", equation, err))
	}
	for i := range terms {
		e.takeDiagonals(&terms[i])
	}
	if to, narrow := core.Narrow(op("einsum"), xs, xs...); narrow && roundsAgain(terms, out) {
		for i := range terms {
			terms[i].t = core.Wide(terms[i].t)
		}
		return core.Round(e.fold(terms, out), to)
	}
	return e.fold(terms, out)
}

// roundsAgain reports whether more than one operator of those that einsum is made of may
// round: there is another one than one product of two operands, or one sum.
func roundsAgain(terms []term, out []rune) bool {
	if len(terms) != 2 {
		return len(terms) > 2
	}
	for i, t := range terms {
		for _, l := range t.labels {
			if !slices.Contains(out, l) && !slices.Contains(terms[1-i].labels, l) {
				return true
			}
		}
	}
	return false
}

// fold multiplies the terms, from the first on, and sums what is not in out.
func (e *einsum) fold(terms []term, out []rune) *core.Tensor {
	acc := terms[0]
	for i, next := range terms[1:] {
		needed := append([]rune{}, out...)
		for _, later := range terms[i+2:] {
			needed = append(needed, later.labels...)
		}
		acc = e.multiply(acc, next, needed)
	}
	acc = e.sumOut(acc, out)
	return e.order(acc, out)
}

// ellipsis labels are runes below the letters, one for each axis the dots stand
// for, the last axis first.
func ellipsis(k int) rune { return rune(1 + k) }

// parse reads the equation and checks it against the operands.
func (e *einsum) parse(equation string, xs []*core.Tensor) ([]term, []rune, error) {
	left, right, arrow := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	parts := strings.Split(left, ",")
	if len(parts) != len(xs) || len(xs) == 0 {
		return nil, nil, fmt.Errorf("%w: %d operands described, %d given", ir.ErrShape, len(parts), len(xs))
	}
	dots := 0
	terms := make([]term, len(xs))
	count := map[rune]int{}
	for i, x := range xs {
		if x == nil {
			return nil, nil, core.ErrZeroTensor
		}
		labels, n, err := expand(parts[i], look(x).Rank())
		if err != nil {
			return nil, nil, err
		}
		dots = max(dots, n)
		for a, l := range labels {
			count[l]++
			d := look(x).Shape()[a]
			if j := slices.Index(labels, l); look(x).Shape()[j] != d {
				return nil, nil, fmt.Errorf("%w: %s is repeated on axes of %d and %d elements", ir.ErrShape, labelName(l), look(x).Shape()[j], d)
			}
			have, ok := e.extents[l]
			if ok && have != d && have != 1 && d != 1 {
				return nil, nil, fmt.Errorf("%w: %s has extents %d and %d", ir.ErrShape, labelName(l), have, d)
			}
			if e.extents[l] = max(have, d); d == 0 || ok && have == 0 {
				e.extents[l] = 0
			}
		}
		terms[i] = term{x, labels}
	}
	out, err := outputLabels(right, arrow, dots, count)
	return terms, out, err
}

func labelName(l rune) string {
	if l < 'A' {
		return "an axis of ..."
	}
	return fmt.Sprintf("label %c", l)
}

// expand returns the labels of one operand's axes.
func expand(part string, rank int) (labels []rune, dots int, err error) {
	before, after, found := strings.Cut(part, "...")
	for _, r := range before + after {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return nil, 0, fmt.Errorf("%w: %q is not a letter", ir.ErrShape, r)
		}
	}
	named := len(before) + len(after)
	if found {
		dots = rank - named
	}
	if dots < 0 || !found && named != rank {
		return nil, 0, fmt.Errorf("%w: %q names %d axes of an operand that has %d", ir.ErrShape, part, named, rank)
	}
	labels = []rune(before)
	for k := dots - 1; k >= 0; k-- {
		labels = append(labels, ellipsis(k))
	}
	return append(labels, []rune(after)...), dots, nil
}

func outputLabels(right string, arrow bool, dots int, count map[rune]int) ([]rune, error) {
	var out []rune
	if !arrow {
		for k := dots - 1; k >= 0; k-- {
			out = append(out, ellipsis(k))
		}
		var once []rune
		for l, n := range count {
			if n == 1 && l >= 'A' {
				once = append(once, l)
			}
		}
		slices.Sort(once)
		return append(out, once...), nil
	}
	rank := len(right)
	if strings.Contains(right, "...") {
		rank += dots - 3
	}
	out, _, err := expand(right, rank)
	if err != nil {
		return nil, err
	}
	for i, l := range out {
		if count[l] == 0 {
			return nil, fmt.Errorf("%w: %s of the result is in no operand", ir.ErrShape, labelName(l))
		}
		if slices.Contains(out[:i], l) {
			return nil, fmt.Errorf("%w: %s is twice in the result", ir.ErrShape, labelName(l))
		}
	}
	return out, nil
}

// takeDiagonals leaves every label of t on one axis only.
func (e *einsum) takeDiagonals(t *term) {
	for i := 0; i < len(t.labels); i++ {
		j := slices.Index(t.labels[i+1:], t.labels[i])
		if j < 0 {
			continue
		}
		j += i + 1
		l := t.labels[i]
		t.t = e.Diagonal(t.t, 0, i, j)
		t.labels = slices.Delete(slices.Clone(t.labels), j, j+1)
		t.labels = append(slices.Delete(t.labels, i, i+1), l)
		i = -1
	}
}

// sumOut sums the axes of t that are not needed.
func (e *einsum) sumOut(t term, needed []rune) term {
	var dims []int
	var kept []rune
	for i, l := range t.labels {
		if slices.Contains(needed, l) {
			kept = append(kept, l)
		} else {
			dims = append(dims, i)
		}
	}
	if len(dims) == 0 {
		return t
	}
	dt := look(t.t).DType()
	if e.alone {
		dt = ir.Invalid
	}
	return term{e.Sum(t.t, dims, false, dt), kept}
}

// multiply returns the product of a and b, summed over the labels that nothing
// later needs, as one batched matrix product.
func (e *einsum) multiply(a, b term, needed []rune) term {
	a = e.sumOut(a, append(slices.Clone(needed), b.labels...))
	b = e.sumOut(b, append(slices.Clone(needed), a.labels...))
	var batch, left, summed, right []rune
	for _, l := range a.labels {
		switch {
		case !slices.Contains(b.labels, l):
			left = append(left, l)
		case slices.Contains(needed, l):
			batch = append(batch, l)
		default:
			summed = append(summed, l)
		}
	}
	for _, l := range b.labels {
		if !slices.Contains(a.labels, l) {
			right = append(right, l)
		}
	}
	a, b = e.spread(a, summed), e.spread(b, summed)
	x := e.matrix(a, batch, left, summed)
	y := e.matrix(b, batch, summed, right)
	labels := slices.Concat(batch, left, right)
	shape := make([]int, len(labels))
	for i, l := range labels {
		shape[i] = e.extents[l]
		if !slices.Contains(batch, l) {
			shape[i] = extentIn(l, a, b)
		} else {
			shape[i] = max(extentIn(l, a), extentIn(l, b))
			if extentIn(l, a) == 0 || extentIn(l, b) == 0 {
				shape[i] = 0
			}
		}
	}
	return term{e.Reshape(e.MatMul(x, y), shape), labels}
}

// spread sums the axes of extent 1 that broadcast against a longer partner: an
// extent of 1 under a summed label stands for that many equal elements.
func (e *einsum) spread(t term, summed []rune) term {
	shape := slices.Clone(look(t.t).Shape())
	changed := false
	for i, l := range t.labels {
		if slices.Contains(summed, l) && shape[i] != e.extents[l] {
			shape[i], changed = e.extents[l], true
		}
	}
	if !changed {
		return t
	}
	return term{e.Expand(t.t, shape), t.labels}
}

func extentIn(l rune, ts ...term) int {
	for _, t := range ts {
		if i := slices.Index(t.labels, l); i >= 0 {
			return look(t.t).Shape()[i]
		}
	}
	return 1
}

// matrix returns t with its axes in the order batch, rows, columns, the rows and
// the columns joined.
func (e *einsum) matrix(t term, batch, rows, cols []rune) *core.Tensor {
	var dims []int
	shape := make([]int, 0, len(batch)+2)
	for _, l := range batch {
		dims = append(dims, slices.Index(t.labels, l))
		shape = append(shape, extentIn(l, t))
	}
	for _, group := range [][]rune{rows, cols} {
		n := 1
		for _, l := range group {
			dims = append(dims, slices.Index(t.labels, l))
			n *= extentIn(l, t)
		}
		shape = append(shape, n)
	}
	return e.Reshape(e.Permute(t.t, dims), shape)
}

// order permutes t's axes to the given labels.
func (e *einsum) order(t term, out []rune) *core.Tensor {
	dims := make([]int, len(out))
	for i, l := range out {
		dims[i] = slices.Index(t.labels, l)
	}
	return e.Permute(t.t, dims)
}
