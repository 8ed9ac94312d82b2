package shapes

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
)

func TestRules(t *testing.T) {
	one := func(s []int, err error) ([][]int, error) {
		if err != nil {
			return nil, err
		}
		return [][]int{s}, nil
	}
	type result struct {
		shapes [][]int
		err    error
	}
	got := func(s [][]int, err error) result { return result{s, err} }
	got1 := func(s []int, err error) result { return got(one(s, err)) }
	tests := []struct {
		name string
		got  result
		want [][]int
		err  string // part of the message; "" where the rule accepts
	}{
		{"reduce all", got1(ReduceShape([]int{2, 3}, nil, false)), [][]int{{}}, ""},
		{"reduce axis", got1(ReduceShape([]int{2, 3, 4}, []int{-2}, false)), [][]int{{2, 4}}, ""},
		{"reduce kept", got1(ReduceShape([]int{2, 3, 4}, []int{2, 0}, true)), [][]int{{1, 3, 1}}, ""},
		{"reduce twice", got1(ReduceShape([]int{2, 3}, []int{0, -2}, false)), nil, "dim 0 appears multiple times in [0 -2]"},
		{"reduce out of range", got1(ReduceShape([]int{2, 3}, []int{2}, false)), nil, "dimension out of range: 2 is not in [-2, 1]"},

		{"arg all", got1(ArgReduceShape([]int{2, 3}, nil, false)), [][]int{{}}, ""},
		{"arg empty rows", got1(ArgReduceShape([]int{0, 3}, []int{1}, false)), [][]int{{0}}, ""},
		{"arg of nothing", got1(ArgReduceShape([]int{0, 3}, []int{0}, false)), nil, "no elements to choose from in shape [0 3]"},
		{"arg two axes", got1(ArgReduceShape([]int{2, 3}, []int{0, 1}, false)), nil, "not along dimensions [0 1]"},

		{"cat", got1(CatShape([][]int{{2, 3}, {4, 3}, {0, 3}}, 0)), [][]int{{6, 3}}, ""},
		{"cat nothing", got1(CatShape(nil, 0)), nil, "want at least one tensor"},
		{"cat scalars", got1(CatShape([][]int{{}, {}}, 0)), nil, "rank 0 cannot be joined"},
		{"cat other rank", got1(CatShape([][]int{{2}, {2, 1}}, 0)), nil, "tensor 0 has shape [2], tensor 1 has [2 1]"},
		{"cat other extent", got1(CatShape([][]int{{2, 3}, {2, 4}}, 0)), nil, "tensor 0 has shape [2 3], tensor 1 has [2 4]"},
		{"cat too many", got1(CatShape([][]int{{math.MaxInt}, {math.MaxInt}}, 0)), nil, "too many elements"},

		{"pad", got1(PadShape([]int{2, 3}, []int{1, 2, -1, 0})), [][]int{{1, 6}}, ""},
		{"pad odd", got1(PadShape([]int{2}, []int{1})), nil, "padding [1] must hold a pair"},
		{"pad too many axes", got1(PadShape([]int{2}, []int{1, 1, 1, 1})), nil, "must hold a pair"},
		{"pad away", got1(PadShape([]int{2}, []int{-1, -2})), nil, "padding -1 and -2 does not fit axis 0 of shape [2]"},
		{"pad overflow", got1(PadShape([]int{2}, []int{math.MaxInt, 1})), nil, "does not fit axis 0"},

		{"gather", got1(GatherShape([]int{3, 4}, 0, []int{5, 2})), [][]int{{5, 2}}, ""},
		{"one hot", got1(OneHotShape([]int{3, 4}, 5)), [][]int{{3, 4, 5}}, ""},
		{"one hot of nothing", got1(OneHotShape([]int{0}, 0)), [][]int{{0, 0}}, ""},
		{"one hot without classes", got1(OneHotShape([]int{3}, 0)), nil, "0 classes for x of shape [3]: want at least one"},
		{"gather rank", got1(GatherShape([]int{3, 4}, 0, []int{5})), nil, "index has shape [5], x [3 4]"},
		{"gather large", got1(GatherShape([]int{3, 4}, 0, []int{5, 5})), nil, "index of shape [5 5] is larger than x of shape [3 4] at axis 1"},
		{"gather from nothing", got1(GatherShape([]int{0}, 0, []int{1})), nil, "into no elements"},
		{"scatter", got1(ScatterShape([]int{3, 4}, 1, []int{2, 3}, []int{2, 5})), [][]int{{3, 4}}, ""},
		{"scatter scalar", got1(ScatterShape([]int{3, 4}, 1, []int{2, 3}, nil)), [][]int{{3, 4}}, ""},
		{"scatter small src", got1(ScatterShape([]int{3, 4}, 1, []int{2, 3}, []int{2, 2})), nil, "larger than src of shape [2 2] at axis 1"},
		{"index_select", got1(IndexSelectShape([]int{3, 4}, -1, []int{7})), [][]int{{3, 7}}, ""},
		{"index_select one", got1(IndexSelectShape([]int{3, 4}, 0, nil)), [][]int{{1, 4}}, ""},
		{"index_select matrix", got1(IndexSelectShape([]int{3, 4}, 0, []int{2, 2})), nil, "one axis or none, have shape [2 2]"},
		{"index_add", got1(IndexAddShape([]int{3, 4}, 0, []int{5}, []int{5, 4})), [][]int{{3, 4}}, ""},
		{"index_add src", got1(IndexAddShape([]int{3, 4}, 0, []int{5}, []int{4, 4})), nil, "src must have shape [5 4]"},
		{"nonzero", got1(NonzeroShape([]int{3, 4}, 5)), [][]int{{5, 2}}, ""},
		{"nonzero too many", got1(NonzeroShape([]int{3, 4}, 13)), nil, "13 positions in shape [3 4], which has 12 elements"},
		{"sort", got(SortShape([]int{3, 4}, 1)), [][]int{{3, 4}, {3, 4}}, ""},
		{"sort_first", got(SortFirstShape([]int{3, 4}, -1, 2)), [][]int{{3, 2}, {3, 2}}, ""},
		{"sort_first of nothing", got(SortFirstShape([]int{0, 4}, 0, 0)), [][]int{{0, 4}, {0, 4}}, ""},
		{"sort_first of a scalar", got(SortFirstShape(nil, 0, 1)), [][]int{nil, nil}, ""},
		{"sort_first of too few", got(SortFirstShape([]int{3, 4}, 0, 4)), nil, "k is 4, want 0 to 3"},
		{"sort_first of no axis", got(SortFirstShape([]int{3, 4}, 2, 1)), nil, "out of range"},
		{"searchsorted", got1(SearchsortedShape([]int{5}, []int{2, 3})), [][]int{{2, 3}}, ""},
		{"searchsorted rows", got1(SearchsortedShape([]int{2, 5}, []int{2, 3})), [][]int{{2, 3}}, ""},
		{"searchsorted mismatch", got1(SearchsortedShape([]int{3, 5}, []int{2, 3})), nil, "sorted has shape [3 5], values [2 3]"},

		{"matmul dot", got1(MatMulShape([]int{3}, []int{3})), [][]int{{}}, ""},
		{"matmul vector", got1(MatMulShape([]int{2, 3}, []int{3})), [][]int{{2}}, ""},
		{"matmul row", got1(MatMulShape([]int{3}, []int{5, 3, 4})), [][]int{{5, 4}}, ""},
		{"matmul batches", got1(MatMulShape([]int{5, 1, 2, 3}, []int{6, 3, 4})), [][]int{{5, 6, 2, 4}}, ""},
		{"matmul inner", got1(MatMulShape([]int{2, 3}, []int{4, 5})), nil, "cannot multiply shapes [2 3] and [4 5]: inner dimensions 3 and 4 differ"},
		{"matmul bias", got1(MatMulBiasShape([]int{5, 2, 3}, []int{3, 4}, []int{4})), [][]int{{5, 2, 4}}, ""},
		{"matmul bias short", got1(MatMulBiasShape([]int{2, 3}, []int{3, 4}, []int{3})), nil, "bias [n], have [3 4] and [3]"},
		{"matmul bias column", got1(MatMulBiasShape([]int{2, 3}, []int{3}, []int{})), nil, "y [k, n] and bias [n], have [3] and []"},
		{"matmul bias inner", got1(MatMulBiasShape([]int{2, 3}, []int{5, 4}, []int{4})), nil, "inner dimensions 3 and 5 differ"},
		{"matmul scalar", got1(MatMulShape(nil, []int{2})), nil, "at least one axis"},
		{"matmul batch mismatch", got1(MatMulShape([]int{2, 2, 3}, []int{3, 3, 4})), nil, "cannot broadcast"},

		{"norm_stats", got(NormStatsShape([]int{2, 3, 4}, 2, 3)), [][]int{{2, 3, 4}, {2, 1, 1}, {2, 1, 1}}, ""},
		{"norm_affine", got(NormAffineShape([]int{2, 3, 4}, []int{3, 4}, []int{3, 4}, 2, 2)), [][]int{{2, 3, 4}, {2, 1, 1}}, ""},
		{"norm_affine weight", got(NormAffineShape([]int{2, 3}, []int{2}, []int{3}, 1, 3)), nil, "weight [2] and bias [3] must have shape [3]"},
		{"on_diagonal", got1(OnDiagonalShape([]int{2, 3}, []int{2, 5, 4}, 1)), [][]int{{2, 5, 4}}, ""},
		{"on_diagonal below", got1(OnDiagonalShape([]int{1}, []int{3, 4}, -2)), [][]int{{3, 4}}, ""},
		{"on_diagonal nowhere", got1(OnDiagonalShape([]int{0}, []int{3, 4}, math.MinInt)), [][]int{{3, 4}}, ""},
		{"on_diagonal length", got1(OnDiagonalShape([]int{3}, []int{3, 4}, 2)), nil, "has 2, not 3"},
		{"on_diagonal rows", got1(OnDiagonalShape([]int{3, 3}, []int{2, 3, 4}, 0)), nil, "no diagonals of shape [3 3]"},
		{"channel_norm", got(ChannelNormShape([]int{2, 3, 4}, []int{3}, []int{3})), [][]int{{2, 3, 4}, {3}, {3}, {3}, {3}}, ""},
		{"channel_norm weight", got(ChannelNormShape([]int{2, 3}, []int{2}, []int{3})), nil, "weight [2] and bias [3] must have shape [3]"},
		{"channel_norm row", got(ChannelNormShape([]int{2}, []int{2}, []int{2})), nil, "must have channels"},
		{"channel_norm_grad", got(ChannelNormGradShape([]int{2, 3}, []int{2, 3}, []int{3}, []int{3}, []int{3})), [][]int{{2, 3}, {3}, {3}}, ""},
		{"channel_norm_grad g", got(ChannelNormGradShape([]int{2, 2}, []int{2, 3}, []int{3}, []int{3}, []int{3})), nil, "g [2 2] must have shape [2 3]"},
		{"channel_norm_grad variance", got(ChannelNormGradShape([]int{2, 3}, []int{2, 3}, []int{3}, []int{3}, []int{2})), nil, "must have shape [3]"},
		{"group_norm", got(GroupNormShape([]int{2, 6, 5}, []int{6}, []int{6}, 3)), [][]int{{2, 6, 5}, {2, 3}, {2, 3}}, ""},
		{"group_norm groups", got(GroupNormShape([]int{2, 6, 5}, []int{6}, []int{6}, 4)), nil, "4 groups must divide the channels"},
		{"group_norm none", got(GroupNormShape([]int{2, 6, 5}, []int{6}, []int{6}, 0)), nil, "0 groups must divide the channels"},
		{"group_norm_grad", got(GroupNormGradShape([]int{2, 6, 5}, []int{2, 6, 5}, []int{6}, []int{2, 3}, []int{2, 3}, 3)), [][]int{{2, 6, 5}, {6}, {6}}, ""},
		{"group_norm_grad rstd", got(GroupNormGradShape([]int{2, 6, 5}, []int{2, 6, 5}, []int{6}, []int{2, 3}, []int{2, 2}, 3)), nil, "must have shape [2 6 5]"},
		{"scan_grad", got1(ScanGradShape([]int{2, 3}, []int{2, 3}, []int{2, 3}, -1)), [][]int{{2, 3}}, ""},
		{"scan_grad g", got1(ScanGradShape([]int{1, 3}, []int{2, 3}, []int{2, 3}, 0)), nil, "g [1 3] must have shape [2 3]"},
		{"scan_grad y", got1(ScanGradShape([]int{2, 3}, []int{3}, []int{2, 3}, 0)), nil, "y [3] must have shape [2 3]"},
		{"scan_grad dim", got1(ScanGradShape([]int{2, 3}, []int{2, 3}, []int{2, 3}, 2)), nil, "out of range"},
		{"product_others", got1(ProductOthersShape([]int{1, 3}, []int{2, 3}, []int{0})), [][]int{{2, 3}}, ""},
		{"product_others of all", got1(ProductOthersShape([]int{1, 1}, []int{2, 3}, nil)), [][]int{{2, 3}}, ""},
		{"product_others g", got1(ProductOthersShape([]int{3}, []int{2, 3}, []int{0})), nil, "g [3] must have shape [1 3]"},
		{"product_others dim", got1(ProductOthersShape([]int{1, 3}, []int{2, 3}, []int{2})), nil, "out of range"},
		{"norm_pull", got1(NormPullShape([]int{2, 3}, []int{2, 3}, []int{2, 1}, []int{2, 1}, []int{2, 1}, []int{2, 1}, 1)), [][]int{{2, 3}}, ""},
		{"norm_pull g", got1(NormPullShape([]int{2, 2}, []int{2, 3}, []int{2, 1}, []int{2, 1}, []int{2, 1}, []int{2, 1}, 1)), nil, "g [2 2] must have shape [2 3]"},
		{"norm_pull statistics", got1(NormPullShape([]int{2, 3}, []int{2, 3}, []int{2, 1}, []int{2, 1}, []int{2, 3}, []int{2, 1}, 1)), nil, "statistics [2 3] must have shape [2 1]"},
		{"norm_stats none", got(NormStatsShape([]int{2, 3}, 0, 3)), nil, "between 1 and 2 axes to normalize in shape [2 3], have 0"},

		{"convolution", got1(ConvolutionShape([]int{2, 4, 6, 5}, []int{6, 2, 3, 2}, []int{2, 1}, []int{1, 0}, []int{1, 2}, 2)), [][]int{{2, 6, 3, 3}}, ""},
		{"convolution bias", got1(ConvolutionBiasShape([]int{2, 3, 8}, []int{4, 3, 3}, []int{4}, []int{1}, []int{1}, []int{1}, 1)), [][]int{{2, 4, 8}}, ""},
		{"convolution bias short", got1(ConvolutionBiasShape([]int{2, 3, 8}, []int{4, 3, 3}, []int{3}, []int{1}, []int{1}, []int{1}, 1)), nil, "bias [3] must have one element for each of the 4 channels"},
		{"convolution bias groups", got1(ConvolutionBiasShape([]int{2, 3, 8}, []int{4, 3, 3}, []int{4}, []int{1}, []int{1}, []int{1}, 2)), nil, "groups 2 must divide the 3 channels"},
		{"convolution groups", got1(ConvolutionShape([]int{2, 3, 6}, []int{4, 3, 3}, []int{1}, []int{0}, []int{1}, 2)), nil, "groups 2 must divide the 3 channels"},
		{"convolution channels", got1(ConvolutionShape([]int{2, 3, 6}, []int{4, 2, 3}, []int{1}, []int{0}, []int{1}, 1)), nil, "expects 2 channels in each of 1 groups, x [2 3 6] has 3"},
		{"convolution kernel", got1(ConvolutionShape([]int{2, 3, 2}, []int{4, 3, 3}, []int{1}, []int{0}, []int{1}, 1)), nil, "kernel extent 3 with dilation 1 does not fit 2 elements"},
		{"convolution stride", got1(ConvolutionShape([]int{2, 3, 6}, []int{4, 3, 3}, []int{0}, []int{0}, []int{1}, 1)), nil, "stride 0 is less than 1"},
		{"convolution lists", got1(ConvolutionShape([]int{2, 3, 6, 6}, []int{4, 3, 3, 3}, []int{1}, []int{0, 0}, []int{1, 1}, 1)), nil, "stride [1] must have one entry for each of the 2 spatial axes"},
		{"convolution overflow", got1(ConvolutionShape([]int{2, 3, 6}, []int{4, 3, 3}, []int{1}, []int{math.MaxInt}, []int{math.MaxInt}, 1)), nil, "too large"},
		{"grad input", got1(ConvolutionGradInputShape([]int{2, 4, 4}, []int{4, 3, 3}, []int{2, 3, 6}, []int{1}, []int{0}, []int{1}, 1)), [][]int{{2, 3, 6}}, ""},
		{"grad input mismatch", got1(ConvolutionGradInputShape([]int{2, 4, 5}, []int{4, 3, 3}, []int{2, 3, 6}, []int{1}, []int{0}, []int{1}, 1)), nil, "has shape [2 4 4], not [2 4 5]"},
		{"grad weight", got1(ConvolutionGradWeightShape([]int{2, 4, 4}, []int{2, 3, 6}, []int{4, 3, 3}, []int{1}, []int{0}, []int{1}, 1)), [][]int{{4, 3, 3}}, ""},

		{"max_pool", got(MaxPoolShape([]int{2, 7, 6}, []int{3, 2}, []int{2, 1}, []int{1, 1}, []int{1, 2}, false)), [][]int{{2, 4, 6}, {2, 4, 6}}, ""},
		{"max_pool ceil", got(MaxPoolShape([]int{5}, []int{2}, []int{2}, []int{0}, []int{1}, true)), [][]int{{3}, {3}}, ""},
		{"max_pool ceil, last window in padding", got(MaxPoolShape([]int{4}, []int{2}, []int{3}, []int{1}, []int{1}, true)), [][]int{{2}, {2}}, ""},
		{"max_unpool", got1(MaxUnpoolShape([]int{2, 3, 1}, []int{2, 3, 1}, []int{2, 5, 7}, 2)), [][]int{{2, 5, 7}}, ""},
		{"max_unpool planes", got1(MaxUnpoolShape([]int{2, 3}, []int{2, 3}, []int{3, 5}, 1)), nil, "not those of 1 axes of [3 5]"},
		{"max_unpool indices", got1(MaxUnpoolShape([]int{2, 3}, []int{2, 2}, []int{2, 5}, 1)), nil, "not those of 1 axes"},
		{"max_unpool axes", got1(MaxUnpoolShape([]int{2}, []int{2}, []int{5}, 2)), nil, "not those of 2 axes"},
		{"max_pool padding", got(MaxPoolShape([]int{5}, []int{2}, []int{2}, []int{2}, []int{1}, false)), nil, "padding 2 is more than half of the window's extent 2"},
		{"avg_pool", got1(AvgPoolShape([]int{3, 8}, []int{2}, []int{2}, []int{0}, false)), [][]int{{3, 4}}, ""},
		{"avg_pool kernel", got1(AvgPoolShape([]int{8}, []int{2, 2}, []int{2, 2}, []int{0, 0}, false)), nil, "kernel [2 2] must have between 1 and 1 entries"},
		{"avg_pool_grad", got1(AvgPoolGradShape([]int{3, 4}, []int{3, 8}, []int{2}, []int{2}, []int{0}, false)), [][]int{{3, 8}}, ""},
		{"avg_pool_grad mismatch", got1(AvgPoolGradShape([]int{3, 5}, []int{3, 8}, []int{2}, []int{2}, []int{0}, false)), nil, "give shape [3 4], not [3 5]"},
	}
	for _, tt := range tests {
		if tt.err == "" {
			if tt.got.err != nil {
				t.Errorf("%s: %v", tt.name, tt.got.err)
			} else if d := cmp.Diff(tt.want, tt.got.shapes); d != "" {
				t.Errorf("%s: -want +got\n%s", tt.name, d)
			}
			continue
		}
		if !errors.Is(tt.got.err, ir.ErrShape) || !strings.Contains(tt.got.err.Error(), tt.err) {
			t.Errorf("%s: error %v, want ir.ErrShape with %q", tt.name, tt.got.err, tt.err)
		}
	}
}

