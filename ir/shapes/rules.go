package shapes

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Rules holds the rules that a schema's `shape:` may name. A rule takes
// operands as their shapes (a list of operands as a [][]int) and arguments as
// they are, and returns the result's shape, or one shape a result. The Go name
// of rule "arg_reduce" is ArgReduceShape. A rule looks at nothing but its
// arguments and does not change them.
var Rules = map[string]any{
	"same":                    SameShape,
	"broadcast":               BroadcastShape,
	"reduce":                  ReduceShape,
	"arg_reduce":              ArgReduceShape,
	"along":                   AlongShape,
	"cat":                     CatShape,
	"pad":                     PadShape,
	"on_diagonal":             OnDiagonalShape,
	"flip":                    FlipShape,
	"gather":                  GatherShape,
	"scatter":                 ScatterShape,
	"scatter_share":           ScatterShareShape,
	"index_select":            IndexSelectShape,
	"index_add":               IndexAddShape,
	"one_hot":                 OneHotShape,
	"nonzero":                 NonzeroShape,
	"masked_select":           MaskedSelectShape,
	"sort":                    SortShape,
	"twice":                   TwiceShape,
	"sort_first":              SortFirstShape,
	"searchsorted":            SearchsortedShape,
	"matmul":                  MatMulShape,
	"matmul_bias":             MatMulBiasShape,
	"cross_entropy":           CrossEntropyShape,
	"cross_entropy_grad":      CrossEntropyGradShape,
	"nll":                     NLLShape,
	"nll_grad":                NLLGradShape,
	"norm_stats":              NormStatsShape,
	"norm_affine":             NormAffineShape,
	"norm_pull":               NormPullShape,
	"norm_pull_affine":        NormPullAffineShape,
	"softmax_pull":            SoftmaxPullShape,
	"scan_grad":               ScanGradShape,
	"product_others":          ProductOthersShape,
	"channel_norm":            ChannelNormShape,
	"channel_norm_grad":       ChannelNormGradShape,
	"group_norm":              GroupNormShape,
	"group_norm_grad":         GroupNormGradShape,
	"convolution":             ConvolutionShape,
	"convolution_bias":        ConvolutionBiasShape,
	"convolution_grad_input":  ConvolutionGradInputShape,
	"convolution_grad_weight": ConvolutionGradWeightShape,
	"max_pool":                MaxPoolShape,
	"max_unpool":              MaxUnpoolShape,
	"avg_pool":                AvgPoolShape,
	"avg_pool_grad":           AvgPoolGradShape,
	"fold_blocks":             FoldBlocksShape,
	"grid_sample":             GridSampleShape,
	"grid_sample_grad_input":  GridSampleGradInputShape,
	"grid_sample_grad_grid":   GridSampleGradGridShape,
	"weighted_rows":           WeightedRowsShape,
	"weighted_rows_grad":      WeightedRowsGradShape,
	"suppressed":              SuppressedShape,
	"int8_product":            Int8ProductShape,
	"int8_convolution":        Int8ConvolutionShape,
	"int8_lstm_sequence":      Int8LSTMSequenceShape,
	"lstm_sequence":           LSTMSequenceShape,
	"lstm_sequence_grad":      LSTMSequenceGradShape,
	"gru_sequence":            GRUSequenceShape,
	"gru_sequence_grad":       GRUSequenceGradShape,
	"rnn_sequence":            RNNSequenceShape,
	"rnn_sequence_grad":       RNNSequenceGradShape,
	"fft_c2c":                 FFTC2CShape,
	"fft_r2c":                 FFTR2CShape,
	"fft_c2r":                 FFTC2RShape,
	"fft_r2c_planes":          FFTR2CPlanesShape,
	"fft_c2r_planes":          FFTC2RPlanesShape,
}

// SameShape returns x.
func SameShape(x []int) ([]int, error) { return x, nil }

// BroadcastShape returns the shape that x and y expand to.
func BroadcastShape(x, y []int) ([]int, error) { return ir.Broadcast(x, y) }

// ReduceShape returns x without the axes dims (nil: all), or with extent 1
// there.
func ReduceShape(x, dims []int, keepdim bool) ([]int, error) {
	axes, err := ir.Axes(dims, len(x))
	if err != nil {
		return nil, err
	}
	out := make([]int, 0, len(x))
	for i, d := range x {
		switch {
		case !slices.Contains(axes, i):
			out = append(out, d)
		case keepdim:
			out = append(out, 1)
		}
	}
	return out, nil
}

