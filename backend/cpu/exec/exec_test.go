package exec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// diff is cmp.Diff, quicker where there is no difference.
func diff[T comparable](want, got []T) string {
	if slices.Equal(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

type arith interface {
	uint8 | int8 | int16 | int32 | int64 | float32 | float64 | complex64 | complex128
}

// axpyLoop is alpha*x + y, and add the operator around it.
func axpyLoop[T arith](n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
	out, x, y := unsafe.Slice((*T)(p[0]), n), unsafe.Slice((*T)(p[1]), n), unsafe.Slice((*T)(p[2]), n)
	for i := range out {
		out[i] = x[i] + x[i] + y[i]
	}
}

var axpy = ir.Op{
	Name: "axpy", Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}, {Name: "y"}}, Out: []ir.Result{{Name: "out"}},
	Code: []ir.Code{{For: "cpu", Of: &vector.Code{Loops: []*[ir.NumDTypes]vector.Func{{
		ir.Uint8: axpyLoop[uint8], ir.Int8: axpyLoop[int8], ir.Int16: axpyLoop[int16], ir.Int32: axpyLoop[int32], ir.Int64: axpyLoop[int64],
		ir.Float32: axpyLoop[float32], ir.Float64: axpyLoop[float64], ir.Complex64: axpyLoop[complex64], ir.Complex128: axpyLoop[complex128],
	}}}}},
}

// pickLoop is where(c, x, index), which reads a bool operand and the index.
var pickOp = ir.Op{
	Name: "pick", Kind: ir.Elementwise, In: []ir.Operand{{Name: "c", Fixed: ir.Bool}, {Name: "x"}}, Out: []ir.Result{{Name: "out"}},
	Code: []ir.Code{{For: "cpu", Of: &vector.Code{Loops: []*[ir.NumDTypes]vector.Func{{ir.Float32: func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
		out, c, x := unsafe.Slice((*float32)(p[0]), n), unsafe.Slice((*bool)(p[1]), n), unsafe.Slice((*float32)(p[2]), n)
		for i := range out {
			if out[i] = float32(index + int64(i)); c[i] {
				out[i] = x[i]
			}
		}
	}}}}}},
}

var lessOp = ir.Op{
	Name: "less", Kind: ir.Elementwise, Promote: ir.PromoteCompare, In: []ir.Operand{{Name: "x"}, {Name: "y"}}, Out: []ir.Result{{Name: "out"}},
	Code: []ir.Code{{For: "cpu", Of: &vector.Code{Loops: []*[ir.NumDTypes]vector.Func{{ir.Float32: func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
		out, x, y := unsafe.Slice((*bool)(p[0]), n), unsafe.Slice((*float32)(p[1]), n), unsafe.Slice((*float32)(p[2]), n)
		for i := range out {
			out[i] = x[i] < y[i]
		}
	}}}}}},
}

var spaces = [][]int{{}, {1}, {7}, {0, 3}, {300}, {1025}, {3, 5}, {130, 9}, {3, 1500}, {2, 3, 4}, {5, 130, 3}, {20000}, {70, 300}}

func TestElementwise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, dtype := range []ir.DType{ir.Uint8, ir.Int16, ir.Int64, ir.Float16, ir.BFloat16, ir.Float32, ir.Float64, ir.Complex64} {
		for _, space := range spaces {
			if ir.NumElements(space) > 4096 && dtype != ir.Float32 && dtype != ir.Float16 {
				continue
			}
			for i, lx := range cputest.Layouts {
				ly, lo := cputest.Layouts[rng.IntN(len(cputest.Layouts))], []string{"contiguous", "transposed", "sliced", "offset"}[i%4]
				x := cputest.Fill(cputest.NewView(dtype, lx, space...), rng, 0, 9)
				y := cputest.Fill(cputest.NewView(ir.Uint8, ly, space...), rng, 0, 9)
				out := cputest.NewView(dtype, lo, space...)
				want := make([]complex128, out.NumElements())
				for i := range want {
					want[i] = 2*cputest.Get(x, i) + cputest.Get(y, i)
				}
				c := &ir.Call{Kernel: axpy.Kernel(0, dtype), Space: space, Out: []ir.View{out}, In: []ir.View{x, y}}
				if err := Run(c); err != nil {
					t.Fatal(err)
				}
				if d := diff(want, cputest.Values(out)); d != "" {
					t.Fatalf("%s %v %s %s to %s: %s", dtype, space, lx, ly, lo, d)
				}
			}
		}
	}
}

