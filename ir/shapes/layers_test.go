package shapes

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
)

// TestLayerShapes checks the rules of samplings and recurrences.
func TestLayerShapes(t *testing.T) {
	type result struct {
		shapes [][]int
		err    error
	}
	one := func(shape []int, err error) result {
		if err != nil {
			return result{nil, err}
		}
		return result{[][]int{shape}, nil}
	}
	list := func(shapes [][]int, err error) result { return result{shapes, err} }
	x, grid, order := []int{2, 3, 4, 5}, []int{2, 6, 7, 2}, []int{0, 0}
	out := []int{2, 3, 6, 7}
	gates, state, weight, bias := []int{5, 2, 12}, []int{2, 3}, []int{12, 3}, []int{12}
	seq := []int{5, 2, 3}
	for _, c := range []struct {
		name string
		got  result
		want [][]int
		err  string
	}{
		{"sample", one(GridSampleShape(x, grid, order)), [][]int{out}, ""},
		{"sample deep", one(GridSampleShape([]int{2, 3, 4, 5, 6}, []int{2, 1, 2, 3, 3}, []int{0, 0, 1})), [][]int{{2, 3, 1, 2, 3}}, ""},
		{"sample rank", one(GridSampleShape([]int{2, 3}, grid, order)), nil, "have [2 3]"},
		{"sample images", one(GridSampleShape([]int{1, 3, 4, 5}, grid, order)), nil, "is for 2 samples, x [1 3 4 5] has 1"},
		{"sample coordinates", one(GridSampleShape(x, []int{2, 6, 7, 3}, order)), nil, "the 2 coordinates"},
		{"sample nothing", one(GridSampleShape([]int{2, 3, 0, 5}, grid, order)), nil, "no element to sample"},
		{"sample order", one(GridSampleShape(x, grid, []int{0, -1})), nil, "order [0 -1]"},
		{"sample input", one(GridSampleGradInputShape(out, grid, x, order)), [][]int{x}, ""},
		{"sample grid", one(GridSampleGradGridShape(out, x, grid, order)), [][]int{grid}, ""},
		{"sample gradient", one(GridSampleGradGridShape(x, x, grid, order)), nil, "has shape [2 3 6 7], not [2 3 4 5]"},

		{"lstm", list(LSTMSequenceShape(gates, state, state, weight, bias)), [][]int{seq, seq}, ""},
		{"lstm steps", list(LSTMSequenceShape([]int{0, 2, 12}, state, state, weight, bias)), nil, "has no step"},
		{"lstm batch", list(LSTMSequenceShape([]int{5, 1, 12}, state, state, weight, bias)), nil, "is of 2 sequences"},
		{"lstm gates", list(LSTMSequenceShape([]int{5, 2, 9}, state, state, weight, bias)), nil, "takes 4 gates"},
		{"lstm cell", list(LSTMSequenceShape(gates, state, []int{2, 4}, weight, bias)), nil, "the cell [2 4] must have shape [2 3]"},
		{"lstm bias", list(LSTMSequenceShape(gates, state, state, weight, []int{3})), nil, "bias [3] must have shape [12]"},
		{"lstm gradient", list(LSTMSequenceGradShape(seq, seq, gates, gates, seq, weight, bias)), [][]int{gates, state, state}, ""},
		{"lstm gradient inner", list(LSTMSequenceGradShape(seq, seq, gates, seq, seq, weight, bias)), nil, "the inner product"},
		{"gru", one(GRUSequenceShape([]int{5, 2, 9}, state, []int{9, 3}, []int{2, 9})), [][]int{seq}, ""},
		{"gru bias", one(GRUSequenceShape([]int{5, 2, 9}, state, []int{9, 3}, []int{9})), nil, "bias [9] must have shape [2 9]"},
		{"gru gradient", list(GRUSequenceGradShape(seq, []int{5, 2, 9}, []int{5, 2, 9}, seq, []int{9, 3}, []int{2, 9})),
			[][]int{{5, 2, 9}, {5, 2, 9}, state}, ""},
		{"rnn", one(RNNSequenceShape(seq, state, []int{3, 3}, []int{3})), [][]int{seq}, ""},
		{"rnn gradient", list(RNNSequenceGradShape(seq, seq, []int{3, 3})), [][]int{seq, state}, ""},
		{"rnn gradient rank", list(RNNSequenceGradShape(state, state, []int{3, 3})), nil, "has shape [2 3]"},
	} {
		if c.err == "" {
			if diff := cmp.Diff(c.want, c.got.shapes); diff != "" || c.got.err != nil {
				t.Errorf("%s: %v (-want +got)\n%s", c.name, c.got.err, diff)
			}
			continue
		}
		if !errors.Is(c.got.err, ir.ErrShape) || !strings.Contains(c.got.err.Error(), c.err) {
			t.Errorf("%s: error %v, want ir.ErrShape with %q", c.name, c.got.err, c.err)
		}
	}
}

// TestGridCoordinates holds the coordinates of an affine grid to their ends.
func TestGridCoordinates(t *testing.T) {
	for _, c := range []struct {
		n           int
		corners     bool
		first, last float64
	}{{4, false, -0.75, 0.75}, {5, true, -1, 1}, {1, false, 0, 0}, {1, true, 0, 0}} {
		first, step := GridStart(c.n, c.corners), GridStep(c.n, c.corners)
		if last := first + float64(c.n-1)*step; first != c.first || last != c.last {
			t.Errorf("%d, corners %t: from %v to %v, want %v to %v", c.n, c.corners, first, last, c.first, c.last)
		}
	}
	if diff := cmp.Diff([]int{0, 2}, Raised([]int{0, 1}, 1)); diff != "" {
		t.Error(diff)
	}
}