// ArgReduceShape returns the shape of the positions of extreme elements along
// the one axis in dims, or in all of x. There must be an element to choose.
func ArgReduceShape(x, dims []int, keepdim bool) ([]int, error) {
	if len(dims) > 1 {
		return nil, ir.ShapeErrorf("a position is along one dimension or in the whole tensor, not along dimensions %v", dims)
	}
	out, err := ReduceShape(x, dims, keepdim)
	if err != nil {
		return nil, err
	}
	if ir.NumElements(x) == 0 && ir.NumElements(out) != 0 {
		return nil, ir.ShapeErrorf("no elements to choose from in shape %v", x)
	}
	return out, nil
}

// AlongShape returns x, which must have the axis dim.
func AlongShape(x []int, dim int) ([]int, error) {
	if _, err := ir.Axis(dim, len(x)); err != nil {
		return nil, err
	}
	return x, nil
}

// CatShape returns the shape of xs joined along dim.
func CatShape(xs [][]int, dim int) ([]int, error) {
	if len(xs) == 0 {
		return nil, ir.ShapeErrorf("want at least one tensor to join")
	}
	if len(xs[0]) == 0 {
		return nil, ir.ShapeErrorf("tensors of rank 0 cannot be joined; stack gives them an axis")
	}
	axis, err := ir.Axis(dim, len(xs[0]))
	if err != nil {
		return nil, err
	}
	out := slices.Clone(xs[0])
	for i, x := range xs[1:] {
		if len(x) != len(out) {
			return nil, ir.ShapeErrorf("tensors to join must have one rank: tensor 0 has shape %v, tensor %d has %v", xs[0], i+1, x)
		}
		for a, d := range x {
			switch {
			case a == axis:
				out[a] += d // checked below; one sum of two extents cannot wrap twice
				if out[a] < 0 {
					return nil, ir.ShapeErrorf("too many elements along dim %d in %v", dim, xs)
				}
			case d != out[a]:
				return nil, ir.ShapeErrorf("tensors to join must have equal extents except along dim %d: tensor 0 has shape %v, tensor %d has %v", dim, xs[0], i+1, x)
			}
		}
	}
	return out, ir.CheckShape(out)
}

// PadShape returns x with padding added: before and after the last axis, then
// the axis before it, and so on. Negative amounts remove elements.
func PadShape(x, padding []int) ([]int, error) {
	if len(padding)%2 != 0 || len(padding) > 2*len(x) {
		return nil, ir.ShapeErrorf("padding %v must hold a pair of numbers for each of the last axes of shape %v", padding, x)
	}
	out := slices.Clone(x)
	for i := 0; i < len(padding); i += 2 {
		a := len(x) - 1 - i/2
		before, after := padding[i], padding[i+1]
		n, ok := ir.SumInts(x[a], before, after)
		if !ok || n < 0 || before < -x[a] || after < -x[a] {
			return nil, ir.ShapeErrorf("padding %d and %d does not fit axis %d of shape %v", before, after, a, x)
		}
		out[a] = n
	}
	return out, ir.CheckShape(out)
}

// FlipShape returns x, which must have each of the axes dims once.
func FlipShape(x, dims []int) ([]int, error) {
	if len(dims) == 0 {
		return x, nil
	}
	if _, err := ir.Axes(dims, len(x)); err != nil {
		return nil, err
	}
	return x, nil
}

// SortShape returns x twice: for the sorted values and for their positions.
func SortShape(x []int, dim int) ([][]int, error) {
	if _, err := ir.Axis(dim, len(x)); err != nil {
		return nil, err
	}
	return [][]int{x, x}, nil
}

// TwiceShape returns x for each of two results.
func TwiceShape(x []int) ([][]int, error) { return [][]int{x, x}, nil }

// SortFirstShape returns x with extent k along dim, twice: for the first k sorted
// values and for their positions.
func SortFirstShape(x []int, dim, k int) ([][]int, error) {
	axis, err := ir.Axis(dim, len(x))
	if err != nil {
		return nil, err
	}
	if len(x) == 0 {
		if k != 1 {
			return nil, ir.ShapeErrorf("k is %d, want 1 of a scalar", k)
		}
		return [][]int{x, x}, nil
	}
	if k < 0 || k > x[axis] {
		return nil, ir.ShapeErrorf("k is %d, want 0 to %d, the extent of axis %d of %v", k, x[axis], axis, x)
	}
	out := slices.Clone(x)
	out[axis] = k
	return [][]int{out, out}, nil
}

// SearchsortedShape returns values, whose leading axes must be those of sorted
// unless sorted has one axis.
func SearchsortedShape(sorted, values []int) ([]int, error) {
	if len(sorted) == 1 {
		return values, nil
	}
	n := len(sorted) - 1
	if n < 0 || len(values) != len(sorted) || !slices.Equal(sorted[:n], values[:n]) {
		return nil, ir.ShapeErrorf("sorted must have one axis, or values' shape but for the last extent: sorted has shape %v, values %v", sorted, values)
	}
	return values, nil
}

