package shapes

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
)

func TestLossShapes(t *testing.T) {
	for _, c := range []struct {
		name              string
		x, target, weight []int
		rows              bool
		want              []int
		err               string
	}{
		{"classes alone", []int{5}, []int{}, nil, true, []int{}, ""},
		{"reduced", []int{4, 5}, []int{4}, nil, false, []int{}, ""},
		{"rows", []int{4, 5}, []int{4}, []int{5}, true, []int{4}, ""},
		{"images", []int{2, 3, 4, 6}, []int{2, 4, 6}, []int{3}, true, []int{2, 4, 6}, ""},
		{"no rows", []int{0, 5}, []int{0}, nil, true, []int{0}, ""},
		{"no axes", []int{}, []int{}, nil, true, nil, "want an x of shape [classes] or [n, classes, ...]"},
		{"fewer rows", []int{4, 5}, []int{3}, nil, false, nil, "target must have shape [4] for x of shape [4 5], whose axis 1 is the classes, has [3]"},
		{"other image", []int{2, 3, 4, 6}, []int{2, 4, 5}, nil, false, nil, "target must have shape [2 4 6]"},
		{"probabilities", []int{4, 5}, []int{4, 5}, nil, false, nil, "target must have shape [4]"},
		{"few weights", []int{4, 5}, []int{4}, []int{4}, false, nil, "weight must have shape [5], one element a class, has [4]"},
		{"weight of no axes", []int{4, 1}, []int{4}, []int{}, false, nil, "weight must have shape [1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			weighted := c.weight != nil
			full, err := CrossEntropyShape(c.x, c.target, c.weight, weighted, c.rows)
			short, err2 := NLLShape(c.x, c.target, c.weight, weighted, c.rows)
			if c.err != "" {
				for _, err := range []error{err, err2} {
					if !errors.Is(err, ir.ErrShape) || !strings.Contains(err.Error(), c.err) {
						t.Errorf("error %v, want a shape error that says %q", err, c.err)
					}
				}
				return
			}
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if d := cmp.Diff([][]int{c.want, c.target, {}}, full); d != "" {
				t.Errorf("cross_entropy (-want +got):\n%s", d)
			}
			if d := cmp.Diff([][]int{c.want, {}}, short); d != "" {
				t.Errorf("nll (-want +got):\n%s", d)
			}
			back, err := CrossEntropyGradShape(c.want, c.x, c.target, c.target, []int{}, c.weight, weighted, c.rows)
			if d := cmp.Diff(c.x, back); err != nil || d != "" {
				t.Errorf("gradient: error %v (-want +got):\n%s", err, d)
			}
		})
	}
}

func TestLossGradShapeRefuses(t *testing.T) {
	x, target := []int{4, 5}, []int{4}
	for _, c := range []struct {
		name            string
		g, stats, total []int
		want            string
	}{
		{"gradient", []int{4}, target, []int{}, "the gradient has shape [4], the loss []"},
		{"statistics", []int{}, []int{5}, []int{}, "statistics of shape [5] for targets of shape [4]"},
		{"total", []int{}, target, []int{1}, "the total has shape [1]"},
	} {
		_, err := CrossEntropyGradShape(c.g, x, target, c.stats, c.total, nil, false, false)
		if !errors.Is(err, ir.ErrShape) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.want)
		}
	}
}

func TestIsTransposed(t *testing.T) {
	for _, c := range []struct {
		shape, strides []int
		want           bool
	}{
		{[]int{2, 3}, []int{3, 1}, false},
		{[]int{2, 3}, []int{1, 2}, true},
		{[]int{7, 2, 3}, []int{6, 1, 2}, true},
		{[]int{2, 3}, []int{0, 1}, false}, // rows repeated
		{[]int{1, 3}, []int{1, 1}, false},
		{[]int{3}, []int{1}, false},
		{nil, nil, false},
	} {
		if got := IsTransposed(ir.Layout{Shape: c.shape, Strides: c.strides}); got != c.want {
			t.Errorf("shape %v strides %v: %t, want %t", c.shape, c.strides, got, c.want)
		}
	}
}
