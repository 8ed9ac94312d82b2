package channel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/channel"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// untouched is what lies between the rows of a result.
const untouched = -77

// A trial is a channel's rows and its operands.
type trial[T channel.Float] struct {
	channel.Rows
	x, dy []T
}

// newTrial returns numbers far from zero, compared with their differences.
func newTrial[T channel.Float](rng *rand.Rand, r channel.Rows) trial[T] {
	t := trial[T]{r, make([]T, r.Count*r.Stride+1), make([]T, r.Count*r.Stride+1)}
	for i := range t.x {
		t.x[i], t.dy[i] = T(30+rng.NormFloat64()), T(rng.NormFloat64())
	}
	return t
}

// at returns the places of the channel's elements.
func (t trial[T]) at() (list []int) {
	for i := range t.Count {
		for j := range t.N {
			list = append(list, i*t.Stride+j)
		}
	}
	return list
}

// mapped checks a result, which f gives by place, and that nothing else was written.
func (t trial[T]) mapped(got []T, f func(i int) float64, bound float64) error {
	want := make([]float64, len(got))
	for i := range want {
		want[i] = untouched
	}
	for _, i := range t.at() {
		want[i] = f(i)
	}
	for i := range got {
		if !near(got[i], want[i], bound) {
			return fmt.Errorf("element %d is %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}

// near allows for an error of so many times the rounding of 1.
func near[T channel.Float](got T, want, bound float64) bool {
	eps := 0x1p-23
	if _, ok := any(got).(float64); ok {
		eps = 0x1p-52
	}
	return math.Abs(float64(got)-want) <= bound*eps*max(1, math.Abs(want))
}

func blank[T channel.Float](n int) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = untouched
	}
	return v
}

// check compares the functions with sums by definition, in float64.
func (t trial[T]) check(f channel.Funcs[T]) error {
	places, n := t.at(), float64(t.Count*t.N)
	sum, square := 0.0, 0.0
	for _, i := range places {
		sum += float64(t.x[i])
	}
	mean := sum / n
	for _, i := range places {
		square += (float64(t.x[i]) - mean) * (float64(t.x[i]) - mean)
	}
	var two [2]T
	f.Moments(t.Rows, &t.x[0], &two)
	if !near(two[0], mean, 4+math.Sqrt(n)) || !near(two[1], square, 16*math.Sqrt(n)) {
		return fmt.Errorf("moments %v, want %v %v", two, mean, square)
	}
	got := blank[T](len(t.x))
	f.Normal(t.Rows, 29, 0.75, 0.5, &got[0], &t.x[0])
	if err := t.mapped(got, func(i int) float64 { return (float64(t.x[i])-29)*0.75 + 0.5 }, 4); err != nil {
		return fmt.Errorf("normal: %w", err)
	}
	sum, product, size := 0.0, 0.0, 0.0
	for _, i := range places {
		sum += float64(t.dy[i])
		p := float64(t.dy[i]) * (float64(t.x[i]) - 29)
		product, size = product+p, size+math.Abs(p)
	}
	f.Sums(t.Rows, 29, &t.dy[0], &t.x[0], &two)
	if !near(two[0], sum, 8+size) || !near(two[1], product, 8+size) {
		return fmt.Errorf("sums %v, want %v %v", two, sum, product)
	}
	got = blank[T](len(t.x))
	f.Grad(t.Rows, 29, 0.25, 1.5, -0.5, &got[0], &t.dy[0], &t.x[0])
	if err := t.mapped(got, func(i int) float64 { return (float64(t.dy[i])-0.25)*1.5 - (float64(t.x[i])-29)*0.5 }, 8); err != nil {
		return fmt.Errorf("grad: %w", err)
	}
	return nil
}

// checkSums compares GradSums with Grad, to the bit, and what is in its accumulators with sums of
// that, in their order.
func (t trial[T]) checkSums(f channel.Funcs[T]) error {
	want, got := blank[T](len(t.x)), blank[T](len(t.x))
	f.Grad(t.Rows, 29, 0.25, 1.5, -0.5, &want[0], &t.dy[0], &t.x[0])
	sums := make([]T, channel.LanesBytes/unsafe.Sizeof(t.x[0]))
	for i := range sums {
		sums[i] = T(i)
	}
	expected := slices.Clone(sums)
	for n, i := range t.at() {
		expected[n%len(sums)] += want[i]
	}
	f.GradSums(t.Rows, 29, 0.25, 1.5, -0.5, &got[0], &t.dy[0], &t.x[0], &sums[0])
	if !slices.Equal(got, want) {
		return fmt.Errorf("gradients %v, want %v", got, want)
	}
	if !slices.Equal(sums, expected) {
		return fmt.Errorf("sums %v, want %v", sums, expected)
	}
	return nil
}

func testSums[T channel.Float](t *testing.T, level simd.Level) {
	rng, f := rand.New(rand.NewPCG(3, 4)), channel.Of[T](level)
	if !f.FoldsGrad() {
		t.Skip("no vector code")
	}
	var z T
	lanes := channel.LanesBytes / int(unsafe.Sizeof(z))
	for _, n := range []int{lanes, 2 * lanes, 5 * lanes} {
		for _, rows := range []int{1, 2, 7} {
			for _, gap := range []int{0, 5} {
				if err := newTrial[T](rng, channel.Rows{Count: rows, N: n, Stride: n + gap}).checkSums(f); err != nil {
					t.Fatalf("%d rows of %d, %d apart: %v", rows, n, n+gap, err)
				}
			}
		}
	}
}

// TestGradSums: what folds the gradient beside it changes nothing of it.
func TestGradSums(t *testing.T) {
	for _, level := range simd.Usable() {
		t.Run(fmt.Sprint(level, " float32"), func(t *testing.T) { testSums[float32](t, level) })
		t.Run(fmt.Sprint(level, " float64"), func(t *testing.T) { testSums[float64](t, level) })
	}
}

func testLevel[T channel.Float](t *testing.T, level simd.Level) {
	rng, f := rand.New(rand.NewPCG(1, 2)), channel.Of[T](level)
	for n := 1; n <= 300; n++ {
		for _, rows := range []int{1, 3} {
			for _, gap := range []int{0, 5} {
				tr := newTrial[T](rng, channel.Rows{Count: rows, N: n, Stride: n + gap})
				if err := tr.check(f); err != nil {
					t.Fatalf("%d rows of %d, %d apart: %v", rows, n, n+gap, err)
				}
			}
		}
	}
}

func TestChannel(t *testing.T) {
	for _, level := range simd.Usable() {
		t.Run(fmt.Sprint(level), func(t *testing.T) {
			testLevel[float32](t, level)
			testLevel[float64](t, level)
		})
	}
}

// TestInfinite checks that what is not a number comes through.
func TestInfinite(t *testing.T) {
	for _, level := range simd.Usable() {
		for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
			x := []float32{1, 2, v, 4, 5, 6, 7, 8, 9}
			var two [2]float32
			channel.Of[float32](level).Moments(channel.Rows{Count: 3, N: 3, Stride: 3}, &x[0], &two)
			if mean := float64(two[0]); !math.IsNaN(float64(two[1])) || mean == mean && !math.IsInf(mean, 1) {
				t.Errorf("%s: moments of %v are %v", level, x, two)
			}
		}
	}
}