// NonzeroShape returns the shape of n positions in x.
func NonzeroShape(x []int, n int) ([]int, error) {
	if n < 0 || n > ir.NumElements(x) {
		return nil, ir.ShapeErrorf("%d positions in shape %v, which has %d elements", n, x, ir.NumElements(x))
	}
	return []int{n, len(x)}, nil
}

// MaskedSelectShape returns the shape of the n elements of x that a mask of x's
// shape chooses.
func MaskedSelectShape(x, mask []int, n int) ([]int, error) {
	if !slices.Equal(x, mask) {
		return nil, ir.ShapeErrorf("a mask of shape %v for x of shape %v", mask, x)
	}
	if n < 0 || n > ir.NumElements(x) {
		return nil, ir.ShapeErrorf("%d elements of shape %v, which has %d", n, x, ir.NumElements(x))
	}
	return []int{n}, nil
}

// MatMulShape returns the shape of a matrix product. A shape of one axis is a
// row on the left, a column on the right; leading axes broadcast.
func MatMulShape(x, y []int) ([]int, error) {
	if len(x) == 0 || len(y) == 0 {
		return nil, ir.ShapeErrorf("a matrix product needs tensors of at least one axis, have shapes %v and %v", x, y)
	}
	inner, at := x[len(x)-1], max(len(y)-2, 0)
	if inner != y[at] {
		return nil, ir.ShapeErrorf("cannot multiply shapes %v and %v: inner dimensions %d and %d differ", x, y, inner, y[at])
	}
	out := make([]int, 0, 2)
	if lead := x[:max(len(x)-2, 0)]; len(lead) > 0 || at > 0 {
		var err error
		if out, err = ir.Broadcast(lead, y[:at]); err != nil {
			return nil, fmt.Errorf("leading axes of %v and %v: %w", x, y, err)
		}
	}
	if len(x) > 1 {
		out = append(out, x[len(x)-2])
	}
	if len(y) > 1 {
		out = append(out, y[len(y)-1])
	}
	return out, ir.CheckShape(out)
}

// MatMulBiasShape returns the shape of the product of x and a matrix y, plus bias, which has one element
// for each column of y.
func MatMulBiasShape(x, y, bias []int) ([]int, error) {
	if len(y) != 2 || !slices.Equal(bias, y[1:]) {
		return nil, ir.ShapeErrorf("a product with a bias takes y [k, n] and bias [n], have %v and %v", y, bias)
	}
	return MatMulShape(x, y)
}

// NormStatsShape returns x, and x with extent 1 in its last axes for each of
// the statistics, results shapes in all.
func NormStatsShape(x []int, axes, results int) ([][]int, error) {
	switch {
	case len(x) == 0:
		return nil, ir.ShapeErrorf("a scalar has no axes to normalize, of which there are %d", axes)
	case axes < 1 || axes > len(x):
		return nil, ir.ShapeErrorf("want between 1 and %d axes to normalize in shape %v, have %d", len(x), x, axes)
	}
	if results < 1 || results > 8 {
		return nil, ir.ShapeErrorf("want between 1 and 8 results, have %d", results)
	}
	stats := slices.Clone(x)
	for i := len(x) - axes; i < len(x); i++ {
		stats[i] = 1
	}
	out := [][]int{x}
	for len(out) < results {
		out = append(out, stats)
	}
	return out, nil
}

// NormAffineShape is NormStatsShape for a normalization that multiplies by weight
// and adds bias, which have the shape of the axes.
func NormAffineShape(x, weight, bias []int, axes, results int) ([][]int, error) {
	out, err := NormStatsShape(x, axes, results)
	if err != nil {
		return nil, err
	}
	if row := x[len(x)-axes:]; !slices.Equal(weight, row) || !slices.Equal(bias, row) {
		return nil, ir.ShapeErrorf("weight %v and bias %v must have shape %v", weight, bias, row)
	}
	return out, nil
}

// NormPullShape returns x, the shape of the gradient g too. Each of the statistics and
// their gradients has one element for all of the last axes.
func NormPullShape(g, x, mean, rstd, dMean, dRstd []int, axes int) ([]int, error) {
	out, err := NormStatsShape(x, axes, 2)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(g, x) {
		return nil, ir.ShapeErrorf("g %v must have shape %v", g, x)
	}
	for _, s := range [][]int{mean, rstd, dMean, dRstd} {
		if !slices.Equal(s, out[1]) {
			return nil, ir.ShapeErrorf("statistics %v must have shape %v", s, out[1])
		}
	}
	return x, nil
}

