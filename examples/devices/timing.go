package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/examples/settings"
	"github.com/sinter-go/sinter/generated/tensor"
)

// timing shows how to time work on a GPU. Calls return when the work is
// queued, so a clock read around them measures the queueing. Events that the GPU
// itself passes before and after the work measure the work.
//
//	go run ./examples/devices timing [-device auto|cuda|sim] [-n 2048] [-products 20]
func timing() error {
	name := deviceFlag()
	n := flag.Int("n", 0, "rows and columns of the matrices; 0 is 4096, or 16 on simulated GPUs")
	products := flag.Int("products", 20, "how many products to time")
	settings.Parse()
	return runTiming(context.Background(), os.Stdout, *name, *n, *products)
}

func runTiming(ctx context.Context, w io.Writer, name string, n, products int) error {
	on, err := use(name, 1, 2*time.Millisecond)
	if err != nil {
		return err
	}
	if n == 0 {
		n = 4096
		if on.Simulated {
			n = 16
		}
	}
	queued, took, waited, err := measure(ctx, n, products)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d products of %d x %d on %s\n", products, n, n, on)
	fmt.Fprintf(w, "queued after    %10.3f ms of the clock, which says nothing of the work\n", milliseconds(queued))
	fmt.Fprintf(w, "done after      %10.3f ms of the clock, with a wait before it is read\n", milliseconds(waited))
	fmt.Fprintf(w, "between events  %10.3f ms of the GPU's own time\n", milliseconds(took))
	return nil
}

// measure times products of two matrices: until the last was queued, until all were
// done, and between two events on the GPU.
func measure(ctx context.Context, n, products int) (queued, took, waited time.Duration, err error) {
	x := tensor.Randn([]int{n, n}, tensor.On(cuda.Device()))
	y := tensor.Randn([]int{n, n}, tensor.On(cuda.Device()))
	x.MatMul(y).Release() // loads and chooses what the first product needs
	if err := cuda.Synchronize(ctx); err != nil {
		return 0, 0, 0, err
	}
	start, end := cuda.NewTimingEvent(), cuda.NewTimingEvent()
	began := time.Now()
	if err := start.Record(cuda.CurrentStream()); err != nil {
		return 0, 0, 0, err
	}
	for range products {
		z := x.MatMul(y)
		if err := z.Err(); err != nil {
			return 0, 0, 0, err
		}
		z.Release()
	}
	if err := end.Record(cuda.CurrentStream()); err != nil {
		return 0, 0, 0, err
	}
	queued = time.Since(began)
	if err := cuda.Synchronize(ctx); err != nil { // the events have a time when they were passed
		return 0, 0, 0, err
	}
	waited = time.Since(began)
	took, err = start.Elapsed(end)
	return queued, took, waited, err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
