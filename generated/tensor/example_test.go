package tensor_test

import (
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
)

func Example() {
	x := tensor.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	y := x.MulScalar(10).Add(tensor.From([]float32{1, 2, 3})) // the vector broadcasts over the rows
	fmt.Println(y)
	fmt.Println(y.Sum(tensor.Dim(1), tensor.KeepDim()))
	// Output:
	// tensor([[11., 22., 33.],
	//         [41., 52., 63.]])
	// tensor([[ 66.],
	//         [156.]])
}

// Nothing runs after a mistake, and what leaves the library returns it.
func Example_mistakes() {
	x := tensor.Zeros([]int{2, 3})
	y := x.MatMul(tensor.Zeros([]int{4, 5})).ReLU().Sum()
	_, err := y.Item()
	fmt.Println(errors.Unwrap(err)) // err itself begins with the file and line of the product
	// Output: matmul: invalid shape: cannot multiply shapes [2 3] and [4 5]: inner dimensions 3 and 4 differ
}

func ExampleTensor_Index() {
	x := tensor.Arange(0, 24, 1).Reshape(2, 3, 4)
	fmt.Println(x.Index(0, -1))                                        // numbers
	fmt.Println(x.Index("0, ::2, 1:3"))                                // ranges
	fmt.Println(x.Index(tensor.Ellipsis, tensor.NewAxis, 0).Shape())   // a new axis
	fmt.Println(x.Index(1, tensor.Range(1, tensor.Open), []int{3, 0})) // places
	fmt.Println(x.Index(x.RemainderScalar(7).EqScalar(0)))             // a mask
	// Output:
	// tensor([ 8,  9, 10, 11])
	// tensor([[ 1,  2],
	//         [ 9, 10]])
	// [2 3 1]
	// tensor([[19, 16],
	//         [23, 20]])
	// tensor([ 0,  7, 14, 21])
}

// A step of the heat equation on a rod is one line.
func ExampleTensor_At() {
	u := tensor.From([]float32{0, 0, 64, 0, 0})
	for range 2 {
		if err := u.At("1:-1").Add(u.Index("2:").Sub(u.Index("1:-1").MulScalar(2)).Add(u.Index(":-2")).MulScalar(0.25)); err != nil {
			fmt.Println(err)
		}
		fmt.Println(u)
	}
	// Output:
	// tensor([ 0., 16., 32., 16.,  0.])
	// tensor([ 0., 16., 24., 16.,  0.])
}

// Places that are named more than once receive every value.
func ExamplePlace_Add() {
	counts := tensor.Zeros([]int{4})
	err := counts.At([]int{2, 0, 2, 2}).Add(tensor.From([]float32{1, 1, 1, 10}))
	fmt.Println(counts, err)
	// Output: tensor([ 1.,  0., 12.,  0.]) <nil>
}

func ExampleTensor_Backward() {
	x := tensor.From([]float32{-1, 0.5, 2}).RequireGrad()
	if err := x.Square().Mul(x.Sigmoid()).Sum().Backward(); err != nil {
		fmt.Println(err)
		return
	}
	g, _ := x.Grad()
	fmt.Println(g)
	// Output: tensor([-0.3413,  0.6812,  3.9432])
}

// Gradients of gradients: the second derivative of x**3.
func ExampleGradients() {
	x := tensor.From([]float64{1, 2}).RequireGrad()
	first, err := tensor.Gradients([]tensor.Tensor{x.Mul(x).Mul(x).Sum()}, []tensor.Tensor{x}, tensor.CreateGraph())
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := tensor.Gradients([]tensor.Tensor{first[0].Sum()}, []tensor.Tensor{x})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first[0].Detach(), second[0])
	// Output: tensor([ 3., 12.], dtype=float64) tensor([ 6., 12.], dtype=float64)
}

// What a scope makes is released when it ends, but for the value.
func ExampleScopeValue() {
	x := tensor.From([]float32{3, 4})
	length, err := tensor.ScopeValue(func() (float64, error) {
		return x.Square().Sum().Sqrt().Item()
	})
	fmt.Println(length, err)
	// Output: 5 <nil>
}

func ExampleNoGrad() {
	w := tensor.From([]float32{1, 2}).RequireGrad()
	err := tensor.NoGrad(func() error { return w.MulScalarInPlace(2) }) // a leaf may be changed here
	fmt.Println(w.Detach(), err)
	// Output: tensor([2., 4.]) <nil>
}

func ExampleEinsum() {
	a, b := tensor.From([]float32{1, 2, 3, 4}, 2, 2), tensor.From([]float32{1, 0, 1, 1}, 2, 2)
	fmt.Println(tensor.Einsum("ij,jk->ik", []tensor.Tensor{a, b}))
	// Output:
	// tensor([[3., 2.],
	//         [7., 4.]])
}
