package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/examples/settings"
	"github.com/sinter-go/sinter/generated/tensor"
)

// threedevices shows where tensors go on a machine of several GPUs, with the
// example that PyTorch's notes on CUDA give: ten tensors, made and moved with and
// without naming a device, inside and outside of a guard.
//
//	go run ./examples/devices threedevices [-device auto|cuda|sim]
//
// It wants three GPUs. With fewer, the tensors that have no place say why; without any,
// simulated ones stand for them.
func threedevices() error {
	name := deviceFlag()
	settings.Parse()
	return runThreeDevices(os.Stdout, *name)
}

func runThreeDevices(w io.Writer, name string) error {
	on, err := use(name, 3, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "on %s\n", on)
	return place(w)
}

// place is the example.
func place(w io.Writer) error {
	current := cuda.Device() // the device that is current where the value is used
	cuda0 := cuda.Device(0)
	cuda2 := cuda.Device(2) // numbers begin at 0

	x := tensor.FromSlice([]float32{1, 2}, nil, tensor.On(cuda0))
	y := tensor.From([]float32{1, 2}).To(current)
	show(w, "x", x)
	show(w, "y", y)

	return cuda.WithDevice(1, func() error {
		a := tensor.FromSlice([]float32{1, 2}, nil, tensor.On(current)) // made on GPU 1
		b := tensor.From([]float32{1, 2}).To(current)                   // moved from the CPU to GPU 1
		b2 := tensor.From([]float32{1, 2}).To(cuda.Device())            // the same
		c := a.Add(b)                                                   // where its operands are
		z := x.Add(y)                                                   // also on another device than the current one
		show(w, "a", a)
		show(w, "b", b)
		show(w, "b2", b2)
		show(w, "c", c)
		show(w, "z", z)

		// A device that is named goes before the current one.
		d := tensor.Randn([]int{2}, tensor.On(cuda2))
		e := tensor.Randn([]int{2}).To(cuda2)
		f := tensor.Randn([]int{2}).To(cuda.Device(2))
		show(w, "d", d)
		show(w, "e", e)
		show(w, "f", f)
		return nil
	})
}

// show prints where a tensor is, or why there is none.
func show(w io.Writer, name string, x tensor.Tensor) {
	if err := x.Err(); err != nil {
		if without := errors.Unwrap(err); without != nil { // of the line in this file
			err = without
		}
		fmt.Fprintf(w, "%-3s%v\n", name, err)
		return
	}
	fmt.Fprintf(w, "%-3s%s\n", name, x.Device())
}
