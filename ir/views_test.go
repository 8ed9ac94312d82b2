package ir

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// positions returns where each element of l lies in the storage, in row-major
// order, by counting through the axes.
func positions(l Layout) []int {
	out := []int{}
	at := make([]int, len(l.Shape))
	for range NumElements(l.Shape) {
		p := l.Offset
		for i, a := range at {
			p += a * l.Strides[i]
		}
		out = append(out, p)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < l.Shape[i] {
				break
			}
			at[i] = 0
		}
	}
	return out
}

func TestViewRules(t *testing.T) {
	type result struct {
		l   Layout
		err error
	}
	of := func(l Layout, err error) result { return result{l, err} }
	m := ContiguousLayout([]int{3, 4}) // positions 0 to 11
	mt, _ := TransposeView(m, 0, 1)
	tests := []struct {
		name  string
		got   result
		shape []int
		at    []int // positions in the storage
		err   string
	}{
		{"reshape", of(ReshapeView(m, []int{2, -1})), []int{2, 6}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, ""},
		{"reshape count", of(ReshapeView(m, []int{5})), nil, nil, "12 elements cannot have shape [5]"},
		{"reshape two unknown", of(ReshapeView(m, []int{-1, -1})), nil, nil, "only one extent of [-1 -1] may be -1"},
		{"reshape transposed", of(ReshapeView(mt, []int{12})), nil, nil, "cannot be viewed as [12] without a copy"},
		{"reshape split", of(ReshapeView(mt, []int{2, 2, 3})), []int{2, 2, 3}, []int{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}, ""},
		{"reshape nothing", of(ReshapeView(ContiguousLayout([]int{0, 3}), []int{3, 0})), []int{3, 0}, []int{}, ""},
		{"reshape anything", of(ReshapeView(ContiguousLayout([]int{0, 3}), []int{0, -1})), nil, nil, "could be anything"},
		{"permute", of(PermuteView(ContiguousLayout([]int{2, 3, 1}), []int{-1, 0, 1})), []int{1, 2, 3}, []int{0, 1, 2, 3, 4, 5}, ""},
		{"permute twice", of(PermuteView(m, []int{0, -2})), nil, nil, "dim 0 appears multiple times"},
		{"permute few", of(PermuteView(m, []int{0})), nil, nil, "each of the 2 axes of shape [3 4]"},
		{"transpose", of(mt, nil), []int{4, 3}, []int{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}, ""},
		{"narrow", of(NarrowView(m, 1, -3, 2)), []int{3, 2}, []int{1, 2, 5, 6, 9, 10}, ""},
		{"narrow past", of(NarrowView(m, 1, 3, 2)), nil, nil, "do not lie within the 4 elements of dim 1"},
		{"narrow overflow", of(NarrowView(m, 1, 2, math.MaxInt)), nil, nil, "do not lie within"},
		{"narrow to nothing", of(NarrowView(m, 0, 3, 0)), []int{0, 4}, []int{}, ""},
		{"slice", of(SliceView(m, 1, 1, 100, 2)), []int{3, 2}, []int{1, 3, 5, 7, 9, 11}, ""},
		{"slice backwards", of(SliceView(m, 0, 2, 1, 1)), []int{0, 4}, []int{}, ""},
		{"slice step", of(SliceView(m, 0, 0, 3, 0)), nil, nil, "step 0 is less than 1"},
		{"slice large step", of(SliceView(m, 0, 1, 3, math.MaxInt)), []int{1, 4}, []int{4, 5, 6, 7}, ""},
		{"select", of(SelectView(m, 0, -1)), []int{4}, []int{8, 9, 10, 11}, ""},
		{"select past", of(SelectView(m, 0, 3)), nil, nil, "index 3 is out of range for the 3 elements of dim 0"},
		{"select scalar", of(SelectView(Layout{}, 0, 0)), nil, nil, "rank 0 has no dimension 0"},
		{"expand", of(ExpandView(ContiguousLayout([]int{2, 1}), []int{2, -1, 2})), []int{2, 2, 2}, []int{0, 0, 1, 1, 0, 0, 1, 1}, ""},
		{"expand extent", of(ExpandView(m, []int{6, 4})), nil, nil, "extent 3 at axis 0 is neither 1 nor 6"},
		{"expand new", of(ExpandView(m, []int{-1, 3, 4})), nil, nil, "axis 0 is new"},
		{"expand to fewer", of(ExpandView(m, []int{4})), nil, nil, "fewer axes"},
		{"squeeze", of(SqueezeView(ContiguousLayout([]int{1, 3, 1}), []int{-1, 1})), []int{1, 3}, []int{0, 1, 2}, ""},
		{"squeeze all", of(SqueezeView(ContiguousLayout([]int{1, 3, 1}), nil)), []int{3}, []int{0, 1, 2}, ""},
		{"unsqueeze", of(UnsqueezeView(m, -1)), []int{3, 4, 1}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, ""},
		{"unsqueeze past", of(UnsqueezeView(m, 3)), nil, nil, "3 is not in [-3, 2]"},
		{"diagonal", of(DiagonalView(m, 0, 0, 1)), []int{3}, []int{0, 5, 10}, ""},
		{"diagonal above", of(DiagonalView(m, 2, 0, 1)), []int{2}, []int{2, 7}, ""},
		{"diagonal below", of(DiagonalView(m, -1, 0, 1)), []int{2}, []int{4, 9}, ""},
		{"diagonal outside", of(DiagonalView(m, math.MinInt, 0, 1)), []int{0}, []int{}, ""},
		{"diagonal one axis", of(DiagonalView(m, 0, 1, -1)), nil, nil, "two different axes"},
		{"unfold", of(UnfoldView(ContiguousLayout([]int{7}), 0, 3, 2)), []int{3, 3}, []int{0, 1, 2, 2, 3, 4, 4, 5, 6}, ""},
		{"unfold large", of(UnfoldView(m, 0, 4, 1)), nil, nil, "windows of 4 elements, 1 apart"},
		{"as_strided", of(AsStridedView(m, []int{2, 2}, []int{1, 4}, 1)), []int{2, 2}, []int{1, 5, 2, 6}, ""},
		{"as_strided own offset", of(AsStridedView(Layout{Offset: 3}, []int{2}, []int{0}, -1)), []int{2}, []int{3, 3}, ""},
		{"as_strided negative", of(AsStridedView(m, []int{2}, []int{-1}, 0)), nil, nil, "stride [-1] has a negative entry"},
		{"as_strided overflow", of(AsStridedView(m, []int{math.MaxInt / 16}, []int{17}, 0)), nil, nil, "is too large"},
		{"rank", of(RankView(m, 1)), nil, nil, "want a tensor of rank 1, have shape [3 4]"},
		{"least rank", of(LeastRankView(m, 3)), nil, nil, "rank 3 or more"},
		{"padded axes", of(PaddedAxesView(m, []int{1}, 3, 0)), nil, nil, "at most the last 2 axes"},
		{"padded axes, too little", of(PaddedAxesView(m, []int{-3, -1}, 3, 0)), nil, nil, "padding [-3 -1] leaves no element along axis 1 of shape [3 4]"},
		{"padded axes, too much", of(PaddedAxesView(m, []int{3, 3, 0, 3}, 3, 1)), nil, nil, "padding 3 is too much for axis 0 of shape [3 4], want at most 2"},
	}
	for _, tt := range tests {
		if tt.err != "" {
			if !errors.Is(tt.got.err, ErrShape) || !strings.Contains(tt.got.err.Error(), tt.err) {
				t.Errorf("%s: error %v, want ErrShape with %q", tt.name, tt.got.err, tt.err)
			}
			continue
		}
		if tt.got.err != nil {
			t.Errorf("%s: %v", tt.name, tt.got.err)
			continue
		}
		if d := cmp.Diff(tt.shape, tt.got.l.Shape); d != "" {
			t.Errorf("%s: shape -want +got\n%s", tt.name, d)
		}
		if d := cmp.Diff(tt.at, positions(tt.got.l)); d != "" {
			t.Errorf("%s: positions -want +got\n%s", tt.name, d)
		}
	}
}