// TestWindowExtent counts windows one by one.
func TestWindowExtent(t *testing.T) {
	for n := range 12 {
		for kernel := 1; kernel < 4; kernel++ {
			for stride := 1; stride < 5; stride++ {
				for padding := range 3 {
					for dilation := 1; dilation < 3; dilation++ {
						checkWindow(t, n, window{kernel, stride, padding, dilation, false})
						checkWindow(t, n, window{kernel, stride, padding, dilation, true})
					}
				}
			}
		}
	}
}

func checkWindow(t *testing.T, n int, w window) {
	t.Helper()
	want, reach := 0, w.dilation*(w.kernel-1)
	for start := -w.padding; start+reach < n+w.padding; start += w.stride {
		want++
	}
	if last := -w.padding + want*w.stride; w.ceil && want > 0 && last < n && last-w.stride+reach < n+w.padding-1 {
		want++ // begins inside the input, and the one before did not reach the end
	}
	got, err := w.extent(n)
	if want == 0 {
		if err == nil {
			t.Errorf("%+v over %d: %d windows, want an error", w, n, got)
		}
		return
	}
	if err != nil || got != want {
		t.Errorf("%+v over %d: %d windows, %v, want %d", w, n, got, err, want)
	}
}

// FuzzRules gives the rules arbitrary shapes: they must not panic, and
// what they accept must follow the laws of broadcasting and of counting.
func FuzzRules(f *testing.F) {
	f.Add([]byte{2, 3, 4}, []byte{3, 4}, 1, 2, false)
	f.Add([]byte{1}, []byte{}, -1, 0, true)
	f.Add([]byte{0, 255, 3}, []byte{255, 1, 200}, 0, -7, true)
	f.Fuzz(func(t *testing.T, a, b []byte, i, j int, keep bool) {
		x, y := fuzzShape(a), fuzzShape(b)
		lawsOfBroadcast(t, x, y)
		if out, err := ReduceShape(x, []int{i}, keep); err == nil && keep && len(out) != len(x) {
			t.Errorf("ReduceShape(%v, %d, true) = %v", x, i, out)
		}
		if out, err := MatMulShape(x, y); err == nil && ir.CheckShape(out) != nil {
			t.Errorf("MatMulShape(%v, %v) = %v", x, y, out)
		}
		if out, err := CatShape([][]int{x, y}, i); err == nil && ir.NumElements(out) != ir.NumElements(x)+ir.NumElements(y) {
			t.Errorf("CatShape(%v, %v, %d) = %v", x, y, i, out)
		}
		if out, err := PadShape(x, []int{i, j}); err == nil && out[len(x)-1] != x[len(x)-1]+i+j {
			t.Errorf("PadShape(%v, %d, %d) = %v", x, i, j, out)
		}
		for _, rule := range []func() error{
			func() error { _, err := GatherShape(x, i, y); return err },
			func() error { _, err := ScatterShape(x, i, y, y); return err },
			func() error { _, err := IndexSelectShape(x, i, y); return err },
			func() error { _, err := IndexAddShape(x, i, []int{j}, y); return err },
			func() error { _, err := NonzeroShape(x, j); return err },
			func() error { _, err := SearchsortedShape(x, y); return err },
			func() error { _, err := NormStatsShape(x, i, j); return err },
			func() error { _, err := FlipShape(x, y); return err },
			func() error { _, err := ConvolutionShape(x, y, x, y, []int{i, j}, j); return err },
			func() error { _, err := ConvolutionShape(x, y, []int{i}, []int{j}, []int{i}, 1); return err },
			func() error { _, err := MaxPoolShape(x, []int{i}, []int{j}, []int{i}, []int{j}, keep); return err },
			func() error { _, err := AvgPoolShape(x, y, y, y, keep); return err },
		} {
			if err := rule(); err != nil && !errors.Is(err, ir.ErrShape) {
				t.Errorf("error %v does not wrap ir.ErrShape", err)
			}
		}
	})
}