func TestElementwiseTails(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 301 {
		for _, scalar := range []bool{false, true} {
			x := cputest.Fill(cputest.NewView(ir.Float16, "sliced", n), rng, 0, 9)
			y := cputest.Fill(cputest.NewView(ir.Float32, "contiguous", n), rng, 0, 9)
			if scalar {
				y = cputest.Expand(cputest.From(ir.Float32, []int{1}, 4), n)
				y.Strides = []int{0}
			}
			out := cputest.NewView(ir.Float32, "contiguous", n+3)
			guard := cputest.Get(out, n)
			part := out
			part.Shape = []int{n}
			if err := Run(&ir.Call{Kernel: axpy.Kernel(0, ir.Float32), Space: []int{n}, Out: []ir.View{part}, In: []ir.View{x, y}}); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if got, want := cputest.Get(out, i), 2*cputest.Get(x, i)+cputest.Get(y, i); got != want {
					t.Fatalf("n %d: element %d is %v, want %v", n, i, got, want)
				}
			}
			if got := cputest.Get(out, n); got != guard {
				t.Fatalf("n %d: wrote past the end", n)
			}
		}
	}
}

func TestElementwiseBroadcastAndIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, space := range [][]int{{4, 300}, {300, 4}, {3, 4, 700}, {100, 200}} {
		last := space[len(space)-1]
		c := cputest.Expand(cputest.Fill(cputest.NewView(ir.Bool, "contiguous", last), rng, 0, 1), space...)
		column := append([]int(nil), space...)
		column[len(column)-1] = 1
		x := cputest.Expand(cputest.Fill(cputest.NewView(ir.BFloat16, "contiguous", column...), rng, -9, 9), space...)
		out := cputest.NewView(ir.Float32, "transposed", space...)
		want := make([]float64, out.NumElements())
		for i := range want {
			if want[i] = float64(i); cputest.Get(c, i) != 0 {
				want[i] = real(cputest.Get(x, i))
			}
		}
		if err := Run(&ir.Call{Kernel: pickOp.Kernel(0, ir.Float32), Space: space, Out: []ir.View{out}, In: []ir.View{c, x}}); err != nil {
			t.Fatal(err)
		}
		if d := diff(want, cputest.Reals(out)); d != "" {
			t.Errorf("%v: %s", space, d)
		}
	}
}

func TestElementwiseResultDTypes(t *testing.T) {
	x := cputest.From(ir.Float32, []int{3}, 1, 2, math.NaN())
	y := cputest.From(ir.Float32, []int{3}, 2, 2, 2)
	for _, dtype := range []ir.DType{ir.Bool, ir.Int32, ir.Float64, ir.BFloat16} {
		out := cputest.NewView(dtype, "contiguous", 3)
		if err := Run(&ir.Call{Kernel: lessOp.Kernel(0, ir.Float32), Space: []int{3}, Out: []ir.View{out}, In: []ir.View{x, y}}); err != nil {
			t.Fatal(err)
		}
		if d := diff([]float64{1, 0, 0}, cputest.Reals(out)); d != "" {
			t.Errorf("%s: %s", dtype, d)
		}
	}
}

func TestElementwiseInPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, layout := range []string{"contiguous", "transposed", "sliced"} {
		for _, dtype := range []ir.DType{ir.Float32, ir.Float16} {
			x := cputest.Fill(cputest.NewView(dtype, layout, 70, 300), rng, 0, 9)
			y := cputest.Fill(cputest.NewView(dtype, "contiguous", 70, 300), rng, 0, 9)
			want := make([]complex128, x.NumElements())
			for i := range want {
				want[i] = 2*cputest.Get(x, i) + cputest.Get(y, i)
			}
			if err := Run(&ir.Call{Kernel: axpy.Kernel(0, ir.Float32), Space: x.Shape, Out: []ir.View{x}, In: []ir.View{x, y}}); err != nil {
				t.Fatal(err)
			}
			if d := diff(want, cputest.Values(x)); d != "" {
				t.Errorf("%s %s: %s", layout, dtype, d)
			}
		}
	}
}

