package conformance_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// made is what a tensor was made as.
type made struct {
	Device device.Device
	DType  tensor.DType
	Shape  []int
	Values []float64
}

func madeAs(t testing.TB, x T) made {
	t.Helper()
	must(t, x.Err())
	return made{x.Device(), x.DType(), x.Shape(), values(t, x)}
}

// The device of new tensors and the dtype of floats that nothing else decides
// can be set, for the calling goroutine while a function runs, and ToType converts a
// tensor to any dtype. An option, or an operand, goes before the defaults.
//
// Differs: PyTorch sets a default tensor type for the whole process until it is set
// again. Here it is WithDefaults, which ends by itself and which no other goroutine
// sees, so that a library cannot change what its caller's code makes.
func TestS59(t *testing.T) {
	dev := one(t)
	shape := []int{2}
	must(t, tensor.WithDefaults(tensor.Defaults{Device: dev, Float: tensor.Float64}, func() error {
		equal(t, "the default dtype", tensor.DefaultType(), tensor.Float64)
		for name, c := range map[string]struct {
			x     T
			dtype tensor.DType
			on    device.Device
		}{
			"zeros":                 {tensor.Zeros(shape), tensor.Float64, dev},
			"empty":                 {tensor.Empty(shape), tensor.Float64, dev},
			"random":                {tensor.Rand(shape), tensor.Float64, dev},
			"a number":              {tensor.FromScalar(1.5), tensor.Float64, dev},
			"a complex number":      {tensor.FromScalar(1i), tensor.Complex128, dev},
			"numbers of a Go type":  {tensor.From([]float32{1, 2}), tensor.Float32, dev},
			"integers divided":      {tensor.From([]int64{1, 2}).Div(tensor.From([]int64{2, 2})), tensor.Float64, dev},
			"a given dtype":         {tensor.Zeros(shape, tensor.OfType(tensor.Float16)), tensor.Float16, dev},
			"a given device":        {tensor.Zeros(shape, tensor.On(device.CPU)), tensor.Float64, device.CPU},
			"like another":          {tensor.ZerosLike(tensor.Zeros(shape, tensor.On(device.CPU), tensor.OfType(tensor.Int8))), tensor.Int8, device.CPU},
			"a layer's parameter":   {nn.NewLinear(2, 2).Weight.Tensor, tensor.Float64, dev},
			"a float32 and a float": {tensor.From([]float32{1}).MulScalar(2.5), tensor.Float32, dev},
		} {
			if got := madeAs(t, c.x); got.DType != c.dtype || got.Device != c.on {
				t.Errorf("%s: %s on %s, want %s on %s", name, got.DType, got.Device, c.dtype, c.on)
			}
		}
		other := make(chan T)
		go func() { other <- tensor.Zeros(shape) }()
		if x := <-other; x.Device() != device.CPU || x.DType() != tensor.Float32 {
			t.Errorf("another goroutine makes %s on %s", x.DType(), x.Device())
		}
		return nil
	}))
	if x := tensor.Zeros(shape); x.Device() != device.CPU || x.DType() != tensor.Float32 {
		t.Errorf("afterwards: %s on %s", x.DType(), x.Device())
	}
	for _, d := range []tensor.Defaults{{Float: tensor.Int64}, {Device: device.Device{Kind: kind, Index: 99}}} {
		if err := tensor.WithDefaults(d, func() error { t.Errorf("called with %v", d); return nil }); err == nil {
			t.Errorf("%v are accepted as defaults", d)
		}
	}
	x := tensor.FromSlice([]float32{-1.5, 0, 2.75}, nil, tensor.On(dev))
	for _, c := range []struct {
		to   tensor.DType
		want []float64
	}{
		{tensor.Float64, []float64{-1.5, 0, 2.75}}, {tensor.Int32, []float64{-1, 0, 2}},
		{tensor.Uint8, []float64{0, 0, 2}}, {tensor.Bool, []float64{1, 0, 1}}, {tensor.BFloat16, []float64{-1.5, 0, 2.75}},
	} {
		equal(t, c.to.String(), madeAs(t, x.ToType(c.to)), made{dev, c.to, []int{3}, c.want})
	}
}

