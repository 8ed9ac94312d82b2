package made_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/made"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/codegen/jit"
	"github.com/sinter-go/sinter/ir"
)

// levels are those that code can be made for here.
func levels(t *testing.T) []simd.Level {
	if err := jit.Available(); err != nil {
		t.Skip(err)
	}
	return simd.Usable()[1:]
}

// aligned is n elements that begin with a cache line, between others.
func aligned[T any](n int) (all, list []T) {
	const line = 64
	size := int(unsafe.Sizeof(*new(T)))
	all = make([]T, n+3*line/size)
	for i := line / size; ; i++ {
		if uintptr(unsafe.Pointer(&all[i]))%line == 0 {
			return all, all[i : i+n : i+n]
		}
	}
}

// scaled is an operator that is short enough to have loops over 16-bit floats.
func scaled(portable *atomic.Int64) *ir.Op {
	loop := func(n int, p []unsafe.Pointer, s []ir.Scalar, _ int64) {
		portable.Add(1)
		out, x, y := unsafe.Slice((*float32)(p[0]), n), unsafe.Slice((*float32)(p[1]), n), unsafe.Slice((*float32)(p[2]), n)
		c := float32(s[0].Float())
		for i := range out {
			out[i] = float32(x[i]*c) - y[i]
		}
	}
	return &ir.Op{Name: "scaled", Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}, {Name: "y"}}, Out: []ir.Result{{}},
		Attrs: []ir.Attr{{Name: "c", Kind: ir.AttrFloat}}, Bodies: []ir.Body{{Exprs: []string{"x*c - y"}}}, DTypes: ir.ClassFloat,
		Code: []ir.Code{{For: "cpu", Of: &vector.Code{Loops: []*[ir.NumDTypes]vector.Func{{ir.Float32: loop}}, Make: made.Loops}}}}
}

var scale = []ir.Scalar{ir.FloatScalar(0.7)}

// TestPast: the loop past the caches gives what the portable loop does, and writes nothing
// beside its result.
func TestPast(t *testing.T) {
	var ran atomic.Int64
	op := scaled(&ran)
	for _, level := range levels(t) {
		code, err := made.Compile(op, 0, ir.Float32, level)
		if err != nil || code.Past() == nil {
			t.Fatalf("%s: none (%v)", level, err)
		}
		for _, groups := range []int{1, 3} {
			n := groups * vector.Group / 4
			x, y, want := make([]float32, n), make([]float32, n), make([]float32, n)
			for i := range x {
				x[i], y[i] = float32(i%1013)*0.37, float32(i%17)-8
			}
			all, got := aligned[float32](n)
			call := func(loop vector.Func, out []float32) {
				loop(n, []unsafe.Pointer{unsafe.Pointer(&out[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0])}, scale, 0)
			}
			call(code.Past(), got)
			call(set(op, simd.Portable).Main, want)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d elements differ", level, n)
			}
			clear(got)
			if slices.ContainsFunc(all, func(v float32) bool { return v != 0 }) {
				t.Errorf("%s: %d elements: written beside the result", level, n)
			}
		}
	}
}

// TestStored: loops over 16-bit floats give what the portable loop does between conversions.
func TestStored(t *testing.T) {
	var ran atomic.Int64
	op := scaled(&ran)
	for _, level := range levels(t) {
		code, err := made.Compile(op, 0, ir.Float32, level)
		if err != nil {
			t.Fatal(err)
		}
		half := func(f float32) uint16 { return uint16(ir.HalfFrom(f)) }
		brain := func(f float32) uint16 { return uint16(ir.BF16From(f)) }
		testStored(t, fmt.Sprint(level, " float16"), op, code.Float16(), half, func(b uint16) float32 { return ir.Half(b).Float32() })
		testStored(t, fmt.Sprint(level, " bfloat16"), op, code.BFloat16(), brain, func(b uint16) float32 { return ir.BF16(b).Float32() })
	}
}

