package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/examples/settings"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// agnostic trains a small network on whichever device there is. Nothing below
// the choice of the device knows what it is.
//
//	go run ./examples/devices agnostic [-disable-cuda] [-epochs 20]
//
// It prints the same losses on a GPU and on the CPU, to the digits shown.
func agnostic() error {
	disable := flag.Bool("disable-cuda", false, "run on the CPU also where there is a GPU")
	epochs := flag.Int("epochs", 20, "passes over the data")
	settings.Parse()
	return runAgnostic(context.Background(), os.Stdout, anyDevice(*disable), *epochs)
}

// anyDevice is the one place that asks what there is.
func anyDevice(disable bool) device.Device {
	if !disable && cuda.IsAvailable() {
		return cuda.Device()
	}
	return device.CPU
}

// recurrent reads a sequence step by step and gives a number for the whole of it.
type recurrent struct {
	Input  *nn.Linear
	State  *nn.Linear
	Output *nn.Linear
}

const width = 8 // of the state

func newRecurrent() *recurrent {
	return &recurrent{nn.NewLinear(1, width), nn.NewLinear(width, width), nn.NewLinear(width, 1)}
}

// Forward maps [n, steps] to [n, 1]. The first state is made like x, so that it is on
// x's device and of its dtype.
func (r *recurrent) Forward(x tensor.Tensor) tensor.Tensor {
	state := x.NewZeros([]int{x.Size(0), width})
	for i := range x.Size(1) {
		state = r.Input.Forward(x.Narrow(1, i, 1)).Add(r.State.Forward(state)).Tanh()
	}
	return r.Output.Forward(state)
}

// sums returns sequences of five numbers, and their sums.
func sums(n int) (data.Dataset, error) {
	x := tensor.Rand([]int{n, 5}).SubScalar(0.5)
	return data.Tensors(x, x.Sum(tensor.Dim(1), tensor.KeepDim()))
}

func runAgnostic(ctx context.Context, w io.Writer, dev device.Device, epochs int) error {
	random.Seed(1)
	set, err := sums(256)
	if err != nil {
		return err
	}
	net := newRecurrent()
	if err := nn.To(net, dev); err != nil {
		return err
	}
	adam, err := optim.NewAdam(nn.Parameters(net), 0.01)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "on %s\n", dev.Resolve())
	loader := &data.Loader{Dataset: set, BatchSize: 32, Shuffle: true}
	for epoch := range epochs {
		total := 0.0
		for batch, err := range loader.Epoch(ctx) {
			if err != nil {
				return err
			}
			x, y := batch[0].To(dev), batch[1].To(dev)
			loss, err := improve(net, adam, x, y)
			if err != nil {
				return err
			}
			total += loss
		}
		if (epoch+1)%5 == 0 {
			fmt.Fprintf(w, "epoch %2d: loss %.3f\n", epoch+1, total/float64(loader.Len()))
		}
	}
	return nil
}

// improve improves the network by one batch and returns the loss before.
func improve(net *recurrent, adam optim.Optimizer, x, y tensor.Tensor) (float64, error) {
	loss, err := optim.Minimize(adam, func() tensor.Tensor { return net.Forward(x).MSELoss(y) })
	if err != nil {
		return 0, err
	}
	return loss.Item()
}
