package softmaxgrad_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/loop"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/softmaxgrad"
	"github.com/sinter-go/sinter/tests/brief"
)

// TestPuller: all levels have the same bits, for any number of elements.
func TestPuller(t *testing.T) {
	for _, level := range simd.Usable() {
		testPuller[float32](t, level)
		testPuller[float64](t, level)
	}
}

func testPuller[T loop.Float](t *testing.T, level simd.Level) {
	t.Helper()
	rng, f := rand.New(rand.NewPCG(1, 2)), softmaxgrad.New[T](level)
	for n := range 200 {
		if n > 40 && brief.Skip(n) {
			continue
		}
		g, y, sums := make([]T, n), make([]T, n), make([]T, n)
		added, pulled, pulledOf := make([]T, n), make([]T, n), make([]T, n)
		for i := range g {
			g[i], y[i], sums[i] = T(rng.NormFloat64()), T(rng.Float64()), T(rng.NormFloat64())
			product, rest, restOf := g[i]*y[i], g[i]-sums[i], g[i]-0.7
			added[i], pulled[i], pulledOf[i] = sums[i]+T(product), y[i]*T(rest), y[i]*T(restOf)
		}
		got := [2][]T{make([]T, n), make([]T, n)}
		f.Pull(got[0], g, y, sums)
		f.PullOf(got[1], g, y, 0.7)
		f.Add(sums, g, y)
		if diff := cmp.Diff([][]T{added, pulled, pulledOf}, [][]T{sums, got[0], got[1]}); diff != "" {
			t.Fatalf("%v, %d elements of %T (-want +got):\n%s", level, n, T(0), diff)
		}
	}
}
