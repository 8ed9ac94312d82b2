package conformance_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// A family is an operator or a layer that is made of products, applied to operands
// of extents that are multiples of n.
type family struct {
	name string
	flag string // that decides about all its products
	// tf32 says that with n of 32 the library has a TF32 algorithm for it; the
	// others are too small or too narrow for one.
	tf32 bool
	run  func(m maker, n int) []T
}

// A maker gives operands: the same numbers for the same calls, whatever dtype.
type maker struct {
	t     testing.TB
	rng   *rand.Rand
	place []tensor.Option
	used  *[]T
}

// uniform returns a tensor of random numbers from -scale to scale that float32
// holds.
func (m maker) uniform(scale float64, shape ...int) T {
	n := 1
	for _, e := range shape {
		n *= e
	}
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(float32(scale * (2*m.rng.Float64() - 1)))
	}
	x := tensor.FromSlice(list, shape, m.place...).RequireGrad()
	*m.used = append(*m.used, x)
	return x
}

// filled gives a layer's parameters random numbers.
func filled[M any](m maker, layer M) M {
	m.t.Helper()
	x := tensor.Empty([]int{0}, m.place...)
	must(m.t, nn.ToType(layer, x.DType()))
	must(m.t, nn.To(layer, x.Device()))
	for _, p := range nn.Named(layer) {
		must(m.t, tensor.NoGrad(func() error { return p.CopyFrom(m.uniform(0.2, p.Shape()...)) }))
		*m.used = append((*m.used)[:len(*m.used)-1], p.Tensor)
	}
	return layer
}

// families are those that statement S19 names, in the extents that the tests run
// them with: n is 4 on simulated accelerators and 32 on GPUs.
var families = []family{
	{"linear", "matmul", true, func(m maker, n int) []T {
		return []T{m.uniform(1, 2*n, 4*n).Linear(m.uniform(1, n, 4*n), tensor.Bias(m.uniform(1, n)))}
	}},
	{"conv1d", "convolution", true, func(m maker, n int) []T {
		return []T{m.uniform(1, 2, n, 2*n).Conv1d(m.uniform(1, n, n, 3), tensor.Padding(1))}
	}},
	{"conv2d", "convolution", true, func(m maker, n int) []T {
		return []T{m.uniform(1, 2, n, n, n).Conv2d(m.uniform(1, n, n, 3, 3), tensor.Bias(m.uniform(1, n)))}
	}},
	{"conv2d of one element", "convolution", true, func(m maker, n int) []T {
		return []T{m.uniform(1, 2, n, n, n).Conv2d(m.uniform(1, n, n, 1, 1))}
	}},
	{"conv3d", "convolution", true, func(m maker, n int) []T {
		return []T{m.uniform(1, 1, n, n/2, n/2, n/2).Conv3d(m.uniform(1, n, n, 2, 2, 2))}
	}},
	{"cdist", "matmul", true, func(m maker, n int) []T {
		return []T{m.uniform(1, max(2*n, 28), n).CDist(m.uniform(1, max(2*n, 28), n))}
	}},
	{"tensordot", "matmul", true, func(m maker, n int) []T {
		return []T{m.uniform(1, n, n, 4).Tensordot(m.uniform(1, 4, n, n), []int{1, 2}, 1, 0)}
	}},
	{"affine_grid", "matmul", false, func(m maker, n int) []T {
		return []T{m.uniform(1, 2, 2, 3).AffineGrid([]int{2, 1, n, n})}
	}},
	{"grid_sample at an affine grid", "matmul", false, func(m maker, n int) []T {
		return []T{m.uniform(1, 2, 3, n, n).GridSample(m.uniform(0.7, 2, 2, 3).AffineGrid([]int{2, 1, n, n}))}
	}},
	{"adaptive log-softmax", "matmul", true, func(m maker, n int) []T {
		a := filled(m, nn.NewAdaptiveLogSoftmaxWithLoss(4*n, 2*n, []int{n, n + n/2}, nn.DivValue(2)))
		targets := make([]int64, 2*n)
		for i := range targets {
			targets[i] = int64(i)
		}
		x := m.uniform(1, 2*n, 4*n)
		y, loss := a.Forward(x, tensor.From(targets, 2*n).To(x.Device()))
		return []T{y, loss}
	}},
	{"LSTM", "recurrent", true, func(m maker, n int) []T {
		l := filled(m, nn.NewLSTM(n, n, nn.Layers(2)))
		y, s := l.Run(m.uniform(1, 3, n, n), nn.LSTMState{})
		return []T{y, s.C}
	}},
	{"GRU", "recurrent", true, func(m maker, n int) []T {
		g := filled(m, nn.NewGRU(n, n, nn.Bidirectional()))
		return []T{g.Forward(m.uniform(1, 3, n, n))}
	}},
	{"RNN", "recurrent", true, func(m maker, n int) []T {
		r := filled(m, nn.NewRNN(n, n))
		return []T{r.Forward(m.uniform(1, 3, n, n))}
	}},
}

