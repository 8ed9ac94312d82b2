package opaque_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/opaque"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/shapes"
	"github.com/sinter-go/sinter/runtime/core"
)

// tolerance is what a few roundings in the compute dtype and one to the dtype
// itself allow, relative to a number of size about 1.
var tolerance = map[ir.DType]float64{ir.Float16: 2e-3, ir.BFloat16: 1.6e-2, ir.Float32: 4e-6, ir.Float64: 1e-14}

// checkNear compares the operator on the GPU with that on the CPU: a result may
// be off by the dtype's tolerance, relative to its own size and floor together.
func checkNear(t *testing.T, what string, floor float64, f operator, in ...pair) {
	t.Helper()
	var cpu, gpu []*core.Tensor
	for _, p := range in {
		cpu, gpu = append(cpu, p.cpu), append(gpu, p.gpu)
	}
	want, got := f(cpu...), f(gpu...)
	for i := range want {
		if err := near(got[i], want[i], floor); err != nil {
			t.Errorf("%s: result %d: %v", what, i, err)
			return
		}
	}
}

func near(got, want *core.Tensor, floor float64) error {
	w, wErr := core.Bytes(want)
	g, gErr := core.Bytes(got)
	if wErr != nil || gErr != nil {
		return fmt.Errorf("errors: cpu %v, cuda %v", wErr, gErr)
	}
	dt := want.DType()
	if got.DType() != dt || len(g) != len(w) {
		return fmt.Errorf("%s and %d bytes, want %s and %d", got.DType(), len(g), dt, len(w))
	}
	wrong, first, worst := 0, "", 0.0
	for i := 0; i < len(w); i += dt.Size() {
		a, b := decode(g[i:i+dt.Size()], dt), decode(w[i:i+dt.Size()], dt)
		if a == b || a != a && b != b {
			continue
		}
		off := math.Abs(a-b) / (math.Abs(b) + floor)
		if off <= tolerance[dt] {
			continue
		}
		if wrong++; wrong == 1 {
			first = fmt.Sprintf("element %d is %v, want %v", i/dt.Size(), a, b)
		}
		worst = max(worst, off)
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d elements of %v are off by up to %.3g: %s", wrong, len(w)/dt.Size(), want.Shape(), worst, first)
	}
	return nil
}

// real returns an operand of numbers between -4 and 4.
func (s source) real(dt ir.DType, shape []int, k layout) pair {
	return s.tensor(dt, shape, k, func() float64 { return s.Float64()*8 - 4 })
}

// checkSoftmax checks softmax and log_softmax, whose error is relative to the
// distance of numbers to the largest, not to the result.
func checkSoftmax(t *testing.T, what string, dim int, x pair) {
	t.Helper()
	checkNear(t, "softmax "+what, 1e-3, func(in ...*core.Tensor) []*core.Tensor { return one(ops.Softmax(in[0], dim, ir.Invalid)) }, x)
	checkNear(t, "log_softmax "+what, 1, func(in ...*core.Tensor) []*core.Tensor { return one(ops.LogSoftmax(in[0], dim, ir.Invalid)) }, x)
}

// rowLengths are around the limits of the kernels for rows.
var rowLengths = []int{
	1, 2, 3, 7, 8, 9, 31, 64, 100, 128, 255, 256, 257, 264, 500, 1000, 1024, 1025, 1028, 1032, 2048, 3000, 4096,
	8192, 8193, 8200, 16384, 16385, 16388, 16392, 40000,
}

func TestSoftmaxRows(t *testing.T) {
	onGPU(t)
	for _, dt := range ir.ClassFloat.List() {
		t.Run(dt.String(), func(t *testing.T) {
			s := newSource()
			for _, n := range rowLengths {
				rows := 1 + s.IntN(1+2000/n)
				checkSoftmax(t, fmt.Sprint(rows, " rows of ", n), 1, s.real(dt, []int{rows, n}, dense))
			}
		})
	}
}

func TestSoftmaxLayouts(t *testing.T) {
	trials(t, ir.ClassFloat, 30, func(t *testing.T, s source, dt ir.DType) {
		shape, k := s.shape(s.IntN(5)), s.layout()
		dim := s.IntN(max(len(shape), 1))
		checkSoftmax(t, fmt.Sprintf("%v %v dim %d", shape, k, dim), dim, s.real(dt, shape, k))
	})
}

