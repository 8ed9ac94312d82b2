package main

import (
	"fmt"
	"io"
	"os"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/examples/settings"
	"github.com/sinter-go/sinter/generated/tensor"
)

// factories shows functions that make tensors like another one: the New
// methods keep its device and dtype, the Like functions its shape, too. That is what
// a module's forward pass should make tensors with, so that it runs on any device.
//
//	go run ./examples/devices factories [-device auto|cuda|sim]
func factories() error {
	name := deviceFlag()
	settings.Parse()
	return runFactories(os.Stdout, *name)
}

func runFactories(w io.Writer, name string) error {
	if _, err := use(name, 1, 0); err != nil {
		return err
	}
	gpu := cuda.Device()
	xCPU := tensor.Empty([]int{1})
	xGPU := tensor.Empty([]int{1}, tensor.On(gpu))
	xLong := tensor.Empty([]int{1}, tensor.OfType(tensor.Int64))

	fmt.Fprintln(w, xCPU.NewFull([]int{3, 2}, 0.3))
	fmt.Fprintln(w, xGPU.NewFull([]int{3, 2}, -5))
	fmt.Fprintln(w, tensor.NewTensor(xLong, []int64{1, 2, 3}, []int{1, 3}))

	x := tensor.Empty([]int{2, 3})
	y := x.To(gpu)
	fmt.Fprintln(w, tensor.OnesLike(x))
	fmt.Fprintln(w, tensor.ZerosLike(y))
	fmt.Fprintln(w, tensor.OnesLike(xLong))
	return nil
}
