package compile_test

import (
	"bytes"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
)

// TestPressure: goroutines that run the same fused programs while the collector runs all the
// time get what one gets alone, to the bit.
func TestPressure(t *testing.T) {
	const goroutines = 4
	runs := 60
	if testing.Short() {
		runs = 15
	}
	matrix, square := tensor.Randn([]int{96, 128}), tensor.Randn([]int{128, 128})
	line, other := tensor.Randn([]int{128}), tensor.Randn([]int{96, 128})
	type work struct {
		name string
		f    func(x ...tensor.Tensor) (tensor.Tensor, error)
		x    []tensor.Tensor
		want []byte
	}
	list := []work{
		{name: "chain", f: chain, x: []tensor.Tensor{matrix, other, other}},
		{name: "rms norm", f: rmsNorm, x: []tensor.Tensor{matrix, line}},
		{name: "scaled softmax", f: scaledSoftmax, x: []tensor.Tensor{matrix}},
	}
	for _, p := range products {
		list = append(list, work{name: p.name, x: []tensor.Tensor{matrix, square, line, other}, f: func(x ...tensor.Tensor) (tensor.Tensor, error) {
			y, err := p.f(x...)
			return y[0], err
		}})
	}
	var compiled []*compile.Compiled[tensor.Tensor]
	for i := range list {
		c := compile.Func(list[i].f)
		defer c.Close()
		y, err := c.Call(list[i].x...)
		must(t, err)
		list[i].want, err = y.Bytes()
		must(t, err)
		compiled = append(compiled, c)
	}
	var done atomic.Bool
	var collector, wait sync.WaitGroup
	collector.Go(func() {
		for !done.Load() {
			goruntime.GC()
		}
	})
	failures := make(chan error, goroutines)
	for range goroutines {
		wait.Go(func() {
			for n := range runs * len(list) {
				w := &list[n%len(list)]
				y, err := compiled[n%len(list)].Call(w.x...)
				if err == nil {
					var got []byte
					if got, err = y.Bytes(); err == nil && !bytes.Equal(got, w.want) {
						err = fmt.Errorf("%s: another result", w.name)
					}
				}
				if err != nil {
					failures <- err
					return
				}
				if n%2 == 0 { // the others are the collector's
					y.Release()
				}
			}
		})
	}
	wait.Wait()
	done.Store(true)
	collector.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
}