func testStored(t *testing.T, name string, op *ir.Op, loop vector.Func, narrow func(float32) uint16, widen func(uint16) float32) {
	t.Helper()
	if loop == nil {
		t.Errorf("%s: none", name)
		return
	}
	for n := 1; n < 300; n += 7 {
		stored, full, want := [2][]uint16{}, [2][]float32{}, make([]float32, n)
		for k := range stored {
			stored[k], full[k] = make([]uint16, n), make([]float32, n)
			for i := range n {
				stored[k][i] = narrow(float32(i*(k+2)%37) - 11.3)
				full[k][i] = widen(stored[k][i])
			}
		}
		got := make([]uint16, n+1)
		loop(n, []unsafe.Pointer{unsafe.Pointer(&got[0]), unsafe.Pointer(&stored[0][0]), unsafe.Pointer(&stored[1][0])}, scale, 0)
		set(op, simd.Portable).Main(n, []unsafe.Pointer{unsafe.Pointer(&want[0]), unsafe.Pointer(&full[0][0]), unsafe.Pointer(&full[1][0])}, scale, 0)
		for i, w := range want {
			if got[i] != narrow(w) {
				t.Fatalf("%s: %d elements: %d is %v, want %v", name, n, i, widen(got[i]), w)
			}
		}
		if got[n] != 0 {
			t.Fatalf("%s: %d elements: written beside the result", name, n)
		}
	}
}

// TestBeside: what stands beside a loop that was made is there from its first use, whichever
// is asked for first and by how many goroutines, and an operator without has none.
func TestBeside(t *testing.T) {
	var ran atomic.Int64
	short, long, unknown := scaled(&ran), operator(&ran), scaled(&ran)
	unknown.Bodies[0].Exprs[0] = "nobody(x)"
	var wait sync.WaitGroup
	for g := range 6 {
		wait.Go(func() {
			for _, test := range []struct {
				op           *ir.Op
				past, stored bool
			}{{short, true, true}, {long, true, false}, {unknown, false, false}} {
				s := set(test.op, simd.Active())
				if got := s.Stored([]ir.DType{ir.Float16, ir.BFloat16}[g%2]) != nil; got != (test.stored && compiles()) {
					t.Errorf("%s over 16-bit floats: %t", test.op.Name, got)
				}
				if got := s.PastCaches() != nil; got != (test.past && compiles()) {
					t.Errorf("%s past the caches: %t", test.op.Name, got)
				}
			}
		})
	}
	wait.Wait()
}

// TestJoint: all results of a joint body are made, over what was in them.
func TestJoint(t *testing.T) {
	op := &ir.Op{Name: "moments", Kind: ir.Joint, In: []ir.Operand{{Name: "xs"}}, Out: []ir.Result{{Name: "means"}, {Name: "spreads"}},
		Attrs:  []ir.Attr{{Name: "share", Kind: ir.AttrFloat}},
		Bodies: []ir.Body{{Exprs: []string{"means + share*(xs - means)", "spreads + share*((xs - means)*(xs - means) - spreads)"}}}, DTypes: ir.ClassFloat}
	const share = 0.25
	portable := func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
		lists := make([][]float64, len(p))
		for i := range lists {
			lists[i] = unsafe.Slice((*float64)(p[i]), n)
		}
		for i, x := range lists[4] {
			mean, spread := lists[2][i], lists[3][i]
			d := x - mean
			lists[0][i], lists[1][i] = mean+float64(share*d), spread+float64(share*(float64(d*d)-spread))
		}
	}
	call := func(loop vector.Func, n int) []float64 {
		all := make([]float64, 3*n+1)
		for i := range 3 * n {
			all[i] = float64(i%29)*0.3 - 2
		}
		means, spreads, xs := unsafe.Pointer(&all[0]), unsafe.Pointer(&all[n]), unsafe.Pointer(&all[2*n])
		loop(n, []unsafe.Pointer{means, spreads, means, spreads, xs}, []ir.Scalar{ir.FloatScalar(share)}, 0)
		return all
	}
	main := made.Loops(op.Kernel(0, ir.Float64), portable).Main
	for n := 1; n < 200; n += 13 {
		want := call(portable, n)
		if got := call(main, n); !slices.Equal(got, want) {
			t.Errorf("made: %d elements differ", n)
		}
	}
	for _, level := range levels(t) {
		code, err := made.Compile(op, 0, ir.Float64, level)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n < 200; n += 13 {
			if got, want := call(code.Main, n), call(portable, n); !slices.Equal(got, want) {
				t.Errorf("%s: %d elements differ", level, n)
			}
		}
	}
}