// NewFull, NewZeros, NewOnes, NewEmpty and NewTensor give a tensor the device
// and dtype of the one that they are called on, whatever the defaults and the current
// device are. Options say otherwise.
func TestS62(t *testing.T) {
	list := devices(t, min(2, max(1, device.Count(kind))))
	dev := list[len(list)-1]
	shape, full := []int{2, 1}, func(v float64) []float64 { return []float64{v, v} }
	for _, on := range []device.Device{device.CPU, dev} {
		for _, dt := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.BFloat16, tensor.Int8, tensor.Bool} {
			x := tensor.Zeros([]int{5}, tensor.On(on), tensor.OfType(dt))
			must(t, tensor.WithDefaults(tensor.Defaults{Device: list[0], Float: tensor.Float64}, func() error {
				what := fmt.Sprintf("of %s on %s: ", dt, on)
				equal(t, what+"NewFull", madeAs(t, x.NewFull(shape, 1)), made{on, dt, shape, full(1)})
				equal(t, what+"NewZeros", madeAs(t, x.NewZeros(shape)), made{on, dt, shape, full(0)})
				equal(t, what+"NewOnes", madeAs(t, x.NewOnes(shape)), made{on, dt, shape, full(1)})
				equal(t, what+"NewTensor", madeAs(t, tensor.NewTensor(x, []float64{1, 0}, shape)), made{on, dt, shape, []float64{1, 0}})
				e := x.NewEmpty(shape)
				equal(t, what+"NewEmpty", made{e.Device(), e.DType(), e.Shape(), nil}, made{on, dt, shape, nil})
				equal(t, what+"options", madeAs(t, x.NewFull(shape, 3, tensor.On(device.CPU), tensor.OfType(tensor.Int16))), made{device.CPU, tensor.Int16, shape, full(3)})
				return nil
			}))
		}
	}
	if err := (T{}).NewFull(shape, 1).Err(); err == nil {
		t.Error("a tensor like one that carries an error carries none")
	}
	if err := tensor.NewTensor(T{}, []float32{1}, nil).Err(); err == nil {
		t.Error("a tensor like one that carries an error carries none")
	}
}

// residual adds noise made inside its forward pass.
type residual struct{ Linear *nn.Linear }

func (r *residual) Forward(x T) T {
	return r.Linear.Forward(x).Add(x.NewFull([]int{x.Size(0), 3}, 0.5))
}

// A module that makes tensors in its forward pass with the New methods of its
// input works on any device and dtype without being told of either.
func TestS63(t *testing.T) {
	dev := one(t)
	wholeFloat32(t)
	m := &residual{nn.NewLinear(2, 3)}
	x := tensor.From([]float32{1, 2, 3, 4}, 2, 2)
	want := values(t, m.Forward(x))
	must(t, nn.To(m, dev))
	y := m.Forward(x.To(dev))
	equal(t, "device", y.Device(), dev)
	for i, v := range values(t, y) {
		if math.Abs(v-want[i]) > 1e-6 {
			t.Errorf("element %d is %v, on the CPU %v", i, v, want[i])
		}
	}
	must(t, nn.ToType(m, tensor.Float64))
	equal(t, "dtype", m.Forward(x.To(dev).ToType(tensor.Float64)).DType(), tensor.Float64)
}

