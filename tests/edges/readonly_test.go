package edges_test

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// A tensor over memory that is not its own is read like others, and every way to write to it is
// an error that leaves it as it was.
func TestReadOnly(t *testing.T) {
	data := []float32{1, -2, 3, -4}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), 16)
	view := func() tensor.Tensor { return tensor.Wrap(core.Fixed(raw, ir.Float32, []int{2, 2}, "kept")) }
	two := tensor.Ones([]int{2, 2})
	step := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Clone(), x[0].ReLUInPlace() })
	if y, err := step.Call(two.Clone()); err != nil || y.Err() != nil {
		t.Fatal(err, y.Err())
	}
	ways := map[string]func(x tensor.Tensor) error{
		"fill":       func(x tensor.Tensor) error { return x.FillInPlace(7) },
		"relu":       func(x tensor.Tensor) error { return x.ReLUInPlace() },
		"add":        func(x tensor.Tensor) error { return x.AddInPlace(two) },
		"copy":       func(x tensor.Tensor) error { return x.CopyFrom(two) },
		"convert":    func(x tensor.Tensor) error { return x.CopyFrom(two.ToType(tensor.Float64)) },
		"a row":      func(x tensor.Tensor) error { return x.Select(0, 1).FillInPlace(7) },
		"transposed": func(x tensor.Tensor) error { return x.T().FillInPlace(7) },
		"random":     func(x tensor.Tensor) error { return x.NormalInPlace(0, 1) },
		"a program":  func(x tensor.Tensor) error { _, err := step.Call(x); return err },
		"captured": func(x tensor.Tensor) error {
			_, err := compile.Step(func(...tensor.Tensor) (tensor.Tensor, error) { return two.Clone(), x.ReLUInPlace() }, compile.Captures()).Call()
			return err
		},
	}
	for name, write := range ways {
		if err := write(view()); !errors.Is(err, core.ErrReadOnly) {
			t.Errorf("%s: error %v, want one that wraps ErrReadOnly", name, err)
		}
	}
	if !slices.Equal(data, []float32{1, -2, 3, -4}) {
		t.Errorf("the memory has changed: %v", data)
	}
	own := view().Clone()
	if err := own.ReLUInPlace(); err != nil {
		t.Error(err)
	}
	for _, y := range []tensor.Tensor{own, view().ReLU()} {
		if got, err := tensor.Data[float32](y); err != nil || !slices.Equal(got, []float32{1, 0, 3, 0}) {
			t.Errorf("relu is %v, %v", got, err)
		}
	}
	x := view()
	if x.Release(); data[0] != 1 {
		t.Error("releasing the tensor has changed the memory")
	}
	for _, n := range []int{3, 3000} { // of a few bytes, and of several pages
		long := make([]byte, 4*n+16)
		for first := range 4 { // three of which are not aligned
			view := func() tensor.Tensor {
				return tensor.Wrap(core.Fixed(long[first:first+4*n], ir.Float32, []int{n}, "kept"))
			}
			if err := view().FillInPlace(7); !errors.Is(err, core.ErrReadOnly) {
				t.Errorf("%d numbers, %d bytes further on: error %v, want one that wraps ErrReadOnly", n, first, err)
			}
			if most, err := view().Abs().Max().Item(); err != nil || most != 0 {
				t.Errorf("%d numbers, %d bytes further on: the largest is %v, %v, want 0", n, first, most, err)
			}
		}
		if slices.Max(long) != 0 {
			t.Errorf("%d numbers: the memory has changed", n)
		}
	}
	if err := core.Fixed(raw, ir.Float32, []int{3}, "kept").Err(); !errors.Is(err, ir.ErrShape) {
		t.Errorf("16 bytes for 3 elements: %v", err)
	}
}
