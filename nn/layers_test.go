package nn_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// layers are the modules of the vectors' cases.
var layers = map[string]func() nn.Module{
	"linear":              func() nn.Module { return nn.NewLinear(3, 4) },
	"linear without bias": func() nn.Module { return nn.NewLinear(3, 2, nn.NoBias()) },
	"conv1d": func() nn.Module {
		return nn.NewConv1d(4, 6, 3, tensor.Stride(2), tensor.Padding(2), tensor.Dilation(2), tensor.Groups(2))
	},
	"conv2d": func() nn.Module {
		return nn.NewConv2d(2, 3, 0, nn.Kernel(3, 2), tensor.Stride(2, 1), tensor.Padding(1, 0))
	},
	"conv2d without bias": func() nn.Module { return nn.NewConv2d(2, 4, 1, tensor.Groups(2), nn.NoBias()) },
	"conv3d":              func() nn.Module { return nn.NewConv3d(1, 2, 2) },
	"conv transpose 1d": func() nn.Module {
		return nn.NewConvTranspose1d(4, 2, 3, tensor.Stride(2), tensor.Padding(1), tensor.OutputPadding(1), tensor.Groups(2))
	},
	"conv transpose 2d":      func() nn.Module { return nn.NewConvTranspose2d(2, 3, 3, tensor.Stride(2), tensor.Dilation(1, 2)) },
	"layer norm":             func() nn.Module { return nn.NewLayerNorm([]int{3, 4}) },
	"layer norm eps":         func() nn.Module { return nn.NewLayerNorm([]int{4}, tensor.Eps(0.5), nn.NoAffine()) },
	"rms norm":               func() nn.Module { return nn.NewRMSNorm([]int{4}, tensor.Eps(1e-6)) },
	"group norm":             func() nn.Module { return nn.NewGroupNorm(2, 4) },
	"batch norm 1d":          func() nn.Module { return nn.NewBatchNorm(3) },
	"batch norm 2d":          func() nn.Module { return nn.NewBatchNorm(2, nn.Momentum(0.3), tensor.Eps(1e-3)) },
	"prelu":                  func() nn.Module { return nn.NewPReLU(3) },
	"relu":                   nn.ReLU,
	"relu6":                  nn.ReLU6,
	"leaky relu":             func() nn.Module { return nn.LeakyReLU(0.2) },
	"elu":                    nn.ELU,
	"selu":                   nn.SELU,
	"gelu":                   func() nn.Module { return nn.GELU() },
	"gelu tanh":              func() nn.Module { return nn.GELU(tensor.ApproximateTanh) },
	"silu":                   nn.SiLU,
	"mish":                   nn.Mish,
	"sigmoid":                nn.Sigmoid,
	"tanh":                   nn.Tanh,
	"softplus":               nn.Softplus,
	"hardswish":              nn.Hardswish,
	"softmax":                func() nn.Module { return nn.Softmax(1) },
	"log softmax":            func() nn.Module { return nn.LogSoftmax(-1) },
	"max pool 1d":            func() nn.Module { return nn.MaxPool1d(3, tensor.Stride(2), tensor.Padding(1)) },
	"max pool 2d":            func() nn.Module { return nn.MaxPool2d(2) },
	"avg pool 1d":            func() nn.Module { return nn.AvgPool1d(2) },
	"avg pool 2d":            func() nn.Module { return nn.AvgPool2d(0, nn.Kernel(3, 2), tensor.Stride(2), tensor.Padding(1, 0)) },
	"adaptive avg pool 2d":   func() nn.Module { return nn.AdaptiveAvgPool2d(2, 3) },
	"flatten":                nn.Flatten,
	"embedding":              func() nn.Module { return nn.NewEmbedding(5, 3) },
	"embedding with padding": func() nn.Module { return nn.NewEmbedding(5, 2, tensor.PaddingIdx(2)) },
	"embedding by frequency": func() nn.Module { return nn.NewEmbedding(5, 2, tensor.ScaleGradByFreq()) },
	"embedding of limited norm": func() nn.Module {
		return nn.NewEmbedding(5, 3, tensor.MaxNorm(0.5), tensor.NormType(1))
	},
	"conv1d same": func() nn.Module { return nn.NewConv1d(2, 3, 4, tensor.AutoPadSame) },
	"conv2d same": func() nn.Module {
		return nn.NewConv2d(2, 3, 0, nn.Kernel(3, 2), tensor.AutoPadSame, tensor.Dilation(1, 3))
	},
	"conv3d same":              func() nn.Module { return nn.NewConv3d(1, 2, 2, tensor.AutoPadSame) },
	"conv transpose 1d of one": func() nn.Module { return nn.NewConvTranspose1d(4, 2, 3, tensor.Stride(2)) },
	"max pool 3d": func() nn.Module {
		return nn.MaxPool3d(0, nn.Kernel(2, 1, 2), tensor.Stride(1, 2, 2), tensor.Padding(1, 0, 1))
	},
	"avg pool 3d": func() nn.Module { return nn.AvgPool3d(2, tensor.Stride(1)) },
}