// NormPullAffineShape returns the shape of x, which the gradient g has too, and, where affine
// says that they are wanted, as many of weight as there are other results; they have no elements
// otherwise. Mean and rstd have one element for all of the last axes.
func NormPullAffineShape(g, x, weight, mean, rstd []int, axes, results int, affine bool) ([][]int, error) {
	out, err := NormAffineShape(x, weight, weight, axes, 2)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(g, x) {
		return nil, ir.ShapeErrorf("g %v must have shape %v", g, x)
	}
	for _, s := range [][]int{mean, rstd} {
		if !slices.Equal(s, out[1]) {
			return nil, ir.ShapeErrorf("statistics %v must have shape %v", s, out[1])
		}
	}
	if !affine {
		weight = []int{0}
	}
	out = [][]int{x}
	for len(out) < results {
		out = append(out, weight)
	}
	return out, nil
}

// SoftmaxPullShape returns y, which is the shape of the gradient g too and has axis dim.
func SoftmaxPullShape(g, y []int, dim int) ([]int, error) {
	if !slices.Equal(g, y) {
		return nil, ir.ShapeErrorf("g %v must have shape %v", g, y)
	}
	return AlongShape(y, dim)
}

// ScanGradShape returns x, which is the shape of the gradient g and the scan's result y too and has axis dim.
func ScanGradShape(g, y, x []int, dim int) ([]int, error) {
	if !slices.Equal(g, x) {
		return nil, ir.ShapeErrorf("g %v must have shape %v", g, x)
	}
	if !slices.Equal(y, x) {
		return nil, ir.ShapeErrorf("y %v must have shape %v", y, x)
	}
	return AlongShape(x, dim)
}

// ProductOthersShape returns x. The gradient g has extent 1 along dims (nil: all), and x's elsewhere.
func ProductOthersShape(g, x, dims []int) ([]int, error) {
	want, err := ReduceShape(x, dims, true)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(g, want) {
		return nil, ir.ShapeErrorf("g %v must have shape %v", g, want)
	}
	return x, nil
}

// ChannelNormShape returns the shapes of x normalized by channel, axis 1, and of a channel's two
// statistics, rounded and unrounded. Weight and bias have one element a channel.
func ChannelNormShape(x, weight, bias []int) ([][]int, error) {
	out, err := channelsOf(x, weight, bias)
	if err != nil {
		return nil, err
	}
	return append(out, out[1:]...), nil
}

// channelsOf returns the shapes of x and of two numbers of each of its channels, axis 1. Weight and
// bias have one element a channel.
func channelsOf(x, weight, bias []int) ([][]int, error) {
	if len(x) < 2 {
		return nil, ir.ShapeErrorf("x must have channels, axis 1, but has shape %v", x)
	}
	channels := x[1:2]
	if !slices.Equal(weight, channels) || !slices.Equal(bias, channels) {
		return nil, ir.ShapeErrorf("weight %v and bias %v must have shape %v", weight, bias, channels)
	}
	return [][]int{x, channels, channels}, nil
}

// GroupNormShape returns the shapes of x normalized by groups of channels, axis 1, and of the
// statistics of each image's groups. Weight and bias have one element a channel.
func GroupNormShape(x, weight, bias []int, groups int) ([][]int, error) {
	out, err := channelsOf(x, weight, bias)
	if err != nil {
		return nil, err
	}
	if groups < 1 || x[1]%groups != 0 {
		return nil, ir.ShapeErrorf("%d groups must divide the channels, axis 1 of shape %v", groups, x)
	}
	stats := []int{x[0], groups}
	return [][]int{out[0], stats, stats}, nil
}

// GroupNormGradShape returns the shapes of the gradients of x, weight and bias of
// GroupNormShape, from the gradient g and the statistics.
func GroupNormGradShape(g, x, weight, average, rstd []int, groups int) ([][]int, error) {
	out, err := GroupNormShape(x, weight, weight, groups)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(g, x) || !slices.Equal(average, out[1]) || !slices.Equal(rstd, out[1]) {
		return nil, ir.ShapeErrorf("g %v must have shape %v, average %v and rstd %v shape %v", g, x, average, rstd, out[1])
	}
	return [][]int{x, weight, weight}, nil
}

// ChannelNormGradShape returns the shapes of the gradients of x, weight and bias of
// ChannelNormShape, from the gradient g and the statistics.
func ChannelNormGradShape(g, x, weight, mean, spread []int) ([][]int, error) {
	if !slices.Equal(g, x) {
		return nil, ir.ShapeErrorf("g %v must have shape %v", g, x)
	}
	if _, err := channelsOf(x, mean, spread); err != nil {
		return nil, err
	}
	return channelsOf(x, weight, weight)
}
