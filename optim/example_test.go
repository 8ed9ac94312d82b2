package optim_test

import (
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// A training loop fits a line through four points.
func Example() {
	x := tensor.From([]float32{0, 1, 2, 3}, 4, 1)
	y := tensor.From([]float32{1, 3, 5, 7}, 4, 1)
	model := nn.NewLinear(1, 1)
	opt, err := optim.NewAdamW(nn.Parameters(model), 0.3)
	if err != nil {
		fmt.Println(err)
		return
	}
	schedule := optim.NewScheduler(opt, optim.Cosine(200, 0.01))
	for range 200 {
		err := tensor.Scope(func() error { // optim.Minimize, with the norm of the gradients clipped
			if err := opt.ZeroGrad(); err != nil {
				return err
			}
			loss := model.Forward(x).MSELoss(y)
			if err := loss.Backward(); err != nil {
				return err // any mistake above arrives here, with its line
			}
			if _, err := optim.ClipGradNorm(opt.Parameters(), 10); err != nil {
				return err
			}
			return opt.Step()
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		schedule.Step()
	}
	slope, _ := model.Weight.Item()
	offset, _ := model.Bias.Item()
	fmt.Printf("y = %.1f x + %.1f\n", slope, offset)
	// Output: y = 2.0 x + 1.0
}

// A step of training in one call: of (w-3)**2 with rate 0.25, half of the way to 3.
func ExampleMinimize() {
	w := &nn.Parameter{Tensor: tensor.From([]float32{11}).RequireGrad()}
	sgd, err := optim.NewSGD([]*nn.Parameter{w}, 0.25)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		loss, err := optim.Minimize(sgd, func() tensor.Tensor { return w.SubScalar(3).Square().Sum() })
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(loss, w.Detach())
	}
	// Output:
	// tensor(64.) tensor([7.])
	// tensor(16.) tensor([5.])
	// tensor(4.) tensor([4.])
}
