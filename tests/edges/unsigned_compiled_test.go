package edges_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestUnsignedCompiled: a program of unsigned integers, whose conversions become part of
// its kernels, gives what the calls give.
func TestUnsignedCompiled(t *testing.T) {
	over(t, compiled[uint16], compiled[uint32], compiled[uint64])
}

func compiled[T unsigned](t *testing.T, dev device.Device) {
	f := func(x ...tensor.Tensor) (tensor.Tensor, error) {
		q := x[0].FloorDivide(x[1]).Add(x[0].Maximum(x[1]))
		return tensor.Where(q.Lt(x[1]), q.BitwiseXor(x[0]), q.ToType(tensor.Float64).MulScalar(0.25).ToType(x[0].DType())), nil
	}
	a, b := pairs[T]()
	x, y := tensor.From(a).To(dev), tensor.From(b).To(dev)
	plain, err := f(x, y)
	must(t, err)
	want, err := tensor.Data[T](plain)
	must(t, err)
	program := compile.Func(f)
	defer program.Close()
	for range 3 {
		got, err := program.Call(x, y)
		must(t, err)
		have, err := tensor.Data[T](got)
		must(t, err)
		if diff := cmp.Diff(want, have); diff != "" {
			t.Fatalf("(-calls +program):\n%s", diff)
		}
	}
	t.Logf("%d calls became %d steps", len(program.Recorded().Steps), program.Stats().Steps)
}
