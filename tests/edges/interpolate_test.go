package edges_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/tests/brief"
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

// TestRandintWide draws between limits that lie farther apart than int64 holds.
func TestRandintWide(t *testing.T) {
	if math.MaxInt < math.MaxInt64 {
		t.Skip("int has 32 bits")
	}
	for _, limits := range [][2]int{{math.MinInt, math.MaxInt}, {-2, math.MaxInt}, {math.MinInt, 1}} {
		drawn, err := Data[int64](Randint([]int{1000}, limits[0], limits[1]))
		if err != nil {
			t.Fatal(err)
		}
		outer := 0
		for _, v := range drawn {
			if int(v) < limits[0] || int(v) >= limits[1] {
				t.Errorf("%d is not from %d to before %d", v, limits[0], limits[1])
			}
			if v > 1<<62 || v < -1<<62 {
				outer++
			}
		}
		if outer < 400 || outer > 600 {
			t.Errorf("%d of 1000 numbers from %v lie in the outer half", outer, limits)
		}
	}
}

// TestCol2imOfNothing: images of no batch, or of no channels, have no elements, and their gradient has none.
func TestCol2imOfNothing(t *testing.T) {
	for _, shape := range [][]int{{0, 18, 9}, {2, 0, 9}} {
		x := Zeros(shape, RequireGrad())
		y := Col2im(x, []int{4, 5}, []int{2, 3}, Stride(2, 1), Padding(1, 0))
		g, err := Gradients([]Tensor{y.Sum()}, []Tensor{x})
		if err != nil || y.NumElements() != 0 || g[0].NumElements() != 0 {
			t.Errorf("of %v: %v, gradient %v, %v", shape, y.Shape(), g, err)
		}
	}
}

// TestSymmetricTies: places of coordinates around the middle that lie between two elements are
// exact, so that all are nearest to the same one of the two.
func TestSymmetricTies(t *testing.T) {
	for scale, want := range map[float64][]float64{1: {0, 0, 1, 2, 3, 4, 4, 4}, 0: {0, 0, 1, 2, 2, 3, 4, 4}} {
		x := Arange(0, 5, 1, OfType(Float64))
		y := x.Resample(0, 8, ResizeModeNearestExact, CoordinatesHalfPixelSymmetric, ScaleFactor(scale))
		got, err := Data[float64](y)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("scale %v: %v, %v, want %v", scale, got, err, want)
		}
	}
}

// TestCropEnds: the ends of a crop lie where it says, to the bit: an end at an edge of x is the
// element there and never outside, however far away the other one is.
func TestCropEnds(t *testing.T) {
	const none = -7
	for n := 2; n < 20; n++ {
		x := Arange(0, n, 1, OfType(Float64))
		for size := 2; size < 40; size++ {
			if brief.Skip(n, size) {
				continue
			}
			for _, far := range []float64{0.1, 0.3, 1. / 7, -0.7, 1.1, 2. / 3, 12.34, 1e9, -1e30} {
				for _, at := range []float64{0, 1} {
					for _, back := range []bool{false, true} {
						start, end, place := at, far, 0
						if back {
							start, end, place = far, at, size-1
						}
						y := x.Resample(0, size, ResizeModeLinear, CoordinatesCrop, CropStart(start), CropEnd(end), Extrapolation(none))
						got, err := y.Narrow(0, place, 1).Item()
						if want := at * float64(n-1); err != nil || got != want {
							t.Fatalf("%d of %d elements from %v to %v: the one at %v is %v, %v, want %v", size, n, start, end, at, got, err, want)
						}
					}
				}
			}
		}
	}
}

// TestCubicSlope: weights of a slope that leaves nothing of their sum, or is no number, are
// refused; the sum of the largest allowed is 1 still.
func TestCubicSlope(t *testing.T) {
	x := Ones([]int{5})
	resample := func(slope float64) Tensor {
		return x.Resample(0, 3, ResizeModeCubic, CoordinatesPytorchHalfPixel, Cubic(slope), ExcludeOutside())
	}
	for _, slope := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1e30, 1025} {
		if err := resample(slope).Err(); err == nil || !strings.Contains(err.Error(), "resample: cubic is ") {
			t.Errorf("a slope of %v: %v", slope, err)
		}
	}
	for _, slope := range []float64{-1024, -0.75, 0, 1024} {
		for _, v := range values(t, resample(slope)) {
			if math.Abs(v-1) > 1e-3 {
				t.Errorf("a slope of %v makes %v of ones", slope, v)
			}
		}
	}
}
