package behaviour_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/runtime/random"
)

// A trial is one call with its operands. Out, where there is one, writes the same
// result to a tensor.
type trial struct {
	in   []T
	call func(x []T) []T
	out  func(dst T, x []T) error
}

// trials make calls of operators on operands of random shapes.
var trials = []struct {
	name string
	make func(r *rand.Rand) trial
}{
	{"add", pairOf(floats, T.Add, out.Add)}, {"sub", pairOf(floats, T.Sub, out.Sub)}, {"mul", pairOf(floats, T.Mul, out.Mul)},
	{"div", pairOf(floats, T.Div, out.Div)}, {"maximum", pairOf(floats, T.Maximum, out.Maximum)}, {"gt", pairOf(floats, T.Gt, out.Gt)},
	{"add integers", pairOf(integers, T.Add, out.Add)}, {"neg", alone(floats, T.Neg, out.Neg)}, {"abs", alone(floats, T.Abs, out.Abs)},
	{"exp", alone(floats, T.Exp, out.Exp)}, {"tanh", alone(floats, T.Tanh, out.Tanh)}, {"erf", alone(floats, T.Erf, out.Erf)},
	{"isnan", alone(floats, T.IsNaN, out.IsNaN)}, {"relu", alone(floats, T.ReLU, out.ReLU)}, {"clone", alone(integers, T.Clone, out.Clone)},
	{"sum", along(floats, func(x T, d int) T { return x.Sum(tensor.Dim(d)) }, func(o, x T, d int) error { return out.Sum(o, x, tensor.Dim(d)) })},
	{"sum integers", along(integers, func(x T, d int) T { return x.Sum(tensor.Dim(d)) }, func(o, x T, d int) error { return out.Sum(o, x, tensor.Dim(d)) })},
	{"sum of all", alone(floats, func(x T) T { return x.Sum() }, func(o, x T) error { return out.Sum(o, x) })},
	{"max", along(floats, func(x T, d int) T { return x.Max(tensor.Dim(d)) }, func(o, x T, d int) error { return out.Max(o, x, tensor.Dim(d)) })},
	{"argmax", along(floats, func(x T, d int) T { return x.Argmax(tensor.Dim(d)) }, func(o, x T, d int) error { return out.Argmax(o, x, tensor.Dim(d)) })},
	{"variance", along(floats, func(x T, d int) T { return x.Var(tensor.Dim(d)) }, nil)},
	{"norm", along(floats, func(x T, d int) T { return x.Norm(tensor.Dim(d)) }, nil)},
	{"softmax", along(floats, func(x T, d int) T { return x.Softmax(d) }, func(o, x T, d int) error { return out.Softmax(o, x, d) })}, {"cumsum", along(floats, func(x T, d int) T { return x.Cumsum(d) }, func(o, x T, d int) error { return out.Cumsum(o, x, d) })},
	{"logcumsumexp", along(floats, T.Logcumsumexp, out.Logcumsumexp)},
	{"layer norm", along(floats, func(x T, d int) T { return x.LayerNorm(x.Shape()[d:]) }, nil)},
	{"sort", along(floats, func(x T, d int) T { v, i := x.Sort(d); return v.Add(i) }, nil)},
	{"flip", along(integers, func(x T, d int) T { return x.Flip(d) }, func(o, x T, d int) error { return out.Flip(o, x, d) })},
	{"turn", alone(integers, func(x T) T { return x.Transpose(0, x.Rank()-1).Contiguous() }, nil)},
	{"nonzero", alone(integers, T.Nonzero, nil)},
	{"fft", along(reals, func(x T, d int) T { return x.FFT(tensor.Dim(d)) }, nil)}, {"rfft", along(reals, func(x T, d int) T { return x.RFFT(tensor.Dim(d)) }, nil)},
	{"product", product}, {"convolution", convolution}, {"slices", slicesOf},
}

// size is an extent of an axis: small ones, those around what vectors hold, and some
// that take several tiles.
func size(r *rand.Rand) int {
	list := []int{1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65, 100, 127, 129, 250, 513, 1025, 3000}
	return list[r.IntN(len(list))]
}

