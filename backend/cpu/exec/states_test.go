package exec

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// stateOp is a reduction over operands of a dtype with states a and b that the loops are of.
func stateOp(operands int, dt ir.DType, ordered bool, start, step, merge, finish vector.Func) *ir.Op {
	code := func(l vector.Func) *vector.Code {
		table := new([ir.NumDTypes]vector.Func)
		table[dt] = l
		return &vector.Code{Loops: vector.Table{table}}
	}
	op := &ir.Op{
		Name: "states", Kind: ir.Reduction, Switch: -1, DTypes: ir.SetOf(dt), Ordered: ordered,
		Out:    []ir.Result{{Name: "first"}, {Name: "second", DType: ir.Int64}},
		Bodies: []ir.Body{{States: []ir.State{{Name: "a"}, {Name: "b", DType: ir.Int64}}, Exprs: []string{"a.a", "a.b + count"}}},
		Code:   []ir.Code{{For: "cpu", Of: &vector.Code{Parts: &vector.Parts{Start: code(start), Step: code(step), Merge: code(merge), Finish: code(finish)}}}},
	}
	for i := range operands {
		op.In = append(op.In, ir.Operand{Name: string(rune('x' + i))})
	}
	return op
}

// of returns n elements at p.
func of[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

// products sums products of two operands, and counts where the first is the larger; the
// number of elements is added to the count.
var products = stateOp(2, ir.Float64, false,
	func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
		clear(of[float64](p[0], n))
		clear(of[int64](p[1], n))
	},
	func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
		sum, count := of[float64](p[0], n), of[int64](p[1], n)
		a, b, x, y := of[float64](p[2], n), of[int64](p[3], n), of[float64](p[4], n), of[float64](p[5], n)
		for i := range sum {
			sum[i], count[i] = a[i]+x[i]*y[i], b[i]
			if x[i] > y[i] {
				count[i]++
			}
		}
	},
	func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
		sum, count := of[float64](p[0], n), of[int64](p[1], n)
		for i := range sum {
			sum[i], count[i] = of[float64](p[2], n)[i]+of[float64](p[4], n)[i], of[int64](p[3], n)[i]+of[int64](p[5], n)[i]
		}
	},
	func(n int, p []unsafe.Pointer, s []ir.Scalar, _ int64) {
		copy(of[float64](p[0], n), of[float64](p[2], n))
		for i, c := range of[int64](p[3], n) {
			of[int64](p[1], n)[i] = c + int64(s[len(s)-1].Float())
		}
	})

// digests makes a number of the elements that shows their order, and a power of 31 of how
// many there are.
var digests = stateOp(1, ir.Int64, true,
	func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
		clear(of[int64](p[0], n))
		for i := range n {
			of[int64](p[1], n)[i] = 1
		}
	},
	func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
		for i := range n {
			of[int64](p[0], n)[i] = of[int64](p[2], n)[i]*31 + of[int64](p[4], n)[i]
			of[int64](p[1], n)[i] = of[int64](p[3], n)[i] * 31
		}
	},
	func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
		for i := range n {
			before, behind, power := of[int64](p[2], n)[i], of[int64](p[4], n)[i], of[int64](p[5], n)[i]
			of[int64](p[0], n)[i], of[int64](p[1], n)[i] = before*power+behind, of[int64](p[3], n)[i]*power
		}
	},
	func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
		copy(of[int64](p[0], n), of[int64](p[2], n))
		copy(of[int64](p[1], n), of[int64](p[3], n))
	})

// stateCalls calls f with reductions of op in every shape and layout, operands of small
// whole numbers.
func stateCalls(t *testing.T, op *ir.Op, compute ir.DType, f func(what string, c *ir.Call)) {
	rng, tried := rand.New(rand.NewPCG(31, 32)), 0
	for _, c := range usualCases {
		for k, layout := range cputest.Layouts {
			if tried++; testing.Short() && tried%23 != 0 {
				continue
			}
			var in []ir.View
			for i := range op.In {
				in = append(in, cputest.Fill(cputest.NewView(compute, cputest.Layouts[(k+i)%len(cputest.Layouts)], c.shape...), rng, -3, 3))
			}
			call := reduceCall(op, in[0], c.axes, compute, compute, "contiguous")
			call.In = in
			second := op.Out[1].DType
			if second == ir.Invalid {
				second = compute
			}
			call.Out = append(call.Out, reduceCall(op, in[0], c.axes, compute, second, "contiguous").Out[0])
			for _, procs := range []int{1, 3} {
				old := runtime.GOMAXPROCS(procs)
				err := Run(call)
				runtime.GOMAXPROCS(old)
				if err != nil {
					t.Fatal(err)
				}
				f(fmt.Sprintf("%v over %v, %s, %d processors", c.shape, c.axes, layout, procs), call)
			}
		}
	}
}

// TestStates folds two operands into two states of different dtypes, from rows and from
// columns, and compares with plain loops.
func TestStates(t *testing.T) {
	stateCalls(t, products, ir.Float64, func(what string, c *ir.Call) {
		sums, counts := make([]float64, c.Out[0].NumElements()), make([]float64, c.Out[0].NumElements())
		for k := range counts {
			counts[k] = float64(c.ReducedCount())
		}
		for i := range c.In[0].NumElements() {
			k, x, y := position(c.Space, c.Out[0].Shape, i), real(cputest.Get(c.In[0], i)), real(cputest.Get(c.In[1], i))
			if sums[k] += x * y; x > y {
				counts[k]++
			}
		}
		if d := diff(sums, cputest.Reals(c.Out[0])); d != "" {
			t.Fatalf("sums of %s: %s", what, d)
		}
		if d := diff(counts, cputest.Reals(c.Out[1])); d != "" {
			t.Fatalf("counts of %s: %s", what, d)
		}
	})
}

// TestOrderedStates: a reduction that shows the order of elements folds them in it.
func TestOrderedStates(t *testing.T) {
	stateCalls(t, digests, ir.Int64, func(what string, c *ir.Call) {
		want, got := make([]int64, c.Out[0].NumElements()), of[int64](c.Out[0].Ptr, c.Out[0].NumElements())
		for i := range c.In[0].NumElements() {
			k := position(c.Space, c.Out[0].Shape, i)
			want[k] = want[k]*31 + int64(real(cputest.Get(c.In[0], i)))
		}
		for k := range want {
			if want[k] != got[k] {
				t.Fatalf("%s: result %d is %d, want %d", what, k, got[k], want[k])
			}
		}
	})
}

// TestStatesRefused: a kernel without loops, and a call of other operands than its
// operator's, are errors.
func TestStatesRefused(t *testing.T) {
	x := cputest.NewView(ir.Float64, "contiguous", 4)
	call := reduceCall(products, x, []int{0}, ir.Float64, ir.Float64, "contiguous")
	if err := Run(call); err == nil {
		t.Error("one operand and one result are taken for two")
	}
	none := *reduceCall(products, cputest.NewView(ir.Float32, "contiguous", 4), []int{0}, ir.Float32, ir.Float32, "contiguous")
	if err := Run(&none); err == nil {
		t.Error("a dtype without loops is computed")
	}
}
