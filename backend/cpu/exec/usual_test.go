package exec

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/fold"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

// usualOp is an operator of loops of package fold at a level.
func usualOp(level simd.Level, kind fold.Kind, body ir.BodyKind) *ir.Op {
	table := &[ir.NumDTypes]*vector.FoldFuncs{}
	for d := range ir.DType(ir.NumDTypes) {
		table[d] = fold.At(level, kind, d)
	}
	all := []*[ir.NumDTypes]*vector.FoldFuncs{table}
	return &ir.Op{Name: "fold", Kind: body, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, Code: []ir.Code{{For: "cpu", Of: &vector.Code{Folds: all}}}}
}

var usualCases = []struct{ shape, axes []int }{
	{[]int{}, nil}, {[]int{0}, []int{0}}, {[]int{3, 0}, []int{1}}, {[]int{5}, nil}, {[]int{300}, []int{0}}, {[]int{1024}, []int{0}},
	{[]int{1025}, []int{0}}, {[]int{70003}, []int{0}}, {[]int{7, 9}, []int{0}}, {[]int{7, 9}, []int{1}}, {[]int{2500, 3}, []int{0}},
	{[]int{2500, 30}, []int{0}}, {[]int{2100, 30}, []int{1}}, {[]int{20000, 12}, []int{0}}, {[]int{3, 20000}, []int{1}}, {[]int{300, 700}, []int{1}},
	{[]int{2, 1200, 2}, []int{1}}, {[]int{3, 4, 5, 6}, []int{1, 3}}, {[]int{3, 4, 5, 6}, []int{0, 2}}, {[]int{4, 5, 700}, []int{0, 1}}, {[]int{2, 40, 1100}, []int{1}},
	{[]int{40, 12, 2}, []int{2}}, {[]int{3, 16, 9, 64}, []int{1, 3}}, {[]int{6, 9, 2, 12, 2}, []int{2, 4}}, {[]int{2, 8, 5, 8}, []int{1, 3}}, {[]int{40, 70, 4, 3}, []int{1, 3}},
	{[]int{3, 16, 8, 64}, []int{1, 3}}, {[]int{5, 4, 3, 128}, []int{1, 3}}, {[]int{2, 3, 2, 9, 64}, []int{1, 2, 4}}, {[]int{20, 3, 9, 64}, []int{0, 2}},
	{[]int{130, 3, 8, 64}, []int{0, 2}}, {[]int{4, 3, 3, 16, 40}, []int{0, 2, 3}},
	{[]int{300, 530}, []int{0}}, {[]int{3, 140, 600}, []int{1}}, {[]int{130, 2, 1030}, []int{0}},
}

// TestUsualReductions compares sums and maxima, of numbers small enough that sums
// are exact, with plain loops, at every level and in every layout.
func TestUsualReductions(t *testing.T) {
	rng, tried := rand.New(rand.NewPCG(1, 2)), 0
	for _, level := range simd.UsableVectors() {
		sums, maxima := usualOp(level, fold.Sum, ir.Reduction), usualOp(level, fold.Max, ir.Reduction)
		for _, c := range usualCases {
			for _, layout := range cputest.Layouts {
				for _, dtypes := range [][3]ir.DType{{ir.Float32, ir.Float32, ir.Float32}, {ir.Float16, ir.Float32, ir.Float32}, {ir.Uint8, ir.Int64, ir.Int64}, {ir.Float64, ir.Float64, ir.Float32}} {
					if tried++; testing.Short() && tried%37 != 0 { // all dtypes, layouts and shapes come by
						continue
					}
					what := fmt.Sprintf("%v over %v, %s %v, %s", c.shape, c.axes, layout, dtypes, level)
					x := cputest.Fill(cputest.NewView(dtypes[0], layout, c.shape...), rng, 0, 3)
					to := []string{"contiguous", "transposed", "sliced"}[rng.IntN(3)]
					total, top := reduceCall(sums, x, c.axes, dtypes[1], dtypes[2], to), reduceCall(maxima, x, c.axes, dtypes[1], dtypes[2], to)
					for _, call := range []*ir.Call{total, top} {
						if err := Run(call); err != nil {
							t.Fatal(err)
						}
					}
					out := total.Out[0]
					sum, largest := make([]float64, out.NumElements()), make([]float64, out.NumElements())
					for i := range x.NumElements() {
						k := position(c.shape, out.Shape, i)
						v := real(cputest.Get(x, i))
						sum[k] += v
						largest[k] = max(largest[k], v)
					}
					if d := diff(sum, cputest.Reals(out)); d != "" {
						t.Fatalf("sum of %s: %s", what, d)
					}
					if d := diff(largest, cputest.Reals(top.Out[0])); d != "" && total.ReducedCount() > 0 {
						t.Fatalf("largest of %s: %s", what, d)
					}
				}
			}
		}
	}
}

