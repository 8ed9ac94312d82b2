package made_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/made"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/codegen/jit"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/self"
)

// operator is one of another module: arithmetic, so that vector code gives the same to the
// bit. It counts the calls of its portable loop.
func operator(portable *atomic.Int64) *ir.Op {
	loop := func(n int, p []unsafe.Pointer, s []ir.Scalar, _ int64) {
		portable.Add(1)
		out, x, y := unsafe.Slice((*float32)(p[0]), n), unsafe.Slice((*float32)(p[1]), n), unsafe.Slice((*float32)(p[2]), n)
		c, k := float32(s[0].Float()), float32(s[1].Float())
		for i := range out {
			out[i] = float32(float32(float32(x[i]*c)+k)*x[i]) - y[i]/(float32(x[i]*x[i])+1)
		}
	}
	return &ir.Op{Name: "rational", Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}, {Name: "y"}}, Out: []ir.Result{{}},
		Attrs:  []ir.Attr{{Name: "c", Kind: ir.AttrFloat}, {Name: "how", Kind: ir.AttrString}, {Name: "k", Kind: ir.AttrScalar}},
		Bodies: []ir.Body{{Exprs: []string{"(x*c + k)*x - y/(x*x + 1)"}}}, DTypes: ir.ClassFloat,
		Code: []ir.Code{{For: "cpu", Of: &vector.Code{Loops: []*[ir.NumDTypes]vector.Func{{ir.Float32: loop}}, Make: made.Loops}}}}
}

// set is the loops of an operator for float32 at a level.
func set(op *ir.Op, level simd.Level) vector.Set {
	return op.CodeFor(vector.Kind).(*vector.Code).Set(op.Kernel(0, ir.Float32), level)
}

// run calls the operator's loop on n elements.
func run(op *ir.Op, n int) []float32 {
	x, y, out := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(math.Sin(float64(i)))*3, float32(i%17)-8
	}
	p := []unsafe.Pointer{unsafe.Pointer(&out[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0])}
	set(op, simd.Active()).Main(n, p, []ir.Scalar{ir.FloatScalar(0.7), ir.FloatScalar(-1.5)}, 0)
	return out
}

// plainly returns op without anything that makes loops.
func plainly(op *ir.Op) *ir.Op {
	op.CodeFor(vector.Kind).(*vector.Code).Make = nil
	return op
}

// compiles reports whether vector code can be made here.
func compiles() bool { return simd.Active() > simd.Portable && jit.Available() == nil }

// TestLoops: goroutines that call a loop at the same time get what the portable loop
// gives, to the bit, and where vector code can be made nobody runs that one.
func TestLoops(t *testing.T) {
	var counted, plain atomic.Int64
	op, portable := operator(&counted), plainly(operator(&plain))
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Go(func() {
			for n := 1 + g; n < 3000; n += 131 {
				if got, want := run(op, n), run(portable, n); !slices.Equal(got, want) {
					t.Errorf("%d elements differ", n)
				}
			}
		})
	}
	wait.Wait()
	if ran := counted.Load() > 0; ran == compiles() {
		t.Errorf("the portable loop ran: %t, vector code can be made: %t", ran, compiles())
	}
}

// TestPortable: what has no lanes, or what a system refuses, runs the portable loop.
func TestPortable(t *testing.T) {
	var counted, plain atomic.Int64
	op := operator(&counted)
	if os.Getenv("SINTER_JIT") != "0" {
		t.Run("no code made at run time", func(t *testing.T) {
			if out, err := self.Command(t, []string{"SINTER_JIT=0"}, "-test.run=^TestPortable$").CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
		op.Bodies[0].Exprs[0] = "nobody(x)"
	}
	want := run(plainly(operator(&plain)), 999)
	if got := run(op, 999); !slices.Equal(got, want) || counted.Load() != 1 {
		t.Errorf("results are the portable loop's: %t; it ran %d times", slices.Equal(got, want), counted.Load())
	}
}

// TestRefused: errors name operator and dtype, and what stands in the way.
func TestRefused(t *testing.T) {
	tests := []struct {
		name  string
		op    ir.Op
		level simd.Level
		want  string
	}{
		{"level", ir.Op{Bodies: []ir.Body{{Exprs: []string{"x"}}}}, simd.Portable, "op of int64: op: no vector code for level portable"},
		{"expression", ir.Op{Bodies: []ir.Body{{Exprs: []string{"x +"}}}}, simd.AVX2, `body "x +"`},
		{"no lanes", ir.Op{Bodies: []ir.Body{{Exprs: []string{"truncdiv(x, x)"}}}}, simd.AVX2, "op of int64: "},
	}
	for i := range tests {
		tt := &tests[i]
		tt.op.Name, tt.op.In, tt.op.Out = "op", []ir.Operand{{Name: "x"}}, []ir.Result{{}}
		if _, err := made.Compile(&tt.op, 0, ir.Int64, tt.level); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// BenchmarkInstalled times a loop within the caches, portable and made.
func BenchmarkInstalled(b *testing.B) {
	var counted atomic.Int64
	late, portable := operator(&counted), plainly(operator(&counted))
	const n = 1 << 14
	x := make([]float32, 3*n)
	for i := range x {
		x[i] = float32(i%311) * 0.01
	}
	p := []unsafe.Pointer{unsafe.Pointer(&x[0]), unsafe.Pointer(&x[n]), unsafe.Pointer(&x[2*n])}
	s := []ir.Scalar{ir.FloatScalar(0.7), ir.FloatScalar(-1.5)}
	for name, op := range map[string]*ir.Op{"portable": portable, "made": late} {
		b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
			loop := set(op, simd.Active()).Main
			for b.Loop() {
				loop(n, p, s, 0)
			}
			b.SetBytes(12 * n)
		})
	}
}

// BenchmarkFirst times what the first call of a loop takes before it runs.
func BenchmarkFirst(b *testing.B) {
	if !compiles() {
		b.Skip("no vector code can be made here")
	}
	var counted atomic.Int64
	op := operator(&counted)
	for b.Loop() {
		if _, err := made.Compile(op, 0, ir.Float32, simd.Active()); err != nil {
			b.Fatal(err)
		}
	}
}
