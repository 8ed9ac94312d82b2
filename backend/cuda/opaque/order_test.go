package opaque_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

func TestGather(t *testing.T) {
	trials(t, ir.ClassAll, 40, func(t *testing.T, s source, dt ir.DType) {
		shape := s.shape(s.IntN(5))
		at, dim, n := append([]int(nil), shape...), 0, 1
		for a := range at {
			at[a] = s.IntN(at[a] + 1)
		}
		if len(shape) > 0 {
			dim = s.IntN(len(shape))
			n = shape[dim]
			at[dim] = min(s.IntN(20), 20*n)
		}
		kx, ki := s.layout(), s.layout()
		what := fmt.Sprintf("x %v %v, index %v %v, dim %d", shape, kx, at, ki, dim)
		check(t, what, func(in ...*core.Tensor) []*core.Tensor { return one(ops.Gather(in[0], dim, in[1])) },
			s.bits(dt, shape, kx), s.index(n, at, ki))
	})
}

func TestIndexSelect(t *testing.T) {
	trials(t, ir.ClassAll, 40, func(t *testing.T, s source, dt ir.DType) {
		shape := s.shape(s.IntN(5))
		dim, n, at := 0, 1, []int{s.IntN(20)}
		switch {
		case len(shape) == 0:
			at = nil
		case s.IntN(8) == 0:
			at = nil
			fallthrough
		default:
			dim = s.IntN(len(shape))
			if n = shape[dim]; n == 0 {
				at = []int{0}
			}
		}
		if len(shape) > 0 && s.IntN(2) == 0 {
			shape[len(shape)-1] *= 16 // rows in units
		}
		if len(shape) > 0 {
			n = shape[dim]
		}
		kx, ki := s.layout(), s.layout()
		what := fmt.Sprintf("x %v %v, index %v %v, dim %d", shape, kx, at, ki, dim)
		check(t, what, func(in ...*core.Tensor) []*core.Tensor { return one(ops.IndexSelect(in[0], dim, in[1])) },
			s.bits(dt, shape, kx), s.index(n, at, ki))
	})
}

// scattered returns operands of scatter and scatter_add.
func scattered(s source, dt ir.DType, unique bool) (what string, dim int, in []pair) {
	shape := s.shape(s.IntN(5))
	at, from := append([]int(nil), shape...), append([]int(nil), shape...)
	n := 1
	for a := range at {
		at[a] = s.IntN(at[a] + 1)
		from[a] = at[a] + s.IntN(3)
	}
	if len(shape) > 0 {
		dim = s.IntN(len(shape))
		n = shape[dim]
		at[dim] = min(s.IntN(20), 20*n)
		if unique {
			at[dim] = s.IntN(n + 1)
		}
		from[dim] = at[dim] + s.IntN(3)
	}
	ki := s.layout()
	index := s.index(n, at, ki)
	if unique {
		// Every index along the axis is another one: place i names (i + start) % n.
		ki = dense
		start, inner, i := s.IntN(max(n, 1)), 1, 0
		if len(shape) > 0 {
			inner = ir.NumElements(at[dim+1:])
		}
		index = s.tensor(ir.Int64, at, dense, func() float64 {
			v := 0
			if len(shape) > 0 && n > 0 && at[dim] > 0 && inner > 0 {
				v = (i/inner%at[dim] + start) % n
			}
			i++
			return float64(v)
		})
	}
	kx, ks := s.layout(), s.layout()
	what = fmt.Sprintf("x %v %v, index %v %v, src %v %v, dim %d", shape, kx, at, ki, from, ks, dim)
	return what, dim, []pair{s.numbers(dt, shape, kx), index, s.numbers(dt, from, ks)}
}

func TestScatter(t *testing.T) {
	trials(t, ir.ClassAll, 40, func(t *testing.T, s source, dt ir.DType) {
		what, dim, in := scattered(s, dt, true)
		if s.IntN(4) == 0 {
			what += ", of one number"
			in[2] = s.numbers(dt, nil, dense)
		}
		check(t, what, func(in ...*core.Tensor) []*core.Tensor { return one(ops.Scatter(in[0], dim, in[1], in[2])) }, in...)
	})
}

