//go:build linux && amd64

package jit_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/codegen/jit"
	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/codegen/x86/x86test"
	"github.com/sinter-go/sinter/tests/brief"
)

// interpreted runs a reduction's parts on single values.
type interpreted struct {
	mapped, combined *lane.Evaluator
	init, scalar     uint64
}

func interpret(c x86test.FoldCase, scalar uint64) *interpreted {
	in := &interpreted{lane.NewEvaluator(c.Map), lane.NewEvaluator(c.Combine), lane.Eval(c.Init)[0], scalar}
	in.mapped.Calls, in.combined.Calls = calls(), calls()
	return in
}

func (in *interpreted) combine(a, b uint64) uint64 {
	return in.combined.Eval([]uint64{a, b}, []uint64{in.scalar}, 0)[0]
}

func (in *interpreted) add(acc, x uint64) uint64 {
	return in.combine(acc, in.mapped.Eval([]uint64{x}, []uint64{in.scalar}, 0)[0])
}

// fold folds in the order that x86.File.Fold documents.
func (in *interpreted) fold(acc uint64, size int, x []uint64) uint64 {
	lanes := make([]uint64, 256/size)
	for i := range lanes {
		lanes[i] = in.init
	}
	for i, v := range x {
		lanes[i%len(lanes)] = in.add(lanes[i%len(lanes)], v)
	}
	for half := len(lanes) / 2; half > 0; half /= 2 {
		for j := range half {
			lanes[j] = in.combine(lanes[j], lanes[j+half])
		}
	}
	return in.combine(acc, lanes[0])
}

// fold is a compiled Fold or Rows.
type fold func(n int, acc, x unsafe.Pointer, s *[1]uint64)

// foldPair is a reduction's Fold and Rows.
type foldPair struct{ fold, rows fold }

func foldOf(t *testing.T, b *jit.Block, name string, c x86test.FoldCase, isa x86.ISA) fold {
	f, err := b.Func(name + isa.String())
	if err != nil {
		t.Fatal(err)
	}
	return func(n int, acc, x unsafe.Pointer, s *[1]uint64) { f.Fold(n, acc, x, &s[0]) }
}

// TestFolds compares every reduction's code with its interpretation.
func TestFolds(t *testing.T) {
	for _, isa := range x86.ISAs {
		t.Run(isa.String(), func(t *testing.T) {
			b := functions(t, isa)
			for _, c := range x86test.FoldCases() {
				pair := foldPair{foldOf(t, b, c.Name+"Fold", c, isa), foldOf(t, b, c.Name+"Rows", c, isa)}
				t.Run(c.Name, func(t *testing.T) { testFold(t, c, pair) })
			}
		})
	}
}

func testFold(t *testing.T, c x86test.FoldCase, f foldPair) {
	rng := rand.New(rand.NewPCG(5, uint64(len(c.Name))))
	xt, at := c.Map.Args()[0], c.Combine.Args()[0]
	for n := 0; n <= 1400; n += 1 + n/130*37 {
		if n > 20 && (brief.Skip(n) || testing.Short() && n > 500) {
			continue
		}
		scalars := [1]uint64{value(rng, xt, true)}
		in := interpret(c, scalars[0])
		x, values := make([]byte, n*xt.Size()+1), make([]uint64, n)
		acc := bytes.Repeat([]byte{0x5a}, (n+1)*at.Size()+2*guard)
		before := make([]uint64, n+1)
		for i := range values {
			values[i] = value(rng, xt, n%2 == 0)
			if n%3 == 0 && i != n/2 {
				values[i] = 0
			}
			put(x, xt, i, values[i])
		}
		for i := range before {
			before[i] = value(rng, at, true)
			put(acc[guard:], at, i, before[i])
		}
		want := bytes.Clone(acc)
		got := bytes.Clone(acc)
		put(want[guard:], at, 0, in.fold(before[0], at.Size(), values))
		f.fold(n, unsafe.Pointer(&got[guard]), unsafe.Pointer(&x[0]), &scalars)
		check(t, "fold", n, at, got, want)
		want, got = bytes.Clone(acc), bytes.Clone(acc)
		for i, v := range values {
			put(want[guard:], at, i, in.add(before[i], v))
		}
		f.rows(n, unsafe.Pointer(&got[guard]), unsafe.Pointer(&x[0]), &scalars)
		check(t, "rows", n, at, got, want)
	}
}

// check compares n + 1 values, and the bytes around them.
func check(t *testing.T, name string, n int, at lane.Type, got, want []byte) {
	t.Helper()
	for i := range n + 1 {
		if g, w := get(got[guard:], at, i), get(want[guard:], at, i); !same(at, g, w) {
			t.Fatalf("%s of %d: %d is %#x, want %#x", name, n, i, g, w)
		}
	}
	end := guard + (n+1)*at.Size()
	if !bytes.Equal(got[:guard], want[:guard]) || !bytes.Equal(got[end:], want[end:]) {
		t.Fatalf("%s of %d: written outside the accumulators", name, n)
	}
}
