package behaviour_test

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// draws are one call of each random operator on a device. Apart says how far
// floats may lie from each other on two devices, relative to their size: normals
// pass through log and cos.
var draws = []struct {
	name  string
	apart float64
	draw  func(d device.Device) T
}{
	{"rand", 0, func(d device.Device) T { return tensor.Rand([]int{3, 50}, tensor.On(d)) }},
	{"rand float64", 0, func(d device.Device) T { return tensor.Rand([]int{77}, tensor.On(d), tensor.OfType(tensor.Float64)) }},
	{"rand float16", 0, func(d device.Device) T { return tensor.Rand([]int{77}, tensor.On(d), tensor.OfType(tensor.Float16)) }},
	{"rand like", 0, func(d device.Device) T { return tensor.RandLike(tensor.Zeros([]int{9}, tensor.On(d))) }},
	{"randn", 8 * 0x1p-23, func(d device.Device) T { return tensor.Randn([]int{1000}, tensor.On(d)) }},
	{"randn float64", 8 * 0x1p-52, func(d device.Device) T { return tensor.Randn([]int{100}, tensor.On(d), tensor.OfType(tensor.Float64)) }},
	{"randint", 0, func(d device.Device) T { return tensor.Randint([]int{200}, -7, 1000, tensor.On(d)) }},
	{"randint int8", 0, func(d device.Device) T {
		return tensor.Randint([]int{64}, 0, 100, tensor.On(d), tensor.OfType(tensor.Int8))
	}},
	{"randint wide", 0, func(d device.Device) T { return tensor.Randint([]int{64}, 0, math.MaxInt>>23, tensor.On(d)) }},
	{"randperm", 0, func(d device.Device) T { return tensor.Randperm(100, tensor.On(d)) }},
	{"bernoulli", 0, func(d device.Device) T { return tensor.Full([]int{300}, 0.3, tensor.On(d)).Bernoulli() }},
	{"dropout", 0, func(d device.Device) T { return tensor.Ones([]int{300}, tensor.On(d)).Dropout(0.25) }},
	{"multinomial", 0, func(d device.Device) T {
		return tensor.From([]float32{0, 3, 1, 0, 6}).To(d).Multinomial(50, tensor.Replacement())
	}},
	{"multinomial without replacement", 0, func(d device.Device) T { return tensor.From([]float32{5, 3, 1, 2, 6}).To(d).Multinomial(4) }},
}

// TestSameNumbersEverywhere: one seed gives one sequence, on every device.
func TestSameNumbersEverywhere(t *testing.T) {
	for _, c := range draws {
		t.Run(c.name, func(t *testing.T) {
			var got [2][]float64
			for i, d := range []device.Device{device.CPU, device.Sim(1)} {
				random.With(random.New(42), func() error {
					x := c.draw(d)
					if x.Device() != d {
						t.Errorf("drawn on %s, want %s", x.Device(), d)
					}
					got[i] = append(values(t, x), values(t, c.draw(d))...) // the second call draws other numbers
					return nil
				})
			}
			for i := range got[0] {
				if far := math.Abs(got[0][i] - got[1][i]); far > c.apart*math.Abs(got[0][i]) {
					t.Fatalf("element %d is %v on the host, %v on the accelerator", i, got[0][i], got[1][i])
				}
			}
			if n := len(got[0]) / 2; slices.Equal(got[0][:n], got[0][n:]) {
				t.Error("two calls drew the same numbers")
			}
		})
	}
}

// TestSeed covers seeds, states, and generators of goroutines.
func TestSeed(t *testing.T) {
	draw := func() []float64 { return values(t, tensor.Randn([]int{7})) }
	random.With(random.New(0), func() error {
		random.Seed(5)
		first, second := draw(), draw()
		random.Seed(5)
		if diff := cmp.Diff(first, draw()); diff != "" {
			t.Errorf("after seeding again (-want +got):\n%s", diff)
		}
		saved := random.Current().State()
		if diff := cmp.Diff(second, draw()); diff != "" {
			t.Errorf("the second draw (-want +got):\n%s", diff)
		}
		random.Current().SetState(saved)
		if diff := cmp.Diff(second, draw()); diff != "" {
			t.Errorf("after restoring the state (-want +got):\n%s", diff)
		}
		random.Seed(6)
		if slices.Equal(first, draw()) {
			t.Error("two seeds give the same numbers")
		}
		random.Seed(-5)
		if slices.Equal(first, draw()) {
			t.Error("a seed and its negative give the same numbers")
		}
		return nil
	})
}