func TestIdentity(t *testing.T) {
	copyOp := ir.Op{
		Name: "copy", Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, Bodies: []ir.Body{{Exprs: []string{"x"}, Identity: true}},
		Code: []ir.Code{{For: "cpu", Of: &vector.Code{Loops: []*[ir.NumDTypes]vector.Func{{ir.Float32: func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
			copy(unsafe.Slice((*float32)(p[0]), n), unsafe.Slice((*float32)(p[1]), n))
		}}}}}},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, from := range []ir.DType{ir.BFloat16, ir.Float32, ir.Int8} {
		for _, to := range []ir.DType{ir.BFloat16, ir.Int32, ir.Float64} {
			for _, layout := range cputest.Layouts {
				x := cputest.Fill(cputest.NewView(from, layout, 30, 200), rng, 0, 9)
				out := cputest.NewView(to, "transposed", 30, 200)
				if err := Run(&ir.Call{Kernel: copyOp.Kernel(0, ir.Float32), Space: x.Shape, Out: []ir.View{out}, In: []ir.View{x}}); err != nil {
					t.Fatal(err)
				}
				if d := diff(cputest.Values(x), cputest.Values(out)); d != "" {
					t.Errorf("%s to %s, %s: %s", from, to, layout, d)
				}
			}
		}
	}
}

func TestUnsupported(t *testing.T) {
	one := cputest.From(ir.Bool, []int{1}, 1)
	for _, op := range []*ir.Op{&axpy, {Name: "sum", Kind: ir.Reduction}, {Name: "scan", Kind: ir.Scan}, {Name: "kernel", Kind: ir.Opaque}, {Name: "view", Kind: ir.ViewBody}} {
		err := Run(&ir.Call{Kernel: op.Kernel(0, ir.Bool), Space: []int{1}, Out: []ir.View{one}, In: []ir.View{one, one}})
		if err == nil {
			t.Errorf("%s: no error", op.Name)
		}
	}
}

// numbers is what the reductions of the tests accumulate in.
type numbers interface{ int64 | float32 | float64 }

// foldLoops returns loops for an associative function. Count is added to the
// result so that tests see it.
func foldLoops[T numbers](acc ir.DType, identity T, combine func(a, b T) T) *vector.FoldFuncs {
	s := func(n int, p unsafe.Pointer) []T { return unsafe.Slice((*T)(p), n) }
	return &vector.FoldFuncs{
		Acc: acc, Out: acc,
		Init: func(n int, acc unsafe.Pointer, _ []ir.Scalar) {
			for i := range n {
				s(n, acc)[i] = identity
			}
		},
		Fold: func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) {
			for i := range n {
				*(*T)(acc) = combine(*(*T)(acc), s(n, x)[i])
			}
		},
		Rows: func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) {
			for i := range n {
				s(n, acc)[i] = combine(s(n, acc)[i], s(n, x)[i])
			}
		},
		Merge: func(n int, acc, b unsafe.Pointer, _ []ir.Scalar) {
			for i := range n {
				s(n, acc)[i] = combine(s(n, acc)[i], s(n, b)[i])
			}
		},
		Finish: func(n int, out, acc unsafe.Pointer, _ []ir.Scalar, count int64) {
			for i := range n {
				s(n, out)[i] = s(n, acc)[i] + T(count)
			}
		},
		Prefix: func(n int, out, acc, x unsafe.Pointer, _ []ir.Scalar) {
			for i := range n {
				*(*T)(acc) = combine(*(*T)(acc), s(n, x)[i])
				s(n, out)[i] = *(*T)(acc)
			}
		},
	}
}

func sum[T numbers](a, b T) T { return a + b }

// first is associative but not commutative: the first that is not zero.
func first[T numbers](a, b T) T {
	if a != 0 {
		return a
	}
	return b
}

func reduceOp(kind ir.BodyKind, f32, f64, i64 *vector.FoldFuncs) *ir.Op {
	table := []*[ir.NumDTypes]*vector.FoldFuncs{{ir.Float32: f32, ir.Float64: f64, ir.Int64: i64}}
	return &ir.Op{Name: "fold", Kind: kind, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, Code: []ir.Code{{For: "cpu", Of: &vector.Code{Folds: table}}}}
}

// reduceCall returns a call that reduces x over axes into a new result.
func reduceCall(op *ir.Op, x ir.View, axes []int, compute, out ir.DType, layout string) *ir.Call {
	kept := append([]int(nil), x.Shape...)
	for _, a := range axes {
		kept[a] = 1
	}
	v := cputest.NewView(out, layout, kept...)
	for _, a := range axes {
		v.Strides[a] = 0
	}
	return &ir.Call{Kernel: op.Kernel(0, compute), Space: x.Shape, Axes: axes, In: []ir.View{x}, Out: []ir.View{v}}
}

