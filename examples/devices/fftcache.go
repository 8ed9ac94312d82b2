package main

import (
	"fmt"
	"io"
	"os"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/examples/settings"
	"github.com/sinter-go/sinter/generated/tensor"
)

// fftcache shows the cache of plans of Fourier transforms that each GPU
// keeps: what it holds, how its bound is read and set, and how the cache of another
// GPU is reached.
//
//	go run ./examples/devices fftcache [-device auto|cuda|sim]
func fftcache() error {
	name := deviceFlag()
	settings.Parse()
	return runFFTCache(os.Stdout, *name)
}

func runFFTCache(w io.Writer, name string) error {
	on, err := use(name, 2, 0)
	if err != nil {
		return err
	}
	plans := cuda.FFTPlanCache() // of the device that is current when it is asked
	fmt.Fprintf(w, "on %s: %d plans, at most %d\n", on, plans.Size(), plans.MaxSize())

	signals := tensor.Randn([]int{8, 64}, tensor.On(cuda.Device()))
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"a transform of 8 x 64", func() error { return signals.FFT().Err() }},
		{"the same again", func() error { return signals.FFT().Err() }},
		{"one of 4 x 64", func() error { return signals.Narrow(0, 0, 4).FFT().Err() }},
		{"a bound of 1", func() error { return plans.SetMaxSize(1) }},
		{"a transform of 2 x 64", func() error { return signals.Narrow(0, 0, 2).FFT().Err() }},
		{"clearing", plans.Clear},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		fmt.Fprintf(w, "after %-22s %d plans\n", step.what, plans.Size())
	}
	if on.GPUs < 2 {
		return nil
	}
	if err := plans.At(1).SetMaxSize(10); err != nil {
		return err
	}
	fmt.Fprintf(w, "at most %d plans on %v, %d on %v\n",
		plans.MaxSize(), plans.Device(), plans.At(1).MaxSize(), plans.At(1).Device())
	return nil
}
