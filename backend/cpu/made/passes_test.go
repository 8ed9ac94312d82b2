package made_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/made"
	codeloops "github.com/sinter-go/sinter/codegen/loops"
	"github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
)

// elements is a stage of one expression of operands a, b, c.
func elements(t testing.TB, text string, single bool, out int, in ...int) codeloops.Stage {
	op := &ir.Op{Name: text, Kind: ir.Elementwise, Out: []ir.Result{{}}, Bodies: []ir.Body{{Exprs: []string{text}}}, DTypes: ir.ClassFloat}
	for i := range in {
		op.In = append(op.In, ir.Operand{Name: string(rune('a' + i))})
	}
	b, err := body.Of(op.Kernel(0, ir.Float32))
	if err != nil {
		t.Fatal(err)
	}
	return codeloops.Stage{Graph: b.Expr, Inputs: lower.Inputs(b.Expr), Single: single, In: in, Out: out, Results: 1}
}

// folding is a stage that folds rows.
func foldStage(t testing.TB, b ir.Body, out, in int) codeloops.Stage {
	op := &ir.Op{Name: "fold", Kind: ir.Reduction, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{}}, Attrs: []ir.Attr{{Name: "dim", Kind: ir.AttrInts}},
		Bodies: []ir.Body{b}, DTypes: ir.ClassFloat}
	typed, err := body.Of(op.Kernel(0, ir.Float32))
	if err != nil {
		t.Fatal(err)
	}
	return codeloops.Stage{Fold: &codeloops.Fold{Init: typed.Init, Map: typed.Map, Combine: typed.Combine, Operand: "x", Inputs: lower.Inputs}, Finish: typed.Finish,
		In: []int{in}, Out: out, Results: 1}
}

// norm is x/sqrt(mean of squares)*w, scaledSoftmax that of numbers times 1/8.
func norm(t testing.TB) *codeloops.Rows {
	f := ir.Float32
	return &codeloops.Rows{Operands: 2, DTypes: []ir.DType{f, f, f, f, f, f}, Single: []bool{false, false, false, true, true, false}, Stored: []bool{5: true},
		Stages: []codeloops.Stage{elements(t, "a*a", false, 2, 0), foldStage(t, ir.Body{Init: "0", Combine: "a + b", Finish: "a/cast(count)"}, 3, 2),
			elements(t, "1/sqrt(a + 1e-6)", true, 4, 3), elements(t, "a*b*c", false, 5, 0, 4, 1)}}
}

func softmaxRows(t testing.TB) *codeloops.Rows {
	f := ir.Float32
	return &codeloops.Rows{Operands: 1, DTypes: []ir.DType{f, f, f, f, f, f}, Single: []bool{false, false, true, false, true, false}, Stored: []bool{5: true},
		Stages: []codeloops.Stage{elements(t, "a*0.125", false, 1, 0), foldStage(t, ir.Body{Init: "-Inf", Combine: "max(a, b)"}, 2, 1),
			elements(t, "exp(a - b)", false, 3, 1, 2), foldStage(t, ir.Body{Init: "0", Combine: "a + b"}, 4, 3), elements(t, "a/b", false, 5, 3, 4)}}
}

// passRows are rows of numbers between zeros, and what code makes of them.
type passRows struct {
	code         *made.Passes
	rows, length int
	at           []unsafe.Pointer
	steps, ahead []int
	blocks       []uint64
	in, out      []float32
	weights      []float32
	around       []float32
	keep         [][]float32
}

func newPassRows(t testing.TB, r *codeloops.Rows, rows, length int) *passRows {
	t.Helper()
	if !compiles() {
		t.Skip("no vector code can be made here")
	}
	code, err := made.CompilePasses(r)
	if err != nil {
		t.Fatal(err)
	}
	p := &passRows{code: code, rows: rows, length: length, blocks: make([]uint64, rows*code.Block)}
	code.Fill(p.blocks, rows, length, nil)
	for _, v := range code.Values {
		all, list := aligned[float32](rows * length)
		step := 4 * length
		for i := range list {
			list[i] = float32(math.Sin(float64(i*7+v)) * 3)
		}
		switch {
		case v == 0:
			p.in = list
		case v == len(r.DTypes)-1:
			p.out, p.around = list, all
		case v < r.Operands:
			step, p.weights = 0, list
		}
		p.at, p.steps, p.keep = append(p.at, unsafe.Pointer(&list[0])), append(p.steps, step), append(p.keep, list)
	}
	p.ahead = make([]int, len(p.at))
	return p
}

func (p *passRows) run(past bool) {
	p.code.Run(p.rows, p.length, p.at, p.steps, p.ahead, p.blocks, past)
}

