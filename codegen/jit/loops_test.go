//go:build linux && amd64

package jit_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/codegen/jit"
	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/codegen/x86/x86test"
	"github.com/sinter-go/sinter/ir"
)

// special are bits worth trying as every type.
func special(t lane.Type) []uint64 {
	var list []uint64
	switch t {
	case lane.F32:
		for _, x := range []float32{0, 1, -1, 0.5, 1.5, 2.5, -2.5, 1e-40, -1e-40, 3e38, 1e10, -1e10, 2147483520, -2147483648, 1e-20, 126.5, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())} {
			list = append(list, uint64(math.Float32bits(x)))
		}
		return append(list, 1<<31)
	case lane.F64:
		for _, x := range []float64{0, 1, -1, 0.5, 1.5, 2.5, -2.5, 1e-310, 1e308, 1e18, -1e19, 4503599627370497.5, -0.1, 1e40, 3e-46, math.Inf(1), math.Inf(-1), math.NaN()} {
			list = append(list, math.Float64bits(x))
		}
		return append(list, 1<<63)
	}
	top := uint64(1) << (8*t.Size() - 1)
	return append(list, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64, top-1, top, top+1, 2*top-1, 2*top-2)
}

// value is a random value, often a special one.
func value(rng *rand.Rand, t lane.Type, tiny bool) uint64 {
	if list := special(t); !tiny && rng.IntN(3) == 0 {
		return list[rng.IntN(len(list))] & mask(t)
	}
	switch t {
	case lane.F32:
		return uint64(math.Float32bits(float32(rng.NormFloat64() * 10)))
	case lane.F64:
		return math.Float64bits(rng.NormFloat64() * 10)
	}
	if rng.IntN(2) == 0 {
		return uint64(rng.IntN(2*8*t.Size())) & mask(t)
	}
	return rng.Uint64() & mask(t)
}

func mask(t lane.Type) uint64 { return ^uint64(0) >> (64 - 8*t.Size()) }

func put(b []byte, t lane.Type, i int, x uint64) {
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], x)
	copy(b[i*t.Size():(i+1)*t.Size()], w[:])
}

func get(b []byte, t lane.Type, i int) uint64 {
	var w [8]byte
	copy(w[:], b[i*t.Size():(i+1)*t.Size()])
	return binary.LittleEndian.Uint64(w[:])
}

// same reports whether two values are equal, all NaN alike.
func same(t lane.Type, a, b uint64) bool {
	switch t {
	case lane.F32:
		x, y := math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b))
		return a == b || x != x && y != y
	case lane.F64:
		x, y := math.Float64frombits(a), math.Float64frombits(b)
		return a == b || x != x && y != y
	case lane.F16:
		x, y := ir.Half(a).Float32(), ir.Half(b).Float32()
		return a == b || x != x && y != y
	}
	return a == b
}

// calls interprets the functions that the programs call.
func calls() map[string]func(lane.Type, []uint64) uint64 {
	e := map[lane.Type]*lane.Evaluator{}
	h := map[lane.Type]*lane.Evaluator{}
	for _, t := range []lane.Type{lane.F32, lane.F64} {
		var pe, ph lane.Prog
		pe.Out(x86test.ExpLike(&pe, pe.Arg(0, t)))
		ph.Out(x86test.Half(&ph, ph.Arg(0, t), ph.Arg(1, t)))
		e[t], h[t] = lane.NewEvaluator(&pe), lane.NewEvaluator(&ph)
	}
	var pw lane.Prog
	pw.Out(x86test.Wide(&pw, pw.Arg(0, lane.F32), pw.Arg(1, lane.F32)))
	w := lane.NewEvaluator(&pw)
	return map[string]func(lane.Type, []uint64) uint64{
		"testWide": func(_ lane.Type, x []uint64) uint64 { return w.Eval(x, nil, 0)[0] },
		"testExp":  func(t lane.Type, x []uint64) uint64 { return e[t].Eval(x, nil, 0)[0] },
		"testHalf": func(t lane.Type, x []uint64) uint64 { return h[t].Eval(x, nil, 0)[0] },
	}
}

const guard = 64 // bytes around arrays that must not change

// loop is a compiled program.
type loop func(n int, p []unsafe.Pointer, s *[2]uint64, index int64)

