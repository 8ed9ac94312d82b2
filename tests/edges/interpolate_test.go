package edges_test

import (
	"math"
	"testing"

	. "github.com/sinter-go/sinter/generated/tensor"
)

// TestRepeated: what interpolate repeats is written like any other result, also where an extent is 1.
func TestRepeated(t *testing.T) {
	for _, shape := range [][]int{{1, 2, 1}, {2, 3, 1, 1}, {1, 1, 1, 2}} {
		y := Interpolate(Ones(shape), []int{4})
		if err := y.AddScalarInPlace(1); err != nil || !y.IsContiguous() {
			t.Errorf("of %v: strides %v, %v", shape, y.Strides(), err)
		}
	}
}

// TestRandintLarge draws between limits that floats do not tell apart.
func TestRandintLarge(t *testing.T) {
	if y := Randint([]int{2}, math.MaxInt-1, math.MaxInt); y.Err() != nil {
		t.Error(y.Err())
	}
}
