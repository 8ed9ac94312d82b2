//go:build unix

package lowering_test

import (
	"bytes"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// TestShared compares the loops that read one element of the operands behind the first, for all,
// with those that read as many as there are, bit for bit.
func TestShared(t *testing.T) {
	atLevels(t, 20, func(t *testing.T, b *body, level simd.Level) int {
		shared, loop := b.Shared.At(level), b.only(level)
		if shared == nil {
			return 0
		}
		size := b.DType.Size()
		for seed, n := range []int{1, 15, 64, 1027, 64, 64, 64, 64} {
			all := b.samples(n, uint64(seed))
			for k, s := range b.scalars() {
				one, in := make([][]byte, len(all)), make([][]byte, len(all)) // the others of one are not read
				one[0], in[0] = all[0], all[0]
				for i := 1; i < len(all); i++ {
					e := (seed*5 + k*3 + i) % n * size
					one[i] = append(bytes.Clone(all[i][e:e+size]), make([]byte, (n-1)*size)...)
					in[i] = bytes.Repeat(all[i][e:e+size], n)
				}
				want := bytes.Clone(b.run(t, loop, in, n, s, 7, false, false))
				if got := b.run(t, shared, one, n, s, 7, k == 1, false); !bytes.Equal(got, want) {
					t.Errorf("%s: %d elements: element %d differs", b, n, b.firstDifference(got, want, n))
				}
			}
		}
		return 1
	})
}