func TestScatterAdd(t *testing.T) {
	trials(t, ir.ClassNum, 40, func(t *testing.T, s source, dt ir.DType) {
		what, dim, in := scattered(s, dt, false)
		check(t, what, func(in ...*core.Tensor) []*core.Tensor { return one(ops.ScatterAdd(in[0], dim, in[1], in[2])) }, in...)
	})
}

func TestIndexAdd(t *testing.T) {
	trials(t, ir.ClassNum, 40, func(t *testing.T, s source, dt ir.DType) {
		shape := s.shape(1 + s.IntN(4))
		dim := s.IntN(len(shape))
		n := shape[dim]
		from := append([]int(nil), shape...)
		from[dim] = min(s.IntN(30), 30*n)
		kx, ks := s.layout(), s.layout()
		what := fmt.Sprintf("x %v %v, src %v %v, dim %d", shape, kx, from, ks, dim)
		check(t, what, func(in ...*core.Tensor) []*core.Tensor { return one(ops.IndexAdd(in[0], dim, in[1], in[2])) },
			s.numbers(dt, shape, kx), s.index(n, from[dim:dim+1], s.layout()), s.numbers(dt, from, ks))
	})
}

func TestCat(t *testing.T) {
	trials(t, ir.ClassAll, 30, func(t *testing.T, s source, dt ir.DType) {
		shape := s.shape(1 + s.IntN(4))
		dim := s.IntN(len(shape))
		if s.IntN(3) == 0 {
			shape[len(shape)-1] *= 8
		}
		count := 1 + s.IntN(5)
		if s.IntN(6) == 0 {
			count = 150
		}
		same := s.IntN(2) == 0
		var in []pair
		for range count {
			part, k := append([]int(nil), shape...), dense
			if part[dim] = s.IntN(6); s.IntN(2) == 0 {
				part[dim] *= 16
			}
			if !same {
				k = s.layout()
			}
			in = append(in, s.bits(dt, part, k))
		}
		what := fmt.Sprintf("%d like %v along %d", count, shape, dim)
		check(t, what, func(in ...*core.Tensor) []*core.Tensor { return one(ops.Cat(in, dim)) }, in...)
	})
}

func TestPadConstant(t *testing.T) {
	trials(t, ir.ClassAll, 60, func(t *testing.T, s source, dt ir.DType) {
		rank := 1 + s.IntN(4)
		if s.IntN(10) == 0 {
			rank = 10
		}
		shape := s.shape(min(rank, 5))
		for len(shape) < rank {
			shape = append(shape, 2)
		}
		if s.IntN(3) == 0 {
			shape[rank-1] *= 16
		}
		padding := make([]int, 2*(1+s.IntN(min(rank, 4))))
		for i := range padding {
			a := rank - 1 - i/2
			if s.IntN(2) == 0 {
				padding[i] = s.IntN(4) - min(1, shape[a]/3)
			}
		}
		value := ir.FloatScalar(float64(s.IntN(3)))
		k := s.layout()
		what := fmt.Sprintf("%v %v, padding %v with %v", shape, k, padding, value)
		check(t, what, func(in ...*core.Tensor) []*core.Tensor { return one(ops.PadConstant(in[0], padding, value)) }, s.bits(dt, shape, k))
	})
}

func TestFlip(t *testing.T) {
	trials(t, ir.ClassAll, 40, func(t *testing.T, s source, dt ir.DType) {
		rank := s.IntN(5)
		shape := s.shape(rank)
		if rank > 0 && s.IntN(3) == 0 {
			shape[rank-1] *= 16
		}
		if s.IntN(8) == 0 && dt.Size() < 4 {
			shape, rank = []int{2, 3, 2, 2, 2, 3, 2, 2, 2, 2}, 10
		}
		var dims []int
		for a := range shape {
			if s.IntN(2) == 0 {
				dims = append(dims, a)
			}
		}
		k := s.layout()
		what := fmt.Sprintf("%v %v, dims %v", shape, k, dims)
		check(t, what, func(in ...*core.Tensor) []*core.Tensor { return one(ops.Flip(in[0], dims)) }, s.bits(dt, shape, k))
	})
}

