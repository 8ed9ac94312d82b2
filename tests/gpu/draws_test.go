package gpu_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// onBoth fails the test where f gives other numbers on a GPU than on the CPU.
func onBoth(t *testing.T, what string, f func(d device.Device) tensor.Tensor) {
	t.Helper()
	of := func(d device.Device) (x tensor.Tensor) {
		must(t, random.With(random.New(41), func() error {
			x = f(d).To(device.CPU)
			return x.Err()
		}))
		return x
	}
	others, err := tensor.Data[int64](of(gpu).Ne(of(device.CPU)).CountNonzero())
	must(t, err)
	if others[0] != 0 {
		t.Errorf("%s: %d elements differ", what, others[0])
	}
}

// TestPermutations: random permutations are the same on a GPU, of so many elements too that the
// high words of some keys are equal.
func TestPermutations(t *testing.T) {
	need(t)
	lengths := []int{0, 1, 2, 1000, 4096, 4097, 5000, 300_001}
	if *long {
		lengths = append(lengths, 5_000_003)
	}
	for _, n := range lengths {
		onBoth(t, fmt.Sprint(n, " numbers"), func(d device.Device) tensor.Tensor { return tensor.Randperm(n, tensor.On(d)) })
	}
}

// TestKeyOrder: keys are in the order of all their bits, and equal ones keep theirs, where many
// have the same high words.
func TestKeyOrder(t *testing.T) {
	need(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 4096, 4097, 20_000, 100_003} {
		keys := make([]int64, n)
		for i := range keys {
			keys[i] = (rng.Int64N(int64(n/50+1))-3)<<32 | rng.Int64N(20)<<27
		}
		want := make([]int64, n)
		for i := range want {
			want[i] = int64(i)
		}
		slices.SortStableFunc(want, func(a, b int64) int { return cmp.Compare(keys[a], keys[b]) })
		got, err := tensor.Data[int64](tensor.Wrap(ops.KeyOrder(tensor.From(keys, n).To(gpu).Handle())))
		must(t, err)
		if !slices.Equal(want, got) {
			t.Errorf("%d keys: other places than a stable sort's", n)
		}
	}
}

// TestBernoulliNumbers: they are the same on a GPU, of any dtype, length and layout.
func TestBernoulliNumbers(t *testing.T) {
	need(t)
	for _, dt := range []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64} {
		for _, n := range []int{1, 7, 4096, 100_001} {
			p := tensor.Rand([]int{n + 1}, tensor.OfType(dt))
			what := fmt.Sprint(n, " of ", dt)
			onBoth(t, what, func(d device.Device) tensor.Tensor { return p.To(d).Narrow(0, 0, n).Bernoulli() })
			onBoth(t, what+" from the second on", func(d device.Device) tensor.Tensor { return p.To(d).Narrow(0, 1, n).Bernoulli() })
			onBoth(t, what+" in columns", func(d device.Device) tensor.Tensor {
				return p.To(d).Narrow(0, 0, n/7*7).Reshape(7, n/7).Permute(1, 0).Bernoulli()
			})
		}
	}
}

// TestRepeatedElements: copies of elements that a layout repeats are the same on a GPU.
func TestRepeatedElements(t *testing.T) {
	need(t)
	for _, dt := range []tensor.DType{tensor.Bool, tensor.Int16, tensor.Float32, tensor.Int64, tensor.Complex128} {
		for _, shape := range [][]int{{1}, {6, 16}, {3, 5, 7}, {2, 3, 64, 5}, {65, 33}, {4, 9}} {
			x := tensor.Randint(shape, 0, 100).ToType(dt)
			for _, times := range []int{2, 3, 4, 16, 33} {
				wide := append(slices.Clone(shape), times)
				high := slices.Insert(slices.Clone(wide), len(shape)-1, 2)
				what := fmt.Sprint(shape, " of ", dt, ", ", times, " times")
				onBoth(t, what, func(d device.Device) tensor.Tensor { return x.To(d).Unsqueeze(-1).Expand(wide...).Clone() })
				onBoth(t, what+", lines twice", func(d device.Device) tensor.Tensor {
					return x.To(d).Unsqueeze(-1).Unsqueeze(len(shape) - 1).Expand(high...).Clone()
				})
			}
		}
	}
}

// TestEmbedded: matrices with rows on a diagonal are the same on a GPU.
func TestEmbedded(t *testing.T) {
	need(t)
	for _, shape := range [][]int{{1}, {5}, {1000}, {3, 1}, {70, 2}, {9, 31}, {4, 3, 64}, {5000, 1}, {0, 3}, {3, 0}} {
		for _, dt := range []tensor.DType{tensor.Bool, tensor.Float16, tensor.Float32, tensor.Float64, tensor.Complex128} {
			x := tensor.Randint(shape, 1, 100).ToType(dt)
			for _, offset := range []int{0, 1, -1, 7, -40} {
				onBoth(t, fmt.Sprint(shape, " of ", dt, ", offset ", offset), func(d device.Device) tensor.Tensor {
					return x.To(d).DiagEmbed(tensor.Offset(offset))
				})
			}
		}
	}
}