// TestReshapeKeepsOrder reshapes random views to random shapes: a view must read
// the same positions, and an axis-wise refusal must be due to a gap.
func TestReshapeKeepsOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 3000 {
		l := ContiguousLayout([]int{2, 1 + r.IntN(3), 1 + r.IntN(3), 2})
		for range r.IntN(3) {
			switch d := r.IntN(4); r.IntN(3) {
			case 0:
				l, _ = TransposeView(l, d, r.IntN(4))
			case 1:
				l, _ = SliceView(l, d, 0, math.MaxInt, 1+r.IntN(2))
			case 2:
				l, _ = NarrowView(l, d, l.Shape[d]-1, 1)
			}
		}
		n := NumElements(l.Shape)
		shape := []int{}
		for rest := n; ; {
			d := 1 + r.IntN(rest)
			if rest%d != 0 {
				continue
			}
			shape = append(shape, d)
			if rest /= d; rest == 1 {
				break
			}
		}
		got, err := ReshapeView(l, shape)
		if err != nil {
			if l.IsContiguous() {
				t.Fatalf("%v of contiguous %v: %v", shape, l.Shape, err)
			}
			continue
		}
		accepted++
		if !slices.Equal(positions(got), positions(l)) {
			t.Fatalf("%v strides %v as %v: positions %v, want %v", l.Shape, l.Strides, shape, positions(got), positions(l))
		}
	}
	if accepted < 1000 {
		t.Errorf("only %d views were accepted", accepted)
	}
}

func TestWithin(t *testing.T) {
	l := Layout{[]int{2, 3}, []int{4, 1}, 1}
	if err := l.Within(8); err != nil {
		t.Error(err)
	}
	if err := l.Within(7); !errors.Is(err, ErrShape) {
		t.Errorf("a storage of 7 elements: %v", err)
	}
	if err := (Layout{Shape: []int{0}, Strides: []int{1}}).Within(0); err != nil {
		t.Error(err)
	}
}
