package collective

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/ir"
)

// folded returns the reduction of three ranks' elements.
func folded[T any](t *testing.T, o Op, d ir.DType, a, b, c []T) []T {
	t.Helper()
	out := make([]T, len(a))
	srcs := []unsafe.Pointer{unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), unsafe.Pointer(&c[0])}
	if err := Combine(o, d, len(a), unsafe.Pointer(&out[0]), srcs); err != nil {
		t.Fatal(err)
	}
	return out
}

func same3[T any](t *testing.T, name string, got, want []T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestCombine(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	a, b, c := []float64{1, nan, -0.5, inf}, []float64{2, 1, 4, 1}, []float64{4, 2, 0.25, -inf}
	same3(t, "sum", folded(t, Sum, ir.Float64, a, b, c), []float64{7, nan, 3.75, nan})
	same3(t, "product", folded(t, Product, ir.Float64, a, b, c), []float64{8, nan, -0.5, -inf})
	same3(t, "min", folded(t, Min, ir.Float64, a, b, c), []float64{1, nan, -0.5, -inf})
	same3(t, "max", folded(t, Max, ir.Float64, a, b, c), []float64{4, nan, 4, inf})
	same3(t, "average", folded(t, Average, ir.Float64, a, b, c), []float64{7. / 3, nan, 1.25, nan})
	same3(t, "or", folded(t, Sum, ir.Bool, []uint8{1, 0}, []uint8{1, 0}, []uint8{0, 0}), []uint8{1, 0})
	same3(t, "and", folded(t, Product, ir.Bool, []uint8{1, 0}, []uint8{1, 1}, []uint8{1, 1}), []uint8{1, 0})
	same3(t, "wraps", folded(t, Sum, ir.Int8, []int8{100}, []int8{100}, []int8{100}), []int8{44})
	same3(t, "complex", folded(t, Product, ir.Complex64, []complex64{1i}, []complex64{1i}, []complex64{3}), []complex64{-3})
	// In 16 bits 2048+1 is 2048: two ones count when they are added before rounding.
	h := func(v float32) []ir.Half { return []ir.Half{ir.HalfFrom(v)} }
	same3(t, "halves are rounded once", folded(t, Sum, ir.Float16, h(2048), h(1), h(1)), h(2050))
}

func TestCombineRefuses(t *testing.T) {
	for _, c := range []struct {
		o Op
		d ir.DType
	}{{Average, ir.Int32}, {Min, ir.Complex64}, {Max, ir.Complex128}, {numOps, ir.Float32}, {Sum, ir.Invalid}} {
		if err := Combine(c.o, c.d, 0, nil, nil); !errors.Is(err, ErrCall) {
			t.Errorf("%s of %s: %v", c.o, c.d, err)
		}
	}
}

func TestNames(t *testing.T) {
	v := ir.View{DType: ir.Float32, Shape: []int{2, 3}}
	for _, c := range []struct {
		call Call
		want string
	}{
		{Call{Kind: Barrier}, "barrier"},
		{Call{Kind: AllReduce, Op: Max, In: v, Out: v}, "all-reduce(max) of float32 [2 3]"},
		{Call{Kind: Broadcast, Root: 2, Out: v}, "broadcast of float32 [2 3] from rank 2"},
		{Call{Kind: Send, Root: 1, In: v}, "send of float32 [2 3] to rank 1"},
		{Call{Kind: numKinds, Op: numOps}, fmt.Sprint("collective.Kind(", int(numKinds), ")")},
	} {
		if got := c.call.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