// functions are all programs of x86test, compiled for an instruction set and made
// executable. It skips where the processor or the system has not what that needs.
func functions(t testing.TB, isa x86.ISA) *jit.Block {
	if need := []simd.Level{simd.AVX2, simd.AVX512}[isa]; simd.Available() < need {
		t.Skipf("this processor lacks %v", isa)
	}
	if err := jit.Available(); err != nil {
		t.Skip(err)
	}
	list, err := x86test.Functions(isa)
	if err != nil {
		t.Fatal(err)
	}
	b, err := jit.Load(list...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// loopOf returns the loop of a case, or its chain.
func loopOf(t testing.TB, b *jit.Block, c x86test.Case, kind string, isa x86.ISA) loop {
	f, err := b.Func(c.Name + kind + isa.String())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Prog.Scalars()) == 0 {
		return func(n int, p []unsafe.Pointer, _ *[2]uint64, index int64) { f.Loop(n, p, nil, index) }
	}
	return func(n int, p []unsafe.Pointer, s *[2]uint64, index int64) { f.ScalarLoop(n, p, &s[0], index) }
}

// TestLoops compares every program's code, of few vectors side by side and of many, with its
// interpretation, for all lengths of tails, and sees that nothing beside the results is written.
func TestLoops(t *testing.T) {
	for _, isa := range x86.ISAs {
		t.Run(isa.String(), func(t *testing.T) {
			b := functions(t, isa)
			for i, c := range x86test.Cases() {
				if c.Only512 && isa == x86.AVX2 {
					continue
				}
				for k, kind := range []string{"", "Chain"} {
					if testing.Short() && (i+k)%2 != 0 { // each program alone or in a chain
						continue
					}
					t.Run(c.Name+kind, func(t *testing.T) { testLoop(t, c, loopOf(t, b, c, kind, isa)) })
				}
			}
		})
	}
}

func testLoop(t *testing.T, c x86test.Case, f loop) {
	rng := rand.New(rand.NewPCG(3, uint64(len(c.Name))))
	e := lane.NewEvaluator(c.Prog)
	e.Calls = calls()
	types := append([]lane.Type(nil), make([]lane.Type, len(c.Prog.Outs()))...)
	for i, v := range c.Prog.Outs() {
		types[i] = c.Prog.Type(v)
	}
	outs := len(types)
	types = append(types, c.Prog.Args()...)
	most, step := 600, 1
	if testing.Short() {
		most, step = 75, 5 // which comes by every rest of 8 lanes, and most of 16
	}
	for n := 0; n <= most; n += step + n/70*31 {
		arrays, p, want := make([][]byte, len(types)), make([]unsafe.Pointer, len(types)), make([][]byte, outs)
		for k, at := range types {
			arrays[k] = bytes.Repeat([]byte{0xa5}, n*at.Size()+2*guard)
			for i := range n {
				put(arrays[k][guard:], at, i, value(rng, at, c.Tiny))
			}
			p[k] = unsafe.Pointer(&arrays[k][guard])
		}
		for k := range want {
			want[k] = bytes.Clone(arrays[k])
		}
		var scalars [2]uint64
		for i, st := range c.Prog.Scalars() {
			scalars[i] = value(rng, st, c.Tiny)
		}
		index := int64(rng.IntN(1000))
		args := make([]uint64, len(types)-outs)
		for i := range n {
			for k := range args {
				args[k] = get(arrays[outs+k][guard:], types[outs+k], i)
			}
			for k, x := range e.Eval(args, scalars[:], index+int64(i)) {
				put(want[k][guard:], types[k], i, x)
			}
		}
		f(n, p, &scalars, index)
		for k := range outs {
			for i := range n {
				g, w := get(arrays[k][guard:], types[k], i), get(want[k][guard:], types[k], i)
				if !same(types[k], g, w) {
					for j := range args {
						args[j] = get(arrays[outs+j][guard:], types[outs+j], i)
					}
					t.Fatalf("n = %d: result %d at %d is %#x, want %#x; inputs %#x, scalars %#x", n, k, i, g, w, args, scalars)
				}
			}
			end := guard + n*types[k].Size()
			if !bytes.Equal(arrays[k][:guard], want[k][:guard]) || !bytes.Equal(arrays[k][end:], want[k][end:]) {
				t.Fatalf("n = %d: result %d: written outside the array", n, k)
			}
		}
		if outs == 1 && len(types) > 1 && types[0] == types[1] {
			p[0] = p[1]
			f(n, p, &scalars, index)
			end := guard + n*types[0].Size()
			for i := range n {
				if g, w := get(arrays[1][guard:], types[0], i), get(want[0][guard:], types[0], i); !same(types[0], g, w) {
					t.Fatalf("n = %d, in place: %d is %#x, want %#x", n, i, g, w)
				}
			}
			if !bytes.Equal(arrays[1][:guard], want[0][:guard]) || !bytes.Equal(arrays[1][end:], want[0][end:]) {
				t.Fatalf("n = %d, in place: written outside the array", n)
			}
		}
	}
}
