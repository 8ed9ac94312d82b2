package samples

import (
	"math"
	"testing"

	. "github.com/sinter-go/sinter/generated/tensor"
)

// apart computes operators that are kernels written by hand by what the schema says with
// expressions: a fold of several states, whose results a pass over the elements takes.
var apart = []struct {
	name               string
	whole, fold, parts func(x Tensor) Tensor
}{
	{
		"softmax",
		func(x Tensor) Tensor { return x.Softmax(1) },
		func(x Tensor) Tensor { return x.Logsumexp([]int{1}, KeepDim()) },
		func(x Tensor) Tensor { return x.Sub(x.Logsumexp([]int{1}, KeepDim())).Exp() },
	},
	{
		"layer norm",
		func(x Tensor) Tensor { return x.LayerNorm([]int{x.Shape()[1]}) },
		func(x Tensor) Tensor {
			v, _ := x.VarMean(Dim(1), KeepDim(), Correction(0))
			return v
		},
		func(x Tensor) Tensor {
			v, m := x.VarMean(Dim(1), KeepDim(), Correction(0))
			return x.Sub(m).Mul(v.AddScalar(1e-5).Rsqrt())
		},
	},
}

// TestFoldsSayKernels: the kernels compute what folds of the schema say.
func TestFoldsSayKernels(t *testing.T) {
	x := rows(37, 1000, Float64)
	for _, a := range apart {
		want, err := Data[float64](a.parts(x))
		must(t, err)
		got, err := Data[float64](a.whole(x))
		must(t, err)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12*max(1, math.Abs(want[i])) {
				t.Fatalf("%s: element %d is %v, by parts %v", a.name, i, got[i], want[i])
			}
		}
	}
}

// rows returns n rows of m numbers between -4 and 4.
func rows(n, m int, d DType) Tensor {
	return Arange(0, n*m, 1, OfType(d)).MulScalar(0.37).Sin().MulScalar(4).Reshape(n, m)
}

// BenchmarkFolds is why these are kernels: a fold alone costs as much, or more.
func BenchmarkFolds(b *testing.B) {
	x := rows(1024, 1024, Float32)
	for _, a := range apart {
		for _, way := range []struct {
			name string
			f    func(x Tensor) Tensor
		}{{"kernel", a.whole}, {"fold alone", a.fold}, {"fold and apply", a.parts}} {
			b.Run(a.name+"/"+way.name, func(b *testing.B) {
				for b.Loop() {
					if err := Scope(func() error { return way.f(x).Err() }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
