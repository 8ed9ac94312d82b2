package opaque_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "github.com/sinter-go/sinter/generated/tensor" // installs the backends
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// onGPU skips the test where there is no GPU.
func onGPU(t testing.TB) {
	t.Helper()
	if _, _, err := device.Find(device.CUDA(0)); err != nil {
		t.Skip("needs a GPU: ", err)
	}
}

// A layout is a way to lay out the elements of an operand.
type layout int

const (
	dense      layout = iota
	transposed        // axes in reverse order in memory
	sliced            // every second element along every axis, from an offset
	expanded          // stride 0 along the first axis
	numLayouts
)

func (k layout) String() string {
	return [...]string{"dense", "transposed", "sliced", "expanded"}[k]
}

// place returns the layout of kind k for shape and the elements of its storage.
func (k layout) place(shape []int) (ir.Layout, int) {
	l := ir.ContiguousLayout(shape)
	first, step, n := 0, 1, 1
	if k == expanded && len(shape) > 0 {
		first = 1
	}
	if k == sliced {
		step, n, l.Offset = 2, 1, 3
	}
	strides := make([]int, len(shape))
	for i := first; i < len(shape); i++ {
		a := len(shape) - 1 - i + first
		if k == transposed {
			a = i
		}
		strides[a] = step * n
		n *= step * max(shape[a], 1)
	}
	l.Strides = strides
	return l, n + l.Offset
}

// A source makes operands. Numbers are small integers: sums of them are exact in
// every dtype, in any order, and many are equal.
type source struct{ *rand.Rand }

func newSource() source { return source{rand.New(rand.NewPCG(11, 12))} }

// special are numbers that orders treat in a way of their own.
var special = []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e-310, -1e-45, 3e38, -3e38}

// encode returns a number as an element.
func encode(v float64, dt ir.DType) []byte {
	b := make([]byte, 16)
	le := binary.LittleEndian
	switch dt {
	case ir.Float16:
		le.PutUint16(b, uint16(ir.HalfFrom(float32(v))))
	case ir.BFloat16:
		le.PutUint16(b, uint16(ir.BF16From(float32(v))))
	case ir.Float32, ir.Complex64:
		le.PutUint32(b, math.Float32bits(float32(v)))
		le.PutUint32(b[4:], math.Float32bits(float32(v+1)))
	case ir.Float64, ir.Complex128:
		le.PutUint64(b, math.Float64bits(v))
		le.PutUint64(b[8:], math.Float64bits(v+1))
	case ir.Bool:
		if v != 0 {
			b[0] = 1
		}
	default:
		le.PutUint64(b, uint64(int64(v)))
	}
	return b[:dt.Size()]
}

// decode returns the number of a floating element.
func decode(b []byte, dt ir.DType) float64 {
	le := binary.LittleEndian
	switch dt {
	case ir.Float16:
		return float64(ir.Half(le.Uint16(b)).Float32())
	case ir.BFloat16:
		return float64(ir.BF16(le.Uint16(b)).Float32())
	case ir.Float32:
		return float64(math.Float32frombits(le.Uint32(b)))
	case ir.Float64:
		return math.Float64frombits(le.Uint64(b))
	}
	return 0
}

// A pair is an operand on the CPU and on the GPU.
type pair struct{ cpu, gpu *core.Tensor }

var layoutOp = ir.Op{Name: "layout", Kind: ir.ViewBody, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, Switch: -1}

// tensor returns an operand whose elements are next's numbers.
func (s source) tensor(dt ir.DType, shape []int, k layout, next func() float64) pair {
	l, n := k.place(shape)
	raw := make([]byte, 0, n*dt.Size())
	for range n {
		raw = append(raw, encode(next(), dt)...)
	}
	return pairOf(raw, dt, n, l)
}

// bits returns an operand of random bits.
func (s source) bits(dt ir.DType, shape []int, k layout) pair {
	l, n := k.place(shape)
	raw := make([]byte, n*dt.Size()+8)
	for i := 0; i+8 <= len(raw); i += 8 {
		binary.LittleEndian.PutUint64(raw[i:], s.Uint64())
	}
	raw = raw[:n*dt.Size()]
	if dt == ir.Bool {
		for i := range raw {
			raw[i] &= 1
		}
	}
	return pairOf(raw, dt, n, l)
}

