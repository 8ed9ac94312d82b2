//go:build unix

package lowering_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/backend/ref"
	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/codegen/mathlib"
	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

var count = flag.Int("elements", 4096, "elements that each loop is tried on, a quarter of them with -short")

// elements is how many.
func elements() int {
	if testing.Short() {
		return *count / 4
	}
	return *count
}

// atLevels runs f for every body at every level there is; f returns how many loops it
// ran, of which there have to be least.
func atLevels(t *testing.T, least int, f func(t *testing.T, b *body, level simd.Level) (ran int)) {
	if len(simd.UsableVectors()[1:]) == 0 {
		t.Skip("this processor has no vector instructions that there are loops for")
	}
	all := bodies(t)
	for _, level := range simd.UsableVectors()[1:] {
		t.Run(level.String(), func(t *testing.T) {
			every, want, ran := 1, least, 0
			if testing.Short() {
				if every, want = 8, max(1, least/64); least >= 500 { // there are more
					every = 16
				}
			}
			for i, b := range all {
				if i%every == int(level)%every {
					ran += f(t, b, level)
				}
			}
			if ran < want {
				t.Errorf("there are %d loops, want %d or more", ran, want)
			}
		})
	}
}

// only returns b's loop of a level, and none of a lower one.
func (b *body) only(level simd.Level) vector.Func {
	if level == simd.AVX512 {
		return b.AVX512
	}
	return b.AVX2
}

// each runs f for every loop of every level there is.
func each(t *testing.T, f func(t *testing.T, b *body, loop vector.Func)) {
	atLevels(t, 1, func(t *testing.T, b *body, level simd.Level) int {
		loop := b.only(level)
		if loop == nil {
			return 0
		}
		f(t, b, loop)
		return 1
	})
}

// TestTails holds results of few elements against the beginning of many, in memory
// that ends or begins at a page which must not be touched, in place too.
func TestTails(t *testing.T) {
	const most = 300
	each(t, func(t *testing.T, b *body, loop vector.Func) {
		in := b.samples(most+100, 7)
		s := b.scalars()[0]
		want := b.run(t, loop, in, most+100, s, 5, false, false)
		size := b.graph.Result().Size()
		step := 1
		if testing.Short() {
			step = 7 // no length of a vector is a multiple of it
		}
		for n := 0; n <= most; n += step {
			for _, inPlace := range []bool{false, true} {
				if inPlace && (len(b.in) == 0 || b.in[0] != b.graph.Result()) {
					continue
				}
				part := make([][]byte, len(in))
				for k, d := range b.in {
					part[k] = in[k][:n*d.Size()]
				}
				got := b.run(t, loop, part, n, s, 5, inPlace, n%2 == 0)
				if k := b.firstDifference(got, want[:n*size], n); k >= 0 {
					t.Errorf("%s: %d elements, in place %t: element %d is not what it is among more of them", b, n, inPlace, k)
					return
				}
			}
		}
	})
}

// firstDifference returns the first of n elements that differs, but for which NaN it
// is; -1 if there is none.
func (b *body) firstDifference(got, want []byte, n int) int {
	if bytes.Equal(got, want) {
		return -1
	}
	d, each := parts(b.graph.Result())
	for k := range n * each {
		x, y := load(got, d, k), load(want, d, k)
		if x != y && !(d.IsFloat() && math.IsNaN(number(d, x).Float) && math.IsNaN(number(d, y).Float)) {
			return k
		}
	}
	return -1
}

// TestPortable holds every loop to the portable one: to the bit where nothing but
// arithmetic is done, otherwise as near as the functions in it are stated to be.
func TestPortable(t *testing.T) {
	each(t, func(t *testing.T, b *body, loop vector.Func) {
		calls := b.calls()
		n := elements()
		for i, s := range b.scalars() {
			in := b.samples(n, uint64(i))
			got := b.run(t, loop, in, n, s, 1<<33-17, false, false)
			want := b.run(t, b.at(simd.Portable), in, n, s, 1<<33-17, false, false)
			wrong := 0
			_, each := parts(b.graph.Result())
			for k := range n * each {
				if err := b.compare(in, s, k, calls, got, want); err != nil {
					t.Errorf("%s: %v", b, err)
					if wrong++; wrong == 3 {
						break
					}
				}
			}
		}
	})
}

// compare reports how element k of got, or part k, misses want, what the portable loop gave.
func (b *body) compare(in [][]byte, s []ir.Scalar, k, calls int, got, want []byte) error {
	d, _ := parts(b.graph.Result())
	x, y := load(got, d, k), load(want, d, k)
	if x == y {
		return nil
	}
	if !d.IsFloat() {
		if calls > 0 { // a comparison of what may differ
			return nil
		}
		return fmt.Errorf("%s give %#x, want %#x", b.describe(in, s, k), x, y)
	}
	f, g := number(d, x).Float, number(d, y).Float
	if f != f && g != g {
		return nil
	}
	if calls > 0 {
		lo, hi, nan, err := b.spread(in, s, k)
		if err != nil {
			return err
		}
		if f >= lo && f <= hi || f != f && nan || b.right(in, s, k, f) {
			return nil
		}
		return fmt.Errorf("%s give %v, want %v: from %v to %v", b.describe(in, s, k), f, g, lo, hi)
	}
	return fmt.Errorf("%s give %v, want %v", b.describe(in, s, k), f, g)
}

// entries are the errors that operators' entries state, in units in the last place.
var entries = func() map[string]float64 {
	list := map[string]float64{}
	for _, o := range opcases.Cases {
		list[o.Op.Name] = o.ULP
	}
	return list
}()

