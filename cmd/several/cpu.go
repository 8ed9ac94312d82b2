package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sinter-go/sinter/data/digits"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// digitsBatch is how many digits a step has, over all processes, and digitsCount how many steps a row is of.
const digitsBatch, digitsCount = 256, 60

// digitsRow measures a step of training a network on the digits, on the CPU, by this process
// alone or by those that mpiexec started: the batch is the same. The first steps are no part of the figures.
func digitsRow(w io.Writer, steps int) error {
	if !dist.Launched() {
		return dist.Run([]device.Device{device.CPU}, func(g *dist.Group) error { return digitsSteps(w, g, steps) })
	}
	g, err := dist.Init(context.Background(), tensor.On(device.CPU))
	if err != nil {
		return err
	}
	return errors.Join(digitsSteps(w, g, steps), g.Close(), dist.Finalize())
}

// digitsSteps makes steps by one rank, and prints the median of their times and the last loss.
func digitsSteps(w io.Writer, g *dist.Group, steps int) error {
	set, err := digits.Load()
	if err != nil {
		return err
	}
	n := digitsBatch / g.Size()
	images := tensor.FromSlice(set.Images, []int{len(set.Labels), 1, digits.Side, digits.Side}).ToType(tensor.Float32).DivScalar(16).Narrow(0, n*g.Rank(), n)
	labels := tensor.From(set.Labels).ToType(tensor.Int64).Narrow(0, n*g.Rank(), n)
	var model nn.Module
	err = random.With(random.New(1), func() error {
		model = nn.NewSequential(nn.NewConv2d(1, 16, 3, tensor.Padding(1)), nn.ReLU(), nn.NewConv2d(16, 32, 3, tensor.Padding(1)), nn.ReLU(),
			nn.MaxPool2d(2), nn.Flatten(), nn.NewLinear(512, 64), nn.ReLU(), nn.NewLinear(64, 10))
		return nil
	})
	if err != nil {
		return err
	}
	d, err := dist.NewDistributedDataParallel(g, model)
	if err != nil {
		return err
	}
	adam, err := optim.NewAdam(nn.Parameters(d), 1e-2)
	if err != nil {
		return err
	}
	const warm = 10
	var times []float64
	var last float64
	for step := range steps {
		began := time.Now()
		loss, err := optim.Minimize(adam, func() tensor.Tensor { return d.Forward(images).CrossEntropy(labels) })
		if err != nil {
			return err
		}
		if last, err = loss.Item(); err != nil {
			return err
		}
		if step >= warm {
			times = append(times, time.Since(began).Seconds())
		}
	}
	slices.Sort(times)
	mean, err := g.Values(context.Background(), dist.Average, last)
	if err == nil && g.Rank() == 0 {
		fmt.Fprintf(w, "digits, batch %d on %d processes: %.2f ms a step (least %.2f), loss %.6f after %d steps\n",
			digitsBatch, g.Size(), times[len(times)/2]*1e3, times[0]*1e3, mean[0], steps)
	}
	return errors.Join(err, d.Close())
}
