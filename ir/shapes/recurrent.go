package shapes

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// recurrent checks the operands of a recurrence over gates [steps, batch, n*width],
// whose state is [batch, width] and weight [n*width, width], and returns its
// extents.
func recurrent(gates, state, weight []int, n int) (steps, batch, width int, err error) {
	if len(gates) != 3 || len(state) != 2 || len(weight) != 2 {
		return 0, 0, 0, ir.ShapeErrorf("a recurrence takes gates [steps, batch, %d*width], a state [batch, width] and weight [%d*width, width], have %v, %v and %v",
			n, n, gates, state, weight)
	}
	steps, batch, width = gates[0], state[0], state[1]
	switch {
	case steps == 0:
		return 0, 0, 0, ir.ShapeErrorf("a recurrence over gates %v has no step", gates)
	case gates[1] != batch:
		return 0, 0, 0, ir.ShapeErrorf("the state %v is of %d sequences, the gates %v of %d", state, batch, gates, gates[1])
	case gates[2] != n*width || !slices.Equal(weight, []int{n * width, width}):
		return 0, 0, 0, ir.ShapeErrorf("gates %v and weight %v do not fit a state of width %d, which takes %d gates", gates, weight, width, n)
	}
	return steps, batch, width, nil
}

// same reports shapes that should be equal.
func same(what string, got, want []int) error {
	if !slices.Equal(got, want) {
		return ir.ShapeErrorf("%s %v must have shape %v", what, got, want)
	}
	return nil
}

// LSTMSequenceShape returns the shape [steps, batch, width] of the outputs, and
// that of the cells, of an LSTM over gates [steps, batch, 4*width].
func LSTMSequenceShape(gates, h, c, weight, bias []int) ([][]int, error) {
	steps, batch, width, err := recurrent(gates, h, weight, 4)
	if err == nil {
		err = same("the cell", c, h)
	}
	if err == nil {
		err = same("bias", bias, weight[:1])
	}
	if err != nil {
		return nil, err
	}
	out := []int{steps, batch, width}
	return [][]int{out, out}, nil
}

// LSTMSequenceGradShape returns the shapes of gates, of the first output and of
// the first cell of an LSTM.
func LSTMSequenceGradShape(g, gCells, gates, inner, before, weight, bias []int) ([][]int, error) {
	if len(g) != 3 {
		return nil, ir.ShapeErrorf("the gradient of outputs [steps, batch, width] has shape %v", g)
	}
	state := g[1:]
	shapes, err := LSTMSequenceShape(gates, state, state, weight, bias)
	if err != nil {
		return nil, err
	}
	for _, s := range [][]int{g, gCells, before} {
		if err := same("the outputs, cells and their gradients", s, shapes[0]); err != nil {
			return nil, err
		}
	}
	return [][]int{gates, state, state}, same("the inner product", inner, gates)
}

// GRUSequenceShape returns the shape [steps, batch, width] of the outputs of a GRU
// over gates [steps, batch, 3*width]. bias has two rows: of the gates, and of what
// the state gives to them.
func GRUSequenceShape(gates, h, weight, bias []int) ([]int, error) {
	steps, batch, width, err := recurrent(gates, h, weight, 3)
	if err == nil {
		err = same("bias", bias, []int{2, 3 * width})
	}
	return []int{steps, batch, width}, err
}

// GRUSequenceGradShape returns the shapes of gates, of what the state gives to
// them, and of the first output of a GRU.
func GRUSequenceGradShape(g, gates, inner, before, weight, bias []int) ([][]int, error) {
	if len(g) != 3 {
		return nil, ir.ShapeErrorf("the gradient of outputs [steps, batch, width] has shape %v", g)
	}
	out, err := GRUSequenceShape(gates, g[1:], weight, bias)
	if err != nil {
		return nil, err
	}
	for _, s := range [][]int{g, before} {
		if err := same("the outputs and their gradient", s, out); err != nil {
			return nil, err
		}
	}
	return [][]int{gates, gates, g[1:]}, same("the inner product", inner, gates)
}

// RNNSequenceShape returns the shape [steps, batch, width] of the outputs of a
// recurrence without gates.
func RNNSequenceShape(x, h, weight, bias []int) ([]int, error) {
	_, _, _, err := recurrent(x, h, weight, 1)
	if err == nil {
		err = same("bias", bias, weight[:1])
	}
	return x, err
}

// RNNSequenceGradShape returns the shapes of x and of the first output of a
// recurrence without gates.
func RNNSequenceGradShape(g, out, weight []int) ([][]int, error) {
	if len(g) != 3 {
		return nil, ir.ShapeErrorf("the gradient of outputs [steps, batch, width] has shape %v", g)
	}
	if _, _, _, err := recurrent(g, g[1:], weight, 1); err != nil {
		return nil, err
	}
	return [][]int{g, g[1:]}, same("the outputs", out, g)
}
