package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// childVariable is set in the environment of the processes that time their first
// operator.
const childVariable = "SINTER_BENCH_CHILD"

// start is what such a process prints, in seconds.
type start struct {
	Context float64 // opening the driver and making a context
	First   float64 // from there to the result of the first operator
}

// child is such a process: it adds two vectors as its first operator.
func child(w io.Writer) error {
	began := time.Now()
	api, err := driver.Open()
	if err != nil {
		return err
	}
	if _, err := api.PrimaryContext(0); err != nil {
		return err
	}
	context := time.Since(began)
	x := tensor.FromSlice([]float32{1, 2, 3}, nil, tensor.On(device.CUDA(0)))
	sum, err := tensor.Data[float32](x.Add(x))
	if err != nil {
		return err
	}
	all := time.Since(began)
	if len(sum) != 3 || sum[2] != 6 {
		return fmt.Errorf("1, 2, 3 doubled is %v", sum)
	}
	return json.NewEncoder(w).Encode(start{context.Seconds(), (all - context).Seconds()})
}

// processRows are about the first operator of a process.
func (w *workload) processRows() []row {
	if w.dev.Kind != device.KindCUDA {
		return nil
	}
	fact := func(cached bool, of func(start) float64) func(context.Context, *bench) (float64, error) {
		return func(ctx context.Context, _ *bench) (float64, error) {
			s, err := starts(ctx, cached)
			if err != nil {
				return 0, err
			}
			var times []float64
			for _, one := range s {
				times = append(times, of(one)/milliseconds.scale)
			}
			return median(times), nil
		}
	}
	return grouped("A fresh process", []row{
		{name: "cuInit and context", unit: milliseconds, fact: fact(true, func(s start) float64 { return s.Context })},
		{name: "first add, no cache", unit: milliseconds, fact: fact(false, func(s start) float64 { return s.First }), targets: []target{atMost(500, absolute)}},
		{name: "first add, cache", unit: milliseconds, fact: fact(true, func(s start) float64 { return s.First }), targets: []target{atMost(100, absolute)}},
	})
}

// starts runs processes one after another: each with caches of its own that are
// empty, or all with caches that one more process filled.
func starts(ctx context.Context, cached bool) (out []start, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	caches, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(caches)) }()
	const processes = 3
	for i := range processes + 1 {
		dir := caches
		if !cached {
			dir = fmt.Sprintf("%s/%d", caches, i)
		}
		command := exec.CommandContext(ctx, program)
		command.Env = append(os.Environ(), childVariable+"=1", "SINTER_KERNEL_CACHE_PATH="+dir, "CUDA_CACHE_PATH="+dir+"/driver")
		command.Stderr = os.Stderr
		text, err := command.Output()
		if err != nil {
			return nil, fmt.Errorf("a process that times its first operator: %w", err)
		}
		var s start
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, fmt.Errorf("such a process printed %q: %w", text, err)
		}
		if i > 0 { // the first fills caches, the program's pages too
			out = append(out, s)
		}
	}
	return out, nil
}
