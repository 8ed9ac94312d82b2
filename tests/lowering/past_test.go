//go:build unix

package lowering_test

import (
	"bytes"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
)

// TestPast compares the loops past the caches with those that are not, bit for bit, of
// one group and of several, to the last mapped byte.
func TestPast(t *testing.T) {
	atLevels(t, 100, func(t *testing.T, b *body, level simd.Level) int {
		past, loop := b.Past.At(level), b.only(level)
		if past == nil {
			return 0
		}
		for groups := 1; groups <= 3; groups += 2 {
			n := groups * vector.Group / b.DType.Size()
			in := b.samples(n, uint64(groups))
			for k, s := range b.scalars() {
				want := bytes.Clone(b.run(t, loop, in, n, s, 7, false, false))
				if got := b.run(t, past, in, n, s, 7, k == 1, k != 2); !bytes.Equal(got, want) {
					t.Errorf("%s: %d elements differ", b, n)
				}
			}
		}
		return 1
	})
}
