package gpu_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestFloat8Numbers: codes of floats of 8 bits have the bits on a GPU that they have on the CPU, where
// they are aligned and where they are not, in full blocks and in parts of one, and written to other places.
func TestFloat8Numbers(t *testing.T) {
	need(t)
	bits := func(x T) (list []uint32) {
		numbers, err := tensor.Data[float32](x.To(device.CPU))
		must(t, err)
		for _, v := range numbers {
			list = append(list, math.Float32bits(v))
		}
		return list
	}
	for i := range ir.Float8s {
		format := tensor.Float8(i)
		for _, n := range []int{0, 1, 5, 256, 4095, 4096, 4097, 3*4096 + 3, 100003} {
			for _, first := range []int{0, 1, 4} {
				t.Run(fmt.Sprint(format, n, first), func(t *testing.T) {
					codes := make([]uint8, n+first)
					for i := range codes {
						codes[i] = uint8(i * 7)
					}
					x := tensor.From(codes)
					want := bits(x.Narrow(0, first, n).Float8Decode(format))
					on := x.To(gpu).Narrow(0, first, n)
					if got := bits(on.Float8Decode(format)); !slices.Equal(got, want) {
						t.Error("numbers differ from those of the CPU")
					}
					into := tensor.Zeros([]int{n + first}, tensor.On(gpu)).Narrow(0, first, n)
					must(t, out.Float8Decode(into, on, format))
					if got := bits(into); !slices.Equal(got, want) {
						t.Error("numbers written to a part of a tensor differ from those of the CPU")
					}
				})
			}
		}
	}
}