// TestLayers compares results and gradients with PyTorch's, on the CPU and on a
// device. Parameters are found by PyTorch's names.
func TestLayers(t *testing.T) {
	cases := load(t).Layers
	if len(cases) != len(layers) {
		t.Errorf("%d cases for %d layers", len(cases), len(layers))
	}
	for _, c := range cases {
		for _, d := range []device.Device{device.CPU, device.Sim(1)} {
			t.Run(c.Name+" "+d.String(), func(t *testing.T) {
				m := layers[c.Name]()
				must(t, nn.ToType(m, tensor.Float64))
				must(t, nn.To(m, d))
				must(t, nn.LoadStateDict(m, tensors(c.State)))
				x := c.X.tensor().To(d)
				if strings.HasPrefix(c.Name, "embedding") {
					x = x.ToType(tensor.Int64)
				} else {
					x = x.RequireGrad()
				}
				y := m.Forward(x)
				near(t, "result", y, c.Y)
				n := y.NumElements()
				weight := tensor.Arange(1, n+1, 1, tensor.OfType(tensor.Float64), tensor.On(d)).DivScalar(n).Reshape(y.Shape()...)
				must(t, y.Mul(weight).Sum().Backward())
				got := map[string]tensor.Tensor{}
				if g, ok := x.Grad(); ok {
					got[""] = g
				}
				for name, p := range nn.Named(m) {
					g, ok := p.Grad()
					if !ok {
						t.Fatalf("%s has no gradient", name)
					}
					got[name] = g
				}
				for name, want := range c.Grads {
					near(t, "gradient of "+name, got[name], want)
				}
				if len(got) != len(c.Grads) {
					t.Errorf("%d gradients, want %d", len(got), len(c.Grads))
				}
			})
		}
	}
}

// TestBatchNormRunning follows the running statistics over several steps.
func TestBatchNormRunning(t *testing.T) {
	v := load(t).BatchNorm
	for _, d := range []device.Device{device.CPU, device.Sim(1)} {
		m := nn.NewBatchNorm(3, nn.Momentum(0.2), tensor.On(d), tensor.OfType(tensor.Float64))
		must(t, nn.LoadStateDict(m, tensors(v.State)))
		for i, s := range v.Steps {
			near(t, fmt.Sprintf("step %d on %s", i, d), m.Forward(s.X.tensor().To(d)), s.Y)
			near(t, "running mean", m.RunningMean.Tensor, s.Mean)
			near(t, "running variance", m.RunningVar.Tensor, s.Var)
		}
		nn.Eval(m)
		before := m.RunningVar.Version()
		near(t, "evaluation", m.Forward(v.Eval.X.tensor().To(d)), v.Eval.Y)
		if m.RunningVar.Version() != before {
			t.Error("evaluation changed the running variance")
		}
	}
}

func TestDropout(t *testing.T) {
	d := nn.NewDropout(0.25)
	x := tensor.Ones([]int{4000})
	m := nn.NewSequential(nn.NewSequential(d))
	zeros, scaled := 0, 0
	for _, y := range values(t, m.Forward(x)) {
		switch {
		case y == 0:
			zeros++
		case math.Abs(y-1/0.75) < 1e-6:
			scaled++
		}
	}
	if zeros+scaled != 4000 || math.Abs(float64(zeros)-1000) > 150 {
		t.Errorf("%d zeros and %d scaled of 4000", zeros, scaled)
	}
	nn.Eval(m)
	if y := m.Forward(x); y != x {
		t.Error("dropout does something in evaluation")
	}
	nn.Train(m)
	if y := m.Forward(x); y == x {
		t.Error("dropout does nothing in training")
	}
	if err := nn.NewDropout(1.5).Forward(x).Err(); err == nil {
		t.Error("a probability of 1.5 gives no error")
	}
}

