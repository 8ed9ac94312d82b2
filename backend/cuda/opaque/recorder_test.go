package opaque_test

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/ir"
)

// A recorder is a GPU that notes what it is asked for.
type recorder struct {
	code.GPU // nil: what is not expected fails
	launch   []string
	params   [][]byte
	scratch  uint64
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
