package tests_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// The bodies here are the code blocks of the README; TestReadmeCode compares them.

func Example_compute() {
	x := tensor.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	y := x.MulScalar(10).Add(tensor.From([]float32{1, 2, 3})) // the vector broadcasts over the rows
	fmt.Println(y)
	fmt.Println(y.Sum(tensor.Dim(1), tensor.KeepDim(true)))
	fmt.Println(y.Transpose(0, 1).Shape(), y.MatMul(y.Transpose(0, 1)).Shape())
	// Output:
	// tensor([[11., 22., 33.],
	//         [41., 52., 63.]])
	// tensor([[ 66.],
	//         [156.]])
	// [3 2] [2 2]
}

func Example_differentiate() {
	report(differentiate())
	// Output: tensor([-0.3413,  0.6812,  3.9432])
}

func differentiate() error {
	x := tensor.From([]float32{-1, 0.5, 2}).RequireGrad()
	loss := x.Square().Mul(x.Sigmoid()).Sum()
	if err := loss.Backward(); err != nil {
		return err
	}
	g, _ := x.Grad()
	fmt.Println(g) // tensor([-0.3413,  0.6812,  3.9432])
	return nil
}

func Example_mistakes() {
	x := tensor.Zeros([]int{2, 3})
	y := x.MatMul(tensor.Zeros([]int{4, 5})).Relu().Sum() // nothing runs after the mistake
	if _, err := y.Item(); err != nil {
		fmt.Println(errors.Unwrap(err)) // err itself begins with the file and line of the product
	}
	// Output: matmul: invalid shape: cannot multiply shapes [2 3] and [4 5]: inner dimensions 3 and 4 differ
}

func Example_device() {
	dev := device.Best() // cuda:0 where there is one, otherwise cpu
	x := tensor.Randn([]int{64, 784}, tensor.On(dev))
	w := tensor.Randn([]int{784, 10}, tensor.On(dev)).RequireGrad()
	y := x.MatMul(w).Softmax(1)
	fmt.Println(y.Device() == dev, y.CPU().Shape()) // true [64 10]
	// Output: true [64 10]
}

func Example_train() {
	report(train())
	// Output: true
}

func train() error {
	random.Seed(1)
	x := tensor.Linspace(-1, 1, 64).Reshape(64, 1)
	y := x.MulScalar(3).Sin()

	model := nn.NewSequential(nn.NewLinear(1, 32), nn.Func(tensor.Tensor.Tanh), nn.NewLinear(32, 1))
	adam, err := optim.NewAdam(nn.Parameters(model), 0.02, optim.AdamOptions{})
	if err != nil {
		return err
	}
	for range 500 {
		loss := model.Forward(x).MseLoss(y)
		if err := adam.ZeroGrad(); err != nil {
			return err
		}
		if err := loss.Backward(); err != nil { // any mistake above arrives here, with its line
			return err
		}
		if err := adam.Step(); err != nil {
			return err
		}
	}

	loss, err := model.Forward(x).MseLoss(y).Item()
	fmt.Println(loss < 1e-3)
	return err
}

func Example_save() {
	dir, err := os.MkdirTemp("", "sinter")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fmt.Println(save(filepath.Join(dir, "model.safetensors")))
	// Output: <nil>
}

func save(path string) error {
	model := nn.NewLinear(3, 2)
	if err := data.SaveTensors(path, nn.StateDict(model), nil); err != nil {
		return err
	}
	state, _, err := data.LoadTensors(path, device.CPU)
	if err != nil {
		return err
	}
	return nn.LoadStateDict(model, state)
}

// report prints an error, which no example's output has.
func report(err error) {
	if err != nil {
		fmt.Println(err)
	}
}