// TestLayerErrors checks that what cannot be comes out of Forward as an error.
func TestLayerErrors(t *testing.T) {
	x := tensor.Zeros([]int{2, 4, 6, 6})
	for _, c := range []struct {
		name string
		m    nn.Module
		text string
	}{
		{"no groups", nn.NewConv2d(4, 4, 3, tensor.Groups(0)), "0 groups"},
		{"same with stride", nn.NewConv2d(4, 4, 3, tensor.AutoPadSame, tensor.Stride(2)), "stride [2 2] with AutoPadSame"},
		{"same with padding", nn.NewConv2d(4, 4, 3, tensor.AutoPadSame, tensor.Padding(1)), "padding [1 1] and AutoPadSame"},
		{"groups do not divide", nn.NewConv2d(4, 4, 3, tensor.Groups(3)), "3 groups"},
		{"no channels", nn.NewConv2d(4, 0, 3), "the 0 out"},
		{"no kernel", nn.NewConv2d(4, 4, 0), "kernel [0 0]"},
		{"three kernels", nn.NewConv2d(4, 4, 3, nn.Kernel(3, 3, 3)), "takes one number or 2"},
		{"stride", nn.NewConvTranspose2d(4, 4, 3, tensor.Stride(0)), "stride [0 0]"},
		{"padding", nn.MaxPool2d(2, tensor.Padding(-1)), "padding [-1 -1]"},
		{"wrong channels", nn.NewConv2d(3, 4, 3), "conv2d"},
		{"linear's options", nn.NewLinear(6, 3, tensor.Stride(2)), "linear: no option Stride here; want NoBias, On or OfType"},
		{"embedding's options", nn.NewEmbedding(6, 3, nn.NoBias()), "embedding: no option NoBias here; want PaddingIdx, MaxNorm, NormType, ScaleGradByFreq, On or OfType"},
		{"convolution's options", nn.NewConv2d(4, 4, 3, nn.Layers(2)), "convolution: no option Layers here"},
		{"transposed convolution's options", nn.NewConvTranspose2d(4, 4, 3, tensor.AutoPadSame), "transposed convolution: no option AutoPad here"},
		{"pooling's options", nn.MaxPool2d(2, tensor.Dilation(2)), "MaxPool2d: no option Dilation here; want Kernel, Stride or Padding"},
		{"norm's options", nn.NewLayerNorm([]int{6}, nn.NoAffine(), nn.Momentum(1)), "layer norm: no option nn.Momentum here"},
		{"batch norm's options", nn.NewBatchNorm(4, tensor.Eps(1), tensor.Eps(2)), "batch norm: option Eps is given twice, 1 and 2"},
		{"recurrent layers' options", nn.NewLSTM(6, 3, tensor.Rectified()), "LSTM: no option Rectified here"},
		{"slopes' options", nn.NewPReLU(4, nn.NoBias()), "prelu: no option NoBias here; want On or OfType"},
		{"gelu's options", nn.GELU(tensor.Dim(1)), "gelu: no option Dim here; want Approximate"},
		{"negative linear", nn.NewLinear(-1, 3), "-1"},
		{"wrong linear", nn.NewLinear(5, 3), "linear"},
		{"dtype", nn.NewLinear(6, 3, tensor.OfType(tensor.Int64)), "int64"},
		{"no such device", nn.NewLinear(6, 3, tensor.On(device.Sim(8))), "sim:8"},
		{"another device", nn.NewLinear(6, 3, tensor.On(device.Sim(1))), "sim:1"},
		{"batch norm channels", nn.NewBatchNorm(3), "batch norm of 3 channels got 4"},
		{"batch norm negative", nn.NewBatchNorm(-3), "-3"},
		{"group norm channels", nn.NewGroupNorm(2, 6), "group norm of 6 channels got 4"},
		{"group norm groups", nn.NewGroupNorm(3, 4), "groups must divide"},
		{"layer norm shape", nn.NewLayerNorm([]int{5}), "normalized_shape must be"},
		{"padding index", nn.NewEmbedding(3, 2, tensor.PaddingIdx(3)), "padding index 3"},
		{"nil module", nn.NewSequential(nn.ReLU(), nil), "module 1 of a Sequential is nil"},
		{"nil layer", nn.NewSequential(nn.ReLU(), (*nn.Linear)(nil)), "module 1 of a Sequential is nil (*nn.Linear)"},
		{"nil layer alone", (*nn.Linear)(nil), "a nil or zero *nn.Linear"},
	} {
		err := c.m.Forward(x).Err()
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.text)
		}
	}
	one := nn.NewBatchNorm(4)
	err := one.Forward(tensor.Zeros([]int{1, 4})).Err()
	if err == nil || !strings.Contains(err.Error(), "more than one element a channel") {
		t.Errorf("batch norm of one sample: %v", err)
	}
	if got := values(t, one.RunningMean.Tensor); got[0] != 0 {
		t.Errorf("a batch that failed moved the running mean to %v", got)
	}
	nn.Eval(one)
	if err := one.Forward(tensor.Zeros([]int{1, 4})).Err(); err != nil {
		t.Errorf("batch norm of one sample in evaluation: %v", err)
	}
	bad := tensor.Zeros([]int{2}).Add(tensor.Zeros([]int{3}))
	for name, make := range layers {
		y := make().Forward(bad)
		if err := y.Err(); err == nil || !strings.Contains(err.Error(), "add") {
			t.Errorf("%s of a tensor that carries an error: %v", name, err)
		}
		if err := make().Forward(tensor.Tensor{}).Err(); err == nil {
			t.Errorf("%s of the zero tensor gives no error", name)
		}
	}
}

