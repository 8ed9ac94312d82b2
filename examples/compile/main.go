// Command compile trains a small convolutional network twice from the same start, by eager
// steps and by a compiled one, compares what they leave, the time and the memory, and draws
// the program that the step became on an HTML page.
//
//	go run ./examples/compile [-device auto|cpu|cuda|cuda:N] [-steps 200] [-batch 64] [-page compile.html]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/examples/compile/report"
	"github.com/sinter-go/sinter/examples/settings"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/runtime/stream"
)

func main() {
	name := flag.String("device", "auto", "where to train: auto, cpu, cuda or cuda:N; auto takes a GPU where there is one")
	steps := flag.Int("steps", 200, "training steps, at least 3")
	batch := flag.Int("batch", 64, "images a step, at least 1")
	page := flag.String("page", "compile.html", "file for the page")
	settings.Parse()
	if err := run(os.Stdout, *name, *steps, *batch, *page); err != nil {
		slog.Error("compile", "error", err)
		os.Exit(1)
	}
}

func run(w io.Writer, name string, steps, batch int, page string) error {
	dev := device.Best()
	if name != "auto" {
		var err error
		if dev, err = device.Parse(name); err != nil {
			return err
		}
	}
	if steps < 3 || batch < 1 {
		return fmt.Errorf("-steps is %d and -batch %d, want at least 3 and 1", steps, batch)
	}
	eager, err := train(dev, steps, batch, false)
	if err != nil {
		return err
	}
	compiled, err := train(dev, steps, batch, true)
	if err != nil {
		return err
	}
	if eager.loss != compiled.loss && dev.Kind != device.KindCUDA { // whose libraries may choose other kernels
		return fmt.Errorf("the last loss is %v by eager steps and %v by compiled ones", eager.loss, compiled.loss)
	}
	s := compiled.step.Stats()
	facts := []report.Fact{
		{Name: "where", Value: dev.String()},
		{Name: "last loss, eager and compiled", Value: fmt.Sprintf("%.6f and %.6f", eager.loss, compiled.loss)},
		{Name: "a step, eager", Value: fmt.Sprintf("%.1f us", eager.took.Seconds()*1e6)},
		{Name: "a step, compiled", Value: fmt.Sprintf("%.1f us", compiled.took.Seconds()*1e6)},
		{Name: "recording it", Value: fmt.Sprintf("%.0f us, once", s.Tracing.Seconds()*1e6)},
		{Name: "memory, eager", Value: report.Bytes(s.Eager)},
		{Name: "memory, compiled", Value: fmt.Sprintf("%s, %.2f of it", report.Bytes(s.Peak), float64(s.Peak)/float64(s.Eager))},
		{Name: "steps of the program", Value: fmt.Sprintf("%d, of which %d write over an operand", s.Steps, s.Shared)},
	}
	for _, f := range facts {
		fmt.Fprintf(w, "%-32s%s\n", f.Name, f.Value)
	}
	fmt.Fprintf(w, "\n%s", compiled.step.Explain())
	file, err := os.Create(page)
	if err != nil {
		return err
	}
	err = errors.Join(report.Page(file, "A step of training as a program", facts, compiled.step.Program(), s.Eager), file.Close())
	if err == nil {
		fmt.Fprintf(w, "\nthe program is drawn in %s\n", page)
	}
	return err
}

// A result is what a training took and left.
type result struct {
	took time.Duration // of a step
	loss float64       // of the last
	step *compile.Compiled[tensor.Tensor]
}

// train makes steps on random images, the same every time.
func train(dev device.Device, steps, batch int, compiled bool) (r result, err error) {
	random.Seed(7)
	model := nn.NewSequential(
		nn.NewConv2d(1, 16, 3, tensor.Padding(1)), nn.NewBatchNorm(16), nn.ReLU(), nn.MaxPool2d(2),
		nn.NewConv2d(16, 32, 3, tensor.Padding(1)), nn.NewBatchNorm(32), nn.ReLU(), nn.MaxPool2d(2),
		nn.Flatten(), nn.NewDropout(0.3), nn.NewLinear(32*2*2, 10),
	)
	if err := nn.To(model, dev); err != nil {
		return r, err
	}
	adam, err := optim.NewAdam(nn.Parameters(model), 1e-3)
	if err != nil {
		return r, err
	}
	step := func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return optim.Minimize(adam, func() tensor.Tensor {
			scores := model.Forward(x[0])
			return scores.CrossEntropy(x[1])
		})
	}
	r.step = compile.Step(step, compile.State(model, adam))
	if compiled {
		step = r.step.Call
	}
	images, labels := tensor.Randn([]int{batch, 1, 8, 8}, tensor.On(dev)), tensor.Randint([]int{batch}, 0, 10, tensor.On(dev))
	var loss tensor.Tensor
	var began time.Time
	for i := range steps {
		if i == 2 { // the first records, and on a GPU the second captures
			if err := stream.Synchronize(context.Background(), dev); err != nil {
				return r, err
			}
			began = time.Now()
		}
		if loss, err = step(images, labels); err != nil {
			return r, err
		}
	}
	if err := stream.Synchronize(context.Background(), dev); err != nil {
		return r, err
	}
	r.took = time.Since(began) / time.Duration(steps-2)
	r.loss, err = loss.Item()
	return r, err
}
