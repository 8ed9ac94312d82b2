package behaviour_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
)

// TestParts takes parts of a tensor that another operator made. Gradients of parts that make it
// up are put side by side: a negative zero stays one, which a sum with zeros does not leave.
// Others are added.
func TestParts(t *testing.T) {
	zero := math.Copysign(0, -1)
	all := func(v float64) []float64 { return []float64{v, v, v, v, v, v} }
	for name, c := range map[string]struct {
		parts  func(y tensor.Tensor) []tensor.Tensor // of a 3 x 2 tensor
		factor float64
		want   []float64
	}{
		"each of an axis": {func(y tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{y.Select(0, 2), y.Select(0, 0), y.Select(-2, 1)}
		}, zero, all(zero)},
		"each of the last axis": {func(y tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{y.Select(1, 0), y.Select(-1, -1)}
		}, zero, all(zero)},
		"ranges": {func(y tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{y.Narrow(0, 1, 2), y.Slice(0, 0, 1, 1)}
		}, zero, all(zero)},
		"ranges of columns": {func(y tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{y.Narrow(1, 0, 1), y.Narrow(1, 1, 1)}
		}, zero, all(zero)},
		"one": {func(y tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{y.Narrow(0, 1, 1)} }, 3, []float64{0, 0, 3, 3, 0, 0}},
		"with a gap": {func(y tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{y.Select(0, 0), y.Select(0, 2)}
		}, 3, []float64{3, 3, 0, 0, 3, 3}},
		"overlapping": {func(y tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{y.Narrow(0, 0, 2), y.Narrow(0, 1, 2)}
		}, 3, []float64{3, 3, 6, 6, 3, 3}},
		"twice": {func(y tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{y.Select(1, 0), y.Select(1, 0), y.Select(1, 1)}
		}, 3, []float64{6, 3, 6, 3, 6, 3}},
		"along two axes": {func(y tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{y.Narrow(0, 0, 1), y.Narrow(0, 1, 2), y.Narrow(1, 0, 1), y.Narrow(1, 1, 1)}
		}, 3, all(6)},
		"ranges and one without the axis": {func(y tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{y.Narrow(0, 0, 2), y.Select(0, 2)}
		}, 3, all(3)},
		"with the whole": {func(y tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{y.Select(0, 0), y, y.Select(0, 1), y.Select(0, 2)}
		}, 3, all(6)},
		"every other": {func(y tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{y.Slice(0, 0, 3, 2), y.Slice(0, 1, 3, 2)}
		}, 3, all(3)},
		"of another shape": {func(y tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{y.T().Select(1, 0), y.T().Narrow(1, 1, 2)}
		}, 3, all(3)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, twice := range []bool{false, true} {
				x := leafOf([]float64{1, 2, 3, 4, 5, 6}, 3, 2)
				y, loss := x.MulScalar(1), tensor.Zeros(nil, tensor.OfType(tensor.Float64))
				for _, p := range c.parts(y) {
					loss = loss.Add(p.MulScalar(c.factor).Sum())
				}
				var opts []tensor.Option
				if twice {
					opts = append(opts, tensor.CreateGraph())
				}
				g, err := tensor.Gradients([]tensor.Tensor{loss}, []tensor.Tensor{x}, opts...)
				if err != nil {
					t.Fatal(err)
				}
				got, err := tensor.Data[float64](g[0])
				if err != nil {
					t.Fatal(err)
				}
				same := cmp.Comparer(func(a, b float64) bool { return a == b && (twice || math.Signbit(a) == math.Signbit(b)) })
				if d := cmp.Diff(c.want, got, same); d != "" {
					t.Errorf("gradient, recorded: %v (-want +got):\n%s", twice, d)
				}
			}
		})
	}
}
