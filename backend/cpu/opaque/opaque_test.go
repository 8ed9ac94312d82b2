package opaque

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// resultLayouts are the layouts a result can have.
var resultLayouts = []string{"contiguous", "transposed", "sliced", "offset"}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// someLayouts returns all layouts, in a short run one of them.
func someLayouts(rng *rand.Rand) []string {
	if testing.Short() {
		return []string{anyOf(rng, cputest.Layouts)}
	}
	return cputest.Layouts
}

// any layout from a list.
func anyOf(rng *rand.Rand, layouts []string) string { return layouts[rng.IntN(len(layouts))] }

// call returns the call of a kernel.
func call(compute ir.DType, attrs []ir.Value, out []ir.View, in ...ir.View) *ir.Call {
	return &ir.Call{Kernel: (&ir.Op{Name: "test", Kind: ir.Opaque}).Kernel(0, compute), Attrs: attrs, Out: out, In: in}
}

func must(t *testing.T, f ir.KernelFunc, c *ir.Call) {
	t.Helper()
	if err := f(c); err != nil {
		t.Fatal(err)
	}
}

// at returns the row-major place of coordinates.
func at(shape []int, coords ...int) int {
	i := 0
	for a, c := range coords {
		i = i*shape[a] + c
	}
	return i
}

// coords is the reverse of at.
func coords(shape []int, i int) []int {
	out := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		out[a] = i % shape[a]
		i /= shape[a]
	}
	return out
}

// near compares with a bound relative to the size of the numbers.
func near(got, want, bound float64) bool {
	switch {
	case got == want, got != got && want != want:
		return true
	case math.IsInf(got, 0) || math.IsInf(want, 0):
		return false
	}
	return math.Abs(got-want) <= bound*(1+math.Abs(want))
}

// bounds are what one rounding to a dtype allows, with room for a short sum.
var bounds = map[ir.DType]float64{ir.Float16: 1e-3, ir.BFloat16: 8e-3, ir.Float32: 2e-5, ir.Float64: 1e-12}

// checkNear compares a result with numbers in row-major order.
func checkNear(t *testing.T, what string, got ir.View, want []float64) {
	t.Helper()
	bound := bounds[got.DType]
	for i, w := range want {
		if g := real(cputest.Get(got, i)); !near(g, w, bound) {
			t.Fatalf("%s: element %v of %v is %v, want %v", what, coords(got.Shape, i), got.Shape, g, w)
		}
	}
}

// checkExact compares a result with numbers in row-major order.
func checkExact(t *testing.T, what string, got ir.View, want []complex128) {
	t.Helper()
	for i, w := range want {
		if g := cputest.Get(got, i); g != w && fmt.Sprint(g) != fmt.Sprint(w) { // NaN prints alike
			t.Fatalf("%s: element %v of %v is %v, want %v", what, coords(got.Shape, i), got.Shape, g, w)
		}
	}
}

func ints(v ...int) ir.Value    { return ir.IntsValue(v) }
func num(v int) ir.Value        { return ir.IntValue(v) }
func flag(v bool) ir.Value      { return ir.BoolValue(v) }
func real64(v float64) ir.Value { return ir.FloatValue(v) }

func TestUnsupportedDTypes(t *testing.T) {
	b := cputest.From(ir.Bool, []int{1}, 1)
	i := cputest.From(ir.Int64, []int{1}, 0)
	for name, f := range map[string]ir.KernelFunc{
		"MatMul": MatMul, "Softmax": Softmax, "LogSoftmax": LogSoftmax, "LayerNorm": LayerNorm, "RMSNorm": RMSNorm,
		"ArgMax": ArgMax, "ArgMin": ArgMin,
	} {
		err := f(call(ir.Bool, []ir.Value{num(0), num(0)}, []ir.View{b, b, b}, b, i, b))
		if err == nil || !strings.Contains(err.Error(), "not implemented for bool") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := cputest.From(ir.Complex64, []int{1}, 1)
	if err := Sort(call(ir.Complex64, []ir.Value{num(0), num(0)}, []ir.View{c, i}, c)); err == nil {
		t.Error("Sort of complex numbers: no error")
	}
}
