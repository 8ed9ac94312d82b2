package cublaslt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/ir"
)

// biasCases are products of 16 bits, x [rows, inner] with y [inner, columns]: their
// rows begin at multiples of 16 bytes, or do not for the one or the other's sake.
var biasCases = []struct {
	rows, inner, columns int
	shift                int // of y's first element from a multiple of 16 bytes
	across               bool
}{
	{4, 8, 16, 0, false}, {3, 16, 8, 0, true}, {3, 5, 8, 0, false}, {4, 8, 5, 0, false},
	{8, 8, 8, 1, false}, {7, 13, 5, 0, true}, {1, 5, 3, 0, false}, {9, 21, 1, 0, false}, {33, 65, 17, 0, false},
}

// biased holds products with a bias to one rounding: multiply computes them.
func biased(t *testing.T, g *librarytest.GPU, dtypes []ir.DType, most int, multiply func(g library.GPU, x, y, bias, d ir.View, act Activation) error) {
	for _, dt := range dtypes {
		for act, f := range []func(float64) float64{Identity: func(v float64) float64 { return v }, ReLU: func(v float64) float64 { return max(v, 0) }} {
			for _, c := range biasCases {
				if c.rows*c.columns > most {
					continue
				}
				t.Run(fmt.Sprintf("%v/%d/%dx%dx%d+%d", dt, act, c.rows, c.inner, c.columns, c.shift), func(t *testing.T) {
					g.Reset()
					rng := rand.New(rand.NewPCG(5, 6))
					// Sums are whole numbers that float32 has and 16-bit floats have not;
					// a bias takes some of their bits off again.
					whole := func(n, most int) []complex128 {
						m := make([]complex128, n)
						for i := range m {
							m[i] = complex(float64(rng.IntN(2*most)-most), 0)
						}
						return m
					}
					mx, my, mb := whole(c.rows*c.inner, 30), whole(c.inner*c.columns+c.shift, 30), whole(c.columns, 2000)
					for i, v := range mb {
						mb[i] = librarytest.Decode(dt, librarytest.Encode(dt, []complex128{v}))[0]
					}
					ys := []int{c.columns, 1}
					if c.across {
						ys = []int{1, c.inner}
					}
					x := g.Tensor(dt, mx, []int{c.rows, c.inner}, []int{c.inner, 1})
					y := g.Tensor(dt, my, []int{c.inner, c.columns}, ys)
					y.Addr += uint64(c.shift * dt.Size())
					want := naive(x, y, ir.View{Shape: []int{c.rows, c.columns}}, mx, my[c.shift:])
					for i := range want {
						want[i] = complex(f(real(want[i]+mb[i%c.columns])), 0)
					}
					want = librarytest.Decode(dt, librarytest.Encode(dt, want))
					d := g.Tensor(dt, make([]complex128, c.rows*c.columns), []int{c.rows, c.columns}, []int{c.columns, 1})
					must(t, multiply(g, x, y, g.Tensor(dt, mb, []int{c.columns}, []int{1}), d, Activation(act)))
					if diff := cmp.Diff(want, g.Values(d)); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

// TestFakeBiasRoundsOnce: a library that rounds before it adds a bias is not asked to.
func TestFakeBiasRoundsOnce(t *testing.T) {
	f := newFake(t)
	biased(t, librarytest.NewOn(t, f.api, 1<<20), []ir.DType{ir.BFloat16}, 512, func(g library.GPU, x, y, bias, d ir.View, act Activation) error {
		return f.multiply(g, x, y, d, bias, act, true, ir.Sums{})
	})
}

// TestGPUBiasRoundsOnce is TestFakeBiasRoundsOnce with the library itself.
func TestGPUBiasRoundsOnce(t *testing.T) {
	biased(t, machine(t, 64<<20), []ir.DType{ir.Float16, ir.BFloat16}, math.MaxInt, func(g library.GPU, x, y, bias, d ir.View, act Activation) error {
		return MatMulBias(g, x, y, bias, d, act, false, ir.Sums{})
	})
}