func someShape(r *rand.Rand, rank int) []int {
	for {
		n, shape := 1, make([]int, rank)
		for i := range shape {
			shape[i] = size(r)
			n *= shape[i]
		}
		if n <= 100000 {
			return shape
		}
	}
}

// canary surrounds the tensors of a test in their memory.
const canary, margin = 85, 70

// framed returns the elements of x in the middle of a larger tensor, and that.
func framed(x T) (inner, whole T) {
	around := edge(x.DType())
	whole = tensor.Cat([]T{around, x.Reshape(-1), around}, 0)
	return whole.Narrow(0, margin, x.NumElements()).Reshape(x.Shape()...), whole
}

func edge(d tensor.DType) T { return tensor.Full([]int{margin}, canary, tensor.OfType(d)) }

// intact reports whether nothing was written around the tensor in the middle.
func intact(t *testing.T, whole T) bool {
	n := whole.NumElements()
	for _, start := range []int{0, n - margin} {
		same, err := whole.Narrow(0, start, margin).Eq(edge(whole.DType())).All().Item()
		must(t, err)
		if same != 1 {
			return false
		}
	}
	return true
}

func floats(r *rand.Rand, shape []int) T {
	x := tensor.Randn(shape).ToType([]tensor.DType{tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16}[r.IntN(4)])
	if r.IntN(3) > 0 {
		return x
	}
	some := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 1e-40}[r.IntN(5)]
	return x.MaskedFillScalar(tensor.Rand(shape).LtScalar(0.01), some)
}

func reals(r *rand.Rand, shape []int) T {
	return tensor.Randn(shape).ToType([]tensor.DType{tensor.Float32, tensor.Float64}[r.IntN(2)])
}

func integers(r *rand.Rand, shape []int) T {
	return tensor.Randint(shape, -1, 50).ToType([]tensor.DType{tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64}[r.IntN(4)])
}

func alone(operand func(*rand.Rand, []int) T, f func(x T) T, out func(dst, x T) error) func(*rand.Rand) trial {
	return func(r *rand.Rand) trial {
		c := trial{in: []T{operand(r, someShape(r, 1+r.IntN(3)))}, call: func(x []T) []T { return []T{f(x[0])} }}
		if out != nil {
			c.out = func(dst T, x []T) error { return out(dst, x[0]) }
		}
		return c
	}
}

func along(operand func(*rand.Rand, []int) T, f func(x T, d int) T, out func(dst, x T, d int) error) func(*rand.Rand) trial {
	return func(r *rand.Rand) trial {
		d := r.Int()
		one := func(x T) T { return f(x, d%x.Rank()) }
		if out == nil {
			return alone(operand, one, nil)(r)
		}
		return alone(operand, one, func(dst, x T) error { return out(dst, x, d%x.Rank()) })(r)
	}
}

func pairOf(operand func(*rand.Rand, []int) T, f func(x, y T) T, out func(dst, x, y T) error) func(*rand.Rand) trial {
	return func(r *rand.Rand) trial {
		shape := someShape(r, 1+r.IntN(3))
		second := append([]int(nil), shape[r.IntN(len(shape)):]...)
		for i := range second {
			if r.IntN(3) == 0 {
				second[i] = 1
			}
		}
		x := operand(r, shape)
		return trial{
			in: []T{x, operand(r, second).ToType(x.DType())}, call: func(x []T) []T { return []T{f(x[0], x[1])} },
			out: func(dst T, x []T) error { return out(dst, x[0], x[1]) },
		}
	}
}

func product(r *rand.Rand) trial {
	m, k, n, d := size(r)%600, size(r)%600, size(r)%600, floats(r, []int{1}).DType()
	return trial{
		in: []T{tensor.Randn([]int{m, k}).ToType(d), tensor.Randn([]int{k, n}).ToType(d)}, call: func(x []T) []T { return []T{x[0].MatMul(x[1])} },
		out: func(dst T, x []T) error { return out.MatMul(dst, x[0], x[1]) },
	}
}

