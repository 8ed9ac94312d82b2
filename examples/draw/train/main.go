// Command train trains the network of the drawing page: on the data set's digits, turned,
// stretched and moved a little, since a mouse is no pen.
//
//	go run ./examples/draw/train -out examples/draw/recognize/digits.safetensors
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/data/digits"
	"github.com/sinter-go/sinter/examples/digits/network"
	"github.com/sinter-go/sinter/examples/settings"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

func main() {
	out := flag.String("out", "digits.safetensors", "file for the network")
	epochs := flag.Int("epochs", 60, "passes over the training images")
	seed := flag.Int64("seed", 1, "of weights, order and changes")
	settings.Parse()
	if err := run(*out, *epochs, *seed); err != nil {
		slog.Error("train", "error", err)
		os.Exit(1)
	}
}

func run(out string, epochs int, seed int64) error {
	random.Seed(seed)
	set, err := digits.Load()
	if err != nil {
		return err
	}
	train, test, err := set.Split(0.1, uint64(seed))
	if err != nil {
		return err
	}
	x, y := tensors(train)
	examples, err := data.Tensors(x, y)
	if err != nil {
		return err
	}
	m, err := network.New(device.CPU)
	if err != nil {
		return err
	}
	loader := &data.Loader{Dataset: examples, BatchSize: 64, Shuffle: true}
	steps := epochs * loader.Len()
	adam, err := optim.NewAdamW(nn.Parameters(m), 4e-3, optim.WeightDecay(0.01))
	if err != nil {
		return err
	}
	schedule := optim.NewScheduler(adam, optim.OneCycle(steps/5, steps, 0.1, 0.01))
	for epoch := range epochs {
		nn.Train(m)
		for batch, err := range loader.Epoch(context.Background()) {
			if err != nil {
				return err
			}
			_, err := optim.Minimize(adam, func() tensor.Tensor { return m.Forward(changed(batch[0])).CrossEntropy(batch[1]) })
			if err != nil {
				return err
			}
			schedule.Step()
		}
		if (epoch+1)%10 == 0 {
			share, err := accuracy(m, test)
			if err != nil {
				return err
			}
			fmt.Printf("epoch %d: %.4f of %d unseen digits\n", epoch+1, share, test.Len())
		}
	}
	return m.Save(out)
}

// changed returns images turned by up to 12 degrees, slanted, up to a quarter narrower or
// wider, moved by up to a pixel, and darker or lighter.
func changed(images tensor.Tensor) tensor.Tensor {
	n := images.Shape()[0]
	uniform := func(low, high float64) tensor.Tensor {
		return tensor.Rand([]int{n}).MulScalar(high - low).AddScalar(low)
	}
	angle := uniform(-math.Pi/15, math.Pi/15)
	wide, high, slant := uniform(0.75, 1.3), uniform(0.92, 1.12), uniform(-0.2, 0.2)
	rows := tensor.Stack([]tensor.Tensor{
		angle.Cos().Mul(wide), slant.Sub(angle.Sin()), uniform(-0.15, 0.15),
		angle.Sin(), angle.Cos().Mul(high), uniform(-0.1, 0.1),
	}, 1)
	grid := tensor.AffineGrid(rows.Reshape(n, 2, 3), images.Shape())
	return tensor.GridSample(images, grid).Mul(uniform(0.85, 1.25).Reshape(n, 1, 1, 1)).ClampScalar(0, 1)
}

// tensors returns the images of a set as float32 [n, 1, 8, 8] from 0 to 1, and the labels.
func tensors(s digits.Set) (images, labels tensor.Tensor) {
	images = tensor.From(s.Images, s.Len(), 1, digits.Side, digits.Side).ToType(tensor.Float32).DivScalar(digits.Max)
	return images, tensor.From(s.Labels).ToType(tensor.Int64)
}

// accuracy returns the share of a set that m tells right.
func accuracy(m *network.Network, s digits.Set) (float64, error) {
	nn.Eval(m)
	return tensor.NoGradValue(func() (float64, error) {
		images, labels := tensors(s)
		return m.Forward(images).Argmax(tensor.Dim(1)).Eq(labels).ToType(tensor.Float32).Mean().Item()
	})
}
