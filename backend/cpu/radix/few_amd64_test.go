package radix

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/tests/brief"
)

// TestRankSort runs the vector functions of every level that there is, and looks
// whether they write beside their results.
func TestRankSort(t *testing.T) {
	if simd.Available() < simd.AVX2 {
		t.Skipf("the processor has %s at most", simd.Available())
	}
	levels := map[string]bool{"avx2": false}
	if simd.Available() >= simd.AVX512 {
		levels["avx512"] = true
	} else {
		t.Logf("not run: avx512; the processor has %s at most", simd.Available())
	}
	rng := rand.New(rand.NewPCG(5, 6))
	const guard = 0xabcdefabcdef
	for name, wide := range levels {
		for n := rankGroup; n <= 300; n++ {
			if brief.Skip(n / 3) {
				continue
			}
			for _, keys := range []uint32{1, 3, 1 << 31} {
				a := words(n, func(int) uint32 { return rng.Uint32N(keys) - keys/2 })
				rng.Shuffle(n, func(i, j int) { a[i], a[j] = a[j], a[i] })
				want := slices.Clone(a)
				slices.Sort(want)
				room := make([]Word, n+32)
				for i := range room {
					room[i] = guard
				}
				rankSort(&room[16], &a[0], n, wide)
				if diff := cmp.Diff(want, room[16:16+n]); diff != "" {
					t.Fatalf("%s, %d words (-want +got):\n%s", name, n, diff)
				}
				for i, w := range room {
					if w != guard && (i < 16 || i >= 16+n) {
						t.Fatalf("%s, %d words: word %d was written", name, n, i-16)
					}
				}
			}
		}
	}
}
