package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/examples/settings"
	"github.com/sinter-go/sinter/generated/tensor"
)

// streams shows what goes wrong when two streams of a GPU share a tensor
// without being ordered, and how to do it right. A tensor is filled on the default
// stream and summed on another one.
//
//	go run ./examples/devices streams [-device auto|cuda|sim]
//
// Streams may run at the same time and in any order. Nothing makes the sum wait for
// the fill: it may add up what was there before. In the right program the second
// stream waits for the first, and the tensor's memory is told of the second, so that
// it is not given to other work of the first while the sum still reads it.
func streams() error {
	name := deviceFlag()
	settings.Parse()
	return runStreams(os.Stdout, *name)
}

func runStreams(w io.Writer, name string) error {
	on, err := use(name, 1, time.Millisecond)
	if err != nil {
		return err
	}
	n := 4096
	if on.Simulated {
		n = 16
	}
	fmt.Fprintf(w, "%d x %d ones on %s\n", n, n, on)
	for _, program := range []struct {
		name string
		f    func(n int) (float64, error)
	}{{"not ordered", wrong}, {"ordered", right}} {
		sum, err := program.f(n)
		if err != nil {
			return err
		}
		verdict := "right"
		if sum != float64(n*n) {
			verdict = "wrong: the sum began before the fill had ended"
		}
		fmt.Fprintf(w, "%-12s sum %.0f, %s\n", program.name, sum, verdict)
	}
	return nil
}

// busy is how much work is queued before the fill, as a program would have.
const busy = 60

// fill returns a tensor that is 0, and will be 1 when the current stream has done
// what it was given here.
func fill(n int) (tensor.Tensor, error) {
	a := tensor.Zeros([]int{n, n}, tensor.On(cuda.Device()))
	if err := cuda.Synchronize(context.Background()); err != nil {
		return a, err
	}
	for range busy {
		if err := a.MulScalarInPlace(1); err != nil {
			return a, err
		}
	}
	return a, a.AddScalarInPlace(1)
}

// wrong sums on a second stream that knows nothing of the first.
func wrong(n int) (float64, error) {
	s := cuda.NewStream()
	a, err := fill(n)
	if err != nil {
		return 0, err
	}
	var b tensor.Tensor
	if err := s.Do(func() error { b = a.Sum(); return b.Err() }); err != nil { // may begin before a is filled
		return 0, err
	}
	if err := s.Synchronize(context.Background()); err != nil {
		return 0, err
	}
	sum, err := value(s, b)
	if err != nil {
		return 0, err
	}
	return sum, cuda.Synchronize(context.Background()) // before a's memory is given up
}

// right orders the two streams.
func right(n int) (float64, error) {
	s := cuda.NewStream()
	a, err := fill(n)
	if err != nil {
		return 0, err
	}
	if err := s.WaitStream(cuda.DefaultStream()); err != nil { // what s is given now comes after the fill
		return 0, err
	}
	var b tensor.Tensor
	if err := s.Do(func() error { b = a.Sum(); return b.Err() }); err != nil {
		return 0, err
	}
	if err := a.RecordStream(s); err != nil { // a's memory is in use until s has done this
		return 0, err
	}
	a.Release()
	return value(s, b)
}

// value reads b on the stream that made it.
func value(s cuda.Stream, b tensor.Tensor) (v float64, err error) {
	err = s.Do(func() (err error) { v, err = b.Item(); return err })
	return v, err
}
