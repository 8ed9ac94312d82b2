package opaque_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// A loss is the operands of a loss over classes and how it is reduced. g is the
// gradient of the result.
type loss struct {
	x, target, g pair
	weight       *pair
	ignore       int
	reduction    ops.Reduction
}

// loss returns operands of a shape: the first axis but one are the classes.
func (s source) loss(dt ir.DType, shape []int, k layout) loss {
	axis := min(len(shape)-1, 1)
	rows := append(append([]int{}, shape[:axis]...), shape[axis+1:]...)
	l := loss{
		x: s.real(dt, shape, k), target: s.index(shape[axis], rows, s.layout()),
		ignore: s.IntN(3*shape[axis]) - shape[axis], reduction: ops.Reduction(s.IntN(3)),
	}
	if l.reduction == ops.ReductionNone {
		l.g = s.real(dt, rows, s.layout())
	} else {
		l.g = s.real(dt, nil, dense)
	}
	if s.IntN(2) == 0 {
		w := s.tensor(dt, shape[axis:axis+1], s.layout(), func() float64 { return 0.25 + s.Float64() })
		l.weight = &w
	}
	return l
}

// run returns the results of the losses and their gradients on one device.
func (l *loss) run(of func(pair) *core.Tensor) map[string]*core.Tensor {
	var w *core.Tensor
	if l.weight != nil {
		w = of(*l.weight)
	}
	x, target, g := of(l.x), of(l.target), of(l.g)
	out := map[string]*core.Tensor{}
	var total *core.Tensor
	out["nll"], total = ops.NLLStats(x, target, l.ignore, l.reduction, w)
	out["nll gradient"] = ops.NLLGrad(g, target, total, x.Shape(), l.ignore, l.reduction, w)
	out["cross entropy"], out["lse"], out["total"] = ops.CrossEntropyStats(x, target, l.ignore, l.reduction, w)
	out["gradient"] = ops.CrossEntropyGrad(g, x, target, out["lse"], out["total"], l.ignore, l.reduction, w)
	return out
}

// checkLoss compares the GPU with the CPU. Statistics are as exact as the dtype
// that they are computed in, whatever they are stored in.
func checkLoss(t *testing.T, what string, l loss) {
	t.Helper()
	want := l.run(func(p pair) *core.Tensor { return p.cpu })
	got := l.run(func(p pair) *core.Tensor { return p.gpu })
	for name := range want {
		w, g := want[name], got[name]
		if name == "lse" || name == "total" {
			w, g = ops.ToType(w, l.x.cpu.DType()), ops.ToType(g, l.x.cpu.DType())
		}
		if err := near(g, w, 1); err != nil {
			t.Errorf("%s, ignored %d, %v, weight %t: %s: %v", what, l.ignore, l.reduction, l.weight != nil, name, err)
		}
	}
}

func TestLossRows(t *testing.T) {
	onGPU(t)
	for _, dt := range ir.ClassFloat.List() {
		t.Run(dt.String(), func(t *testing.T) {
			s := newSource()
			for _, n := range rowLengths {
				for _, rows := range []int{1 + s.IntN(1+2000/n), 1 + (1<<15)/n, 40000 / n} {
					checkLoss(t, fmt.Sprint(rows, " rows of ", n), s.loss(dt, []int{rows, n}, dense))
				}
			}
		})
	}
}

func TestLossLayouts(t *testing.T) {
	trials(t, ir.ClassFloat, 40, func(t *testing.T, s source, dt ir.DType) {
		shape, k := s.shape(1+s.IntN(4)), s.layout()
		if axis := min(len(shape)-1, 1); shape[axis] == 0 {
			shape[axis] = 1
		}
		checkLoss(t, fmt.Sprintf("%v %v", shape, k), s.loss(dt, shape, k))
	})
}

func TestLossColumns(t *testing.T) {
	trials(t, ir.ClassFloat, 3, func(t *testing.T, s source, dt ir.DType) {
		for _, shape := range [][]int{{3, 1000, 3}, {2, 33, 100}, {1, 300, 129}, {2, 70, 5, 9}, {40, 4, 4000}, {2, 1, 7}} {
			checkLoss(t, fmt.Sprint(shape), s.loss(dt, shape, dense))
		}
	})
}

// Scores with infinities and NaN, in rows and columns of every kernel.
func TestLossSpecials(t *testing.T) {
	onGPU(t)
	inf, nan := math.Inf(1), math.NaN()
	fills := []func(i int) float64{
		func(i int) float64 { return -inf },
		func(i int) float64 { return map[bool]float64{true: inf, false: 1}[i == 0] },
		func(i int) float64 { return map[bool]float64{true: nan, false: 1}[i == 1] },
		func(i int) float64 { return map[bool]float64{true: 2, false: -inf}[i == 0] },
		func(i int) float64 { return float64(i % 100 * 100) },
	}
	for _, dt := range ir.ClassFloat.List() {
		s := newSource()
		for _, n := range []int{2, 5, 64, 300, 1200, 17000} {
			for _, shape := range [][]int{{len(fills), n}, {1, n, len(fills)}} {
				l := s.loss(dt, shape, dense)
				i, rows := 0, len(shape) == 2
				l.x = s.tensor(dt, shape, dense, func() float64 {
					at := i
					i++
					if rows {
						return fills[at/n](at % n)
					}
					return fills[at%len(fills)](at / len(fills))
				})
				l.reduction, l.g = ops.ReductionNone, s.real(dt, l.target.cpu.Shape(), dense)
				checkLoss(t, fmt.Sprint(dt, " ", shape), l)
			}
		}
	}
}

// A target out of range is reported by what waits for the device, and its row
// counts nothing.
func TestLossFault(t *testing.T) {
	onGPU(t)
	gpu := core.Placement{Device: device.CUDA(0)}
	for _, shape := range [][]int{{40, 5}, {40, 1500}, {8, 9, 5}} {
		x := core.FromBytes(make([]byte, 4*ir.NumElements(shape)), ir.Float32, shape, gpu)
		rows := append([]int{shape[0]}, shape[2:]...)
		raw := make([]byte, 8*ir.NumElements(rows))
		copy(raw[16:], encode(float64(shape[1]), ir.Int64))
		target := core.FromBytes(raw, ir.Int64, rows, gpu)
		loss, _, _ := ops.CrossEntropyStats(x, target, -100, ops.ReductionMean, nil)
		nll, _ := ops.NLLStats(x, target, -100, ops.ReductionMean, nil)
		for i, l := range []*core.Tensor{loss, nll} {
			_, err := core.Bytes(l)
			if i == 1 {
				if err != nil {
					t.Errorf("%v: the first fault was reported, and then %v", shape, err)
				}
				continue
			}
			var fault *trap.Error
			if !errors.As(err, &fault) {
				t.Fatalf("%v: error %v, want a fault", shape, err)
			}
			if d := cmp.Diff(&trap.Error{Operator: "cross_entropy", Value: int64(shape[1]), Limit: int64(shape[1])}, fault); d != "" {
				t.Errorf("%v (-want +got):\n%s", shape, d)
			}
		}
		b, err := core.Bytes(loss)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := decode(b, ir.Float32), math.Log(float64(shape[1])); math.Abs(got-want) > 1e-5*want {
			t.Errorf("%v: the loss of the others is %v, want %v", shape, got, want)
		}
	}
}
