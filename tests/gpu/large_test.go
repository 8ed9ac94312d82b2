package gpu_test

import (
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// larges are operators on shapes that need many blocks, more than one pass, or
// paths that small shapes do not reach. Share is how far results may lie apart.
var larges = []struct {
	name   string
	shapes [][]int
	share  float64
	run    func(x []T) T
}{
	{"sum of all", [][]int{{3_000_017}}, 1e-5, func(x []T) T { return x[0].Sum() }},
	{"sum of rows", [][]int{{37, 70_001}}, 6e-5, // partial sums pass 500, whose last place in float32 is 3e-5
		func(x []T) T { return x[0].Sum(tensor.Dim(1)) }},
	{"sum of columns", [][]int{{70_001, 37}}, 1e-5, func(x []T) T { return x[0].Sum(tensor.Dim(0)) }},
	{"sum of the middle", [][]int{{33, 257, 65}}, 1e-5, func(x []T) T { return x[0].Sum(tensor.Dim(1)) }},
	{"sum of the ends", [][]int{{65, 33, 257}}, 1e-5, func(x []T) T { return x[0].Sum(tensor.Dim(0, 2)) }},
	{"mean, transposed", [][]int{{513, 1027}}, 1e-5, func(x []T) T { return x[0].Transpose(0, 1).Mean(tensor.Dim(1)) }},
	{"variance", [][]int{{129, 5003}}, 1e-5, func(x []T) T { return x[0].Var(tensor.Dim(1)) }},
	{"variance and mean of columns, in vectors", [][]int{{5003, 128}}, 1e-5, func(x []T) T { return varMean(x[0].AddScalar(30), 0) }},
	{"variance and mean of columns, odd", [][]int{{5003, 129}}, 1e-5, func(x []T) T { return varMean(x[0].AddScalar(30), 0) }},
	{"variance and mean of short rows", [][]int{{5003, 256}}, 1e-5, func(x []T) T { return varMean(x[0].AddScalar(30), 1) }},
	{"deviation of all, of large numbers", [][]int{{1_000_003}}, 1e-5, func(x []T) T { return x[0].MulScalar(1e30).Std() }},
	{"deviation of rows, of small numbers", [][]int{{129, 5003}}, 1e-5, func(x []T) T { return x[0].MulScalar(1e-30).Std(tensor.Dim(1)).MulScalar(1e30) }},
	{"deviation of columns of bfloat16", [][]int{{5003, 132}}, 1e-2, func(x []T) T {
		return x[0].MulScalar(1e30).ToType(tensor.BFloat16).Std(tensor.Dim(0)).ToType(tensor.Float64)
	}},
	{"smallest and largest of columns of bytes", [][]int{{5003, 128}}, 0, func(x []T) T {
		lowest, highest := x[0].MulScalar(30).ToType(tensor.Int8).Aminmax(tensor.Dim(0))
		return tensor.Cat([]T{lowest, highest}, 0)
	}},
	{"logcumsumexp of rows, gradient", [][]int{{65, 10_007}}, 1e-4, func(x []T) T { return logSums(x[0].MulScalar(9).AddScalar(100), 1) }},
	{"logcumsumexp of columns, gradient", [][]int{{10_007, 65}}, 1e-4, func(x []T) T { return logSums(x[0].MulScalar(9), 0) }},
	{"max of rows", [][]int{{129, 5003}}, 0, func(x []T) T { return x[0].Max(tensor.Dim(1)) }},
	{"argmax of rows", [][]int{{129, 5003}}, 0, func(x []T) T { return x[0].Argmax(tensor.Dim(1)) }},
	{"argmin of columns", [][]int{{5003, 129}}, 0, func(x []T) T { return x[0].Argmin(tensor.Dim(0)) }},
	{"argmax of all", [][]int{{1_000_003}}, 0, func(x []T) T { return x[0].Argmax() }},
	{"cumsum", [][]int{{1_000_003}}, 1e-4, func(x []T) T { return x[0].Cumsum(0) }},
	{"cumsum of rows", [][]int{{65, 10_007}}, 1e-4, func(x []T) T { return x[0].Cumsum(1) }},
	{"cumsum of columns", [][]int{{10_007, 65}}, 1e-4, func(x []T) T { return x[0].Cumsum(0) }},
	{"softmax of short rows", [][]int{{5003, 65}}, 1e-5, func(x []T) T { return x[0].Softmax(1) }},
	{"softmax of long rows", [][]int{{5, 100_003}}, 1e-5, func(x []T) T { return x[0].Softmax(1) }},
	{"softmax of columns", [][]int{{1003, 129}}, 1e-5, func(x []T) T { return x[0].Softmax(0) }},
	{"log softmax", [][]int{{33, 9001}}, 1e-5, func(x []T) T { return x[0].LogSoftmax(1) }},
	{"layer norm", [][]int{{65, 8192}, {8192}}, 1e-4, func(x []T) T { return x[0].LayerNorm([]int{8192}, tensor.Weight(x[1])) }},
	{"layer norm, odd", [][]int{{65, 1023}}, 1e-4, func(x []T) T { return x[0].LayerNorm([]int{1023}) }},
	{"rms norm", [][]int{{65, 8192}, {8192}}, 1e-4, func(x []T) T { return x[0].RMSNorm([]int{8192}, tensor.Weight(x[1])) }},
	{"batch norm, in vectors", [][]int{{17, 6, 28, 28}, {6}, {6}, {17, 6, 28, 28}}, 1e-4, batchNorm},
	{"batch norm, odd", [][]int{{33, 9, 7, 7}, {9}, {9}, {33, 9, 7, 7}}, 1e-4, batchNorm},
	{"batch norm, one image", [][]int{{1, 3, 301, 257}, {3}, {3}, {1, 3, 301, 257}}, 1e-4, batchNorm},
	{"batch norm, many channels", [][]int{{2, 700, 16}, {700}, {700}, {2, 700, 16}}, 1e-4, batchNorm},
	{"norms of one number whose square is infinite", [][]int{{4, 16, 8, 8}}, 1e-5, func(x []T) T {
		y := x[0].MulScalar(0).AddScalar(1e20)
		out, average, variance := y.BatchNormTrain()
		list := []T{out, average.DivScalar(1e20), variance, y.GroupNorm(2), y.LayerNorm([]int{8})}
		for i, t := range list {
			list[i] = t.Flatten()
		}
		return tensor.Cat(list, 0)
	}},
	{"sort", [][]int{{1_000_003}}, 0, func(x []T) T { v, _ := x[0].Sort(0); return v }},
	{"sort of rows", [][]int{{257, 3001}}, 0, func(x []T) T { v, _ := x[0].Sort(1, tensor.Descending()); return v }},
	{"sort of columns", [][]int{{3001, 57}}, 0, func(x []T) T { v, _ := x[0].Sort(0); return v }},
	{"where it was sorted from", [][]int{{300_007}}, 0, func(x []T) T { _, i := x[0].Sort(0); return x[0].Gather(0, i) }},
	{"top of rows", [][]int{{57, 30_011}}, 0, func(x []T) T { v, _ := x[0].Topk(100, 1); return v }},
	{"top of a long vector", [][]int{{3_000_017}}, 0, func(x []T) T { v, _ := x[0].Topk(100, 0); return v }},
	{"top of a long vector with equal elements", [][]int{{300_017}}, 0, func(x []T) T { _, i := x[0].MulScalar(8).Round().Topk(1000, 0, tensor.Largest(false)); return i }},
	{"a few of a long vector", [][]int{{100_003}}, 0, func(x []T) T { v, _ := x[0].Topk(10, 0); return v }},
	{"the largest of a long vector", [][]int{{100_003}}, 0, func(x []T) T { _, i := x[0].Topk(1, 0); return i }},
	{"a few of two long rows", [][]int{{2, 140_001}}, 0, func(x []T) T { _, i := x[0].Topk(10, 1); return x[0].Gather(1, i) }},
	{"the largest of three long rows", [][]int{{3, 300_001}}, 0, func(x []T) T { v, _ := x[0].Topk(1, 1); return v }},
	{"top of a vector, parts of parts", [][]int{{3_000_017}}, 0, func(x []T) T { v, _ := x[0].Topk(2048, 0); return v }},
	{"the third smallest of a long vector", [][]int{{100_003}}, 0, func(x []T) T { v, _ := x[0].Kthvalue(3, 0); return v }},
	{"one of a long row at random", [][]int{{2, 140_001}}, 0, func(x []T) T {
		return x[0].Eq(x[0].Max(tensor.Dim(1), tensor.KeepDim())).ToType(x[0].DType()).Multinomial(1)
	}},
	{"top of two long rows", [][]int{{2, 200_001}}, 0, func(x []T) T { _, i := x[0].Topk(2048, 1); return x[0].Gather(1, i) }},
	{"images with a border", [][]int{{7, 33, 31, 37}}, 0, func(x []T) T { return x[0].Pad([]int{1, 2, 3, -4, 1, 1}, tensor.Value(2.5)) }},
	{"images with a mirrored border", [][]int{{7, 33, 31, 37}}, 0, func(x []T) T { return x[0].Pad([]int{5, 2, 3, 1}, tensor.ModeReflect) }},
	{"a channel of images with a mirrored border", [][]int{{1, 3, 31, 37}}, 0, func(x []T) T { return x[0].Narrow(1, 0, 1).Pad([]int{5, 2, 3, 1}, tensor.ModeReflect) }},
	{"images with a wide border", [][]int{{7, 33, 31, 37}}, 0, func(x []T) T { return x[0].Pad([]int{50, 2, -3, 1}, tensor.ModeReplicate) }},
	{"transposing copy", [][]int{{1025, 2047}}, 0, func(x []T) T { return x[0].Transpose(0, 1).Contiguous() }},
	{"permuting copy", [][]int{{33, 65, 129, 3}}, 0, func(x []T) T { return x[0].Permute(2, 0, 3, 1).Contiguous() }},
	{"broadcast of three", [][]int{{129, 1, 257}, {65, 1}, {257}}, 1e-6, func(x []T) T { return x[0].Add(x[1]).Mul(x[2]) }},
	{"every third", [][]int{{2_000_003}}, 1e-6, func(x []T) T { return x[0].Slice(0, 1, 2_000_003, 3).Exp() }},
	{"matmul", [][]int{{513, 1027}, {1027, 259}}, 1e-4, func(x []T) T { return x[0].MatMul(x[1]) }},
	{"matmul, transposed", [][]int{{1027, 513}, {259, 1027}}, 1e-4, func(x []T) T { return x[0].Transpose(0, 1).MatMul(x[1].Transpose(0, 1)) }},
	{"matmul, batched", [][]int{{9, 65, 33}, {9, 33, 129}}, 1e-4, func(x []T) T { return x[0].MatMul(x[1]) }},
	{"matmul, thin", [][]int{{1, 4099}, {4099, 3}}, 1e-3, func(x []T) T { return x[0].MatMul(x[1]) }},
	{"matmul of integers", [][]int{{130, 67}, {67, 200}}, 0, func(x []T) T {
		return x[0].MulScalar(9).ToType(tensor.Int32).MatMul(x[1].MulScalar(9).ToType(tensor.Int32))
	}},
	{"linear", [][]int{{130, 784}, {1024, 784}, {1024}}, 1e-4, func(x []T) T { return x[0].Linear(x[1], tensor.Bias(x[2])) }},
	{"conv2d", [][]int{{5, 17, 40, 33}, {19, 17, 3, 3}}, 1e-4, func(x []T) T { return x[0].Conv2d(x[1], tensor.Padding(1), tensor.Stride(2)) }},
	{"product of bytes, square", [][]int{{1024, 1024}, {1024, 1024}}, 0, byteProduct},
	{"product of bytes, tall", [][]int{{8200, 70}, {70, 132}}, 0, byteProduct},
	{"product of bytes, odd", [][]int{{3, 130, 333}, {333, 129}}, 0, byteProduct},
	{"product of bytes, a row", [][]int{{1, 4096}, {4096, 1000}}, 0, byteProduct},
	{"product of bytes, a few rows", [][]int{{13, 515}, {515, 70}}, 0, byteProduct},
	{"product of bytes, a column", [][]int{{517, 100}, {100, 1}}, 0, byteProduct},
	{"convolution of bytes", [][]int{{2, 64, 40, 33}, {70, 64, 3, 3}}, 0, byteConvolution(tensor.Padding(1))},
	{"convolution of bytes, of 1 x 1", [][]int{{3, 37, 20, 21}, {130, 37, 1, 1}}, 0, byteConvolution()},
	{"convolution of bytes, grouped", [][]int{{3, 32, 31, 31}, {48, 8, 5, 3}}, 0, byteConvolution(tensor.Groups(4), tensor.Padding(3, 1), tensor.Stride(2, 3))},
	{"convolution of bytes, by channels", [][]int{{2, 40, 30, 30}, {40, 1, 3, 3}}, 0, byteConvolution(tensor.Groups(40), tensor.Dilation(2))},
	{"convolution of bytes, a large image", [][]int{{1, 3, 600, 500}, {16, 3, 3, 3}}, 0, byteConvolution(tensor.Stride(2))},
	{"lstm of bytes", [][]int{{4, 3, 2048}, {512, 2048}}, 1e-2, byteLSTM}, // a rounding that goes the other way moves a state by a step of its bytes
	{"lstm of bytes, many rows", [][]int{{4, 20, 1200}, {300, 1200}}, 1e-2, byteLSTM},
	{"conv2d, grouped", [][]int{{3, 16, 31, 31}, {16, 1, 5, 5}}, 1e-4, func(x []T) T { return x[0].Conv2d(x[1], tensor.Groups(16)) }},
	{"max pool", [][]int{{4, 9, 65, 67}}, 0, func(x []T) T { return x[0].MaxPool2d([]int{3}, tensor.Stride(2)) }},
	{"cat", [][]int{{300, 1001}, {300, 77}}, 0, func(x []T) T { return tensor.Cat(x, 1) }},
	{"gradient of a product of rows", [][]int{{129, 5003}}, 1e-4, func(x []T) T { return slope(x[0].MulScalar(0.1).Exp(), func(x T) T { return x.Prod(tensor.Dim(1)) }) }},
	{"gradient of a product of columns", [][]int{{5003, 129}}, 1e-4, func(x []T) T { return slope(x[0].MulScalar(0.1).Exp(), func(x T) T { return x.Prod(tensor.Dim(0)) }) }},
	{"gradient of a product of all", [][]int{{1003, 301}}, 1e-4, func(x []T) T { return slope(factors(x[0]), func(x T) T { return x.Prod() }) }},
	{"smaller images", [][]int{{3, 5, 131, 257}}, 1e-4, func(x []T) T { return smaller(x[0]) }},
	{"gradient of smaller images", [][]int{{3, 5, 131, 257}}, 1e-4, func(x []T) T { return slope(x[0], smaller) }},
	{"gradient of larger images", [][]int{{3, 5, 31, 57}}, 1e-4, func(x []T) T {
		return slope(x[0], func(x T) T {
			return x.Interpolate([]int{100, 201}, tensor.ResizeModeLinear, tensor.AlignCorners())
		})
	}},
	{"flip and roll", [][]int{{701, 1003}}, 0, func(x []T) T { return x[0].Flip(1).Roll([]int{100}, tensor.Dim(0)) }},
}

// batchNorm returns the results of training batch norm of x[0] far from 0, and all gradients
// where that of the result is x[3].
// bytesOf returns a tensor as bytes of all sizes, and the zero of one of them.
func bytesOf(x T, dt tensor.DType) T {
	if dt == tensor.Int8 {
		return x.MulScalar(90).ToType(dt)
	}
	return x.MulScalar(90).AddScalar(128).ToType(dt)
}

func byteProduct(x []T) T {
	a, b := bytesOf(x[0], tensor.Uint8), bytesOf(x[1], tensor.Int8)
	zero := a.Flatten().Select(0, 0)
	one := tensor.Int8MatMul(a, b, zero, b.Select(0, 1))
	b = bytesOf(x[1], tensor.Uint8)
	return one.Add(tensor.Int8MatMul(a, b, zero, b.Flatten().Select(0, 0)))
}

func byteConvolution(opts ...tensor.Option) func(x []T) T {
	return func(x []T) T {
		a, w := bytesOf(x[0], tensor.Uint8), bytesOf(x[1], tensor.Int8)
		one := tensor.Int8Conv2d(a, w, a.Flatten().Select(0, 0), w.Flatten().Narrow(0, 0, w.Size(0)), opts...)
		w = bytesOf(x[1], tensor.Uint8)
		return one.Add(tensor.Int8Conv2d(a, w, a.Flatten().Select(0, 1), w.Flatten().Select(0, 0), opts...))
	}
}

func byteLSTM(x []T) T {
	width := x[0].Size(2) / 4
	w := bytesOf(x[1], tensor.Int8)
	state := tensor.Zeros([]int{x[0].Size(1), width}, tensor.On(x[0].Device()), tensor.OfType(x[0].DType()))
	h, c := tensor.Int8LSTM(x[0], state.AddScalar(0.5), state, w, w.Select(0, 0).ToType(x[0].DType()).Abs().MulScalar(1e-5), w.Select(0, 1), tensor.Reverse(true))
	return h.Add(c)
}

func batchNorm(x []T) T {
	in := []T{x[0].AddScalar(30).Detach().RequireGrad(), x[1].Detach().RequireGrad(), x[2].Detach().RequireGrad()}
	y, mean, variance := in[0].BatchNormTrain(tensor.Weight(in[1]), tensor.Bias(in[2]))
	all, err := tensor.Gradients([]T{y}, in, tensor.WithGradient(x[3]))
	if err != nil {
		return tensor.Wrap(core.Failed(err))
	}
	for i, t := range []T{y, mean, variance} {
		all = append(all, t.Detach().MulScalar(1+0.1*float64(i)))
	}
	for i := range all {
		all[i] = all[i].Flatten()
	}
	return tensor.Cat(all, 0)
}

// varMean returns variances and means along an axis in one tensor.
func varMean(x T, dim int) T {
	v, m := x.VarMean(tensor.Dim(dim))
	return tensor.Cat([]T{v, m}, 0)
}

// smaller returns images of 64 x 100, smoothed.
func smaller(x T) T {
	return x.Interpolate([]int{64, 100}, tensor.ResizeModeCubic, tensor.Antialias())
}

// factors returns numbers around 1 that every type holds exactly: what is off in the
// product of many is its own error, not theirs. That product is above 1, where far
// looks for shares.
func factors(x T) T {
	return x.MulScalar(64).Round().MulScalar(1.0 / 8192).AddScalar(1 + 1.0/16384)
}

// slope returns the gradient of x where those of f(x) are 0.5, 0.75 and 1 in turn.
func slope(x T, f func(x T) T) T {
	in := x.Detach().RequireGrad()
	y := f(in)
	g := tensor.Arange(0, y.NumElements(), 1, tensor.On(x.Device())).Remainder(tensor.Full([]int{}, 3, tensor.On(x.Device()))).MulScalar(0.25).AddScalar(0.5)
	all, err := tensor.Gradients([]T{y}, []T{in}, tensor.WithGradient(g.ToType(x.DType()).Reshape(y.Shape()...)))
	if err != nil {
		return tensor.Wrap(core.Failed(err))
	}
	return all[0]
}

// logSums returns the gradient of x where those of its logcumsumexp along an axis are 1.
func logSums(x T, dim int) T {
	in := x.Detach().RequireGrad()
	all, err := tensor.Gradients([]T{in.Logcumsumexp(dim).Sum()}, []T{in})
	if err != nil {
		return tensor.Wrap(core.Failed(err))
	}
	return all[0]
}

// TestLarge compares operators on large shapes with the CPU, in float32 and
// float64. Where rounding may differ the CPU computes in float64: errors of
// float32 there are as large as those looked for, and larger in long sums.
func TestLarge(t *testing.T) {
	need(t)
	exactly(t)
	if *simulated {
		t.Skip("the reference interpreter would take long")
	}
	for _, c := range dealt(shard, larges) {
		t.Run(c.name, func(t *testing.T) {
			tensor.Scope(func() error {
				for _, d := range []tensor.DType{tensor.Float32, tensor.Float64} {
					compareLarge(t, c.shapes, d, c.share, c.run)
				}
				return nil
			})
		})
	}
}

func compareLarge(t *testing.T, shapes [][]int, d tensor.DType, share float64, run func(x []T) T) {
	t.Helper()
	var results [2][]float64
	for i, dev := range []device.Device{device.CPU, gpu} {
		random.Seed(9)
		var x []T
		for _, shape := range shapes {
			operand := tensor.Randn(shape, tensor.OfType(d)).To(dev)
			if dev == device.CPU && share > 0 {
				operand = operand.ToType(tensor.Float64)
			}
			x = append(x, operand)
		}
		var err error
		results[i], err = values(run(x))
		must(t, err)
	}
	if len(results[0]) != len(results[1]) {
		t.Fatalf("%s: %d elements, want %d", d, len(results[1]), len(results[0]))
	}
	if k := far(results[0], results[1], share); k >= 0 {
		t.Errorf("%s: element %d of %d is %v, want %v", d, k, len(results[0]), results[1][k], results[0][k])
	}
}
