package lowering_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	irbody "github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
)

// A part is a loop of a part of a fold.
type part struct {
	*vector.Loop
	op       *ir.Op
	name     string // as the field of vector.Parts
	graph    *expr.Graph
	portable vector.Func
}

// allParts returns the loops of all parts of folds.
func allParts(t *testing.T) (list []*part) {
	for _, op := range ops.Descriptors() {
		code, ok := op.CodeFor(vector.Kind).(*vector.Code)
		if !ok || code.Parts == nil {
			continue
		}
		p := code.Parts
		for name, of := range map[string]*vector.Code{"Start": p.Start, "First": p.First, "Step": p.Step, "Merge": p.Merge, "Finish": p.Finish} {
			if of == nil {
				continue
			}
			for i := range of.Vectors {
				l := &of.Vectors[i]
				b, err := irbody.Of(op.Kernel(l.Variant, l.DType))
				if err != nil {
					t.Fatalf("%s: %v", op.Name, err)
				}
				g := map[string]*expr.Graph{"Start": b.Init, "First": b.First, "Step": b.Step, "Merge": b.Combine, "Finish": b.Finish}[name]
				list = append(list, &part{l, op, name, g, of.Loops[l.Variant][l.DType]})
			}
		}
	}
	return list
}

// at returns the loop that runs at a level.
func (p *part) at(level simd.Level) vector.Func { return p.Loop.At(level, p.portable) }

// correctlyRounded reports whether all that a graph computes is the same on every processor.
func correctlyRounded(g *expr.Graph) bool {
	return !slices.ContainsFunc(g.Values, func(v *expr.Value) bool { return v.Op == expr.OpCall && inexact[v.Name] })
}

// arrays returns the addresses of arrays of n random elements of some dtypes, and their
// memory.
func arrays(seed uint64, n int, dtypes []ir.DType) (p []unsafe.Pointer, data [][]byte) {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	for _, d := range dtypes {
		var list []byte
		switch d {
		case ir.Float32, ir.Float64:
			for range n + 1 {
				f := float32(8*rng.Float64() - 4)
				if d == ir.Float32 {
					list = append(list, bytesOf(&f)...)
				} else {
					wide := float64(f)
					list = append(list, bytesOf(&wide)...)
				}
			}
		default:
			for range (n + 1) * d.Size() {
				list = append(list, byte(rng.IntN(2)))
			}
		}
		data, p = append(data, list), append(p, unsafe.Pointer(&list[0]))
	}
	return p, data
}

func bytesOf[T any](v *T) []byte {
	return slices.Clone(unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)))
}

// TestParts holds the loops of folds' parts to the portable ones, to the bit where they
// call no functions: results may be operands, and elements may be stored as float32.
func TestParts(t *testing.T) {
	parts := map[string]int{}
	narrow := 0
	for _, l := range allParts(t) {
		op, g := l.op, l.graph
		if !correctlyRounded(g) {
			continue
		}
		parts[l.name]++
		var outs, ins []ir.DType
		for _, root := range g.Roots {
			outs = append(outs, g.KindDType(root.Kind))
		}
		for _, o := range g.Env.Operands {
			d := l.DType
			if o.Fixed != ir.Invalid {
				d = o.Fixed
			}
			ins = append(ins, d)
		}
		var s []ir.Scalar
		for range g.Env.Params {
			s = append(s, ir.FloatScalar(3))
		}
		for _, level := range simd.UsableVectors()[1:] {
			for n := 0; n < 200; n += 1 + n/20 {
				compareParts(t, l, l.at(level), l.portable, outs, ins, n, s)
				if loop := l.Float32.At(level); loop != nil {
					narrow++
					from := len(op.Bodies[l.Variant].States) + len(op.Bodies[l.Variant].First)
					compareNarrow(t, l, loop, l.at(level), outs, ins, from, n, s)
				}
			}
		}
	}
	if len(simd.UsableVectors()[1:]) > 0 && (len(parts) < 5 || narrow == 0) {
		t.Errorf("loops of %v, and %d over float32; want some of all five parts, and such", parts, narrow)
	}
}

// compareParts runs two loops on the same arrays, results in place of the first operands
// where they have their dtypes.
func compareParts(t *testing.T, l *part, loop, portable vector.Func, outs, ins []ir.DType, n int, s []ir.Scalar) {
	var results [2][][]byte
	for k, f := range []vector.Func{loop, portable} {
		p, data := arrays(1, n, append(slices.Clone(outs), ins...))
		if l.name == "Step" || l.name == "Merge" {
			copy(p, p[len(outs):2*len(outs)])
			data = data[len(outs) : 2*len(outs)]
		}
		f(n, p, s, 0)
		results[k] = data[:len(outs)]
	}
	for i := range results[0] {
		if !bytes.Equal(results[0][i], results[1][i]) {
			t.Fatalf("%s %s %s: result %d of %d elements differs from the portable loop's", l.op.Name, l.name, l.DType, i, n)
		}
	}
}

// compareNarrow runs a loop over elements of float32 and one over the same as float64.
func compareNarrow(t *testing.T, l *part, narrow, wide vector.Func, outs, ins []ir.DType, from, n int, s []ir.Scalar) {
	p, data := arrays(2, n, append(slices.Clone(outs), ins...))
	q, again := arrays(2, n, append(slices.Clone(outs), ins...))
	for i := len(outs) + from; i < len(p); i++ {
		list := make([]float32, n+1)
		for k, f := range unsafe.Slice((*float64)(p[i]), n+1) {
			list[k] = float32(f)
		}
		q[i] = unsafe.Pointer(&list[0])
	}
	wide(n, p, s, 0)
	narrow(n, q, s, 0)
	for i := range outs {
		if !bytes.Equal(data[i], again[i]) {
			t.Fatalf("%s %s %s: result %d of %d elements of float32 differs from that of float64", l.op.Name, l.name, l.DType, i, n)
		}
	}
}
