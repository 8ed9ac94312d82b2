package opaque

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestRemainders holds remainders by multiplication to those of whole numbers of any size.
func TestRemainders(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	edges := []int64{0, 1, -1, 2, -2, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, 1 << 32, -1 << 32}
	for k := range 3000 {
		by := int64(rng.Uint64()>>1>>rng.IntN(62)) | 2
		if k < 62 {
			by = 1<<(k+1) - int64(k%3)
		}
		if by < 2 {
			by = 2
		}
		x := append([]int64{by, by - 1, by + 1, -by, 2*by - 1, math.MaxInt64 / by * by}, edges...)
		for range 20 {
			x = append(x, int64(rng.Uint64())>>rng.IntN(60))
		}
		got := make([]int64, len(x))
		newDivisor(uint64(by)).remainders(got, x, 7)
		for i, v := range x {
			if want := 7 + new(big.Int).Mod(big.NewInt(v), big.NewInt(by)).Int64(); got[i] != want {
				t.Fatalf("remainder of %d by %d: %d, want %d", v, by, got[i]-7, want-7)
			}
		}
	}
}
