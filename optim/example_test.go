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
	opt, err := optim.NewAdamW(nn.Parameters(model), 0.3, optim.AdamOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	schedule := optim.NewScheduler(opt, optim.Cosine(200, 0.01))
	step := func() error {
		if err := opt.ZeroGrad(); err != nil {
			return err
		}
		loss := model.Forward(x).MseLoss(y)
		if err := loss.Backward(); err != nil {
			return err // any mistake above arrives here, with its line
		}
		if _, err := optim.ClipGradNorm(opt.Parameters(), 10); err != nil {
			return err
		}
		defer schedule.Step()
		return opt.Step()
	}
	for range 200 {
		tensor.Scope(func(func(...tensor.Tensor)) { err = step() })
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	slope, _ := model.Weight.Item()
	offset, _ := model.Bias.Item()
	fmt.Printf("y = %.1f x + %.1f\n", slope, offset)
	// Output: y = 2.0 x + 1.0
}
