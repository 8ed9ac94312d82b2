package affine_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/affine"
	"github.com/sinter-go/sinter/backend/cpu/loop"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/tests/brief"
)

// A row is a call's results and operands.
type row[T loop.Float] struct{ Out, Weights, Biases, G, X, Weight []T }

func newRow[T loop.Float](n int) row[T] {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	some := func() []T {
		v := make([]T, n)
		for i := range v {
			v[i] = T(rng.NormFloat64())
		}
		return v
	}
	return row[T]{some(), some(), some(), some(), some(), some()}
}

// expected is the result by its definition: each operation is rounded by itself.
func (r row[T]) expected(mean, rstd T) row[T] {
	for i := range r.Out {
		distance := r.X[i] - mean
		normal := T(distance * rstd)
		part := T(r.G[i] * normal)
		r.Out[i], r.Weights[i], r.Biases[i] = r.G[i]*r.Weight[i], r.Weights[i]+part, r.Biases[i]+r.G[i]
	}
	return r
}

// TestPull: all levels have the same bits, for rows of any length.
func TestPull(t *testing.T) {
	for _, level := range simd.Usable() {
		testPull[float32](t, level)
		testPull[float64](t, level)
	}
}

func testPull[T loop.Float](t *testing.T, level simd.Level) {
	t.Helper()
	f := affine.New[T](level)
	for n := range 200 {
		if n > 40 && brief.Skip(n) {
			continue
		}
		got := newRow[T](n)
		f.Pull(got.Out, got.Weights, got.Biases, got.G, got.X, got.Weight, 0.3, 1.7)
		if diff := cmp.Diff(newRow[T](n).expected(0.3, 1.7), got); diff != "" {
			t.Fatalf("%v, %d elements of %T (-want +got):\n%s", level, n, T(0), diff)
		}
	}
}

// TestWeigh: all levels have the same bits, and write nothing else.
func TestWeigh(t *testing.T) {
	for _, level := range simd.Usable() {
		testWeigh[float32](t, level)
		testWeigh[float64](t, level)
	}
}

func testWeigh[T loop.Float](t *testing.T, level simd.Level) {
	t.Helper()
	f := affine.New[T](level)
	for n := range 200 {
		if n > 40 && brief.Skip(n) {
			continue
		}
		got, want := newRow[T](n), newRow[T](n)
		f.Weigh(got.Out, got.G, got.Weight)
		for i := range want.Out {
			want.Out[i] = want.G[i] * want.Weight[i]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%v, %d elements of %T (-want +got):\n%s", level, n, T(0), diff)
		}
	}
}