func pairOf(raw []byte, dt ir.DType, n int, l ir.Layout) pair {
	on := func(dev device.Device) *core.Tensor {
		t := core.FromBytes(raw, dt, []int{n}, core.Placement{Device: dev})
		return core.View(core.Apply{Op: &layoutOp, In: []*core.Tensor{t}}, l, nil)
	}
	return pair{on(device.CPU), on(device.CUDA(0))}
}

func (s source) small() float64 { return float64(s.IntN(8)) }

func (s source) numbers(dt ir.DType, shape []int, k layout) pair {
	return s.tensor(dt, shape, k, s.small)
}

// index returns an operand of indices below n.
func (s source) index(n int, shape []int, k layout) pair {
	return s.tensor(ir.Int64, shape, k, func() float64 { return float64(s.IntN(max(n, 1))) })
}

// layout returns any of the layouts.
func (s source) layout() layout { return layout(s.IntN(int(numLayouts))) }

// shape returns a shape of some rank with few elements, now and then with none.
func (s source) shape(rank int) []int {
	out := make([]int, rank)
	for i := range out {
		switch s.IntN(12) {
		case 0:
			out[i] = 1
		case 1:
			out[i] = 30 + s.IntN(40)
		default:
			out[i] = 2 + s.IntN(7)
		}
	}
	if rank > 0 && s.IntN(15) == 0 {
		out[s.IntN(rank)] = 0
	}
	return out
}

// An operator is a call of one, on tensors of one device.
type operator func(in ...*core.Tensor) []*core.Tensor

func one(t *core.Tensor) []*core.Tensor { return []*core.Tensor{t} }

func two(a, b *core.Tensor) []*core.Tensor { return []*core.Tensor{a, b} }

// check compares the operator on the GPU with that on the CPU, bit by bit but for
// the bits of NaN.
func check(t *testing.T, what string, f operator, in ...pair) {
	t.Helper()
	var cpu, gpu []*core.Tensor
	for _, p := range in {
		cpu, gpu = append(cpu, p.cpu), append(gpu, p.gpu)
	}
	want, got := f(cpu...), f(gpu...)
	for i := range want {
		if err := same(got[i], want[i]); err != nil {
			t.Errorf("%s: result %d: %v", what, i, err)
			return
		}
	}
}

func same(got, want *core.Tensor) error {
	w, wErr := core.Bytes(want)
	g, gErr := core.Bytes(got)
	if wErr != nil || gErr != nil {
		return fmt.Errorf("errors: cpu %v, cuda %v", wErr, gErr)
	}
	if d := cmp.Diff(want.Shape(), got.Shape()); d != "" {
		return fmt.Errorf("shape (-cpu +cuda):\n%s", d)
	}
	if got.DType() != want.DType() {
		return fmt.Errorf("dtype %s, want %s", got.DType(), want.DType())
	}
	size, wrong, first := want.DType().Size(), 0, -1
	for i := 0; i < len(w); i += size {
		a, b := w[i:i+size], g[i:i+size]
		if string(a) == string(b) {
			continue
		}
		if x, y := decode(a, want.DType()), decode(b, want.DType()); x != x && y != y {
			continue
		}
		if wrong++; first < 0 {
			first = i
		}
	}
	if wrong == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d elements of shape %v differ, the first at %d: % x, want % x",
		wrong, len(w)/size, want.Shape(), first/size, g[first:first+size], w[first:first+size])
}

// trials calls f for every dtype of a set and some shapes and layouts.
func trials(t *testing.T, set ir.DTypeSet, count int, f func(t *testing.T, s source, dt ir.DType)) {
	onGPU(t)
	for _, dt := range set.List() {
		t.Run(dt.String(), func(t *testing.T) {
			s := newSource()
			for range count {
				f(t, s, dt)
			}
		})
	}
}
