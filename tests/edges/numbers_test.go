// Package edges_test holds what happens at the edges of dtypes, shapes and values:
// numbers that a dtype does not hold, dtypes that no loop has, empty tensors, infinities,
// long folds. The witness is PyTorch's behaviour, kept in tests/vectors, or arithmetic that shares no
// code with what is tested.
package edges_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/ops"
	. "github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// TestNumbersThatDoNotFit calls operators with numbers that PyTorch refuses to
// convert, and with the nearest ones that it takes.
func TestNumbersThatDoNotFit(t *testing.T) {
	i8, u8 := From([]int8{1, -2}), From([]uint8{1, 2})
	f16, f32 := From([]float32{1, 2}).ToType(Float16), From([]float32{1, 2})
	square := From([]int8{1, 2, 3, 4}).Reshape(2, 2)
	yes := From([]bool{true, false})
	inf, nan := math.Inf(1), math.NaN()
	full := func(v Scalar, d DType) Tensor { return Full([]int{2}, v, OfType(d)) }
	first := From([]int64{0})
	for _, c := range []struct {
		name string
		out  Tensor
		fits bool
	}{
		{"clamp int8", i8.ClampScalar(0, 200), false},
		{"clamp int8 at its largest", i8.ClampScalar(0, 127), true},
		{"clamp_min int8", i8.ClampMinScalar(-129), false},
		{"clamp_max int8", i8.ClampMaxScalar(128), false},
		{"clamp float32", f32.ClampScalar(0, 1e300), false},
		{"clamp float32 to infinity", f32.ClampScalar(0, inf), true},
		{"clamp float16", f16.ClampScalar(0, 70000), false},
		{"clamp float16 at its largest", f16.ClampScalar(0, 65504), true},
		{"full uint8", full(300, Uint8), false},
		{"full uint8 from below", full(-300, Uint8), false},
		{"full uint8 modulo 256", full(-1, Uint8), true},
		{"full int8 of a fraction", full(1.5, Int8), true},
		{"full int8 of NaN", full(nan, Int8), false},
		{"full int64", full(1e19, Int64), false},
		{"full float32", full(1e300, Float32), false},
		{"full float32 of an imaginary number", full(1i, Float32), false},
		{"full bool", full(300, Bool), true},
		{"full float16 of an integer", full(70000, Float16), false},
		{"full bfloat16", full(1e38, BFloat16), true},
		{"full like", FullLike(u8, 300), false},
		{"new full", u8.NewFull([]int{2}, 300), false},
		{"scalar tensor", FromScalar(300, OfType(Uint8)), false},
		{"masked_fill int8", i8.MaskedFillScalar(yes, 200), false},
		{"masked_fill float32", f32.MaskedFillScalar(yes, 1e300), false},
		{"masked_fill float32 of minus infinity", f32.MaskedFillScalar(yes, -inf), true},
		{"add_scaled int8 by a fraction", i8.AddScaled(i8, 1.5), false},
		{"add_scaled int8 by infinity", i8.AddScaled(i8, inf), false},
		{"add_scaled int8", i8.AddScaled(i8, 200), false},
		{"add_scaled float32", f32.AddScaled(f32, 1e300), false},
		{"add_scaled int8 by 127", i8.AddScaled(i8, 127), true},
		{"addcmul int8", i8.Addcmul(i8, i8, Value(200)), false},
		{"addcdiv float32", f32.Addcdiv(f32, f32, Value(1e300)), false},
		{"addmm int8", square.AddMM(square, square, Alpha(200)), false},
		{"addmm int8 by a fraction", square.AddMM(square, square, Beta(1.5)), false},
		{"pad int8", i8.Pad([]int{1, 1}, Value(200)), false},
		{"pad float32", f32.Pad([]int{1, 1}, Value(1e300)), false},
		{"scatter int8", i8.ScatterScalar(0, first, 200), false},
		{"index_fill int8", i8.IndexFill(0, first, 200), false},
		{"threshold float32", f32.Threshold(0, 1e300), false},
		{"hardtanh float32", f32.Hardtanh(Lo(-1e300)), false},
		{"elu float32", f32.ELU(Alpha(1e300)), false},
		{"celu float32", f32.CELU(Alpha(1e300)), false},
		{"softplus float32", f32.Softplus(Beta(1e300)), false},
		{"pow int8", i8.PowScalar(200), false},
		{"gt int8", i8.GtScalar(200), false},
		{"gt float16", f16.GtScalar(70000), true},
		{"remainder int8", i8.RemainderScalar(200), false},
		{"add int8 modulo 256", i8.AddScalar(200), true},
		{"mul int8 modulo 256", i8.MulScalar(200), true},
		{"add float32 to infinity", f32.AddScalar(1e300), true},
	} {
		err := c.out.Err()
		switch {
		case c.fits && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case !c.fits && !errors.Is(err, core.ErrDType):
			t.Errorf("%s: %v, want an error about the number", c.name, err)
		}
	}
	err := full(300, Uint8).Err()
	if want := "value is 300: value cannot be converted to type uint8 without overflow"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("full: %v, want %q", err, want)
	}
	if err := i8.ClampScalarInPlace(0, 200); err == nil {
		t.Error("clamp in place: no error")
	}
	_ = i8.Err() // looked at
	if got, _ := Data[int8](i8); got[0] != 1 || got[1] != -2 {
		t.Errorf("after a failed change in place: %v", got)
	}
}

