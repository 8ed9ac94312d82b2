// Command tf32 repeats the well-known example of what TF32 gains and costs: the
// product of two matrices of 10240 by 10240 standard normal numbers.
//
//	go run ./examples/tf32 [-device auto|cpu|cuda|cuda:N] [-n 10240]
//
// TensorFloat-32 keeps 10 bits of a float32's fraction, so that matrix units can
// multiply; sums stay in float32. It is on unless a program says
// cuda.AllowTF32(false), or its environment SINTER_TF32=0.
//
// The product in float64 is the truth, whose absolute values have the mean
// sqrt(2n/pi), 80.74 at the full size. The float32 products are compared with it:
// their largest error, that error relative to the mean, and their time. On
// NVIDIA's Ampere and later the error with TF32 is about two orders of magnitude
// larger, and the product several times faster. On the CPU there is no TF32 and
// both lines are the same; take a smaller -n there, such as 512.
package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"

	"github.com/sinter-go/sinter/examples/settings"
	"github.com/sinter-go/sinter/examples/tf32/experiment"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

func main() {
	name := flag.String("device", "auto", "where to multiply: auto, cpu, cuda or cuda:N; auto takes a GPU where there is one")
	n := flag.Int("n", 0, "rows and columns of the matrices; 0 is 10240 on a GPU and 512 on the CPU")
	seed := flag.Int64("seed", 1, "of the random numbers")
	settings.Parse()
	if err := run(os.Stdout, *name, *n, *seed); err != nil {
		slog.Error("tf32", "error", err)
		os.Exit(1)
	}
}

// choose returns the device that a name stands for.
func choose(name string) (device.Device, error) {
	if name == "auto" {
		return device.Best(), nil
	}
	d, err := device.Parse(name)
	if err != nil {
		return device.Device{}, err
	}
	d, _, err = device.Find(d)
	return d, err
}

func run(w io.Writer, name string, n int, seed int64) error {
	dev, err := choose(name)
	if err != nil {
		return err
	}
	switch {
	case n < 0:
		return fmt.Errorf("-n is %d, want at least 1", n)
	case n == 0 && dev.Accelerator():
		n = 10240
	case n == 0:
		n = 512
	}
	random.Seed(seed)
	r, err := experiment.Run(dev, n)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d x %d on %s, mean %.4f (expected %.4f)\n", n, n, dev, r.Mean, math.Sqrt(2*float64(n)/math.Pi))
	fmt.Fprintf(w, "%-10s %12s %12s %14s %10s\n", "", "max error", "relative", "time", "TFLOP/s")
	for _, s := range []struct {
		name string
		experiment.Side
	}{{"TF32", r.TF32}, {"full FP32", r.Full}} {
		work := 2 * math.Pow(float64(n), 3)
		fmt.Fprintf(w, "%-10s %12.6f %12.2g %14s %10.2f\n", s.name, s.Max, s.Relative, s.Took, work/s.Took.Seconds()/1e12)
	}
	if dev.Accelerator() {
		fmt.Fprintf(w, "TF32 is %.1f times as fast and its error %.0f times as large\n",
			r.Full.Took.Seconds()/r.TF32.Took.Seconds(), r.TF32.Max/r.Full.Max)
	}
	return nil
}