// TestUsualOrder checks that rounding depends neither on processors nor on the
// level, with 16-bit floats too, which some levels fold as they are.
func TestUsualOrder(t *testing.T) {
	for i, c := range usualCases {
		for k, dtype := range []ir.DType{ir.Float32, ir.Float64, ir.Float16, ir.BFloat16} {
			if testing.Short() && (i+k)%8 != 0 {
				continue
			}
			compute := dtype.Compute()
			var want []float64
			for _, level := range simd.UsableVectors() {
				for _, procs := range []int{1, 2, 5} {
					x := cputest.FillFloat(cputest.NewView(dtype, "contiguous", c.shape...), rand.New(rand.NewPCG(9, 10)), -1, 1)
					call := reduceCall(usualOp(level, fold.Sum, ir.Reduction), x, c.axes, compute, compute, "contiguous")
					got := resultOn(t, procs, call)
					if want == nil {
						want = got
					}
					if d := diff(want, got); d != "" {
						t.Fatalf("%s %v over %v, %s, %d processors: %s", dtype, c.shape, c.axes, level, procs, d)
					}
				}
			}
		}
	}
}

// resultOn returns what a call gives with so many processors.
func resultOn(t *testing.T, procs int, call *ir.Call) []float64 {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	if err := Run(call); err != nil {
		t.Fatal(err)
	}
	return cputest.Reals(call.Out[0])
}

// TestGroups: sums of as many elements as groups of every size are folded of are the same
// to the bit, however many processors there are: with many of them groups are small.
func TestGroups(t *testing.T) {
	sums := usualOp(simd.Active(), fold.Sum, ir.Reduction)
	for i, count := range []int{16 * group, 16*group + 1, 17 * group, 31*group - 5, 35*group + 3*block, 64 * group, 67*group + block + 1, 131 * group} {
		if brief.Skip(i, 3) {
			continue
		}
		x := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", 2, count), rand.New(rand.NewPCG(3, 4)), -1, 1)
		var want []float64
		for _, procs := range []int{64, 4, 2, 1} {
			call := reduceCall(sums, x, []int{1}, ir.Float32, ir.Float32, "contiguous")
			got := resultOn(t, procs, call)
			if want == nil {
				want = got
			}
			if d := diff(want, got); d != "" {
				t.Fatalf("%d elements, %d processors: %s", count, procs, d)
			}
		}
	}
}

