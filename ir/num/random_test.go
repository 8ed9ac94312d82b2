package num

import (
	"math"
	"testing"
)

// TestNormalPairs holds the mapping from words to normal numbers: an index and the
// next are the cosine and the sine of half a block.
func TestNormalPairs(t *testing.T) {
	for _, block := range []int64{0, 1, 77, 1 << 31, 1 << 40, math.MaxInt64 / 2} {
		four := PhiloxBlock([4]uint32{uint32(block / 2), uint32(block / 2 >> 32), 7, 0}, [2]uint32{5, 0})
		w := four[block%2*2:]
		r := math.Sqrt(-2 * math.Log((float64(w[0])+1)/(1<<32)))
		sin, cos := math.Sincos(2 * math.Pi * float64(w[1]) / (1 << 32))
		for i, want := range []float64{r * cos, r * sin} {
			got := Normal[float64](5, 7, 2*block+int64(i))
			if math.Abs(got-want) > 1e-14 {
				t.Errorf("Normal(5, 7, %d) = %g, want %g", 2*block+int64(i), got, want)
			}
			if single := Normal[float32](5, 7, 2*block+int64(i)); single != float32(got) {
				t.Errorf("Normal[float32](5, 7, %d) = %g, want %g", 2*block+int64(i), single, float32(got))
			}
		}
	}
}