// position returns the row-major place of i, a place in shape, in kept.
func position(shape, kept []int, i int) int {
	strides := make([]int, len(shape))
	n := 1
	for a := len(shape) - 1; a >= 0; a-- {
		if kept[a] != 1 {
			strides[a] = n
		}
		n *= kept[a]
	}
	return cputest.Offset(shape, strides, i)
}

func TestReduction(t *testing.T) {
	sums := reduceOp(ir.Reduction, foldLoops(ir.Float32, 0, sum[float32]), foldLoops(ir.Float64, 0, sum[float64]), foldLoops(ir.Int64, 0, sum[int64]))
	firsts := reduceOp(ir.Reduction, nil, foldLoops(ir.Float64, 0, first[float64]), nil)
	cases := []struct{ shape, axes []int }{
		{[]int{}, nil}, {[]int{1}, []int{0}}, {[]int{0}, []int{0}}, {[]int{3, 0}, []int{1}}, {[]int{0, 3}, []int{1}}, {[]int{5}, nil},
		{[]int{300}, []int{0}}, {[]int{1024}, []int{0}}, {[]int{5000}, []int{0}}, {[]int{70000}, []int{0}},
		{[]int{7, 9}, []int{0}}, {[]int{7, 9}, []int{1}}, {[]int{7, 9}, []int{0, 1}}, {[]int{2500, 3}, []int{0}}, {[]int{2500, 30}, []int{0}},
		{[]int{20000, 12}, []int{0}}, {[]int{3, 20000}, []int{1}}, {[]int{2, 1200, 2}, []int{1}}, {[]int{3, 4, 5, 6}, []int{1, 3}}, {[]int{3, 4, 5, 6}, []int{0, 2}},
		{[]int{4, 5, 700}, []int{0}}, {[]int{4, 5, 700}, []int{0, 1}}, {[]int{6, 1, 9}, []int{1}},
	}
	rng, tried := rand.New(rand.NewPCG(7, 8)), 0
	for _, c := range cases {
		for _, layout := range cputest.Layouts {
			for _, dtypes := range [][3]ir.DType{{ir.Float32, ir.Float32, ir.Float32}, {ir.Float16, ir.Float32, ir.Float32}, {ir.Uint8, ir.Int64, ir.Int64}, {ir.Int32, ir.Float64, ir.Float64}} {
				if tried++; testing.Short() && tried%11 != 0 && ir.NumElements(c.shape) > 1000 { // all dtypes and layouts come by
					continue
				}
				x := cputest.Fill(cputest.NewView(dtypes[0], layout, c.shape...), rng, 0, 3)
				call := reduceCall(sums, x, c.axes, dtypes[1], dtypes[2], []string{"contiguous", "transposed", "sliced"}[rng.IntN(3)])
				if err := Run(call); err != nil {
					t.Fatal(err)
				}
				out := call.Out[0]
				want := make([]float64, out.NumElements())
				for i := range want {
					want[i] = float64(call.ReducedCount())
				}
				for i := range x.NumElements() {
					want[position(c.shape, out.Shape, i)] += real(cputest.Get(x, i))
				}
				if d := diff(want, cputest.Reals(out)); d != "" {
					t.Fatalf("sum of %v over %v, %s %v: %s", c.shape, c.axes, layout, dtypes, d)
				}
			}
			x := cputest.Fill(cputest.NewView(ir.Float64, layout, c.shape...), rng, 0, 9)
			call := reduceCall(firsts, x, c.axes, ir.Float64, ir.Float64, "contiguous")
			if err := Run(call); err != nil {
				t.Fatal(err)
			}
			want := make([]float64, call.Out[0].NumElements())
			for i := range x.NumElements() {
				w := &want[position(c.shape, call.Out[0].Shape, i)]
				*w = first(*w, real(cputest.Get(x, i)))
			}
			for i := range want {
				want[i] += float64(call.ReducedCount())
			}
			if d := diff(want, cputest.Reals(call.Out[0])); d != "" {
				t.Fatalf("first of %v over %v, %s: %s", c.shape, c.axes, layout, d)
			}
		}
	}
}

