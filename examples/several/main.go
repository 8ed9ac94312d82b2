// Several trains one model on several devices: on all GPUs of the machine, a goroutine
// each, or as one of the processes that torchrun, mpiexec, srun or Kubernetes started. Where
// there are no GPUs, ranks share the processor.
//
//	go run ./examples/several -ranks 2
//	mpiexec -n 2 several
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/data/digits"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/examples/settings"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

func main() {
	ranks := flag.Int("ranks", 0, "ranks in this process; 0: a rank for each GPU, or 1")
	epochs := flag.Int("epochs", 5, "passes over the digits")
	batch := flag.Int("batch", 256, "samples of a step, over all ranks")
	settings.Parse()
	if err := run(os.Stdout, *ranks, *epochs, *batch); err != nil {
		fmt.Fprintln(os.Stderr, "several:", err)
		os.Exit(1)
	}
}

// run trains as one of a launcher's processes, or in this one alone.
func run(w io.Writer, ranks, epochs, batch int) error {
	ctx := context.Background()
	train := func(g *dist.Group) error { return train(ctx, w, g, epochs, batch) }
	if !dist.Launched() {
		return dist.Run(places(ranks), train)
	}
	g, err := dist.Init(ctx)
	if err != nil {
		return err
	}
	if err := train(g); err != nil {
		return err
	}
	if err := g.Close(); err != nil {
		return err
	}
	return dist.Finalize()
}

// places returns the devices of n ranks in this process, or where n is 0 of as many as it has.
func places(n int) []device.Device {
	gpus := device.Count(device.KindCUDA)
	if n == 0 {
		n = max(1, gpus)
	}
	list := make([]device.Device, n)
	for i := range list {
		if gpus > 0 {
			list[i] = device.CUDA(i)
		}
	}
	return list
}

// train is what every rank does.
func train(ctx context.Context, w io.Writer, g *dist.Group, epochs, batch int) error {
	loader, err := share(g, batch)
	if err != nil {
		return err
	}
	var model *nn.Sequential
	err = random.With(random.New(1), func() error {
		model = nn.NewSequential(nn.NewLinear(64, 512), nn.ReLU(), nn.NewLinear(512, 512), nn.ReLU(), nn.NewLinear(512, 10))
		return nn.To(model, g.Device())
	})
	if err != nil {
		return err
	}
	replica, err := dist.NewDistributedDataParallel(g, model)
	if err != nil {
		return err
	}
	defer replica.Close()
	adam, err := optim.NewAdam(nn.Parameters(replica), 1e-3)
	if err != nil {
		return err
	}
	for epoch := range epochs {
		began, sum, steps := time.Now(), 0.0, 0
		for fields, err := range loader.Epoch(ctx) {
			if err != nil {
				return err
			}
			loss, err := optim.Minimize(adam, func() tensor.Tensor {
				return replica.Forward(fields[0]).CrossEntropy(fields[1])
			})
			if err != nil {
				return err
			}
			v, err := loss.Item()
			if err != nil {
				return err
			}
			sum, steps = sum+v, steps+1
		}
		mean, err := g.Values(ctx, dist.Average, sum/float64(steps))
		if err != nil {
			return err
		}
		if g.Rank() == 0 {
			fmt.Fprintf(w, "epoch %d: loss %.4f on %d ranks, %v a step\n", epoch+1, mean[0], g.Size(),
				(time.Since(began) / time.Duration(steps)).Round(10*time.Microsecond))
		}
	}
	return nil
}

// share returns a loader of the rank's part of the digits.
func share(g *dist.Group, batch int) (*data.Loader, error) {
	set, err := digits.Load()
	if err != nil {
		return nil, err
	}
	images := tensor.FromSlice(set.Images, []int{len(set.Labels), digits.Side * digits.Side}).ToType(tensor.Float32).DivScalar(16)
	labels := tensor.From(set.Labels).ToType(tensor.Int64)
	samples, err := data.Tensors(images, labels)
	if err != nil {
		return nil, err
	}
	return &data.Loader{Dataset: samples, BatchSize: max(1, batch/g.Size()), Shuffle: true, DropLast: true, Random: random.New(2),
		Device: g.Device(), Share: data.Share{Rank: g.Rank(), Ranks: g.Size()}}, nil
}
