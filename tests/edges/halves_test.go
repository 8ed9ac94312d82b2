package edges_test

import (
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
)

// TestCompositionsOfHalves has compositions of float16 go through numbers that float16
// does not hold, to results that it does.
func TestCompositionsOfHalves(t *testing.T) {
	x := tensor.Full([]int{2, 4}, 300, tensor.OfType(tensor.Float16))
	y := tensor.Full([]int{2, 4}, 299, tensor.OfType(tensor.Float16))
	for _, c := range []struct {
		name string
		got  tensor.Tensor
		want float64
	}{
		{"norm", x.Norm(tensor.Dim(1)), 600},
		{"normalize", x.Normalize([]int{1}), 0.5},
		{"cosine_similarity", x.CosineSimilarity(y, 1), 1},
		{"cdist", x.CDist(y), 2},
		{"std", tensor.Cat([]tensor.Tensor{x, x.Neg()}, 1).Std(tensor.Dim(1), tensor.Correction(0)), 300},
		{"baddbmm", tensor.BAddBMM(x.MulScalar(200).Reshape(2, 1, 4), x.Reshape(2, 1, 4), x.Neg().Reshape(2, 4, 1).MulScalar(0.25)), -30000},
	} {
		list, err := tensor.Data[float64](c.got.ToType(tensor.Float64))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, v := range list {
			if math.Abs(v-c.want) > 1e-3*math.Abs(c.want) {
				t.Errorf("%s is %v, want %v", c.name, v, c.want)
				break
			}
		}
	}
}

// TestGradientsOfHalves has gradients of 16-bit products multiply the factors as they are: a
// copy of them in float32 would be slow, and no more exact, as each is exact already.
func TestGradientsOfHalves(t *testing.T) {
	for _, c := range []struct {
		name string
		x, y []int
		want int // products of the program
	}{
		{"matrices", []int{4, 8}, []int{8, 6}, 3},
		{"batches", []int{2, 3, 4, 8}, []int{2, 3, 8, 6}, 3},
		{"batches by one", []int{2, 3, 4, 8}, []int{8, 6}, 3},
	} {
		f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
			a, b := x[0].Detach().RequireGrad(), x[1].Detach().RequireGrad()
			grads, err := tensor.Gradients([]tensor.Tensor{a.MatMul(b).Sum()}, []tensor.Tensor{a, b})
			if err != nil {
				return tensor.Tensor{}, err
			}
			return grads[0].Sum().Add(grads[1].Sum()), nil
		})
		opts := []tensor.Option{tensor.OfType(tensor.BFloat16)}
		if _, err := f.Call(tensor.Ones(c.x, opts...), tensor.Ones(c.y, opts...)); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		products := 0
		for _, line := range strings.Split(f.Recorded().String(), "\n") {
			if _, operands, found := strings.Cut(line, "= matmul "); found {
				if products++; strings.Contains(operands, "float32") {
					t.Errorf("%s: a product of float32: %s", c.name, line)
				}
			}
		}
		if products != c.want {
			t.Errorf("%s: %d products in\n%v\nwant %d", c.name, products, f.Recorded(), c.want)
		}
	}
}

// TestMultinomialOfHalves draws every class of many, and none that does not exist.
func TestMultinomialOfHalves(t *testing.T) {
	const classes, draws = 1000, 100_000
	for _, dt := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		drawn, err := tensor.Data[int64](tensor.Ones([]int{classes}, tensor.OfType(dt)).Multinomial(draws, tensor.Replacement()))
		if err != nil {
			t.Fatal(err)
		}
		var count [classes]int
		for _, c := range drawn {
			if c < 0 || c >= classes {
				t.Fatalf("%v: class %d of %d was drawn", dt, c, classes)
			}
			count[c]++
		}
		for c, n := range count {
			if n < draws/classes/2 || n > draws/classes*2 {
				t.Errorf("%v: class %d was drawn %d times of %d", dt, c, n, draws)
				break
			}
		}
	}
}