func TestSoftmaxColumns(t *testing.T) {
	trials(t, ir.ClassFloat, 1, func(t *testing.T, s source, dt ir.DType) {
		for _, shape := range [][]int{{1000, 3}, {33, 100}, {300, 129}, {2, 70, 5, 9}, {5, 4, 40}} {
			checkSoftmax(t, fmt.Sprint(shape), len(shape)-2, s.real(dt, shape, dense))
		}
	})
}

// Rows with infinities and NaN; each of them is in a row of every kernel.
func TestSoftmaxSpecials(t *testing.T) {
	onGPU(t)
	inf, nan := math.Inf(1), math.NaN()
	fills := []func(i, n int) float64{
		func(i, n int) float64 { return -inf },
		func(i, n int) float64 { return inf },
		func(i, n int) float64 { return nan },
		func(i, n int) float64 { return map[bool]float64{true: inf, false: 1}[i == n-1] },
		func(i, n int) float64 { return map[bool]float64{true: nan, false: 1}[i == n/2] },
		func(i, n int) float64 { return map[bool]float64{true: 2, false: -inf}[i == n-1] },
		func(i, n int) float64 { return map[bool]float64{true: -inf, false: 3}[i == 0] },
		func(i, n int) float64 { return float64(i) * 100 },
		func(i, n int) float64 { return map[bool]float64{true: nan, false: -inf}[i == 0] },
	}
	for _, dt := range ir.ClassFloat.List() {
		s := newSource()
		for _, n := range []int{1, 5, 64, 300, 1024, 1200, 17000} {
			i := 0
			x := s.tensor(dt, []int{len(fills), n}, dense, func() float64 { i++; return fills[(i-1)/n]((i-1)%n, n) })
			checkSoftmax(t, fmt.Sprint(dt, " rows of ", n), 1, x)
			i = 0
			x = s.tensor(dt, []int{n, len(fills)}, dense, func() float64 { i++; return fills[(i-1)%len(fills)]((i-1)/len(fills), n) })
			checkSoftmax(t, fmt.Sprint(dt, " columns of ", n), 0, x)
		}
	}
}

// norms returns every result of the normalizations of the last axes, plain and
// with weight and bias.
func norms(axes int) operator {
	return func(in ...*core.Tensor) []*core.Tensor {
		out, mean, rstd := ops.LayerNormStats(in[0], axes, 1e-5)
		affine, affineMean, affineRstd := ops.LayerNormAffine(in[0], in[1], in[2], axes, 1e-5)
		rms, rmsRstd := ops.RMSNormStats(in[0], axes, 1e-6)
		rmsAffine, rmsAffineRstd := ops.RMSNormAffine(in[0], in[1], axes, 1e-6)
		return []*core.Tensor{out, mean, rstd, affine, affineMean, affineRstd, rms, rmsRstd, rmsAffine, rmsAffineRstd}
	}
}

func TestNormRows(t *testing.T) {
	onGPU(t)
	for _, dt := range ir.ClassFloat.List() {
		t.Run(dt.String(), func(t *testing.T) {
			s := newSource()
			for _, n := range rowLengths {
				rows := 1 + s.IntN(1+2000/n)
				weight := []int{n}
				checkNear(t, fmt.Sprint(rows, " rows of ", n), 1, norms(1),
					s.real(dt, []int{rows, n}, dense), s.real(dt, weight, s.layout()), s.real(dt, weight, dense))
			}
		})
	}
}

func TestNormLayouts(t *testing.T) {
	trials(t, ir.ClassFloat, 30, func(t *testing.T, s source, dt ir.DType) {
		shape, k := s.shape(1+s.IntN(4)), s.layout()
		axes := 1 + s.IntN(len(shape))
		row := shape[len(shape)-axes:]
		checkNear(t, fmt.Sprintf("%v %v, %d axes", shape, k, axes), 1, norms(axes),
			s.real(dt, shape, k), s.real(dt, row, s.layout()), s.real(dt, row, s.layout()))
	})
}

// withLaunch returns an operator's descriptor with another CUDA kernel.
func withLaunch(op *ir.Op, launch code.Launch) *ir.Op {
	list := slices.Clone(op.Code)
	for i := range list {
		if list[i].For == "cuda" {
			list[i].Of = &code.Kernels{Launch: launch}
		}
	}
	return &ir.Op{
		Name: op.Name, Kind: op.Kind, In: op.In, Attrs: op.Attrs, Out: op.Out, DTypes: op.DTypes, Promote: op.Promote, Fixed: op.Fixed,
		Switch: op.Switch, Code: list, Tags: op.Tags,
	}
}

