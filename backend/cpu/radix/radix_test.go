package radix

import (
	compare "cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// words returns n words of keys that key makes, with ascending places.
func words(n int, key func(i int) uint32) []Word {
	a := make([]Word, n)
	for i := range a {
		a[i] = Word(key(i))<<32 | Word(i)
	}
	return a
}

func TestSort(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	rng := rand.New(rand.NewPCG(1, 2))
	keys := map[string]func(i int) uint32{
		"any":        func(int) uint32 { return rng.Uint32() },
		"few":        func(int) uint32 { return rng.Uint32N(3) },
		"same":       func(int) uint32 { return 7 << 20 },
		"ascending":  func(i int) uint32 { return uint32(i) },
		"descending": func(i int) uint32 { return ^uint32(i) },
		"middle":     func(int) uint32 { return 1<<31 | rng.Uint32N(1<<10)<<9 },
		"two digits": func(int) uint32 { return rng.Uint32() & 0xff0000ff },
		"highest":    func(int) uint32 { return rng.Uint32() &^ (1<<31 - 1) },
	}
	lengths := []int{0, 1, 2, 3, 19, 20, 21, 64, 79, 80, 81, 160, 161, 256, 1000, wideLength - 1, wideLength, wideLength + 1, nearLength, nearLength + 1, parallelLength, 3*parallelLength + 5}
	for name, key := range keys {
		for _, n := range lengths {
			if n > parallelLength && !slices.Contains([]string{"any", "few", "same"}, name) {
				continue // takes long, and is divided as those are
			}
			a := words(n, key)
			want := slices.Clone(a)
			slices.Sort(want)
			for way, sort := range map[string]func(a, spare []Word) []Word{"Sort": Sort, "SortParallel": SortParallel} {
				got := sort(slices.Clone(a), make([]Word, n))
				if !slices.Equal(want, got) {
					k := min(n, 300)
					t.Fatalf("%s of %d words, %s keys (-want +got):\n%.400s", way, n, name, cmp.Diff(want[:k], got[:k]))
				}
			}
		}
	}
}

func TestLong(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	rng := rand.New(rand.NewPCG(3, 4))
	makers := map[string]func(i int) uint64{
		"any":         func(int) uint64 { return rng.Uint64() },
		"few":         func(int) uint64 { return rng.Uint64N(3) << 31 },
		"same":        func(int) uint64 { return 7 << 40 },
		"low":         func(int) uint64 { return 1<<63 | uint64(rng.Uint32()) },
		"halves":      func(int) uint64 { return rng.Uint64N(4)<<62 | rng.Uint64N(50) },
		"long runs":   func(int) uint64 { return rng.Uint64N(2)<<63 | uint64(rng.Uint32()) },
		"short runs":  func(i int) uint64 { return uint64(i/7)<<34 | rng.Uint64N(5) },
		"float64":     func(int) uint64 { return uint64(rng.Int64N(100)) << 52 },
		"descending":  func(i int) uint64 { return ^uint64(i) },
		"both signs":  func(int) uint64 { return uint64(rng.Int64N(1<<20)-1<<19) ^ 1<<63 },
		"extremes":    func(int) uint64 { return rng.Uint64N(2) * math.MaxUint64 },
		"middle bits": func(int) uint64 { return rng.Uint64N(1<<40) << 11 },
	}
	for name, key := range makers {
		for _, n := range []int{0, 1, 2, 17, 100, 1000, wideLength + 3, parallelLength + 5} {
			keys, want := make([]uint64, n), make([]uint32, n)
			for i := range keys {
				keys[i], want[i] = key(i), uint32(i)
			}
			slices.SortStableFunc(want, func(x, y uint32) int { return compare.Compare(keys[x], keys[y]) })
			for way, sort := range map[string]func(a, spare []Word) []Word{"Sort": Sort, "SortParallel": SortParallel} {
				got := make([]uint32, n)
				for i, w := range Long(keys, make([]Word, n), make([]Word, n), sort) {
					got[i] = uint32(w)
				}
				if !slices.Equal(want, got) {
					k := min(n, 300)
					t.Fatalf("%s of %d keys, %s (-want +got):\n%.400s", way, n, name, cmp.Diff(want[:k], got[:k]))
				}
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{8, 16, 20, 32, 64, 128, 200, 256, 512, 1024, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22} {
		from := words(n, func(int) uint32 { return rng.Uint32() })
		a, spare := make([]Word, n), make([]Word, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				copy(a, from)
				Sort(a, spare)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/word")
		})
	}
}
