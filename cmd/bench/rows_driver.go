package main

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/module"
	"github.com/sinter-go/sinter/generated/tensor"
)

// emptyKernel does nothing.
const emptyKernel = `.version 7.0
.target sm_75
.address_size 64
.visible .entry nothing() { ret; }
`

// driverRows are calls of the CUDA driver itself: what no library gets below.
func driverRows() []row {
	return []row{
		{name: launchRow, ours: emptyLaunch},
		{name: "bare launch of add 1024", ours: addLaunch},
		{name: "launch, any goroutine", ours: safeLaunch},
		{name: "enter a context and leave", ours: withDriver(func(api driver.API, dev int) (call, error) {
			return func([]T) error {
				if err := api.Enter(dev); err != nil {
					return err
				}
				api.Leave()
				return nil
			}, nil
		})},
		{name: "cuMemAlloc and cuMemFree 1 MiB", ours: withDriver(func(api driver.API, dev int) (call, error) {
			return func([]T) error {
				p, err := api.MemAlloc(dev, 1<<20)
				if err != nil {
					return err
				}
				return api.MemFree(dev, p)
			}, nil
		})},
	}
}

func withDriver(f func(api driver.API, dev int) (call, error)) maker {
	return func(o *ourSide) (call, error) {
		api, err := driver.Open()
		if err != nil {
			return nil, err
		}
		return f(api, o.dev.Index)
	}
}

// loadEmpty loads the empty kernel until the row is done.
func loadEmpty(o *ourSide) (driver.API, driver.Function, error) {
	api, err := driver.Open()
	if err != nil {
		return nil, 0, err
	}
	dev := o.dev.Index
	module, err := api.ModuleLoad(dev, []byte(emptyKernel))
	if err != nil {
		return nil, 0, err
	}
	o.after = append(o.after, func() error { return api.ModuleUnload(dev, module) })
	f, err := api.ModuleFunction(dev, module, "nothing")
	return api, f, err
}

// safeLaunch launches as this library does, on whatever thread the goroutine is.
func safeLaunch(o *ourSide) (call, error) {
	api, f, err := loadEmpty(o)
	if err != nil {
		return nil, err
	}
	dev, one := o.dev.Index, driver.Dim3{X: 1, Y: 1, Z: 1}
	l := driver.Launch{Function: f, Grid: one, Block: driver.Dim3{X: 128, Y: 1, Z: 1}}
	return func([]T) error { return api.LaunchKernel(dev, l) }, nil
}

// emptyLaunch launches a kernel that does nothing.
func emptyLaunch(o *ourSide) (call, error) {
	api, f, err := loadEmpty(o)
	if err != nil {
		return nil, err
	}
	return bareLaunch(o, api, f, 1, 128, nil)
}

// addLaunch launches the kernel of an add with its parameters at hand: below it no
// library gets that adds with a kernel of its own.
func addLaunch(o *ourSide) (call, error) {
	api, err := driver.Open()
	if err != nil {
		return nil, err
	}
	f, err := module.New(api, nil).Function(o.dev.Index, nil, "arithmetic", "add_float32")
	if err != nil {
		return nil, err
	}
	x := tensor.Zeros([]int{3, small}, tensor.On(o.dev))
	at, err := x.DevicePointer()
	if err != nil {
		return nil, err
	}
	o.after = append(o.after, func() error { x.Release(); return nil })
	var p driver.Params // as package launch packs them: the count, the operands, which of these are numbers, no attribute
	p.Int64(small)
	for i := range 3 {
		p.Uint64(uint64(at) + uint64(i*4*small))
	}
	p.Uint32(0)
	p.Align(8)
	p.Uint8(0)
	return bareLaunch(o, api, f, small/512, 64, p.Bytes())
}

// bareLaunch calls cuLaunchKernel on a thread whose context is current.
func bareLaunch(o *ourSide, api driver.API, f driver.Function, blocks, threads uintptr, params []byte) (call, error) {
	lib, err := dl.Open("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1")
	if err != nil {
		return nil, err
	}
	launch, err := lib.Func("cuLaunchKernel")
	if err != nil {
		return nil, err
	}
	if err := api.Enter(o.dev.Index); err != nil {
		return nil, err
	}
	frame := dl.Get()
	o.after = append(o.after, func() error {
		frame.Free()
		api.Leave()
		return nil
	})
	var extra uintptr // a list for the driver: 1 and the address of the parameters, 2 and that of their size, 0
	if n := len(params); n > 0 {
		packed, address := frame.Bytes(n)
		copy(packed, params)
		copy(frame.Words[:], []uintptr{1, address, 2, frame.Addr(5), 0, uintptr(n)})
		extra = frame.Addr(0)
	}
	return func([]T) error {
		if code := int32(launch.Call(frame, uintptr(f), blocks, 1, 1, threads, 1, 1, 0, 0, 0, extra)); code != 0 {
			return fmt.Errorf("cuLaunchKernel returned %d, %s", code, api.ErrorName(driver.Code(code)))
		}
		return nil
	}, nil
}