// The values of the documents: 0.3 six times on the CPU, -5 as a float on the
// accelerator, and integers that stay integers and have one row.
func TestS64(t *testing.T) {
	dev := one(t)
	cpu := tensor.Empty([]int{1})
	gpu := tensor.Empty([]int{1}, tensor.On(dev))
	whole := tensor.Empty([]int{1}, tensor.OfType(tensor.Int64))
	point3 := float64(float32(0.3))
	for _, c := range []struct {
		x    T
		want made
		text string
	}{
		{cpu.NewFull([]int{3, 2}, 0.3), made{device.CPU, tensor.Float32, []int{3, 2}, []float64{point3, point3, point3, point3, point3, point3}},
			"tensor([[0.3000, 0.3000],\n        [0.3000, 0.3000],\n        [0.3000, 0.3000]])"},
		{gpu.NewFull([]int{3, 2}, -5), made{dev, tensor.Float32, []int{3, 2}, []float64{-5, -5, -5, -5, -5, -5}},
			"tensor([[-5., -5.],\n        [-5., -5.],\n        [-5., -5.]], device='" + dev.String() + "')"},
		{tensor.NewTensor(whole, []int64{1, 2, 3}, []int{1, 3}), made{device.CPU, tensor.Int64, []int{1, 3}, []float64{1, 2, 3}}, "tensor([[1, 2, 3]])"},
		{cpu.NewEmpty([]int{2}).NewOnes([]int{2}).MulScalar(7), made{device.CPU, tensor.Float32, []int{2}, []float64{7, 7}}, "tensor([7., 7.])"},
	} {
		equal(t, c.text, madeAs(t, c.x), c.want)
		equal(t, "printed", c.x.String(), c.text)
	}
}

// A tensor prints four decimals in aligned columns, floats that are all whole
// with a point and no decimals, and one that is not on the CPU says its device.
//
// Differs: dtypes, truth values and shapes are written as in Go (dtype=int32, true,
// size=[2, 0]), the operator that made a tensor by its name here, and NaN, infinities
// and zeros count for the columns' width, which PyTorch leaves out.
func TestS65(t *testing.T) {
	dev := one(t)
	at := ", device='" + dev.String() + "'"
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name string
		x    T
		want string // on the device
	}{
		{"decimals", tensor.From([]float32{0.5, -1.25, 100.125, 3.14159265}, 2, 2), "tensor([[  0.5000,  -1.2500],\n        [100.1250,   3.1416]]@)"},
		{"whole floats", tensor.From([]float32{1, 2, -3}), "tensor([ 1.,  2., -3.]@)"},
		{"integers", tensor.From([]int64{1, -20, 300, 4}, 2, 2), "tensor([[  1, -20],\n        [300,   4]]@)"},
		{"other integers", tensor.From([]int32{7}), "tensor([7]@, dtype=int32)"},
		{"wide range", tensor.From([]float32{1e-5, 1, 12345.678}), "tensor([1.0000e-05, 1.0000e+00, 1.2346e+04]@)"},
		{"not finite", tensor.From([]float32{nan, inf, -1.5}), "tensor([    nan,     inf, -1.5000]@)"},
		{"truth", tensor.From([]bool{true, false}), "tensor([ true, false]@)"},
		{"complex, each part by its own rule", tensor.From([]complex64{1 + 2.5i, -3 - 1i}), "tensor([ 1.+2.5000j, -3.-1.0000j]@)"},
		{"a scalar", tensor.FromScalar(3.5), "tensor(3.5000@)"},
		{"nothing", tensor.Zeros([]int{2, 0}), "tensor([]@, size=[2, 0])"},
		{"a summary of a vector", tensor.Arange(0, 2000, 1), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999]@)"},
		{"a summary of a matrix", tensor.Arange(0, 2048, 1).Reshape(2, 1024), "tensor([[   0,    1,    2,  ..., 1021, 1022, 1023],\n        [1024, 1025, 1026,  ..., 2045, 2046, 2047]]@)"},
		{"a summary of a view", tensor.Arange(0, 2048, 1).Reshape(1024, 2).Transpose(0, 1), "tensor([[   0,    2,    4,  ..., 2042, 2044, 2046],\n        [   1,    3,    5,  ..., 2043, 2045, 2047]]@)"},
		{"what does not fit the line goes to the next", tensor.Arange(0, 60, 4).ToType(tensor.Int16),
			"tensor([ 0,  4,  8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56]@,\n       dtype=int16)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := c.x.To(dev)
			if c.name == "a summary of a view" { // the copy to the device closed its gaps
				x = c.x.Transpose(0, 1).To(dev).Transpose(0, 1)
			}
			// The documents have the device on the line of the elements where it fits.
			want := strings.Replace(c.want, "@", at, 1)
			equal(t, "printed", oneLine(x.String()), oneLine(want))
			equal(t, "printed on the CPU", x.CPU().String(), strings.Replace(c.want, "@", "", 1))
		})
	}
	if kind == device.KindSim {
		drv := fresh(t, simulated)
		x := tensor.Zeros([]int{64, 64}, tensor.On(dev))
		before := drv.Counters(0).ToHost.Bytes
		_ = x.String()
		if copied := drv.Counters(0).ToHost.Bytes - before; copied != 36*4 {
			t.Errorf("printing 36 of 4096 floats copied %d bytes", copied)
		}
	}
}

