package kernel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/kernel"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// The parameters of the kernels in optimizer.cu, which Go lays out as C does.
type (
	threeLists struct {
		elements [64]int64
		at       [3][64]uint64
		first    [65]int32
		count    int32
	}
	fourLists struct {
		elements [64]int64
		at       [4][64]uint64
		first    [65]int32
		count    int32
	}
	sgdParams struct {
		lists                        threeLists
		rate, momentum, share, decay float64
		nesterov                     bool
	}
	adamParams struct {
		lists                                  fourLists
		step, beta1, beta2, eps, decay, shrink float64
	}
)

// A recorder is a GPU that notes what it is asked for.
type recorder struct {
	ir.GPU  // nil: what is not expected fails
	launch  []string
	params  [][]byte
	scratch uint64
}

func (r *recorder) Launch(module, name string, grid, block [3]int, shared int, params []byte) error {
	r.launch = append(r.launch, fmt.Sprint(module, " ", name, " ", grid, block, shared))
	r.params = append(r.params, slices.Clone(params))
	return nil
}

func (r *recorder) Dense(v ir.View, dt ir.DType) (ir.View, error) {
	r.scratch += 0x1000
	r.launch = append(r.launch, fmt.Sprintf("dense %x %v as %x", v.Addr, v.Shape, r.scratch))
	return ir.View{Addr: r.scratch, DType: dt, Shape: v.Shape, Strides: ir.ContiguousStrides(v.Shape)}, nil
}

func (r *recorder) Store(dst, src ir.View) error {
	r.launch = append(r.launch, fmt.Sprintf("store %x to %x", src.Addr, dst.Addr))
	return nil
}

// paramsOf reads a launch's parameters as the kernel would.
func paramsOf[P any](t *testing.T, b []byte) *P {
	t.Helper()
	p := new(P)
	if len(b) != int(unsafe.Sizeof(*p)) {
		t.Fatalf("%d bytes of parameters, the kernel has %d", len(b), unsafe.Sizeof(*p))
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(p)), len(b)), b)
	return p
}

func deviceView(addr uint64, shape ...int) ir.View {
	return ir.View{Addr: addr, DType: ir.Float32, Shape: shape, Strides: ir.ContiguousStrides(shape)}
}

func floatValues(v ...float64) (out []ir.Value) {
	for _, x := range v {
		out = append(out, ir.FloatValue(x))
	}
	return out
}

// TestStepLaunches has 130 tensors changed in launches of 64 at most; one of them
// has no elements.
func TestStepLaunches(t *testing.T) {
	const n, empty = 130, 70
	c := &ir.Call{Op: ops.AdamStepOp(), Compute: ir.Float32, Attrs: floatValues(0.5, 0.75, 0.875, 1e-3, 0.25, 0.125)}
	size := func(k int) int {
		switch k {
		case empty:
			return 0
		case 2:
			return 3*4096 + 1
		}
		return k + 1
	}
	for list := range 4 {
		for k := range n {
			v := deviceView(uint64(list*n+k+1)<<20, size(k))
			if list < 3 {
				c.Out = append(c.Out, v)
			} else {
				c.In = append(c.In, v)
			}
		}
	}
	r := new(recorder)
	if err := kernel.AdamStep(r, c); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"optimizer adam_step_float32 [67 1 1] [256 1 1] 0",
		"optimizer adam_step_float32 [64 1 1] [256 1 1] 0",
		"optimizer adam_step_float32 [1 1 1] [256 1 1] 0",
	}
	if diff := cmp.Diff(want, r.launch); diff != "" {
		t.Fatalf("launches (-want +got):\n%s", diff)
	}
	k := 0 // the next tensor
	for i, raw := range r.params {
		p := paramsOf[adamParams](t, raw)
		numbers := []float64{p.step, p.beta1, p.beta2, p.eps, p.decay, p.shrink}
		if diff := cmp.Diff([]float64{0.5, 0.75, 0.875, 1e-3, 0.25, 0.125}, numbers); diff != "" {
			t.Errorf("launch %d: numbers (-want +got):\n%s", i, diff)
		}
		if p.lists.first[0] != 0 {
			t.Errorf("launch %d begins at block %d", i, p.lists.first[0])
		}
		for j := range p.lists.count {
			if k == empty {
				k++
			}
			blocks := p.lists.first[j+1] - p.lists.first[j]
			if p.lists.elements[j] != int64(size(k)) || int(blocks) != (size(k)+4095)/4096 {
				t.Fatalf("tensor %d has %d elements and %d blocks", k, p.lists.elements[j], blocks)
			}
			for slot, list := range []int{0, 3, 1, 2} { // the gradient is second
				if got := p.lists.at[slot][j]; got != uint64(list*n+k+1)<<20 {
					t.Fatalf("tensor %d: list %d is at %x", k, list, got)
				}
			}
			k++
		}
	}
	if k != n {
		t.Errorf("%d tensors were changed, want %d", k, n)
	}
}