var ownMatMulOp = withLaunch(ops.MatMulOp(), opaque.OwnMatMul)

func ownMatMul(in ...*core.Tensor) []*core.Tensor {
	return core.Kernel(core.Apply{Op: ownMatMulOp, In: in, Shapes: func() ([][]int, error) {
		s, err := shapes.MatMulShape(in[0].Shape(), in[1].Shape())
		return [][]int{s}, err
	}})
}

// Operands are small integers, whose sums are exact in every dtype that sums are
// made in, so results are the CPU's to the bit.
func TestOwnMatMul(t *testing.T) {
	trials(t, ir.ClassNum, 30, func(t *testing.T, s source, dt ir.DType) {
		m, n, k := 1+s.IntN(150), 1+s.IntN(150), s.IntN(200)
		batch := s.shape(s.IntN(3))
		x, y := append(append([]int{}, batch...), m, k), append(append([]int{}, batch...), k, n)
		switch s.IntN(6) {
		case 0:
			y = []int{k, n}
		case 1:
			x = []int{m, k}
		case 2:
			x = []int{k}
		case 3:
			y = []int{k}
		case 4:
			if len(batch) > 0 {
				x[0] = 1
			}
		}
		kx, ky := s.layout(), s.layout()
		check(t, fmt.Sprintf("%v %v @ %v %v", x, kx, y, ky), ownMatMul, s.numbers(dt, x, kx), s.numbers(dt, y, ky))
	})
}

// Shapes that take the largest tile, slices of k, and batches of small matrices.
func TestOwnMatMulShapes(t *testing.T) {
	trials(t, ir.ClassNum, 1, func(t *testing.T, s source, dt ir.DType) {
		for _, c := range [][2][]int{
			{{1700, 65}, {65, 1500}},
			{{1537, 33}, {33, 1601}},
			{{3, 5000}, {5000, 4}},
			{{100, 3001}, {3001, 90}},
			{{20000}, {20000}},
			{{300, 5, 7}, {300, 7, 6}},
			{{4, 1, 40, 30}, {3, 30, 50}},
			{{2, 3, 100, 20}, {20, 17}},
		} {
			check(t, fmt.Sprint(c), ownMatMul, s.numbers(dt, c[0], dense), s.numbers(dt, c[1], transposed))
		}
	})
}

// A shapeOf is a convolution.
type shapeOf struct {
	x, weight                 []int
	stride, padding, dilation []int
	groups                    int
}

// convolution returns one over so many spatial axes.
func (s source) convolution(axes int) shapeOf {
	c := shapeOf{groups: 1 + s.IntN(3)}
	channels, outs := 1+s.IntN(4), 1+s.IntN(30)
	c.x, c.weight = []int{1 + s.IntN(4), c.groups * channels}, []int{c.groups * outs, channels}
	for range axes {
		kernel, dilation, padding := 1+s.IntN(3), 1+s.IntN(2), s.IntN(3)
		least := max(1, dilation*(kernel-1)+1-2*padding)
		extent := least + s.IntN(10)
		if axes > 3 {
			extent = least + s.IntN(2)
		}
		c.x, c.weight = append(c.x, extent), append(c.weight, kernel)
		c.stride, c.padding, c.dilation = append(c.stride, 1+s.IntN(3)), append(c.padding, padding), append(c.dilation, dilation)
	}
	return c
}

func (c shapeOf) y() []int {
	y, err := shapes.ConvolutionShape(c.x, c.weight, c.stride, c.padding, c.dilation, c.groups)
	if err != nil {
		panic(err)
	}
	return y
}

// apply returns the operator of a descriptor; shape is the result's, and first
// the attribute before those of the convolution, if there is one.
func (c shapeOf) apply(op *ir.Op, launch code.Launch, shape []int, first ...ir.Value) operator {
	attrs := append(first, ir.IntsValue(c.stride), ir.IntsValue(c.padding), ir.IntsValue(c.dilation), ir.IntValue(c.groups))
	own := withLaunch(op, launch)
	return func(in ...*core.Tensor) []*core.Tensor {
		return core.Kernel(core.Apply{Op: own, In: in, Attrs: attrs, Shapes: func() ([][]int, error) { return [][]int{shape}, nil }})
	}
}