// oneLine undoes breaks before what follows the elements, which depend on the length
// of the device's name.
func oneLine(s string) string { return strings.ReplaceAll(s, ",\n       d", ", d") }

// ZerosLike, OnesLike and the other Like functions give a tensor of the shape,
// device and dtype of another, contiguous whatever the layout of that one. Options say
// otherwise.
//
// Differs: PyTorch keeps the order of the strides of a tensor without gaps.
func TestS66(t *testing.T) {
	dev := one(t)
	for _, on := range []device.Device{device.CPU, dev} {
		for _, dt := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int64, tensor.Bool} {
			x := tensor.Zeros([]int{3, 2}, tensor.On(on), tensor.OfType(dt)).Transpose(0, 1)
			six := func(v float64) []float64 { return []float64{v, v, v, v, v, v} }
			want := made{on, dt, []int{2, 3}, six(1)}
			equal(t, "OnesLike", madeAs(t, tensor.OnesLike(x)), want)
			equal(t, "FullLike", madeAs(t, tensor.FullLike(x, 1)), want)
			want.Values = six(0)
			equal(t, "ZerosLike", madeAs(t, tensor.ZerosLike(x)), want)
			e := tensor.EmptyLike(x)
			if e.Device() != on || e.DType() != dt || !e.IsContiguous() || e.Size(1) != 3 {
				t.Errorf("EmptyLike is %s %v on %s", e.DType(), e.Shape(), e.Device())
			}
			if dt.IsFloat() {
				r := tensor.RandLike(x)
				if r.Device() != on || r.DType() != dt || r.Size(1) != 3 {
					t.Errorf("RandLike is %s %v on %s", r.DType(), r.Shape(), r.Device())
				}
			}
		}
	}
	x := tensor.OnesLike(tensor.Zeros([]int{2}, tensor.On(dev)), tensor.On(device.CPU), tensor.OfType(tensor.Int8))
	equal(t, "with options", madeAs(t, x), made{device.CPU, tensor.Int8, []int{2}, []float64{1, 1}})
}

// TestEmptyWritesNothing: an empty tensor on an accelerator is an allocation alone.
func TestEmptyWritesNothing(t *testing.T) {
	drv := fresh(t, simulated)
	dev := one(t)
	x := tensor.Empty([]int{64}, tensor.On(dev))
	must(t, x.Err())
	if c := drv.Counters(0); c.Launches != 0 || c.Zeroed.Copies != 0 || c.FromHost.Copies != 0 || memory.Allocated(dev) != 512 {
		t.Errorf("making %v did %+v, and %d bytes are in use", x.Shape(), c, memory.Allocated(dev))
	}
	x.Release()
}
