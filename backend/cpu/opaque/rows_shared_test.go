package opaque

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
)

// TestMixtures: sums of rows whose index a batch shares, and their gradients, have the bits of
// sums and additions one after the other.
func TestMixtures(t *testing.T) {
	testMixtures[float32](t, ir.Float32)
	testMixtures[float64](t, ir.Float64)
}

func testMixtures[T float](t *testing.T, d ir.DType) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, c := range []struct{ batch, rows, width, points, taps int }{
		{1, 5, 1, 7, 2}, {15, 9, 1, 20, 3}, {16, 9, 1, 20, 3}, {64, 70, 1, 130, 4}, {201, 33, 1, 66, 2}, {17, 1025, 1, 5, 2},
		{3, 8, 5, 11, 2}, {2, 40, 70, 150, 3}, {1, 3, 65, 2, 0}, {30, 4, 1, 0, 2}, {20, 4, 1, 3, 0},
		{1, 1, 70, 3000, 1}, {1, 2, 300, 900, 2}, // gradients whose rows take more products than a call should have
	} {
		x, weight, index := make([]T, c.batch*c.rows*c.width), make([]T, c.points*c.taps), make([]int64, c.points*c.taps)
		for i := range x {
			x[i] = T(r.NormFloat64())
		}
		x[len(x)/2] = T(math.Copysign(0, -1))
		for k := range weight {
			weight[k], index[k] = T(r.NormFloat64()), r.Int64N(int64(c.rows))
			if r.IntN(4) == 0 {
				weight[k] = 0 // its row is not read
			}
		}
		g := make([]T, c.batch*c.points*c.width)
		for i := range g {
			g[i] = T(r.NormFloat64())
		}
		w := newWeighted([]int{c.batch, c.rows, c.width}, []int{1, c.points, c.taps})
		sums, grads := make([]T, len(g)), make([]T, len(x))
		for b := range c.batch {
			for k := range weight {
				if weight[k] == 0 {
					continue
				}
				for e := range c.width {
					p, at := (b*c.points+k/c.taps)*c.width+e, (b*c.rows+int(index[k]))*c.width+e
					sums[p] += T(x[at] * weight[k])
					grads[at] += T(g[p] * weight[k])
				}
			}
		}
		got := make([]T, len(g))
		sumsOf(&w, index, weight).run(got, x)
		if want, got := bitsOf(sums), bitsOf(got); !slices.Equal(want, got) {
			t.Errorf("%s: sums of %+v: %s", d, c, cmp.Diff(want, got))
		}
		got = make([]T, len(x))
		gradientOf(&w, index, weight).run(got, g)
		if want, got := bitsOf(grads), bitsOf(got); !slices.Equal(want, got) {
			t.Errorf("%s: gradients of %+v: %s", d, c, cmp.Diff(want, got))
		}
	}
}

// bitsOf returns the bits of numbers, which tell -0 from 0.
func bitsOf[T float](list []T) []uint64 {
	out := make([]uint64, len(list))
	for i, v := range list {
		out[i] = math.Float64bits(float64(v))
	}
	return out
}