// TestPasses: rows are what they are one element after the other, past the caches, too, and
// nothing is written beside the results.
func TestPasses(t *testing.T) {
	levels(t) // skips where no code can be made
	reference := map[string]func(out, in, weights []float32){
		"norm": func(out, in, weights []float32) {
			sum := 0.0
			for _, v := range in {
				sum += float64(v) * float64(v)
			}
			for i, v := range in {
				out[i] = float32(float64(v) / math.Sqrt(sum/float64(len(in))+1e-6) * float64(weights[i]))
			}
		},
		"softmax": func(out, in, _ []float32) {
			sum := 0.0
			for _, v := range in {
				sum += math.Exp(float64(v) / 8)
			}
			for i, v := range in {
				out[i] = float32(math.Exp(float64(v)/8) / sum)
			}
		},
	}
	for name, r := range map[string]*codeloops.Rows{"norm": norm(t), "softmax": softmaxRows(t)} {
		for _, length := range []int{1, 2, 15, 16, 17, 63, 64, 65, 100, 128, 1000, 1024, 1025, 2048, 2500, 5000, 7168} {
			p := newPassRows(t, r, 3, length)
			for _, past := range []bool{false, true} {
				if past && length%16 != 0 {
					continue
				}
				clear(p.out)
				p.run(past)
				want := make([]float32, length)
				for row := range p.rows {
					at := row * length
					reference[name](want, p.in[at:at+length], p.weights)
					for i, w := range want {
						if got := p.out[at+i]; math.Abs(float64(got-w)) > 2e-6*(1+math.Abs(float64(w))) {
							t.Fatalf("%s of %d elements, past the caches %t: element %d of row %d is %v, want %v", name, length, past, i, row, got, w)
						}
					}
				}
				clear(p.out)
				for _, v := range p.around {
					if v != 0 {
						t.Fatalf("%s of %d elements, past the caches %t: written beside the result", name, length, past)
					}
				}
			}
		}
	}
}

// BenchmarkPasses measures rows in the first cache, which is the bound of the same code by
// arithmetic, and from memory.
func BenchmarkPasses(b *testing.B) {
	const length, many = 1024, 32 << 10
	for _, w := range []struct {
		name string
		rows *codeloops.Rows
		some int
	}{{"norm", norm(b), 4}, {"softmax", softmaxRows(b), 2}} {
		b.Run(w.name+" in the first cache", func(b *testing.B) {
			p := newPassRows(b, w.rows, 1, length)
			b.SetBytes(8 * length)
			for b.Loop() {
				p.run(false)
			}
		})
		b.Run(w.name+" from memory", func(b *testing.B) {
			p := newPassRows(b, w.rows, w.some, length)
			base := slices.Clone(p.at)
			for k, v := range p.code.Values {
				if v == 0 || v == len(w.rows.DTypes)-1 {
					_, list := aligned[float32](many * length)
					for i := range list {
						list[i] = float32(i%length) * 0.01
					}
					base[k], p.keep = unsafe.Pointer(&list[0]), append(p.keep, list)
					p.ahead[k] = w.some * p.steps[k]
				}
			}
			b.SetBytes(8 * length * many)
			for b.Loop() {
				for lo := 0; lo < many; lo += w.some {
					for k := range base {
						if p.at[k] = base[k]; p.ahead[k] != 0 {
							p.at[k] = unsafe.Add(base[k], lo*p.steps[k])
						}
					}
					p.run(true)
				}
			}
		})
	}
	b.Run("copy of memory", func(b *testing.B) { // what reads and writes as many bytes and computes nothing
		_, from := aligned[float32](many * length)
		_, to := aligned[float32](many * length)
		for i := range from {
			from[i] = 1
		}
		b.SetBytes(8 * length * many)
		for b.Loop() {
			copy(to, from)
		}
	})
}

// BenchmarkShortRows measures a row among many of few elements, in the first cache.
func BenchmarkShortRows(b *testing.B) {
	for _, length := range []int{16, 32, 48, 64, 128, 256, 1024} {
		for name, r := range map[string]*codeloops.Rows{"norm": norm(b), "softmax": softmaxRows(b)} {
			b.Run(fmt.Sprintf("%s/%d", name, length), func(b *testing.B) {
				p := newPassRows(b, r, 16, length)
				for b.Loop() {
					p.run(false)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/16, "ns/row")
			})
		}
	}
}

// BenchmarkCompilePasses measures how long it takes to make the code of rows.
func BenchmarkCompilePasses(b *testing.B) {
	for name, r := range map[string]*codeloops.Rows{"norm": norm(b), "softmax": softmaxRows(b)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := made.CompilePasses(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