// TestApart: results of few elements that do not lie side by side are, to the bit, those of
// the same elements side by side.
func TestApart(t *testing.T) {
	for _, level := range simd.UsableVectors() {
		for kind := fold.Sum; kind <= fold.All; kind++ {
			for _, dtype := range []ir.DType{ir.Float32, ir.Float64, ir.Float16, ir.BFloat16, ir.Int32, ir.Complex64, ir.Complex128} {
				compute := dtype.Compute()
				loops := fold.At(level, kind, compute)
				if loops == nil {
					continue
				}
				op, out := usualOp(level, kind, ir.Reduction), loops.Out
				for i, shape := range [][]int{{5, 9, 2, 12, 2}, {3, 7, 3, 300, 2}, {2, 2, 3, 4, 3}, {1, 1, 8, 70, 8}, {2, 3, 5, 9, 7}, {40, 2, 2, 3, 2}} {
					if brief.Skip(i, int(kind), int(dtype), int(level)) {
						continue
					}
					x := cputest.FillFloat(cputest.NewView(dtype, "contiguous", shape...), rand.New(rand.NewPCG(3, 4)), -2, 2)
					aside := cputest.NewView(dtype, "contiguous", shape[0], shape[1], shape[3], shape[2], shape[4])
					tile.Copy(aside, ir.View{Ptr: x.Ptr, DType: dtype, Shape: aside.Shape, Strides: []int{x.Strides[0], x.Strides[1], x.Strides[3], x.Strides[2], x.Strides[4]}})
					layout := []string{"contiguous", "transposed", "sliced"}[i%3]
					got, want := reduceCall(op, x, []int{2, 4}, compute, out, layout), reduceCall(op, aside, []int{3, 4}, compute, out, "contiguous")
					for _, call := range []*ir.Call{got, want} {
						if err := Run(call); err != nil {
							t.Fatal(err)
						}
					}
					if d := diff(cputest.Reals(want.Out[0]), cputest.Reals(got.Out[0])); d != "" {
						t.Errorf("kind %d of %s %v, %s: %s", kind, dtype, shape, level, d)
					}
				}
			}
		}
	}
}

// TestUsualScans compares sums of small integers with plain loops.
func TestUsualScans(t *testing.T) {
	rng, tried := rand.New(rand.NewPCG(11, 12)), 0
	for _, level := range simd.UsableVectors() {
		op := usualOp(level, fold.Sum, ir.Scan)
		for _, c := range []struct {
			shape []int
			axis  int
		}{{[]int{1}, 0}, {[]int{0}, 0}, {[]int{70001}, 0}, {[]int{3, 4}, 0}, {[]int{40, 301}, 1}, {[]int{301, 41}, 0}, {[]int{5, 6, 7}, 1}, {[]int{2, 2000, 3}, 1}, {[]int{2, 70, 600}, 1}} {
			for _, layout := range cputest.Layouts {
				for _, dtypes := range [][2]ir.DType{{ir.Float32, ir.Float32}, {ir.Int16, ir.Int64}, {ir.Float16, ir.Float32}} {
					if tried++; testing.Short() && tried%13 != 0 {
						continue
					}
					x := cputest.Fill(cputest.NewView(dtypes[0], layout, c.shape...), rng, -9, 9)
					out := cputest.NewView(dtypes[1], []string{"contiguous", "transposed", "sliced"}[rng.IntN(3)], c.shape...)
					if err := Run(&ir.Call{Kernel: op.Kernel(0, dtypes[1]), Space: c.shape, Axes: []int{c.axis}, In: []ir.View{x}, Out: []ir.View{out}}); err != nil {
						t.Fatal(err)
					}
					kept := append([]int(nil), c.shape...)
					kept[c.axis] = 1
					acc := make([]float64, ir.NumElements(kept))
					for i := range x.NumElements() {
						k := position(c.shape, kept, i)
						acc[k] += real(cputest.Get(x, i))
						if got := real(cputest.Get(out, i)); got != acc[k] {
							t.Fatalf("%v along %d, %s %v, %s: element %d is %v, want %v", c.shape, c.axis, layout, dtypes, level, i, got, acc[k])
						}
					}
				}
			}
		}
	}
}

func BenchmarkSum(b *testing.B) {
	op := usualOp(simd.Active(), fold.Sum, ir.Reduction)
	for _, n := range []int{1, 1024, 65536, 1 << 20} {
		call := reduceCall(op, cputest.NewView(ir.Float32, "contiguous", n), []int{0}, ir.Float32, ir.Float32, "contiguous")
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(4 * n))
			for b.Loop() {
				if err := Run(call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
