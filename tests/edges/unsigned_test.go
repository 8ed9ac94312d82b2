package edges_test

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/runtime/device"
)

// An unsigned is a Go type of the dtypes that others carry. Devices have no code for them, so what
// holds on one says little of another: these tests are of every kind of device that there is.
type unsigned interface{ uint16 | uint32 | uint64 }

// low64 are the bits of the least int64 but one.
var low64 uint64 = 1<<63 | 1

// edgesOf are numbers around the powers of two that matter, and what lies between.
func edgesOf[T unsigned]() []T {
	top := ^T(0)
	return []T{0, 1, 2, 3, 7, 100, 255, 256, 1000, top>>1 - 1, top >> 1, top>>1 + 1, top>>1 + 2, top - 1000, top - 255, top - 2, top - 1, top}
}

// pairs returns every edge beside every other one.
func pairs[T unsigned]() (x, y []T) {
	for _, a := range edgesOf[T]() {
		for _, b := range edgesOf[T]() {
			x, y = append(x, a), append(y, b)
		}
	}
	return x, y
}

// places are where unsigned integers are computed: here, on a simulated accelerator, and on
// a GPU where there is one.
func places() []device.Device {
	list := []device.Device{device.CPU, {Kind: device.KindSim}}
	if gpu := (device.Device{Kind: device.KindCUDA}); device.Count(gpu.Kind) > 0 {
		list = append(list, gpu)
	}
	return list
}

