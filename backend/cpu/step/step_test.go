package step_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/step"
)

// guard is what lies around the elements of a run.
const guard = 7

// A run is elements between guards.
func run[T step.Float](rng *rand.Rand, n int) []T {
	v := make([]T, n+2*guard)
	for i := range v {
		v[i] = T(math.Trunc(rng.Float64()*4096)) / 1024 // positive: some are means of squares
	}
	return v
}

// A rule is a step by definition: c has constants, x the element of each run.
// Numbers are in T, and every operation is rounded to it.
type rule[T step.Float] struct {
	name string
	runs int
	run  func(s *step.Steps[T], n int, x []*T)
	by   func(x []*T)
}

func rules[T step.Float]() []rule[T] {
	sgd, mom := [2]T{0.125, 0.375}, [4]T{0.3, 0.9, 0.7, 0.01}
	adam := [7]T{0.002, 0.1, 0.999, 0.001, 1e-8, 0.02, 0.995}
	mul := func(a, b T) T { return T(a * b) }
	return []rule[T]{
		{"sgd", 2, func(s *step.Steps[T], n int, x []*T) { s.SGD(n, &sgd, x[0], x[1]) }, func(x []*T) {
			*x[0] -= mul(sgd[0], *x[1]+mul(sgd[1], *x[0]))
		}},
		{"momentum", 3, func(s *step.Steps[T], n int, x []*T) { s.Momentum(n, &mom, x[0], x[1], x[2]) }, func(x []*T) {
			*x[1] = mul(mom[1], *x[1]) + mul(mom[2], *x[2]+mul(mom[3], *x[0]))
			*x[0] -= mul(mom[0], *x[1])
		}},
		{"nesterov", 3, func(s *step.Steps[T], n int, x []*T) { s.Nesterov(n, &mom, x[0], x[1], x[2]) }, func(x []*T) {
			d := *x[2] + mul(mom[3], *x[0])
			*x[1] = mul(mom[1], *x[1]) + mul(mom[2], d)
			*x[0] -= mul(mom[0], d+mul(mom[1], *x[1]))
		}},
		{"adam", 4, func(s *step.Steps[T], n int, x []*T) { s.Adam(n, &adam, x[0], x[1], x[2], x[3]) }, func(x []*T) {
			d := *x[3] + mul(adam[5], *x[0])
			*x[1] += mul(adam[1], d-*x[1])
			*x[2] = mul(adam[2], *x[2]) + mul(adam[3], mul(d, d))
			root := T(math.Sqrt(float64(*x[2]))) + adam[4]
			*x[0] = mul(*x[0], adam[6]) - mul(adam[0], *x[1]/root)
		}},
	}
}

func testLevel[T step.Float](t *testing.T, level simd.Level) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := step.Of[T](level)
	for _, r := range rules[T]() {
		for n := 0; n <= 300; n++ {
			got, want := make([][]T, r.runs), make([][]T, r.runs)
			x := make([]*T, r.runs)
			for i := range got {
				got[i] = run[T](rng, n)
				want[i] = append([]T(nil), got[i]...)
				x[i] = &got[i][guard]
			}
			r.run(s, n, x)
			for e := guard; e < guard+n; e++ {
				for i := range x {
					x[i] = &want[i][e]
				}
				r.by(x)
			}
			for i := range got {
				if !slices.Equal(want[i], got[i]) {
					t.Fatalf("%s of %d elements at %s, run %d:\n%s", r.name, n, level, i, cmp.Diff(want[i], got[i]))
				}
			}
		}
	}
}

func TestSteps(t *testing.T) {
	for _, level := range simd.Usable() {
		t.Run(fmt.Sprint(level), func(t *testing.T) {
			testLevel[float32](t, level)
			testLevel[float64](t, level)
		})
	}
}