func TestNonzeroSized(t *testing.T) {
	trials(t, ir.ClassAll, 20, func(t *testing.T, s source, dt ir.DType) {
		shape := s.shape(1 + s.IntN(4))
		switch s.IntN(12) {
		case 0:
			shape = []int{2, 1, 3, 2, 2, 1, 2, 3, 2, 2}
		case 1:
			shape = []int{9, 70_001}
		}
		k, few := s.layout(), s.IntN(3)
		n := 0
		x := s.tensor(dt, shape, k, func() float64 {
			return [3]float64{float64(s.IntN(2)), float64(s.IntN(20) / 19), 3}[few]
		})
		raw, err := core.Bytes(x.cpu)
		if err != nil {
			t.Fatal(err)
		}
		zero := string(make([]byte, dt.Size()))
		for i := 0; i < len(raw); i += dt.Size() {
			if string(raw[i:i+dt.Size()]) != zero {
				n++
			}
		}
		what := fmt.Sprintf("%v %v with %d", shape, k, n)
		check(t, what, func(in ...*core.Tensor) []*core.Tensor { return one(ops.NonzeroSized(in[0], n)) }, x)
	})
}

// ordered is what sort takes.
const ordered = ir.ClassReal | ir.ClassBool

// orderable returns numbers to compare: few different ones, special ones among
// them, or random bits.
func (s source) orderable(dt ir.DType, shape []int, k layout) pair {
	switch s.IntN(3) {
	case 0:
		return s.bits(dt, shape, k)
	case 1:
		return s.numbers(dt, shape, k)
	}
	return s.tensor(dt, shape, k, func() float64 {
		if dt.IsFloat() && s.IntN(4) == 0 {
			return special[s.IntN(len(special))]
		}
		return float64(s.IntN(200) - 100)
	})
}

func checkSort(t *testing.T, s source, dt ir.DType, shape []int, k layout, dim int) {
	t.Helper()
	descending := s.IntN(2) == 0
	what := fmt.Sprintf("%v %v along %d, descending %v", shape, k, dim, descending)
	check(t, what, func(in ...*core.Tensor) []*core.Tensor { return two(ops.Sort(in[0], dim, descending)) }, s.orderable(dt, shape, k))
}

func TestSort(t *testing.T) {
	trials(t, ordered, 40, func(t *testing.T, s source, dt ir.DType) {
		shape := s.shape(s.IntN(4))
		dim := 0
		if len(shape) > 0 {
			dim = s.IntN(len(shape))
		}
		checkSort(t, s, dt, shape, s.layout(), dim)
	})
}

func TestSortLengths(t *testing.T) {
	trials(t, ordered, 1, func(t *testing.T, s source, dt ir.DType) {
		for _, n := range []int{1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 129, 1000, 1023, 1024, 1025, 2047, 2049, 4095, 4096, 4097, 6143, 6144, 6145, 20_001} {
			checkSort(t, s, dt, []int{1 + s.IntN(5), n}, dense, 1)
			checkSort(t, s, dt, []int{n, 1 + s.IntN(3)}, s.layout(), 0)
		}
		checkSort(t, s, dt, []int{5000, 3}, dense, 1)
		checkSort(t, s, dt, []int{1<<20 + 7}, dense, 0)
		checkSort(t, s, dt, []int{300, 4999}, dense, 1)
	})
}

func TestSearchSorted(t *testing.T) {
	trials(t, ir.ClassReal, 40, func(t *testing.T, s source, dt ir.DType) {
		shape := s.shape(1 + s.IntN(3))
		rows := append([]int(nil), shape...)
		rows[len(rows)-1] = s.IntN(50)
		if s.IntN(2) == 0 {
			rows = rows[len(rows)-1:]
		}
		sorted, values := s.orderable(dt, rows, s.layout()), s.orderable(dt, shape, s.layout())
		sort := func(x *core.Tensor) *core.Tensor {
			v, _ := ops.Sort(x, -1, false)
			return v
		}
		right := s.IntN(2) == 0
		what := fmt.Sprintf("sorted %v, values %v, right %v", rows, shape, right)
		check(t, what, func(in ...*core.Tensor) []*core.Tensor { return one(ops.Searchsorted(sort(in[0]), in[1], right)) }, sorted, values)
	})
}

