package behaviour_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

var (
	nan          = float32(math.NaN())
	inf          = float32(math.Inf(1))
	negativeZero = float32(math.Copysign(0, -1))
)

// printed are tensors and what PyTorch prints for them.
var printed = []struct {
	name string
	x    T
	want string
}{
	{"integers in floats", tensor.From([]float32{1, 2, -3}), `tensor([ 1.,  2., -3.])`},
	{"decimals", tensor.From([]float32{0.5, -1.25, 100.125, 3.14159265}, 2, 2), `tensor([[  0.5000,  -1.2500],
        [100.1250,   3.1416]])`},
	{"wide range", tensor.From([]float32{1e-5, 1, 12345.678}), `tensor([1.0000e-05, 1.0000e+00, 1.2346e+04])`},
	{"large", tensor.From([]float32{1e9, 2}), `tensor([1.0000e+09, 2.0000e+00])`},
	{"large whole", tensor.From([]float32{123456789, 1}), `tensor([1.2346e+08, 1.0000e+00])`},
	{"small", tensor.From([]float32{1e-6, 2e-6}), `tensor([1.0000e-06, 2.0000e-06])`},
	{"nan inf", tensor.From([]float32{nan, inf, -1.5}), `tensor([    nan,     inf, -1.5000])`},
	{"int64", tensor.From([]int64{1, -20, 300, 4}, 2, 2), `tensor([[  1, -20],
        [300,   4]])`},
	{"uint8", tensor.From([]uint8{1, 255}), `tensor([  1, 255], dtype=torch.uint8)`},
	{"bool", tensor.From([]bool{true, false}), `tensor([ True, False])`},
	{"scalar", tensor.FromScalar(3.5), `tensor(3.5000)`},
	{"scalar int", tensor.FromScalar(7), `tensor(7)`},
	{"float64", tensor.From([]float64{0.1, 2}), `tensor([0.1000, 2.0000], dtype=torch.float64)`},
	{"float16", tensor.From([]float32{0.1, 2}).ToType(tensor.Float16), `tensor([0.1000, 2.0000], dtype=torch.float16)`},
	{"empty", tensor.Empty([]int{0}), `tensor([])`},
	{"empty 2d", tensor.Empty([]int{2, 0, 3}), `tensor([], size=(2, 0, 3))`},
	{"empty int", tensor.From([]int64{}), `tensor([], dtype=torch.int64)`},
	{"3d", tensor.Arange(0, 12.0, 1).Reshape(2, 2, 3), `tensor([[[ 0.,  1.,  2.],
         [ 3.,  4.,  5.]],

        [[ 6.,  7.,  8.],
         [ 9., 10., 11.]]])`},
	{"4d", tensor.Arange(0, 8, 1).Reshape(2, 2, 1, 2), `tensor([[[[0, 1]],

         [[2, 3]]],


        [[[4, 5]],

         [[6, 7]]]])`},
	{"long", tensor.Arange(0, 40.0, 1), `tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,
        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,
        28., 29., 30., 31., 32., 33., 34., 35., 36., 37., 38., 39.])`},
	{"long2", tensor.Arange(0, 30, 1).Reshape(1, 30).MulScalar(1000), `tensor([[    0,  1000,  2000,  3000,  4000,  5000,  6000,  7000,  8000,  9000,
         10000, 11000, 12000, 13000, 14000, 15000, 16000, 17000, 18000, 19000,
         20000, 21000, 22000, 23000, 24000, 25000, 26000, 27000, 28000, 29000]])`},
	{"summary", tensor.Arange(0, 2000.0, 1), `tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,
        1.9990e+03])`},
	{"summary2d", tensor.Arange(0, 10000, 1).Reshape(100, 100), `tensor([[   0,    1,    2,  ...,   97,   98,   99],
        [ 100,  101,  102,  ...,  197,  198,  199],
        [ 200,  201,  202,  ...,  297,  298,  299],
        ...,
        [9700, 9701, 9702,  ..., 9797, 9798, 9799],
        [9800, 9801, 9802,  ..., 9897, 9898, 9899],
        [9900, 9901, 9902,  ..., 9997, 9998, 9999]])`},
	{"summary3", tensor.Arange(0, 4000.0, 1).Reshape(4, 1000).DivScalar(8), `tensor([[0.0000e+00, 1.2500e-01, 2.5000e-01,  ..., 1.2462e+02, 1.2475e+02,
         1.2488e+02],
        [1.2500e+02, 1.2512e+02, 1.2525e+02,  ..., 2.4962e+02, 2.4975e+02,
         2.4988e+02],
        [2.5000e+02, 2.5012e+02, 2.5025e+02,  ..., 3.7462e+02, 3.7475e+02,
         3.7488e+02],
        [3.7500e+02, 3.7512e+02, 3.7525e+02,  ..., 4.9962e+02, 4.9975e+02,
         4.9988e+02]])`},
	{"complex", tensor.From([]complex64{1 + 2i, -0.5 - 1.25i}), `tensor([ 1.0000+2.0000j, -0.5000-1.2500j])`},
	{"complex whole", tensor.From([]complex64{1 + 2i, -3 - 1i}), `tensor([ 1.+2.j, -3.-1.j])`},
	{"complex, each part by its own rule", tensor.From([]complex64{1 + 2.5i, -3 - 1i}), `tensor([ 1.+2.5000j, -3.-1.0000j])`},
	{"a dtype that the line has no room for", tensor.Arange(0, 60, 4).ToType(tensor.Int16), `tensor([ 0,  4,  8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56],
       dtype=torch.int16)`},
	{"requires", tensor.From([]float32{1, 2}).RequireGrad(), `tensor([1., 2.], requires_grad=True)`},
	{"zeros", tensor.Zeros([]int{2, 2}), `tensor([[0., 0.],
        [0., 0.]])`},
	{"1e8", tensor.From([]float32{1e8, 1}), `tensor([1.0000e+08, 1.0000e+00])`},
	{"ratio1000", tensor.From([]float32{1.5, 1000.5}), `tensor([   1.5000, 1000.5000])`},
	{"ratio over", tensor.From([]float32{1.5, 1600.5}), `tensor([1.5000e+00, 1.6005e+03])`},
	{"scalar small", tensor.FromScalar(1e-5), `tensor(1.0000e-05)`},
	{"scalar big", tensor.FromScalar(123456.789), `tensor(123456.7891)`},
	{"mixed sci neg", tensor.From([]float32{-1e-10, 1}), `tensor([-1.0000e-10,  1.0000e+00])`},
	{"one nan", tensor.FromScalar(math.NaN()), `tensor(nan)`},
}