// same compares the elements of got with a list.
func same[T tensor.Element](t *testing.T, what string, got tensor.Tensor, want []T) {
	t.Helper()
	have, err := tensor.Data[T](got)
	if err != nil {
		t.Errorf("%s: %v", what, err)
	} else if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// each maps a function over two lists.
func each[T unsigned, R any](x, y []T, f func(a, b T) R) []R {
	r := make([]R, len(x))
	for i := range x {
		r[i] = f(x[i], y[i])
	}
	return r
}

// where1 returns a where cond is, else b.
func where1[T any](cond bool, a, b T) T {
	if cond {
		return a
	}
	return b
}

// over calls f for every unsigned dtype and device, by the Go type.
func over(t *testing.T, f16 func(*testing.T, device.Device), f32 func(*testing.T, device.Device), f64 func(*testing.T, device.Device)) {
	for _, dev := range places() {
		for name, f := range map[string]func(*testing.T, device.Device){"uint16": f16, "uint32": f32, "uint64": f64} {
			t.Run(fmt.Sprintf("%s on %s", name, dev), func(t *testing.T) { f(t, dev) })
		}
	}
}

// TestUnsigned computes with unsigned integers what Go computes with its own.
func TestUnsigned(t *testing.T) {
	over(t, arithmetic[uint16], arithmetic[uint32], arithmetic[uint64])
}

func arithmetic[T unsigned](t *testing.T, dev device.Device) {
	a, b := pairs[T]()
	x, y := tensor.From(a).To(dev), tensor.From(b).To(dev)
	width := T(bits.Len64(uint64(^T(0))))
	for name, c := range map[string]struct {
		got  tensor.Tensor
		want func(a, b T) T
	}{
		"add":           {x.Add(y), func(a, b T) T { return a + b }},
		"sub":           {x.Sub(y), func(a, b T) T { return a - b }},
		"mul":           {x.Mul(y), func(a, b T) T { return a * b }},
		"floor_divide":  {x.FloorDivide(y), func(a, b T) T { return where1(b == 0, 0, a/max(b, 1)) }},
		"trunc_divide":  {x.TruncDivide(y), func(a, b T) T { return where1(b == 0, 0, a/max(b, 1)) }},
		"remainder":     {x.Remainder(y), func(a, b T) T { return where1(b == 0, a, a%max(b, 1)) }},
		"fmod":          {x.Fmod(y), func(a, b T) T { return where1(b == 0, a, a%max(b, 1)) }},
		"and":           {x.BitwiseAnd(y), func(a, b T) T { return a & b }},
		"or":            {x.BitwiseOr(y), func(a, b T) T { return a | b }},
		"xor":           {x.BitwiseXor(y), func(a, b T) T { return a ^ b }},
		"not":           {x.BitwiseNot(), func(a, _ T) T { return ^a }},
		"neg":           {x.Neg(), func(a, _ T) T { return -a }},
		"abs":           {x.Abs(), func(a, _ T) T { return a }},
		"sign":          {x.Sign(), func(a, _ T) T { return min(a, 1) }},
		"square":        {x.Square(), func(a, _ T) T { return a * a }},
		"left shift":    {x.BitwiseLeftShift(y), func(a, b T) T { return where1(b < width, a<<b, 0) }},
		"right shift":   {x.BitwiseRightShift(y), func(a, b T) T { return where1(b < width, a>>b, 0) }},
		"maximum":       {x.Maximum(y), func(a, b T) T { return max(a, b) }},
		"minimum":       {x.Minimum(y), func(a, b T) T { return min(a, b) }},
		"clamp":         {x.Clamp(y, tensor.Full([]int{1}, ^T(0)-3, tensor.OfType(x.DType()), tensor.On(dev))), func(a, b T) T { return min(max(a, b), ^T(0)-3) }},
		"clamp numbers": {x.ClampScalar(5, ^T(0)-5), func(a, _ T) T { return min(max(a, 5), ^T(0)-5) }},
		"where":         {tensor.Where(x.Lt(y), x, y), func(a, b T) T { return min(a, b) }},
		"masked fill":   {x.MaskedFillScalar(x.Eq(y), ^T(0)), func(a, b T) T { return where1(a == b, ^T(0), a) }},
		"add number":    {x.AddScalar(7), func(a, _ T) T { return a + 7 }},
		"rsub number":   {x.RsubScalar(-1), func(a, _ T) T { return ^T(0) - a }},
		"mul number":    {x.MulScalar(^T(0)), func(a, _ T) T { return -a }},
		"div number":    {x.FloorDivideScalar(10), func(a, _ T) T { return a / 10 }},
		"add multiple":  {x.Add(y.MulScalar(3)), func(a, b T) T { return a + 3*b }},
		"clone":         {x.Clone(), func(a, _ T) T { return a }},
		"strided":       {x.Reshape(18, 18).T().Contiguous().T().Reshape(324), func(a, _ T) T { return a }},
	} {
		if c.got.Err() == nil && c.got.DType() != x.DType() {
			t.Errorf("%s gives %s", name, c.got.DType())
		}
		same(t, name, c.got, each(a, b, c.want))
	}
	for name, c := range map[string]struct {
		got  tensor.Tensor
		want func(a, b T) bool
	}{
		"lt":        {x.Lt(y), func(a, b T) bool { return a < b }},
		"le":        {x.Le(y), func(a, b T) bool { return a <= b }},
		"gt":        {x.Gt(y), func(a, b T) bool { return a > b }},
		"ge":        {x.Ge(y), func(a, b T) bool { return a >= b }},
		"eq":        {x.Eq(y), func(a, b T) bool { return a == b }},
		"ne":        {x.Ne(y), func(a, b T) bool { return a != b }},
		"gt number": {x.GtScalar(^T(0) - 2), func(a, _ T) bool { return a > ^T(0)-2 }},
		"and":       {x.LogicalAnd(y), func(a, b T) bool { return a != 0 && b != 0 }},
		"not":       {x.LogicalNot(), func(a, _ T) bool { return a == 0 }},
		"isnan":     {x.IsNaN(), func(_, _ T) bool { return false }},
	} {
		same(t, name, c.got, each(a, b, c.want))
	}
}

// TestUnsignedConversions converts from and to every dtype.
func TestUnsignedConversions(t *testing.T) {
	over(t, conversions[uint16], conversions[uint32], conversions[uint64])
}

func conversions[T unsigned](t *testing.T, dev device.Device) {
	list := edgesOf[T]()
	x := tensor.From(list).To(dev)
	u := x.DType()
	converted[T, uint8](t, x, func(a T) uint8 { return uint8(a) })
	converted[T, int8](t, x, func(a T) int8 { return int8(a) })
	converted[T, int16](t, x, func(a T) int16 { return int16(a) })
	converted[T, int32](t, x, func(a T) int32 { return int32(a) })
	converted[T, int64](t, x, func(a T) int64 { return int64(a) })
	converted[T, uint16](t, x, func(a T) uint16 { return uint16(a) })
	converted[T, uint32](t, x, func(a T) uint32 { return uint32(a) })
	converted[T, uint64](t, x, func(a T) uint64 { return uint64(a) })
	converted[T, bool](t, x, func(a T) bool { return a != 0 })
	converted[T, float32](t, x, func(a T) float32 { return float32(a) })
	converted[T, float64](t, x, func(a T) float64 { return float64(a) })
	converted[T, complex64](t, x, func(a T) complex64 { return complex(float32(a), 0) })
	converted[T, complex128](t, x, func(a T) complex128 { return complex(float64(a), 0) })
	same(t, "from int8", tensor.From([]int8{-1, 5}).To(dev).ToType(u), []T{^T(0), 5})
	same(t, "from int64", tensor.From([]int64{-1, 5, math.MinInt64 + 1}).To(dev).ToType(u), []T{^T(0), 5, T(low64)})
	same(t, "from bool", tensor.From([]bool{true, false}).To(dev).ToType(u), []T{1, 0})
	top := float64(^T(0))
	floats := []float64{0, 1.9, -0.5, -3, 1e30, -1e30, math.Inf(1), math.Inf(-1), math.NaN(), math.Floor(top / 2), top/2 + 0.5}
	want := []T{0, 1, 0, 0, ^T(0), 0, ^T(0), 0, 0, T(min(uint64(top/2), uint64(^T(0)))), ^T(0)>>1 + 1}
	same(t, "from float64", tensor.From(floats).To(dev).ToType(u), want)
	same(t, "from float32", tensor.From([]float32{2.5, -2, float32(math.Inf(1)), float32(math.NaN())}).To(dev).ToType(u), []T{2, 0, ^T(0), 0})
	same(t, "from float16", tensor.From([]float32{2.5, -2, 1000}).ToType(tensor.Float16).To(dev).ToType(u), []T{2, 0, 1000})
	same(t, "from complex", tensor.From([]complex64{2 + 3i, -1}).To(dev).ToType(u), []T{2, 0})
}

// converted compares x in the dtype of R with Go's conversions.
func converted[T unsigned, R tensor.Element](t *testing.T, x tensor.Tensor, f func(T) R) {
	t.Helper()
	var zero R
	list, err := tensor.Data[T](x)
	must(t, err)
	want := make([]R, len(list))
	for i, v := range list {
		want[i] = f(v)
	}
	to := tensor.From([]R{zero}).DType()
	same(t, "to "+to.String(), x.ToType(to), want)
}

// TestUnsignedRounding converts numbers above the largest int64 that lie in the middle of
// two floats, or beside it.
func TestUnsignedRounding(t *testing.T) {
	for _, dev := range places() {
		list := []uint64{1<<63 + 1<<10, 1<<63 + 1<<10 + 1, 1<<63 + 3<<10, 1<<63 + 3<<10 - 1, 1<<63 + 1<<39, 1<<63 + 1<<39 + 1, math.MaxUint64, 1<<63 | 1}
		x := tensor.From(list).To(dev)
		converted[uint64, float64](t, x, func(a uint64) float64 { return float64(a) })
		converted[uint64, float32](t, x, func(a uint64) float32 { return float32(a) })
	}
}

// TestUnsignedParts moves, orders and folds unsigned integers.
func TestUnsignedParts(t *testing.T) {
	over(t, parts[uint16], parts[uint32], parts[uint64])
}

func parts[T unsigned](t *testing.T, dev device.Device) {
	top := ^T(0)
	x := tensor.From([]T{3, top, 0, top >> 1, top>>1 + 1, 7}, 2, 3).To(dev)
	u := x.DType()
	index := tensor.From([]int64{2, 0}).To(dev)
	same(t, "sum", x.Sum(), []int64{int64(3 + uint64(top) + uint64(top>>1) + uint64(top>>1+1) + 7)})
	same(t, "sum in its dtype", x.Sum(tensor.OfType(u)), []T{3 + top + top + 7})
	same(t, "max", x.Max(), []T{top})
	same(t, "min of columns", x.Min(tensor.Dim(0)), []T{3, top>>1 + 1, 0})
	same(t, "argmax", x.Argmax(tensor.Dim(1)), []int64{1, 1})
	same(t, "any", x.Any(tensor.Dim(0)), []bool{true, true, true})
	same(t, "count", x.CountNonzero(), []int64{5})
	same(t, "cumsum", x.Cumsum(1, tensor.OfType(u)), []T{3, 2, 2, top >> 1, top, 6})
	values, places := x.Sort(1)
	same(t, "sort", values, []T{0, 3, top, 7, top >> 1, top>>1 + 1})
	same(t, "sort places", places, []int64{2, 0, 1, 2, 0, 1})
	values, _ = x.Topk(2, 1)
	same(t, "topk", values, []T{top, 3, top>>1 + 1, top >> 1})
	unique, _, counts := tensor.Unique(tensor.From([]T{top, 1, top, 0}).To(dev))
	same(t, "unique", unique, []T{0, 1, top})
	same(t, "unique counts", counts, []int64{1, 1, 2})
	same(t, "searchsorted", tensor.Searchsorted(tensor.From([]T{1, 5, top}).To(dev), x), []int64{1, 2, 0, 2, 2, 2})
	same(t, "cat", tensor.Cat([]tensor.Tensor{x, x.Narrow(0, 1, 1)}, 0), []T{3, top, 0, top >> 1, top>>1 + 1, 7, top >> 1, top>>1 + 1, 7})
	same(t, "stack", tensor.Stack([]tensor.Tensor{x.Select(0, 0), x.Select(0, 1)}, 1), []T{3, top >> 1, top, top>>1 + 1, 0, 7})
	same(t, "index_select", x.IndexSelect(1, index), []T{0, 3, 7, top >> 1})
	same(t, "gather", x.Gather(1, index.Reshape(2, 1)), []T{0, top >> 1})
	same(t, "scatter", x.ScatterScalar(1, index.Reshape(2, 1), top-1), []T{3, top, top - 1, top - 1, top>>1 + 1, 7})
	same(t, "scatter_add", x.ScatterAdd(1, index.Reshape(2, 1), tensor.From([]T{5, top}, 2, 1).To(dev)), []T{3, top, 5, top>>1 - 1, top>>1 + 1, 7})
	same(t, "masked_select", x.MaskedSelect(x.GtScalar(5)), []T{top, top >> 1, top>>1 + 1, 7})
	same(t, "nonzero", x.Nonzero(), []int64{0, 0, 0, 1, 1, 0, 1, 1, 1, 2})
	same(t, "flip", x.Flip(0), []T{top >> 1, top>>1 + 1, 7, 3, top, 0})
	same(t, "roll", x.Roll([]int{1}, tensor.Dim(1)), []T{0, 3, top, 7, top >> 1, top>>1 + 1})
	same(t, "tril", x.Tril(0), []T{3, 0, 0, top >> 1, top>>1 + 1, 0})
	same(t, "pad", x.Select(0, 0).Pad([]int{1, 1}, tensor.Value(top)), []T{top, 3, top, 0, top})
	same(t, "matmul", x.MatMul(tensor.From([]T{2, 1, top}).To(dev)), []T{6 + top, (top>>1)*2 + top>>1 + 1 + 7*top})
	same(t, "full", tensor.Full([]int{2}, -1, tensor.OfType(u), tensor.On(dev)), []T{top, top})
	same(t, "full of the largest", tensor.Full([]int{2}, top, tensor.OfType(u), tensor.On(dev)), []T{top, top})
	same(t, "zeros", tensor.Zeros([]int{2}, tensor.OfType(u), tensor.On(dev)), []T{0, 0})
	same(t, "ones", tensor.OnesLike(x.Select(0, 0)), []T{1, 1, 1})
	same(t, "arange", tensor.Arange(1, 4, 1, tensor.OfType(u), tensor.On(dev)), []T{1, 2, 3})
	same(t, "repeat", x.Narrow(1, 0, 1).Expand(2, 2).Contiguous(), []T{3, 3, top >> 1, top >> 1})
	same(t, "mean", x.ToType(tensor.Float64).Mean(), []float64{(3 + float64(top) + float64(top>>1) + float64(top>>1+1) + 7) / 6})
	same(t, "true division", x.DivScalar(2.0).Narrow(1, 0, 1), []float32{1.5, float32(top>>1) / 2})
	same(t, "sqrt", x.Narrow(1, 2, 1).Sqrt(), []float32{0, float32(math.Sqrt(7))})
}

// TestUnsignedInPlace writes over unsigned integers, and over others from them.
func TestUnsignedInPlace(t *testing.T) {
	over(t, inPlace[uint16], inPlace[uint32], inPlace[uint64])
}

func inPlace[T unsigned](t *testing.T, dev device.Device) {
	top := ^T(0)
	x := tensor.From([]T{3, top}).To(dev)
	u := x.DType()
	must(t, x.AddInPlace(tensor.From([]T{1, 2}).To(dev)))
	same(t, "add", x, []T{4, 1})
	must(t, x.MulScalarInPlace(3))
	same(t, "mul", x, []T{12, 3})
	must(t, x.Narrow(0, 1, 1).FillInPlace(top))
	same(t, "fill of a part", x, []T{12, top})
	must(t, x.CopyFrom(tensor.From([]float64{7.5, -1}).To(dev)))
	same(t, "copy of floats", x, []T{7, 0})
	must(t, x.CopyFrom(tensor.From([]int64{9, -1})))
	same(t, "copy of integers", x, []T{9, top})
	f := tensor.From([]float32{0.5, 1}).To(dev)
	must(t, f.AddInPlace(tensor.From([]T{1, 2}).To(dev)))
	same(t, "add to floats", f, []float32{1.5, 3})
	must(t, f.CopyFrom(x.Narrow(0, 0, 1).Expand(2)))
	same(t, "copy to floats", f, []float32{9, 9})
	dst := tensor.Zeros([]int{2}, tensor.OfType(u), tensor.On(dev))
	must(t, out.Sub(dst, x, x))
	must(t, out.Add(dst, tensor.From([]int64{1, -1}).To(dev), tensor.From([]int64{1, 0}).To(dev)))
	same(t, "out of integers", dst, []T{2, top})
	long := tensor.Zeros([]int{2}, tensor.OfType(tensor.Int64), tensor.On(dev))
	must(t, out.Mul(long, tensor.From([]T{5, 6}).To(dev), tensor.From([]T{5, 6}).To(dev)))
	same(t, "out to int64", long, []int64{25, 36})
	total := tensor.Zeros([]int{}, tensor.OfType(u), tensor.On(dev))
	must(t, out.Max(total, x))
	same(t, "out of a reduction", total, []T{top})
	if err := out.Add(dst, f, f); err == nil || !strings.Contains(err.Error(), "can't be cast to "+u.String()) {
		t.Errorf("floats into %s: %v", u, err)
	}
	if err := x.AddInPlace(f); err == nil || !strings.Contains(err.Error(), "can't be cast to "+u.String()) {
		t.Errorf("floats added to %s: %v", u, err)
	}
	y := tensor.From([]float32{1, 2}).To(dev)
	must(t, y.RequireGrad().Err())
	z := y.Mul(tensor.From([]T{3, 4}).To(dev))
	must(t, z.Sum().Backward())
	gradient, _ := y.Grad()
	same(t, "gradient beside it", gradient, []float32{3, 4})
	if err := x.Clone().RequireGrad().Err(); err == nil {
		t.Errorf("%s requires a gradient", u)
	}
}

// TestUnsignedPromotion has the rules: PyTorch's where it has one, else NumPy's.
func TestUnsignedPromotion(t *testing.T) {
	for _, c := range []struct{ a, b, want tensor.DType }{
		{tensor.Uint16, tensor.Bool, tensor.Uint16}, {tensor.Uint16, tensor.Uint8, tensor.Uint16}, {tensor.Uint16, tensor.Int8, tensor.Int32},
		{tensor.Uint16, tensor.Int16, tensor.Int32}, {tensor.Uint16, tensor.Int32, tensor.Int32}, {tensor.Uint16, tensor.Int64, tensor.Int64},
		{tensor.Uint16, tensor.Uint32, tensor.Uint32}, {tensor.Uint16, tensor.Uint64, tensor.Uint64}, {tensor.Uint16, tensor.Float16, tensor.Float16},
		{tensor.Uint16, tensor.BFloat16, tensor.BFloat16}, {tensor.Uint16, tensor.Float32, tensor.Float32}, {tensor.Uint16, tensor.Complex64, tensor.Complex64},
		{tensor.Uint32, tensor.Bool, tensor.Uint32}, {tensor.Uint32, tensor.Uint8, tensor.Uint32}, {tensor.Uint32, tensor.Int8, tensor.Int64},
		{tensor.Uint32, tensor.Int32, tensor.Int64}, {tensor.Uint32, tensor.Int64, tensor.Int64}, {tensor.Uint32, tensor.Uint64, tensor.Uint64},
		{tensor.Uint32, tensor.Float32, tensor.Float32}, {tensor.Uint64, tensor.Bool, tensor.Uint64}, {tensor.Uint64, tensor.Uint8, tensor.Uint64},
		{tensor.Uint64, tensor.Int8, tensor.Float64}, {tensor.Uint64, tensor.Int64, tensor.Float64}, {tensor.Uint64, tensor.Float16, tensor.Float16},
		{tensor.Uint64, tensor.Complex128, tensor.Complex128},
	} {
		x, y := tensor.Ones([]int{2}, tensor.OfType(c.a)), tensor.Ones([]int{2}, tensor.OfType(c.b))
		for _, sum := range []tensor.Tensor{x.Add(y), y.Add(x)} {
			if err := sum.Err(); err != nil || sum.DType() != c.want {
				t.Errorf("%s and %s give %s, want %s (%v)", c.a, c.b, sum.DType(), c.want, err)
			}
		}
	}
}

// TestUnsignedRefused: what is not there says so, and what is accepted.
func TestUnsignedRefused(t *testing.T) {
	x := tensor.From([]uint64{1, math.MaxUint64})
	for name, c := range map[string]struct {
		got  tensor.Tensor
		want string
	}{
		"pow of uint64":  {x.PowScalar(2), "pow: invalid dtype: not implemented for uint64, whose values no signed integers hold; convert to int64 or float64 with ToType"},
		"index":          {tensor.Ones([]int{3}).IndexSelect(0, tensor.From([]uint32{1})), "must be int32 or int64, not uint32"},
		"full":           {tensor.Full([]int{1}, 65536, tensor.OfType(tensor.Uint16)), "value cannot be converted to type uint16 without overflow"},
		"comparison":     {tensor.From([]uint16{1}).LtScalar(65536), "value cannot be converted to type uint16 without overflow"},
		"bits of floats": {x.BitwiseAnd(tensor.From([]int64{1, 1})), "not implemented for float64"},
	} {
		err := c.got.Err()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestUnsignedText prints unsigned integers, and reads one.
func TestUnsignedText(t *testing.T) {
	x := tensor.From([]uint64{1, math.MaxUint64})
	if got, want := x.String(), "tensor([                   1, 18446744073709551615], dtype=uint64)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, err := x.Select(0, 1).Item(); err != nil || got != math.MaxUint64 {
		t.Errorf("the largest number is %v (%v)", got, err)
	}
	if got, err := x.Select(0, 1).ItemInt(); err == nil {
		t.Errorf("the largest number is %d as an int64", got)
	}
}