func TestSummary(t *testing.T) {
	m := nn.NewSequential(
		nn.NewConv2d(1, 2, 3, tensor.Padding(1)), nn.NewBatchNorm(2), nn.ReLU(), nn.MaxPool2d(2),
		nn.NewSequential(nn.Flatten(), nn.NewDropout(0.5), nn.NewLinear(8, 3, nn.NoBias())),
	)
	must(t, nn.SetRequireGrad(m.Modules[0], false))
	want := `name  module                                                     parameters
0     Conv2d(in=1, out=2, kernel=[3 3], padding=[1 1], bias=true)  20
1     BatchNorm(channels=2, eps=1e-05, momentum=0.1)               4
2     ReLU                                                         0
3     MaxPool2d(kernel=[2 2], stride=[2 2], padding=[0 0])         0
4.0   Flatten                                                      0
4.1   Dropout(p=0.5)                                               0
4.2   Linear(in=8, out=3, bias=false)                              24
total 208 B with buffers                                         48 (28 trained)
`
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(nn.Summary(m))); diff != "" {
		t.Error(diff)
	}
	if n := nn.NumParameters(m); n != 48 {
		t.Errorf("%d parameters, want 48", n)
	}
	type block struct {
		Scale *nn.Parameter
		Inner nn.Module
	}
	own := nn.Summary(&block{nn.NewParameter(tensor.Ones([]int{5})), nn.Tanh()})
	if !strings.Contains(own, "-  ") || !strings.Contains(own, "Tanh") || !strings.Contains(own, "20 B with buffers") {
		t.Errorf("summary of a struct with a parameter of its own:\n%s", own)
	}
}

// TestBatchNormStatistics: running statistics are those of the batch's numbers in their own dtype, which
// 16 bits of the images do not round.
func TestBatchNormStatistics(t *testing.T) {
	x := make([]float32, 64)
	for i := range x {
		x[i] = 1 + float32(i%2)/128 // as both dtypes have them
	}
	for name, opts := range map[string][]nn.Option{"affine": nil, "plain": {nn.NoAffine()}} {
		for _, dt := range []tensor.DType{tensor.BFloat16, tensor.Float16, tensor.Float32} {
			b := nn.NewBatchNorm(1, append(opts, nn.Momentum(1))...)
			y := b.Forward(tensor.From(x, 1, 1, 8, 8).ToType(dt))
			if err := y.Err(); err != nil || y.DType() != dt {
				t.Fatalf("%s of %s: %s, %v", name, dt, y.DType(), err)
			}
			mean, err := tensor.Data[float32](b.RunningMean.Tensor)
			variance, other := tensor.Data[float32](b.RunningVar.Tensor)
			if err := errors.Join(err, other); err != nil {
				t.Fatal(err)
			}
			want := []float32{1 + 1./256, 64. / 63 / 256 / 256}
			if diff := cmp.Diff(want, []float32{mean[0], variance[0]}, cmpopts.EquateApprox(1e-6, 0)); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", name, dt, diff)
			}
		}
	}
}
