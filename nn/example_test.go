package nn_test

import (
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// classifier is a module of a program's own: its exported fields are found by what goes
// over parameters, and Forward says how they are used.
type classifier struct {
	Body *nn.Linear
	Head *nn.Linear
}

func (c *classifier) Forward(x tensor.Tensor) tensor.Tensor {
	return c.Head.Forward(c.Body.Forward(x).ReLU())
}

func Example() {
	m := &classifier{Body: nn.NewLinear(8, 16), Head: nn.NewLinear(16, 3)}
	for name, p := range nn.Named(m) {
		fmt.Println(name, p.Shape())
	}
	fmt.Println(m.Forward(tensor.Zeros([]int{5, 8})).Shape())
	// Output:
	// body.weight [16 8]
	// body.bias [16]
	// head.weight [3 16]
	// head.bias [3]
	// [5 3]
}

func ExampleNewSequential() {
	m := nn.NewSequential(nn.NewConv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.NewLinear(4*6*6, 10))
	fmt.Println(m.Forward(tensor.Zeros([]int{2, 1, 8, 8})).Shape(), nn.NumParameters(m))
	// Output: [2 10] 1490
}

// A state goes into another model of the same layers.
func ExampleLoadStateDict() {
	from, to := nn.NewLinear(3, 2), nn.NewLinear(3, 2)
	err := nn.LoadStateDict(to, nn.StateDict(from))
	x := tensor.Randn([]int{4, 3})
	same, _ := from.Forward(x).Eq(to.Forward(x)).All().ItemInt()
	fmt.Println(same, err)
	// Output: 1 <nil>
}
