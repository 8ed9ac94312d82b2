package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/examples/settings"
	"github.com/sinter-go/sinter/runtime/device"
)

// graphs trains a small network twice, once by giving the device each step's
// work anew and once by replaying a graph of the step, and compares the time and
// the results.
//
//	go run ./examples/devices graphs [-device auto|cuda|cuda:N] [-steps 200]
//
// A step of a small network is some dozens of short kernels, so most of its time is
// the host's, which gives them to the device one after the other. A graph holds them
// all: captured once, a step is one call. What changes from step to step is written
// where the captured work reads it: the batch is copied over the placeholders that the
// step was captured with. Dropout draws new numbers in every replay, and the
// optimizer's learning rate and count of steps go on.
func graphs() error {
	name := flag.String("device", "auto", "the GPU to train on: auto, cuda or cuda:N")
	steps := flag.Int("steps", 200, "training steps, at least 2")
	settings.Parse()
	return runGraphs(os.Stdout, *name, *steps)
}

// chosenGPU returns the device that a name stands for.
func chosenGPU(name string) (device.Device, error) {
	if name == "auto" {
		if err := cuda.Unavailable(); err != nil {
			return device.Device{}, fmt.Errorf("graphs are of GPUs: %w", err)
		}
		return cuda.Device(), nil
	}
	return device.Parse(name)
}

func runGraphs(w io.Writer, name string, steps int) error {
	dev, err := chosenGPU(name)
	if err != nil {
		return err
	}
	if steps < 2 {
		return fmt.Errorf("-steps is %d, want at least 2", steps)
	}
	r, err := compare(dev, steps)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d steps on %s, of %d nodes each\n", steps, dev, r.nodes)
	fmt.Fprintf(w, "given anew  %10.1f us a step\n", r.eager.Seconds()*1e6)
	fmt.Fprintf(w, "replayed    %10.1f us a step\n", r.replayed.Seconds()*1e6)
	fmt.Fprintf(w, "loss %.6f and %.6f, largest difference of a parameter %g\n", r.losses[0], r.losses[1], r.difference)
	return nil
}
