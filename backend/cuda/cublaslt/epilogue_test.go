package cublaslt

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/ir"
)

// An epilogues computes what the functions of the same names do.
type epilogues struct {
	gelu func(g library.GPU, x, y, bias, kept, d ir.View) error
	grad func(g library.GPU, x, y, of, d ir.View) error
	plus func(g library.GPU, x, y, bias, added, d ir.View) error
}

// epilogueBound is how far results of 16 bits may be from float64's, of their size and 1.
var epilogueBound = map[ir.DType]float64{ir.Float16: 4e-3, ir.BFloat16: 1e-2}

// testEpilogues compares products of 16 bits, of rows of whole 16 bytes, with what follows them.
func testEpilogues(t *testing.T, g *librarytest.GPU, dtypes []ir.DType, most int, of epilogues) {
	gelu := func(v float64) float64 {
		return 0.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
	}
	slope := func(v float64) float64 { return (gelu(v+1e-4) - gelu(v-1e-4)) / 2e-4 }
	for _, dt := range dtypes {
		for _, s := range [][3]int{{4, 8, 16}, {3, 16, 8}, {1, 24, 40}, {256, 64, 128}} {
			rows, inner, columns := s[0], s[1], s[2]
			if rows*columns > most {
				continue
			}
			t.Run(fmt.Sprint(dt, s), func(t *testing.T) {
				g.Reset()
				rng := rand.New(rand.NewPCG(7, 8))
				draw := func(shape ...int) (ir.View, []complex128) {
					m := make([]complex128, ir.NumElements(shape))
					for i := range m {
						m[i] = complex(rng.NormFloat64()/math.Sqrt(float64(inner)), 0)
					}
					m = librarytest.Decode(dt, librarytest.Encode(dt, m))
					return g.Tensor(dt, m, shape, ir.ContiguousStrides(shape)), m
				}
				x, mx := draw(rows, inner)
				y, my := draw(inner, columns)
				bias, mb := draw(columns)
				other, mo := draw(rows, columns)
				kept, _ := draw(rows, columns)
				d, _ := draw(rows, columns)
				product := naive(x, y, d, mx, my)
				check := func(what string, v ir.View, f func(i int, product float64) float64) {
					t.Helper()
					for i, got := range g.Values(v) {
						want := complex(f(i, real(product[i])), 0)
						if !(cmplx.Abs(got-want) <= epilogueBound[dt]*(1+cmplx.Abs(want))) {
							t.Fatalf("%s, element %d: %v, want %v", what, i, got, want)
						}
					}
				}
				biased := func(i int, p float64) float64 { return p + real(mb[i%columns]) }
				must(t, of.gelu(g, x, y, bias, kept, d))
				check("what gelu is of", kept, biased)
				check("gelu", d, func(i int, p float64) float64 { return gelu(biased(i, p)) })
				must(t, of.grad(g, x, y, other, d))
				check("gelu's gradient", d, func(i int, p float64) float64 { return p * slope(real(mo[i])) })
				if diff := cmp.Diff(mo, g.Values(other)); diff != "" {
					t.Errorf("what the gradient reads has changed (-want +got):\n%s", diff)
				}
				must(t, of.plus(g, x, y, ir.View{}, other, d))
				check("a sum", d, func(i int, p float64) float64 { return p + real(mo[i]) })
				must(t, of.plus(g, x, y, bias, other, d))
				check("a sum with a bias", d, func(i int, p float64) float64 { return biased(i, p) + real(mo[i]) })
				must(t, of.plus(g, x, y, bias, other, other))
				check("a sum in place", other, func(i int, p float64) float64 { return biased(i, p) + real(mo[i]) })
				apart := kept
				apart.Addr += uint64(dt.Size())
				if err := of.gelu(g, x, y, bias, apart, d); !errors.Is(err, ErrUnsupported) {
					t.Errorf("what is kept at an odd address: %v", err)
				}
			})
		}
	}
}

// TestFakeEpilogues: the library is told of what is kept and added as it wants it.
func TestFakeEpilogues(t *testing.T) {
	f := newFake(t)
	of := func(epilogue uint32, add bool) kind {
		return kind{ir.BFloat16, ir.BFloat16, epilogue, true, ir.Sums{}, add, 1}
	}
	testEpilogues(t, librarytest.NewOn(t, f.api, 1<<20), []ir.DType{ir.BFloat16}, 512, epilogues{
		func(g library.GPU, x, y, bias, kept, d ir.View) error {
			return f.with(g, x, y, d, bias, kept, ir.View{}, of(epilogueKeptGELU|epilogueBias, false))
		},
		func(g library.GPU, x, y, at, d ir.View) error {
			return f.with(g, x, y, d, ir.View{}, at, ir.View{}, of(epilogueGELUGrad, false))
		},
		func(g library.GPU, x, y, bias, added, d ir.View) error {
			return f.with(g, x, y, d, bias, ir.View{}, added, of(epilogueOf(bias.Given(), Identity), true))
		},
	})
}

// TestGPUEpilogues is TestFakeEpilogues with the library itself.
func TestGPUEpilogues(t *testing.T) {
	testEpilogues(t, machine(t, 64<<20), []ir.DType{ir.Float16, ir.BFloat16}, math.MaxInt, epilogues{
		func(g library.GPU, x, y, bias, kept, d ir.View) error {
			return MatMulGELU(g, x, y, bias, kept, d, false, ir.Sums{})
		},
		func(g library.GPU, x, y, at, d ir.View) error {
			return MatMulGELUGrad(g, x, y, at, d, false, ir.Sums{})
		},
		func(g library.GPU, x, y, bias, added, d ir.View) error {
			return MatMulPlus(g, x, y, bias, added, d, false, ir.Sums{})
		},
	})
}