// TestEveryScalarArgument gives every Scalar argument of every element-wise operator
// a number that its dtype does not hold.
func TestEveryScalarArgument(t *testing.T) {
	seen := 0
	for _, op := range ops.Descriptors() {
		if op.Kind != ir.Elementwise || op.Promote == ir.PromoteFixed {
			continue
		}
		for i, at := range op.Attrs {
			if at.Kind != ir.AttrScalar {
				continue
			}
			for dt, bad := range map[ir.DType]float64{ir.Float32: 1e300, ir.Float16: 1e5, ir.Int8: 200} {
				if !op.DTypes.Has(dt) {
					continue
				}
				seen++
				for _, v := range []float64{bad, 1} {
					out := apply(op, dt, i, v)
					if err := out.Err(); (err != nil) != (v == bad) {
						t.Errorf("%s of %s with %s %v: %v", op.Name, dt, at.Name, v, err)
					}
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d arguments", seen)
	}
}

// apply applies an element-wise operator to ones, its Scalar argument i being v, the
// others 1.
func apply(op *ir.Op, dt ir.DType, i int, v float64) *core.Tensor {
	a := core.Apply{Op: op}
	for range op.In {
		a.In = append(a.In, Ones([]int{2}, OfType(dt)).Handle())
	}
	for j, at := range op.Attrs {
		value := ir.IntValue(1)
		switch {
		case at.Kind == ir.AttrScalar && dt == ir.Int8:
			value = ir.ScalarValue(ir.IntScalar(1))
			if j == i {
				value = ir.ScalarValue(ir.IntScalar(int64(v)))
			}
		case j == i:
			value = ir.ScalarValue(ir.FloatScalar(v))
		case at.Kind == ir.AttrScalar || at.Kind == ir.AttrFloat:
			value = ir.FloatValue(1)
		case at.Kind == ir.AttrEnum:
			value = ir.IntValue(0)
		}
		a.Attrs = append(a.Attrs, value)
	}
	if len(op.In) == 0 {
		a.Place, a.Shapes = &core.Placement{DType: dt}, func() ([][]int, error) { return [][]int{{2}}, nil }
	}
	return core.Elementwise(a)
}

// TestSubtractionOfBools: a bool is no number to subtract, as the documentation says.
func TestSubtractionOfBools(t *testing.T) {
	yes, x := From([]bool{true, false}), From([]int8{1, 2})
	for name, out := range map[string]Tensor{
		"sub": x.Sub(yes), "sub from a bool": yes.Sub(x), "rsub": x.Rsub(yes),
		"sub of a number": x.SubScalar(true), "sub from bools": yes.SubScalar(1),
	} {
		if err := out.Err(); !errors.Is(err, core.ErrDType) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