// TestReductionOrder checks that rounding depends on neither processors nor layout.
func TestReductionOrder(t *testing.T) {
	op := reduceOp(ir.Reduction, foldLoops(ir.Float32, 0, sum[float32]), nil, nil)
	var want []float64
	for _, procs := range []int{1, 2, 5} {
		for _, layout := range []string{"contiguous", "transposed"} {
			rng := rand.New(rand.NewPCG(9, 10))
			x := cputest.FillFloat(cputest.NewView(ir.Float32, layout, 60011, 11), rng, -1, 1)
			old := runtime.GOMAXPROCS(procs)
			call := reduceCall(op, x, []int{0}, ir.Float32, ir.Float32, "contiguous")
			err := Run(call)
			runtime.GOMAXPROCS(old)
			if err != nil {
				t.Fatal(err)
			}
			got := cputest.Reals(call.Out[0])
			if want == nil {
				want = got
			}
			if d := diff(want, got); d != "" {
				t.Errorf("%d processors, %s: %s", procs, layout, d)
			}
		}
	}
}

func TestScan(t *testing.T) {
	loops := foldLoops(ir.Float64, 0, sum[float64])
	loops.Finish = func(n int, out, acc unsafe.Pointer, _ []ir.Scalar, _ int64) {
		copy(unsafe.Slice((*float64)(out), n), unsafe.Slice((*float64)(acc), n))
	}
	op := reduceOp(ir.Scan, nil, loops, nil)
	rng := rand.New(rand.NewPCG(11, 12))
	for _, c := range []struct {
		shape []int
		axis  int
	}{{[]int{1}, 0}, {[]int{0}, 0}, {[]int{3, 0}, 0}, {[]int{5000}, 0}, {[]int{3, 4}, 0}, {[]int{3, 4}, 1}, {[]int{40, 300}, 1}, {[]int{300, 40}, 0}, {[]int{5, 6, 7}, 1}, {[]int{2, 2000, 3}, 1}, {[]int{2, 70, 600}, 1}, {[]int{1, 20}, 0}} {
		for _, layout := range cputest.Layouts {
			x := cputest.Fill(cputest.NewView(ir.Int16, layout, c.shape...), rng, -9, 9)
			out := cputest.NewView(ir.Float32, []string{"contiguous", "transposed", "sliced"}[rng.IntN(3)], c.shape...)
			if err := Run(&ir.Call{Kernel: op.Kernel(0, ir.Float64), Space: c.shape, Axes: []int{c.axis}, In: []ir.View{x}, Out: []ir.View{out}}); err != nil {
				t.Fatal(err)
			}
			kept := append([]int(nil), c.shape...)
			kept[c.axis] = 1
			acc := map[int]float64{}
			for i := range x.NumElements() {
				k := position(c.shape, kept, i)
				acc[k] += real(cputest.Get(x, i))
				if got := real(cputest.Get(out, i)); got != acc[k] {
					t.Fatalf("%v along %d, %s: element %d is %v, want %v", c.shape, c.axis, layout, i, got, acc[k])
				}
			}
		}
	}
}

func BenchmarkElementwise(b *testing.B) {
	for _, n := range []int{1, 1024, 65536, 1 << 20} {
		for _, dtype := range []ir.DType{ir.Float32, ir.BFloat16} {
			x, y := cputest.NewView(dtype, "contiguous", n), cputest.NewView(dtype, "contiguous", n)
			call := &ir.Call{Kernel: axpy.Kernel(0, ir.Float32), Space: []int{n}, Out: []ir.View{cputest.NewView(dtype, "contiguous", n)}, In: []ir.View{x, y}}
			b.Run(fmt.Sprintf("%s/%d", dtype, n), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(3 * n * dtype.Size()))
				for b.Loop() {
					if err := Run(call); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkReduction(b *testing.B) {
	op := reduceOp(ir.Reduction, foldLoops(ir.Float32, 0, sum[float32]), nil, nil)
	for _, c := range []struct {
		name  string
		shape []int
		axis  int
	}{{"all", []int{1 << 20}, 0}, {"rows", []int{1024, 1024}, 1}, {"short rows", []int{1 << 17, 8}, 1}, {"columns", []int{1024, 1024}, 0}} {
		x := cputest.NewView(ir.Float32, "contiguous", c.shape...)
		call := reduceCall(op, x, []int{c.axis}, ir.Float32, ir.Float32, "contiguous")
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if err := Run(call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