// apply returns the elements of f's results and of the gradients of the sum of
// their squares, for each operand, on d and in a dtype.
func (f family) apply(t testing.TB, d device.Device, dt tensor.DType, n int) [][]float64 {
	t.Helper()
	var used []T
	m := maker{t, rand.New(rand.NewPCG(19, 1)), []tensor.Option{tensor.On(d), tensor.OfType(dt)}, &used}
	outs := f.run(m, n)
	loss := tensor.Zeros([]int{}, m.place...)
	var all [][]float64
	for _, y := range outs {
		all = append(all, values(t, y))
		loss = loss.Add(y.Square().Mean())
	}
	must(t, loss.Backward())
	for _, x := range used {
		if g, ok := x.Grad(); ok {
			all = append(all, values(t, g))
		}
	}
	return all
}

// apart returns the largest distance of two lists relative to the largest element,
// for the list of lists that is farthest off.
func apart(got, want [][]float64) (worst float64) {
	for i := range want {
		distance, size := 0.0, 0.0
		for j, w := range want[i] {
			distance, size = math.Max(distance, math.Abs(got[i][j]-w)), math.Max(size, math.Abs(w))
		}
		if size > 0 {
			worst = math.Max(worst, distance/size)
		}
	}
	return worst
}

// set sets one flag, as families name them.
func set(t testing.TB, flag string, p cuda.FP32Precision) {
	t.Helper()
	level := map[string]cuda.FP32Level{"matmul": cuda.MatmulPrecision, "convolution": cuda.ConvPrecision, "recurrent": cuda.RNNPrecision}[flag]
	must(t, cuda.SetFP32Precision(level, p))
}

// What is made of matrix products or convolutions follows their flags with
// its gradients: linear layers, convolutions of one to three axes, cdist, tensordot,
// affine grids and what is sampled at them, adaptive log-softmax, LSTM, GRU and RNN.
//
// Differs: grid_sample by itself multiplies no matrices here and is the same under
// every flag; PyTorch's list names it for cuDNN's version of it. Recurrent layers
// follow the setting of recurrent layers, as PyTorch's do on cuDNN, also for the
// products with their input.
func TestS19(t *testing.T) {
	if kind == device.KindSim {
		launchedByFlag(t)
		return
	}
	d := tensorCores(t)
	settings(t)
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			settings(t)
			const n = 32
			for _, other := range []string{"matmul", "convolution", "recurrent"} {
				set(t, other, cuda.TF32)
			}
			want := f.apply(t, d, tensor.Float64, n)
			on := apart(f.apply(t, d, tensor.Float32, n), want)
			set(t, f.flag, cuda.IEEE) // the others stay
			off := apart(f.apply(t, d, tensor.Float32, n), want)
			t.Logf("relative errors: %.3g with TF32, %.3g without", on, off)
			if off > 2e-5 {
				t.Errorf("with the %s flag off the error is %.3g, want that of float32, at most 2e-5", f.flag, off)
			}
			if on > 5e-2 {
				t.Errorf("with the %s flag on the error is %.3g, want that of TF32, at most 5e-2", f.flag, on)
			}
			if f.tf32 && (on < 3e-5 || on < 10*off) {
				t.Errorf("with the %s flag on the error is %.3g (%.3g with it off), want that of TF32, at least 3e-5 and 10 times that", f.flag, on, off)
			}
		})
	}
}

// launchedByFlag asserts on simulated accelerators, which have no TF32, that the
// products which each family launches are operators whose launches read its flag.
func launchedByFlag(t *testing.T) {
	settings(t)
	l := listen(t)
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			l.governed()
			f.apply(t, device.Sim(0), tensor.Float32, 4)
			equal(t, "flags that decide about its launches", l.governed(), map[string]bool{f.flag: true})
		})
	}
}