// TestGoroutineGenerators: a generator is for one goroutine's calls, and shared
// ones hand out distinct positions.
func TestGoroutineGenerators(t *testing.T) {
	var mu sync.Mutex
	own, shared := map[string]int{}, map[string]int{}
	var wg sync.WaitGroup
	common := random.New(1)
	for range 16 {
		wg.Go(func() {
			for _, c := range []struct {
				g    *random.Generator
				seen map[string]int
			}{{random.New(9), own}, {common, shared}} {
				random.With(c.g, func() error {
					key := fmt.Sprint(values(t, tensor.Rand([]int{4})))
					mu.Lock()
					defer mu.Unlock()
					c.seen[key]++
					return nil
				})
			}
		})
	}
	wg.Wait()
	if len(own) != 1 {
		t.Errorf("generators of one seed gave %d different draws", len(own))
	}
	if len(shared) != 16 {
		t.Errorf("16 draws from a shared generator gave %d different ones", len(shared))
	}
}

// TestDistributions checks means and variances within six standard errors, which
// a fixed seed makes a test of the code and not of luck.
func TestDistributions(t *testing.T) {
	const n = 20000
	random.With(random.New(7), func() error {
		for _, c := range []struct {
			name           string
			x              T
			mean, variance float64
			low, high      float64
		}{
			{"rand", tensor.Rand([]int{n}), 0.5, 1.0 / 12, 0, 1 - 0x1p-24},
			{"randn", tensor.Randn([]int{n}), 0, 1, -6, 6},
			{"randint", tensor.Randint([]int{n}, -3, 4), 0, 4, -3, 3},
			{"bernoulli", tensor.Full([]int{n}, 0.2).Bernoulli(), 0.2, 0.16, 0, 1},
			{"dropout", tensor.Full([]int{n}, 3.0).Dropout(0.4), 3, 6, 0, 5},
			{"multinomial", tensor.From([]float32{1, 0, 3}).Multinomial(n, tensor.Replacement()), 1.5, 0.75, 0, 2},
		} {
			v := values(t, c.x)
			var mean, square float64
			for _, e := range v {
				mean += e / n
			}
			for _, e := range v {
				square += (e - mean) * (e - mean) / (n - 1)
			}
			if math.Abs(mean-c.mean) > 6*math.Sqrt(c.variance/n) {
				t.Errorf("%s: mean %v, want %v", c.name, mean, c.mean)
			}
			if math.Abs(square-c.variance) > 6*c.variance*math.Sqrt(2.0/n)*3 {
				t.Errorf("%s: variance %v, want %v", c.name, square, c.variance)
			}
			if low, high := slices.Min(v), slices.Max(v); low < c.low || high > c.high+1e-6 {
				t.Errorf("%s: numbers from %v to %v, want %v to %v", c.name, low, high, c.low, c.high)
			}
		}
		return nil
	})
}

// TestPermutations: every order of a few elements comes up about equally often.
func TestPermutations(t *testing.T) {
	const times = 2400
	counts := map[string]int{}
	random.With(random.New(3), func() error {
		for range times {
			counts[fmt.Sprint(values(t, tensor.Randperm(4)))]++
		}
		return nil
	})
	if len(counts) != 24 {
		t.Errorf("%d of 24 orders came up", len(counts))
	}
	for order, n := range counts {
		if n < times/24/2 || n > times/24*2 {
			t.Errorf("the order %s came up %d times of %d", order, n, times)
		}
	}
	all := values(t, tensor.Randperm(1000))
	slices.Sort(all)
	for i, v := range all {
		if v != float64(i) {
			t.Fatalf("%v is at place %d of the sorted permutation", v, i)
		}
	}
}

