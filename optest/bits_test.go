package optest

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestSameBits: another number, and a zero of another sign, are other bits; another NaN is not.
func TestSameBits(t *testing.T) {
	nan, other := math.NaN(), math.Float64frombits(0xfff8000000000000)
	for _, c := range []struct {
		x, y complex128
		same bool
	}{
		{1, 1, true}, {1, 1 + 0x1p-52, false}, {0, complex(math.Copysign(0, -1), 0), false},
		{complex(nan, 1), complex(other, 1), true}, {complex(nan, 1), complex(other, 2), false}, {complex(1, nan), complex(1, other), true}, {complex(nan, 0), 1, false},
	} {
		place := core.Placement{Device: device.CPU}
		if err := sameBits(core.From([]complex128{c.x}, []int{1}, place), core.From([]complex128{c.y}, []int{1}, place)); (err == nil) != c.same {
			t.Errorf("%v and %v: %v, want the same: %t", c.x, c.y, err, c.same)
		}
		if imag(c.x) == imag(c.y) {
			if err := sameBits(core.From([]float64{real(c.x)}, []int{1}, place), core.From([]float64{real(c.y)}, []int{1}, place)); (err == nil) != c.same {
				t.Errorf("%v and %v: %v, want the same: %t", real(c.x), real(c.y), err, c.same)
			}
		}
	}
}
