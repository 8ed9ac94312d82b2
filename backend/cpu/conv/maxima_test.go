package conv_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A quadCase is planes of windows of two by two, with what rows and columns are left.
// A quadCase has no rows where windows of two lie in lines.
type quadCase struct{ planes, rows, n, below, beside int }

// checkQuads compares Quads with the largest elements by definition.
func checkQuads[T float32 | float64](c quadCase, level simd.Level, rng *rand.Rand) error {
	const guard = 5
	height, width := 2*c.rows+c.below, 2*c.n+c.beside
	x := make([]T, c.planes*height*width)
	special := []float64{math.NaN(), math.Inf(-1), math.Inf(1), 0, math.Copysign(0, -1), 1, 1}
	for i := range x {
		x[i] = T(rng.IntN(5))
		if rng.IntN(6) == 0 {
			x[i] = T(special[rng.IntN(len(special))])
		}
	}
	total := c.planes * max(1, c.rows) * c.n
	values, indices := make([]T, total+guard), make([]int64, total+guard)
	for i := range guard {
		values[total+i], indices[total+i] = 77, 77
	}
	two := []int{2, 2}
	in, out := []int{height, width}, []int{c.rows, c.n}
	if c.rows == 0 { // lines
		height, in, out = 1, []int{width}, []int{c.n}
	}
	q := conv.NewQuads(in, out, two, two, []int{0, 0}, []int{1, 1}, int(unsafe.Sizeof(x[0])), level)
	q.Run(c.planes, unsafe.Pointer(&values[0]), unsafe.Pointer(&indices[0]), unsafe.Pointer(&x[0]))
	rows := max(1, c.rows)
	for i := range total {
		plane, row, column := i/(rows*c.n), i/c.n%rows, i%c.n
		of := x[plane*height*width : (plane+1)*height*width]
		first := 2*row*width + 2*column
		best := first
		others := []int{first + 1, first + width, first + width + 1}
		for _, k := range others[:min(2*c.rows, 2)+1] {
			if of[best] == of[best] && (of[k] > of[best] || of[k] != of[k]) {
				best = k
			}
		}
		if got := values[i]; indices[i] != int64(best) || math.Float64bits(float64(got)) != math.Float64bits(float64(of[best])) {
			return fmt.Errorf("window %d of plane %d, row %d: %v at %d, want %v at %d", column, plane, row, got, indices[i], of[best], best)
		}
	}
	for i := range guard {
		if values[total+i] != 77 || indices[total+i] != 77 {
			return fmt.Errorf("wrote behind the results")
		}
	}
	return nil
}

func TestQuads(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, level := range simd.Usable()[1:] { // above portable Go
		large, lines := quadCase{2, 131, 150, 1, 1}, quadCase{40, 0, 1000, 1, 3} // a plane, or all of them, take several calls
		if err := errors.Join(checkQuads[float32](lines, level, rng), checkQuads[float64](lines, level, rng)); err != nil {
			t.Fatalf("%+v at %s: %v", lines, level, err)
		}
		if err := errors.Join(checkQuads[float32](large, level, rng), checkQuads[float64](large, level, rng)); err != nil {
			t.Fatalf("%+v at %s: %v", large, level, err)
		}
		for n := 1; n <= 70; n++ {
			for _, c := range []quadCase{{1, 1, n, 0, 0}, {3, 2, n, 0, 0}, {2, 3, n, 1, 1}, {2, 1, n, 3, 4}, {1, 0, n, 1, 0}, {5, 0, n, 1, 1}} {
				if err := checkQuads[float32](c, level, rng); err != nil {
					t.Fatalf("float32 %+v at %s: %v", c, level, err)
				}
				if err := checkQuads[float64](c, level, rng); err != nil {
					t.Fatalf("float64 %+v at %s: %v", c, level, err)
				}
			}
		}
	}
}

// TestNewQuads names windows that are not theirs.
func TestNewQuads(t *testing.T) {
	for _, c := range []struct {
		name                                       string
		in, out, kernel, stride, padding, dilation []int
	}{
		{"blocks", []int{8, 8, 8}, []int{4, 4, 4}, []int{2, 2, 2}, []int{2, 2, 2}, []int{0, 0, 0}, []int{1, 1, 1}},
		{"lines of three", []int{9}, []int{3}, []int{3}, []int{3}, []int{0}, []int{1}},
		{"elements of a call", []int{1<<15 + 2}, []int{1 << 14}, []int{2}, []int{2}, []int{0}, []int{1}},
		{"kernel", []int{8, 8}, []int{4, 3}, []int{2, 3}, []int{2, 2}, []int{0, 0}, []int{1, 1}},
		{"stride", []int{8, 8}, []int{7, 4}, []int{2, 2}, []int{1, 2}, []int{0, 0}, []int{1, 1}},
		{"padding", []int{8, 8}, []int{5, 4}, []int{2, 2}, []int{2, 2}, []int{1, 0}, []int{1, 1}},
		{"dilation", []int{8, 8}, []int{4, 3}, []int{2, 2}, []int{2, 2}, []int{0, 0}, []int{1, 2}},
		{"rows of a call", []int{2, 1 << 15}, []int{1, 1 << 14}, []int{2, 2}, []int{2, 2}, []int{0, 0}, []int{1, 1}},
		{"out of the plane", []int{8, 7}, []int{4, 4}, []int{2, 2}, []int{2, 2}, []int{0, 0}, []int{1, 1}},
	} {
		if q := conv.NewQuads(c.in, c.out, c.kernel, c.stride, c.padding, c.dilation, 4, simd.AVX2); q != nil {
			t.Errorf("%s: %+v", c.name, *q)
		}
	}
}