// TestDropoutGradient: gradients flow where elements were kept, with the same
// factor.
func TestDropoutGradient(t *testing.T) {
	x := tensor.Ones([]int{1000}).RequireGrad()
	y := x.Dropout(0.5)
	must(t, y.Sum().Backward())
	if diff := cmp.Diff(values(t, y), gradient(t, x)); diff != "" {
		t.Errorf("the gradient is not what was kept (-want +got):\n%s", diff)
	}
	wantValues(t, "dropout with p 1", tensor.Ones([]int{3}).Dropout(1), 0, 0, 0)
	wantValues(t, "dropout with p 0", tensor.Ones([]int{3}).Dropout(0), 1, 1, 1)
}

// TestDropoutOfInfinities: what is dropped is multiplied by 0, forward and backward, on
// every device.
func TestDropoutOfInfinities(t *testing.T) {
	given := []float64{3, math.Inf(1), math.Inf(-1), math.NaN(), 0}
	list := make([]float64, 200)
	for i := range list {
		list[i] = given[i%len(given)]
	}
	for _, dtype := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16} {
		for _, d := range []device.Device{device.CPU, device.Sim(1)} {
			drop := func(x T) (out T) {
				random.With(random.New(7), func() error { out = x.Dropout(0.5); return nil })
				return out
			}
			factors := values(t, drop(tensor.Ones([]int{len(list)}, tensor.On(d), tensor.OfType(dtype))))
			if !slices.Contains(factors, 0) || !slices.Contains(factors, 2) {
				t.Fatalf("%s: factors %v", d, factors)
			}
			numbers := tensor.From(list).ToType(dtype).To(d)
			dropped := values(t, drop(numbers))
			x := tensor.Ones([]int{len(list)}, tensor.On(d), tensor.OfType(dtype)).RequireGrad()
			must(t, drop(x).Mul(numbers).Sum().Backward())
			g, ok := x.Grad()
			if !ok {
				t.Fatal("no gradient")
			}
			gradient := values(t, g)
			for i, f := range factors {
				want := list[i] * f
				for _, got := range []float64{dropped[i], gradient[i]} {
					if got != want && (got == got || want == want) {
						t.Fatalf("%s on %s: %v times %v is %v", dtype, d, list[i], f, got)
					}
				}
			}
		}
	}
}

// TestWholeNumbersDType: factories of whole numbers make the dtype that is asked for,
// or that of the tensor they are like.
func TestWholeNumbersDType(t *testing.T) {
	like := tensor.Zeros([]int{50}, tensor.OfType(tensor.Float64))
	for _, c := range []struct {
		name  string
		apply func(opts ...tensor.Option) T
		plain tensor.DType
	}{
		{"randint", func(opts ...tensor.Option) T { return tensor.Randint([]int{50}, 3, 90, opts...) }, tensor.Int64},
		{"randint like", func(opts ...tensor.Option) T { return tensor.RandintLike(like, 3, 90, opts...) }, tensor.Float64},
		{"new randint", func(opts ...tensor.Option) T { return like.NewRandint([]int{50}, 3, 90, opts...) }, tensor.Float64},
		{"randperm", func(opts ...tensor.Option) T { return tensor.Randperm(50, opts...) }, tensor.Int64},
	} {
		random.Seed(3)
		plain := c.apply()
		if plain.DType() != c.plain {
			t.Errorf("%s is of %s, want %s", c.name, plain.DType(), c.plain)
		}
		for _, d := range []tensor.DType{tensor.Uint8, tensor.Int32, tensor.Int64, tensor.Float32} {
			random.Seed(3)
			x := c.apply(tensor.OfType(d))
			if x.DType() != d {
				t.Errorf("%s of %s is of %s", c.name, d, x.DType())
			}
			if diff := cmp.Diff(values(t, plain.ToType(tensor.Float64)), values(t, x.ToType(tensor.Float64))); diff != "" {
				t.Errorf("%s of %s (-without it +got):\n%s", c.name, d, diff)
			}
		}
		if err := c.apply(tensor.RequireGrad(), tensor.OfType(tensor.Int32)).Err(); err == nil {
			t.Errorf("%s of int32 with a gradient: no error", c.name)
		}
	}
}
