package gpu_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir/num"
)

// TestGamma: lgamma and digamma of float32, which a GPU computes in float32 by a method for
// each range, are within eight units in the last place wherever they are defined: beside
// the ends of ranges, beside zeros and in between.
func TestGamma(t *testing.T) {
	need(t)
	var x []float32
	for _, at := range []float32{0x1p-126, 0x1p-100, 0.3, 0.5, 1, 1.25, 1.4616321, 2, 2.5, 10, 1e5, 1e30, 4e36, -0.5, -1.5, -2.457024, -3.14358, -7.00002} {
		bits := math.Float32bits(at)
		for i := uint32(0); i < 4096; i++ {
			x = append(x, math.Float32frombits(bits-2048+i), math.Float32frombits(bits+i*257))
		}
	}
	for i := range 1 << 16 {
		x = append(x, math.Float32frombits(uint32(i)*0x7f80), 12*float32(i)/(1<<16), -12*float32(i)/(1<<16))
	}
	x = append(x, float32(math.Inf(1)), float32(math.NaN()), 0, float32(math.Copysign(0, -1)), -1, -2)
	for _, f := range []struct {
		name  string
		apply func(tensor.Tensor) tensor.Tensor
		want  func(float64) float64
	}{
		{"lgamma", tensor.Tensor.Lgamma, num.Lgamma[float64]},
		{"digamma", tensor.Tensor.Digamma, num.Digamma[float64]},
	} {
		got, err := tensor.Data[float32](f.apply(tensor.From(x, len(x)).To(gpu)))
		must(t, err)
		for i, misses := 0, 0; i < len(x) && misses < 8; i++ {
			if want := f.want(float64(x[i])); !withinUnits(got[i], want, 8) {
				misses++
				t.Errorf("%s(%v) is %v, want %v", f.name, x[i], got[i], float32(want))
			}
		}
	}
}

// withinUnits reports whether got is want but for so many units in the last place.
func withinUnits(got float32, want, units float64) bool {
	to := float32(want)
	if to != to || math.IsInf(float64(to), 0) {
		return got == to || got != got && to != to
	}
	size := float32(math.Abs(want))
	return math.Abs(float64(got)-want) <= units*float64(math.Nextafter32(size, float32(math.Inf(1)))-size)
}
