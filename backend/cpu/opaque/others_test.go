package opaque

import (
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// TestFewFactors has gradients of products of few elements, among them such as have a product that
// float32 does not hold, zeros, infinities and NaN, against products of the others.
func TestFewFactors(t *testing.T) {
	rng := newRand()
	some := []float64{0, 1, -2, 3e38, 1e-44, math.Inf(1), math.Inf(-1), math.NaN(), 1e-20, -1e20}
	for n := range 11 {
		const rows = 700
		x := cputest.NewView(ir.Float32, "contiguous", rows, n)
		g := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", rows, 1), rng, 0.5, 2)
		for i := range x.NumElements() {
			v := rng.NormFloat64()
			if rng.IntN(3) == 0 {
				v = some[rng.IntN(len(some))]
			}
			cputest.Set(x, i, complex(v, 0))
		}
		to := cputest.NewView(ir.Float32, "contiguous", rows, n)
		must(t, ProdOthers, call(ir.Float32, []ir.Value{ints(1)}, []ir.View{to}, g, x))
		want := make([]float64, x.NumElements())
		for i := range want {
			product := 1.0
			for k := range n {
				if k != i%n {
					product *= real(cputest.Get(x, i/n*n+k))
				}
			}
			want[i] = float64(float32(real(cputest.Get(g, i/n))) * float32(product))
		}
		checkNear(t, fmt.Sprint(n, " factors"), to, want)
	}
}

func BenchmarkFewFactors(b *testing.B) {
	for _, n := range []int{2, 3, 4, 7, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rng := newRand()
			rows := 1 << 20 / n
			x := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", rows, n), rng, 0.5, 2)
			g := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", rows, 1), rng, 0.5, 2)
			to := cputest.NewView(ir.Float32, "contiguous", rows, n)
			for b.Loop() {
				_ = ProdOthers(call(ir.Float32, []ir.Value{ints(1)}, []ir.View{to}, g, x))
			}
		})
	}
}