func checkArg(t *testing.T, s source, dt ir.DType, shape []int, k layout, dims []int) {
	t.Helper()
	x, keep := s.orderable(dt, shape, k), s.IntN(2) == 0
	what := fmt.Sprintf("%v %v along %v", shape, k, dims)
	check(t, "argmax "+what, func(in ...*core.Tensor) []*core.Tensor { return one(ops.Argmax(in[0], dims, keep)) }, x)
	check(t, "argmin "+what, func(in ...*core.Tensor) []*core.Tensor { return one(ops.Argmin(in[0], dims, keep)) }, x)
}

func TestArgMax(t *testing.T) {
	trials(t, ir.ClassReal, 40, func(t *testing.T, s source, dt ir.DType) {
		shape := s.shape(s.IntN(5))
		if ir.NumElements(shape) == 0 {
			return
		}
		var dims []int
		if len(shape) > 0 && s.IntN(4) > 0 {
			dims = []int{s.IntN(len(shape))}
		}
		checkArg(t, s, dt, shape, s.layout(), dims)
	})
}

func TestArgMaxLarge(t *testing.T) {
	trials(t, ir.ClassReal, 1, func(t *testing.T, s source, dt ir.DType) {
		for _, c := range []struct {
			shape []int
			dims  []int
		}{
			{[]int{1_000_003}, nil}, {[]int{3, 100_001}, []int{1}}, {[]int{100_001, 3}, []int{0}}, {[]int{1000, 257}, []int{1}},
			{[]int{257, 1000}, []int{0}}, {[]int{7, 999, 65}, []int{1}}, {[]int{70_000, 5}, []int{1}}, {[]int{4096, 33}, []int{0}},
		} {
			checkArg(t, s, dt, c.shape, dense, c.dims)
			if len(c.shape) > 1 {
				checkArg(t, s, dt, c.shape, transposed, c.dims)
			}
		}
	})
}

// TestFault checks that an index out of range is told of by the next call that
// waits, touches nothing, and is told of once.
func TestFault(t *testing.T) {
	onGPU(t)
	x := core.From([]float32{1, 2, 3, 4}, nil, core.Placement{Device: device.CUDA(0)})
	for _, bad := range []int64{4, -1, 1 << 40} {
		index := core.From([]int64{1, bad, 2}, nil, core.Placement{Device: device.CUDA(0)})
		src := core.From([]float32{10, 20, 30}, nil, core.Placement{Device: device.CUDA(0)})
		for _, c := range []struct {
			name string
			call func() *core.Tensor
			want []float32
		}{
			{"gather", func() *core.Tensor { return ops.Gather(x, 0, index) }, []float32{2, 0, 3}},
			{"index_select", func() *core.Tensor { return ops.IndexSelect(x, 0, index) }, []float32{2, 0, 3}},
			{"scatter", func() *core.Tensor { return ops.Scatter(x, 0, index, src) }, []float32{1, 10, 30, 4}},
			{"scatter_add", func() *core.Tensor { return ops.ScatterAdd(x, 0, index, src) }, []float32{1, 12, 33, 4}},
			{"index_add", func() *core.Tensor { return ops.IndexAdd(x, 0, index, src) }, []float32{1, 12, 33, 4}},
		} {
			out := c.call()
			var fault *trap.Error
			if _, err := core.Bytes(out); !errors.As(err, &fault) {
				t.Errorf("%s with %d: %v, want a fault", c.name, bad, err)
				continue
			}
			if d := cmp.Diff(&trap.Error{Operator: c.name, Value: bad, Limit: 4}, fault); d != "" {
				t.Errorf("%s (-want +got):\n%s", c.name, d)
			}
			raw, err := core.Bytes(out)
			if err != nil {
				t.Errorf("%s with %d: a second time: %v", c.name, bad, err)
				continue
			}
			var want []byte
			for _, v := range c.want {
				want = append(want, encode(float64(v), ir.Float32)...)
			}
			if d := cmp.Diff(want, raw); d != "" {
				t.Errorf("%s with %d (-want +got):\n%s", c.name, bad, d)
			}
		}
	}
}
