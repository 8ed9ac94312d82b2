package compile_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// specialHalves are bits of floats of 16 bits: zeros, infinities, NaN, the largest and the least
// numbers, in one of the two dtypes.
var specialHalves = []uint16{0, 1 << 15, 0x7c00, 0xfc00, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7e01, 0x7f81, 0x7c01, 1, 0x8001, 0x7bff, 0xfbff, 0x7f7f, 0xff7f, 0x3ff, 0x7f}

// withSpecial is a tensor of random numbers, one in so many of which is special.
func withSpecial(t *testing.T, r *rand.Rand, dtype tensor.DType, in int, shape ...int) tensor.Tensor {
	raw, err := tensor.Randn(shape, tensor.OfType(dtype)).Bytes()
	must(t, err)
	raw = slices.Clone(raw)
	for i := 0; i < len(raw); i += 2 {
		if r.IntN(in) == 0 {
			binary.LittleEndian.PutUint16(raw[i:], specialHalves[r.IntN(len(specialHalves))])
		}
	}
	return tensor.FromBytes(raw, dtype, shape)
}

// TestHalvesOfSpecialNumbers: programs of 16-bit floats give what they give unfused of special
// numbers and of rows that do not lie densely; the bits of NaN may be others.
func TestHalvesOfSpecialNumbers(t *testing.T) { each(t, testHalvesOfSpecialNumbers) }

func testHalvesOfSpecialNumbers(t *testing.T, dev device.Device) {
	if dev.Kind != device.KindCPU {
		t.Skip("rows are folded to 16 bits on the CPU alone")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, dtype := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		for _, in := range []int{4, 1000} {
			whole := withSpecial(t, r, dtype, in, 40, 139)
			for name, x := range map[string]tensor.Tensor{"dense": withSpecial(t, r, dtype, in, 40, 136), "apart": whole.Slice(1, 1, 138, 1), "backwards": whole.Flip(0), "columns": whole.Transpose(0, 1)} {
				row := withSpecial(t, r, dtype, in, x.Shape()[1])
				for _, c := range slices.Concat(halves, halfFolds) {
					t.Run(fmt.Sprint(c.name, dtype, in, name), func(t *testing.T) {
						fused, apart := compile.Func(c.f), compile.Func(c.f, compile.Unfused())
						defer fused.Close()
						defer apart.Close()
						got, err := fused.Call(x, row)
						must(t, err)
						want, err := apart.Call(x, row)
						must(t, err)
						g, w := values(t, got.ToType(tensor.Float32)), values(t, want.ToType(tensor.Float32))
						for i := range w {
							if math.Float32bits(g[i]) != math.Float32bits(w[i]) && (g[i] == g[i] || w[i] == w[i]) {
								t.Fatalf("element %d is %v, want %v\n%s", i, g[i], w[i], fused.Program())
							}
						}
					})
				}
			}
		}
	}
}
