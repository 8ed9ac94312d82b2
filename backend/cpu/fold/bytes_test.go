package fold

import (
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// TestBytes: sums of bytes are those of the bytes one by one, and what was there stays in them.
func TestBytes(t *testing.T) {
	for _, level := range simd.Usable() {
		sum := BytesOf(At(level, Sum, ir.Int64))
		if vectors := level.Vectors() >= simd.AVX2; vectors != (sum != nil) {
			t.Errorf("%s has sums of bytes: %t, want %t", level, sum != nil, vectors)
		}
		if sum == nil {
			continue
		}
		x := make([]byte, 5000)
		for _, n := range []int{0, 1, 127, 128, 129, 255, 256, 1000, 4096, 4999} {
			acc := int64(7)
			want := acc
			for i := range n {
				x[i] = byte(i*37 + n)
				want += int64(x[i])
			}
			if sum(n, unsafe.Pointer(&acc), unsafe.Pointer(&x[0])); acc != want {
				t.Errorf("%s: %d bytes add up to %d, want %d", level, n, acc, want)
			}
		}
	}
}
