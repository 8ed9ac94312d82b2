package opaque_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/opaque"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/shapes"
	"github.com/sinter-go/sinter/runtime/core"
)

// A fourierOp is a transform by cuFFT and by kernels of our own.
type fourierOp struct {
	name         string
	library, own *ir.Op
}

var (
	c2c = fourierOp{"c2c", ops.FFTC2COp(), withLaunch(ops.FFTC2COp(), opaque.OwnFFTC2C)}
	r2c = fourierOp{"r2c", ops.FFTR2COp(), withLaunch(ops.FFTR2COp(), opaque.OwnFFTR2C)}
	c2r = fourierOp{"c2r", ops.FFTC2ROp(), withLaunch(ops.FFTC2ROp(), opaque.OwnFFTC2R)}
)

// check compares both on the GPU with the CPU's result: errors are relative to the
// size of the largest number, as roundings of all of them meet in each.
func (f fourierOp) check(t *testing.T, what string, x pair, shape func([]int) ([]int, error), attrs ...ir.Value) {
	t.Helper()
	run := func(op *ir.Op, x *core.Tensor) []complex128 {
		out := core.KernelOne(core.Apply{Op: op, In: []*core.Tensor{x}, Attrs: attrs, Shapes: func() ([][]int, error) {
			s, err := shape(x.Shape())
			return [][]int{s}, err
		}})
		list, err := core.Scalars(out)
		if err != nil {
			t.Errorf("%s %s: %v", f.name, what, err)
			return nil
		}
		numbers := make([]complex128, len(list))
		for i, s := range list {
			numbers[i] = s.Complex()
		}
		return numbers
	}
	want := run(f.library, x.cpu)
	size := 0.0
	for _, v := range want {
		size = max(size, cmplx.Abs(v))
	}
	bound := size * 4e-6
	if x.cpu.DType().Complex() == ir.Complex128 {
		bound = size * 1e-14
	}
	for _, by := range []struct {
		name string
		op   *ir.Op
	}{{"cuFFT", f.library}, {"own kernels", f.own}} {
		got := run(by.op, x.gpu)
		wrong, first, worst := 0, "", 0.0
		for i, v := range got {
			if off := cmplx.Abs(v - want[i]); !(off <= bound) {
				if wrong++; wrong == 1 {
					first = fmt.Sprintf("number %d is %v, want %v", i, v, want[i])
				}
				worst = max(worst, off/size)
			}
		}
		if wrong > 0 || len(got) != len(want) {
			t.Errorf("%s %s by %s: %d of %d numbers are off by up to %.3g of the largest: %s", f.name, what, by.name, wrong, len(want), worst, first)
		}
	}
}

// checkAxis transforms along one axis in all three ways.
func checkAxis(t *testing.T, s source, dt ir.DType, shape []int, axis int, k layout) {
	t.Helper()
	n := shape[axis]
	what := fmt.Sprintf("%s %v %v, axis %d", dt, shape, k, axis)
	scale, inner := ir.FloatValue(1/math.Sqrt(float64(n))), ir.FloatValue(2)
	for _, inverse := range []bool{false, true} {
		c2c.check(t, what, s.real(dt, shape, k), func(x []int) ([]int, error) { return shapes.FFTC2CShape(x, []int{axis}) },
			ir.IntsValue([]int{axis}), ir.BoolValue(inverse), scale)
	}
	r2c.check(t, what, s.real(dt.Real(), shape, k), func(x []int) ([]int, error) { return shapes.FFTR2CShape(x, axis) },
		ir.IntValue(axis), scale, inner)
	half := append([]int(nil), shape...)
	half[axis] = n/2 + 1
	c2r.check(t, what, s.real(dt, half, k), func(x []int) ([]int, error) { return shapes.FFTC2RShape(x, axis, n) },
		ir.IntValue(axis), ir.IntValue(n), scale, inner)
}

func TestFourierLengths(t *testing.T) {
	onGPU(t)
	s := newSource()
	for _, dt := range ir.ClassComplex.List() {
		for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 13, 16, 30, 61, 64, 67, 77, 128, 134, 243, 331, 1000, 1009, 4096, 3 << 12} {
			checkAxis(t, s, dt, []int{3, n}, 1, dense)
		}
		checkAxis(t, s, dt, []int{2, 1 << 17}, 1, dense)
		checkAxis(t, s, dt, []int{100003}, 0, dense)
		// Long lines whose points have gaps, in the operand and in both.
		checkAxis(t, s, dt, []int{3, 1 << 15}, 1, transposed)
		checkAxis(t, s, dt, []int{1 << 15, 3}, 0, dense)
		checkAxis(t, s, dt, []int{2, 20000, 2}, 1, dense)
	}
}

func TestFourierLayouts(t *testing.T) {
	trials(t, ir.ClassComplex, 25, func(t *testing.T, s source, dt ir.DType) {
		shape := s.shape(1 + s.IntN(4))
		axis := s.IntN(len(shape))
		shape[axis] = max(shape[axis], 1)
		checkAxis(t, s, dt, shape, axis, s.layout())
	})
}

func TestFourierAxes(t *testing.T) {
	trials(t, ir.ClassComplex, 25, func(t *testing.T, s source, dt ir.DType) {
		shape := make([]int, 1+s.IntN(5))
		var axes []int
		for i := range shape {
			if shape[i] = 1 + s.IntN(9); s.IntN(3) > 0 {
				axes = append(axes, i)
			}
		}
		if axes == nil {
			axes = []int{0}
		}
		k := s.layout()
		c2c.check(t, fmt.Sprintf("%s %v %v, axes %v", dt, shape, k, axes), s.real(dt, shape, k),
			func(x []int) ([]int, error) { return shapes.FFTC2CShape(x, axes) },
			ir.IntsValue(axes), ir.BoolValue(s.IntN(2) == 0), ir.FloatValue(0.5))
	})
}