// inGo writes what differs on purpose: dtypes, truth and lists are Go's.
var inGo = strings.NewReplacer("torch.", "", "True", "true", "False", "false", "size=(2, 0, 3)", "size=[2, 0, 3]")

// TestPrinting compares with PyTorch's text (S65).
func TestPrinting(t *testing.T) {
	for _, c := range printed {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(inGo.Replace(c.want), c.x.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// here is a line of this file, where a zero or released tensor was used.
var here = regexp.MustCompile(`\S*printing_test\.go:[0-9]+: `)

func released() T {
	x := tensor.Ones([]int{1})
	x.Release()
	return x
}

// TestPrintingDetails covers what PyTorch prints another way.
func TestPrintingDetails(t *testing.T) {
	x := tensor.From([]float32{1, 2}).RequireGrad()
	for _, c := range []struct{ got, want string }{
		{tensor.From([]float32{0.25}).To(device.Sim(1)).String(), "tensor([0.2500], device='sim:1')"},
		{x.MulScalar(2).String(), "tensor([2., 4.], grad_fn=<mul>)"},
		// PyTorch takes no account of NaN, infinities and zeros when it aligns columns.
		{tensor.From([]float32{nan, -inf, -1}).String(), "tensor([ nan, -inf,  -1.])"},
		{tensor.From([]float32{negativeZero, 1.5}).String(), "tensor([-0.0000,  1.5000])"},
		{T{}.String(), "tensor(error: zero Tensor: it was never given a value)"},
		{fmt.Sprint(T{}), "tensor(error: zero Tensor: it was never given a value)"}, // at this line, not at one of package fmt
		{fmt.Sprintf("%v", released()), "tensor(error: tensor was released, by Release or by a Scope that ended and was not given it to keep)"},
		{tensor.From([]float64{1.0 / 3, 2}).Format(tensor.Precision(2), tensor.MaxElements(100)), "tensor([0.33, 2.00], dtype=float64)"},
		{tensor.Arange(0, 9, 1).Format(tensor.MaxElements(5), tensor.EdgeItems(1)), "tensor([0,  ..., 8])"},
		{tensor.Arange(0, 9, 1).Reshape(3, 3).Format(tensor.MaxElements(5), tensor.EdgeItems(0)), "tensor([...])"},
		{tensor.Arange(0, 9, 1).Reshape(3, 3).Format(tensor.MaxElements(5), tensor.EdgeItems(1)), "tensor([[0,  ..., 2],\n        ...,\n        [6,  ..., 8]])"},
		{tensor.Arange(0, 6, 1).Format(tensor.LineWidth(16)), "tensor([0, 1, 2,\n        3, 4, 5])"},
		{tensor.Arange(0, 6, 1).Format(tensor.KeepDim()), "tensor(error: format: no option KeepDim here; want Precision, MaxElements, EdgeItems or LineWidth)"},
	} {
		if strings.Contains(c.got, "error:") && !here.MatchString(c.got) {
			t.Errorf("printed %s, which names no line of this file", c.got)
		}
		if got := here.ReplaceAllString(c.got, ""); got != c.want {
			t.Errorf("printed %s, want %s", got, c.want)
		}
	}
}
