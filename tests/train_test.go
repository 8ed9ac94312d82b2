package tests

import (
	"fmt"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/all"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

func TestTrainSmoke(t *testing.T) {
	all.Install()
	m := nn.NewSequential(nn.NewConv2d(1, 16, 3, nn.Padding(1)), nn.NewBatchNorm(16), nn.ReLU(), nn.NewConv2d(16, 32, 3, nn.Padding(1)), nn.NewBatchNorm(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.NewLinear(512, 10))
	for name, p := range nn.Named(m) {
		fmt.Println(name, p.Shape())
	}
	o, err := optim.NewAdam(nn.Parameters(m), 1e-3, optim.AdamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.Randn([]int{64, 1, 8, 8})
	y := tensor.Randint([]int{64}, 0, 10)
	start := time.Now()
	for i := range 30 {
		loss := m.Forward(x).CrossEntropy(y)
		if err := loss.Backward(); err != nil {
			t.Fatal(err)
		}
		if err := o.Step(); err != nil {
			t.Fatal(err)
		}
		o.ZeroGrad()
		if i%10 == 0 {
			fmt.Println(loss.Item())
		}
	}
	fmt.Println(time.Since(start)/30, "a step")
}