// convolution is one with pooling behind it, and their gradients.
func convolution(r *rand.Rand) trial {
	images, channels, outs, h, w, k := 1+r.IntN(4), 1+r.IntN(16), 1+r.IntN(33), 4+r.IntN(16), 4+r.IntN(16), 1+r.IntN(3)
	stride, padding := 1+r.IntN(2), r.IntN(k)
	x := reals(r, []int{images, channels, h, w})
	return trial{in: []T{x, tensor.Randn([]int{outs, channels, k, k}).ToType(x.DType())}, call: func(x []T) []T {
		a, b := x[0].Detach().RequireGrad(), x[1].Detach().RequireGrad()
		y := a.Conv2d(b, tensor.Stride(stride), tensor.Padding(padding))
		loss := y.MaxPool2d([]int{2}, tensor.Stride(1), tensor.Padding(1)).Square().Sum()
		if err := loss.Backward(); err != nil {
			return []T{loss}
		}
		da, _ := a.Grad()
		db, _ := b.Grad()
		return []T{y, da, db}
	}}
}

// slicesOf gathers and scatters, by an index that may be one list for all lines.
func slicesOf(r *rand.Rand) trial {
	x := integers(r, someShape(r, 1+r.IntN(3)))
	d := r.IntN(x.Rank())
	shape, list := x.Shape(), make([]int, x.Rank())
	shape[d] = 1 + r.IntN(40)
	for i := range list {
		list[i] = 1
	}
	list[d] = shape[d]
	index := tensor.Randint(shape, 0, x.Size(d))
	if r.IntN(2) == 0 {
		index = tensor.Randint(list, 0, x.Size(d)).Expand(shape...)
	}
	src := integers(r, shape).ToType(x.DType())
	return trial{in: []T{x, src}, call: func(x []T) []T {
		return []T{x[0].Gather(d, index), x[0].Scatter(d, index, x[1]), x[0].ScatterAdd(d, index, x[1])}
	}}
}

func bytesOf(t *testing.T, list []T) (out [][]byte) {
	t.Helper()
	for _, x := range list {
		b, err := x.Contiguous().Bytes()
		must(t, err)
		out = append(out, bytes.Clone(b))
	}
	return out
}

// TestThreads: results are the same to the bit with any number of threads, where
// operands lie and where results are written, and nothing beside them is.
func TestThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rounds := 25
	if testing.Short() {
		rounds = 6
	}
	for i, c := range trials {
		t.Run(c.name, func(t *testing.T) {
			for k := range rounds {
				tensor.Scope(func() error {
					random.With(random.New(int64(k)), func() error { compareThreads(t, c.make(rand.New(rand.NewPCG(uint64(i), uint64(k))))); return nil })
					return nil
				})
			}
		})
	}
}

func compareThreads(t *testing.T, c trial) {
	in, wholes, about := make([]T, len(c.in)), make([]T, len(c.in)), ""
	for i, x := range c.in {
		in[i], wholes[i] = framed(x)
		about += fmt.Sprint(" ", x.DType(), x.Shape())
	}
	runtime.GOMAXPROCS(1)
	results := c.call(in)
	want := bytesOf(t, results)
	for _, n := range []int{2, 3, 7} {
		runtime.GOMAXPROCS(n)
		for i, got := range bytesOf(t, c.call(in)) {
			if !bytes.Equal(got, want[i]) {
				t.Errorf("%s: result %d is another with %d threads", about, i, n)
			}
		}
	}
	if c.out != nil {
		dst, whole := framed(tensor.ZerosLike(results[0]))
		must(t, c.out(dst, in))
		if !bytes.Equal(bytesOf(t, []T{dst})[0], want[0]) || !intact(t, whole) {
			t.Errorf("%s: written to memory that is there: another result, or something beside it", about)
		}
	}
	for i, whole := range wholes {
		if !intact(t, whole) {
			t.Errorf("%s: written around operand %d", about, i)
		}
	}
}