// right reports whether x is the interpreter's value of element k, within what the
// operator's entry states: the library's functions have faults of their own, and some
// operators have better programs than their expressions.
func (b *body) right(in [][]byte, s []ir.Scalar, k int, x float64) bool {
	if b.placed { // the interpreter would have it at another place
		return false
	}
	one := make([][]byte, len(in))
	for i, d := range b.in {
		one[i] = in[i][k*d.Size() : (k+1)*d.Size()]
	}
	want, err := b.interpret(one, 1, s)
	d := b.graph.Result()
	w := number(d, load(want, d, 0)).Float
	return err == nil && (math.Abs(x-w) <= max(4, entries[b.op.Name])*unit(d, w) || x == w || x != x && w != w)
}

// values are the operands and arguments of element k.
func (b *body) values(in [][]byte, s []ir.Scalar, k int) map[string]expr.Number[float64] {
	env := map[string]expr.Number[float64]{"index": {Int: 1<<33 - 17 + int64(k)}}
	for i, d := range b.in {
		env[b.op.In[i].Name] = number(d, load(in[i], d, k))
	}
	for i, p := range b.params {
		n := expr.Number[float64]{Bool: s[i].Bool(), Int: s[i].Int(), Float: s[i].Float()}
		if b.DType == ir.Float32 {
			n.Float = float64(float32(n.Float))
		}
		if p.Kind != expr.IntParam && b.DType.IsInt() {
			n.Int = expr.Wrap(n.Int, b.DType)
		}
		env[p.Name] = n
	}
	return env
}

func (b *body) describe(in [][]byte, s []ir.Scalar, k int) string {
	if b.DType.IsComplex() {
		return fmt.Sprint(s, " at part ", k)
	}
	var text string
	env := b.values(in, s, k)
	for i, o := range b.op.In {
		n := env[o.Name]
		switch b.in[i].Category() {
		case ir.CategoryBool:
			text += fmt.Sprintf("%s=%t ", o.Name, n.Bool)
		case ir.CategoryInt:
			text += fmt.Sprintf("%s=%d ", o.Name, n.Int)
		default:
			text += fmt.Sprintf("%s=%v ", o.Name, n.Float)
		}
	}
	return fmt.Sprint(text, s, " at ", k)
}

// spread is what the expression may give at element k.
func (b *body) spread(in [][]byte, s []ir.Scalar, k int) (lo, hi float64, nan bool, err error) {
	env := b.values(in, s, k)
	if b.DType == ir.Float32 {
		return spread[float32](b.graph, statedULP(lane.F32), env)
	}
	return spread[float64](b.graph, statedULP(lane.F64), env)
}

// statedULP is the error that package mathlib states for a function; 1 for what is
// computed from operations that round once.
func statedULP(t lane.Type) func(string) float64 {
	return func(fn string) float64 {
		if f, ok := mathlib.Lookup(fn, t); ok {
			return f.ULP + 0.5 // the portable one's own rounding
		}
		return 1
	}
}

// TestInterpreter holds loops to the reference interpreter, which computes in
// wider arithmetic, within what the operator's entry states, or within what the
// portable loop loses at the same place besides.
func TestInterpreter(t *testing.T) {
	each(t, func(t *testing.T, b *body, loop vector.Func) {
		ulp, ok := entries[b.op.Name]
		if !ok || !b.graph.Result().IsFloat() || b.DType == ir.Float64 && testing.Short() {
			return
		}
		n := min(elements(), 1024)
		for i, s := range b.scalars()[:1] {
			in := b.samples(n, uint64(i))
			got := b.run(t, loop, in, n, s, 0, false, false)
			portable := b.run(t, b.at(simd.Portable), in, n, s, 0, false, false)
			want, err := b.interpret(in, n, s)
			if err != nil {
				t.Errorf("%s: %v", b, err)
				return
			}
			for k := range n {
				if err := b.near(in, s, k, ulp, got, portable, want); err != nil {
					t.Errorf("%s: %v", b, err)
					return
				}
			}
		}
	})
}

// interpret runs the reference on n elements.
func (b *body) interpret(in [][]byte, n int, s []ir.Scalar) ([]byte, error) {
	d := b.graph.Result()
	out := make([]byte, n*d.Size())
	view := func(p unsafe.Pointer, d ir.DType) ir.View {
		return ir.View{Ptr: p, DType: d, Shape: []int{n}, Strides: []int{1}}
	}
	c := &ir.Call{Kernel: b.op.Kernel(b.Variant, b.DType), Out: []ir.View{view(at(out), d)}, Space: []int{n}, Scalars: s}
	for k := range in {
		c.In = append(c.In, view(at(in[k]), b.in[k]))
	}
	return out, ref.Run(c)
}

// near reports how element k of got misses want by more than ulp units in the last
// place and the portable loop does not.
func (b *body) near(in [][]byte, s []ir.Scalar, k int, ulp float64, got, portable, want []byte) error {
	d := b.graph.Result()
	x, p, w := number(d, load(got, d, k)).Float, number(d, load(portable, d, k)).Float, number(d, load(want, d, k)).Float
	if x == w || x != x && w != w || x == p || x != x && p != p {
		return nil
	}
	if math.Abs(x-w) <= (ulp+0.5)*unit(d, w) {
		return nil
	}
	lo, hi, _, err := b.spread(in, s, k)
	if err != nil || x >= lo && x <= hi {
		return err
	}
	return fmt.Errorf("%s give %v, the interpreter %v, the portable loop %v; stated are %g units", b.describe(in, s, k), x, w, p, ulp)
}