// fuzzShape makes a shape of at most 5 axes of bytes; 255 stands for an extent
// that is nearly too large.
func fuzzShape(b []byte) []int {
	s := []int{}
	for _, v := range b[:min(len(b), 5)] {
		if v == 255 {
			s = append(s, math.MaxInt/32)
		} else {
			s = append(s, int(v))
		}
	}
	if ir.CheckShape(s) != nil { // rules may rely on shapes of real tensors
		return []int{3}
	}
	return s
}

func lawsOfBroadcast(t *testing.T, x, y []int) {
	xy, err := BroadcastShape(x, y)
	yx, err2 := BroadcastShape(y, x)
	if (err == nil) != (err2 == nil) || err == nil && !slices.Equal(xy, yx) {
		t.Errorf("broadcasting %v and %v is not symmetric: %v %v, %v %v", x, y, xy, err, yx, err2)
	}
	if err != nil {
		return
	}
	if again, err := BroadcastShape(xy, x); err != nil || !slices.Equal(again, xy) {
		t.Errorf("%v does not broadcast to %v: %v, %v", x, xy, again, err)
	}
	if ir.CheckShape(xy) != nil {
		return
	}
	if l, err := ir.ExpandView(ir.ContiguousLayout(x), xy); err != nil || !slices.Equal(l.Shape, xy) {
		t.Errorf("%v does not expand to %v: %v, %v", x, xy, l.Shape, err)
	}
}