func checkConvolution(t *testing.T, s source, dt ir.DType, c shapeOf) {
	t.Helper()
	y := c.y()
	check(t, fmt.Sprintf("forward %+v", c), c.apply(ops.ConvolutionOp(), opaque.OwnConvolution, y),
		s.numbers(dt, c.x, s.layout()), s.numbers(dt, c.weight, s.layout()))
	check(t, fmt.Sprintf("grad_input %+v", c),
		c.apply(ops.ConvolutionGradInputOp(), opaque.OwnConvolutionGradInput, c.x, ir.IntsValue(c.x)),
		s.numbers(dt, y, s.layout()), s.numbers(dt, c.weight, s.layout()))
	check(t, fmt.Sprintf("grad_weight %+v", c),
		c.apply(ops.ConvolutionGradWeightOp(), opaque.OwnConvolutionGradWeight, c.weight, ir.IntsValue(c.weight)),
		s.numbers(dt, y, s.layout()), s.numbers(dt, c.x, s.layout()))
}

func TestOwnConvolution(t *testing.T) {
	trials(t, ir.ClassFloat, 40, func(t *testing.T, s source, dt ir.DType) {
		checkConvolution(t, s, dt, s.convolution(1+s.IntN(4)))
	})
}

func TestOwnConvolutionShapes(t *testing.T) {
	trials(t, ir.ClassFloat, 1, func(t *testing.T, s source, dt ir.DType) {
		two := func(v int) []int { return []int{v, v} }
		for _, c := range []shapeOf{
			{[]int{8, 3, 32, 32}, []int{16, 3, 3, 3}, two(1), two(1), two(1), 1},
			{[]int{4, 40, 14, 14}, []int{80, 40, 3, 3}, two(2), two(1), two(1), 1},
			{[]int{2, 64, 9, 9}, []int{64, 1, 3, 3}, two(1), two(1), two(1), 64},
			{[]int{2, 32, 10, 10}, []int{100, 32, 1, 1}, two(1), two(0), two(1), 1},
		} {
			checkConvolution(t, s, dt, c)
		}
	})
}

// pooled returns attributes of a pooling over the last axes of a shape, and
// makes the shape's extents large enough.
func (s source) pooled(shape []int, axes int, dilated bool) (kernel, stride, padding, dilation []int) {
	for a := len(shape) - axes; a < len(shape); a++ {
		k, d := 1+s.IntN(3), 1
		if dilated {
			d = 1 + s.IntN(2)
		}
		reach := d*(k-1) + 1
		shape[a] = max(shape[a], reach)
		kernel, dilation = append(kernel, k), append(dilation, d)
		stride, padding = append(stride, 1+s.IntN(3)), append(padding, s.IntN(reach/2+1))
	}
	return kernel, stride, padding, dilation
}

func TestMaxPool(t *testing.T) {
	trials(t, ir.ClassReal, 30, func(t *testing.T, s source, dt ir.DType) {
		shape, k, ceil := s.shape(1+s.IntN(5)), s.layout(), s.IntN(2) == 0
		kernel, stride, padding, dilation := s.pooled(shape, 1+s.IntN(len(shape)), true)
		what := fmt.Sprintf("%v %v kernel %v stride %v padding %v dilation %v ceil %v", shape, k, kernel, stride, padding, dilation, ceil)
		check(t, what, func(in ...*core.Tensor) []*core.Tensor {
			return two(ops.MaxPool(in[0], kernel, stride, padding, dilation, ceil))
		}, s.orderable(dt, shape, k))
	})
}

func TestAvgPool(t *testing.T) {
	trials(t, ir.ClassFloat, 30, func(t *testing.T, s source, dt ir.DType) {
		shape, k, ceil, padded := s.shape(1+s.IntN(5)), s.layout(), s.IntN(2) == 0, s.IntN(2) == 0
		kernel, stride, padding, _ := s.pooled(shape, 1+s.IntN(len(shape)), false)
		what := fmt.Sprintf("%v %v kernel %v stride %v padding %v ceil %v count padding %v", shape, k, kernel, stride, padding, ceil, padded)
		check(t, what, func(in ...*core.Tensor) []*core.Tensor {
			y := ops.AvgPool(in[0], kernel, stride, padding, ceil, padded)
			return two(y, ops.AvgPoolGrad(y, shape, kernel, stride, padding, ceil, padded))
		}, s.numbers(dt, shape, k))
	})
}