// TestStepWithGaps works on copies of what is not dense.
func TestStepWithGaps(t *testing.T) {
	param, momentum, grad := deviceView(0x10, 2, 3), deviceView(0x20, 2, 3), deviceView(0x30, 2, 3)
	momentum.Strides = []int{1, 2}
	scalar := deviceView(0x40)
	c := &ir.Call{
		Op: ops.SGDMomentumStepOp(), Compute: ir.Float32, Attrs: append(floatValues(0.5, 0.75, 0.25, 0.125), ir.BoolValue(true)),
		Out: []ir.View{param, param, momentum, momentum}, In: []ir.View{grad, scalar},
	}
	c.Out[1].Addr, c.Out[3].Addr = 0x11, 0x21
	r := new(recorder)
	if err := kernel.SGDMomentumStep(r, c); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"dense 20 [2 3] as 1000", "dense 21 [2 3] as 2000", "dense 40 [2 3] as 3000",
		"optimizer sgd_step_float32 [2 1 1] [256 1 1] 0", "store 1000 to 20", "store 2000 to 21",
	}
	if diff := cmp.Diff(want, r.launch); diff != "" {
		t.Errorf("work (-want +got):\n%s", diff)
	}
	p := paramsOf[sgdParams](t, r.params[0])
	var at [][]uint64
	for _, list := range p.lists.at {
		at = append(at, list[:2])
	}
	if diff := cmp.Diff([][]uint64{{0x10, 0x11}, {0x30, 0x3000}, {0x1000, 0x2000}}, at); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if p.lists.count != 2 || p.lists.elements[1] != 6 || p.lists.first[1] != 1 || p.lists.first[2] != 2 {
		t.Errorf("%d tensors, the second of %d elements in blocks %d to %d", p.lists.count, p.lists.elements[1], p.lists.first[1], p.lists.first[2])
	}
	if p.rate != 0.5 || p.momentum != 0.75 || p.share != 0.25 || p.decay != 0.125 || !p.nesterov {
		t.Errorf("numbers %v %v %v %v %v", p.rate, p.momentum, p.share, p.decay, p.nesterov)
	}
}

// TestStepWithoutMomentum gives the kernel no third list.
func TestStepWithoutMomentum(t *testing.T) {
	c := &ir.Call{
		Op: ops.SGDStepOp(), Compute: ir.Float32, Attrs: floatValues(0.5, 0.25),
		Out: []ir.View{deviceView(0x10, 4)}, In: []ir.View{deviceView(0x20, 4)},
	}
	r := new(recorder)
	if err := kernel.SGDStep(r, c); err != nil {
		t.Fatal(err)
	}
	p := paramsOf[sgdParams](t, r.params[0])
	if p.lists.at[0][0] != 0x10 || p.lists.at[1][0] != 0x20 || p.lists.at[2] != [64]uint64{} {
		t.Errorf("addresses %x %x %x", p.lists.at[0][0], p.lists.at[1][0], p.lists.at[2])
	}
	if p.rate != 0.5 || p.decay != 0.25 || p.nesterov {
		t.Errorf("numbers %v %v %v", p.rate, p.decay, p.nesterov)
	}
	c.Out, c.In = []ir.View{deviceView(0x10, 0)}, []ir.View{deviceView(0x20, 0)}
	if err := kernel.SGDStep(r, c); err != nil || len(r.launch) != 1 {
		t.Errorf("no elements: %v, %s", err, strings.Join(r.launch, "; "))
	}
}

// TestSteps takes three steps over 70 tensors of all sizes and layouts on the GPU
// and on the CPU, whose bits must be the same.
func TestSteps(t *testing.T) {
	onGPU(t)
	steps := map[string]struct {
		lists int
		run   func(l [][]*core.Tensor) error
	}{
		"sgd": {2, func(l [][]*core.Tensor) error { return ops.SGDStep(l[0], l[1], 0.1, 0.01) }},
		"momentum": {3, func(l [][]*core.Tensor) error {
			return ops.SGDMomentumStep(l[0], l[1], l[2], 0.1, 0.9, 0.7, 0.01, false)
		}},
		"nesterov": {3, func(l [][]*core.Tensor) error { return ops.SGDMomentumStep(l[0], l[1], l[2], 0.1, 0.9, 1, 0, true) }},
		"adam": {4, func(l [][]*core.Tensor) error {
			return ops.AdamStep(l[0], l[1], l[2], l[3], 0.01, 0.9, 0.999, 1e-8, 0.01, 1)
		}},
		"adamw": {4, func(l [][]*core.Tensor) error {
			return ops.AdamStep(l[0], l[1], l[2], l[3], 0.01, 0.2, 0.5, 1e-3, 0, 0.99)
		}},
	}
	for name, step := range steps {
		trials(t, ir.ClassFloat, 1, func(t *testing.T, s source, dt ir.DType) {
			cpu, gpu := make([][]*core.Tensor, step.lists), make([][]*core.Tensor, step.lists)
			for k := range 70 {
				shape := s.shape(s.IntN(4))
				if k == 5 {
					shape = []int{3*4096 + 7}
				}
				for i := range step.lists {
					layouts := []layout{dense, dense, transposed, sliced}
					next := func() float64 { return s.Float64() - 0.5 }
					if i == 3 {
						next = s.Float64 // a mean of squares
					}
					p := s.tensor(dt, shape, layouts[s.IntN(len(layouts))], next)
					cpu[i], gpu[i] = append(cpu[i], p.cpu), append(gpu[i], p.gpu)
				}
			}
			for range 3 {
				if err := step.run(cpu); err != nil {
					t.Fatal(name, err)
				}
				if err := step.run(gpu); err != nil {
					t.Fatal(name, err)
				}
			}
			for i := range cpu {
				for k := range cpu[i] {
					if err := same(gpu[i][k], cpu[i][k]); err != nil {
						t.Fatalf("%s: list %d, tensor %d: %v", name, i, k, err)
					}
				}
			}
		})
	}
}
