package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/device"
)

// lasts returns how many results of launches lie with their channels last.
func lasts(p *program.Program) (n int) {
	for i := range p.Steps {
		c := &p.Steps[i].Call
		for _, v := range c.Out {
			if s := v.Strides; len(s) == 4 && s[1] == 1 && s[3] == v.Shape[1] && !v.IsContiguous() {
				n++
			}
		}
	}
	return n
}

// images is a function of images x[0], weights x[1] and x[2], a number for each channel x[3],
// and images like the results x[4].
type images struct {
	name string
	f    func(x ...tensor.Tensor) ([]tensor.Tensor, error)
	want int // convolutions whose results have their channels last
}

func single(y tensor.Tensor) ([]tensor.Tensor, error) { return []tensor.Tensor{y}, nil }

var arrangements = []images{
	{"two", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		return single(x[0].Conv2d(x[1], tensor.Padding(1)).ReLU().Conv2d(x[2], tensor.Padding(1)))
	}, 1},
	{"a residual block", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		channel := x[3].Reshape(1, -1, 1, 1)
		a := x[0].Conv2d(x[1], tensor.Padding(1)).Mul(channel).Add(channel).ReLU()
		b := a.Conv2d(x[2], tensor.Bias(x[3]), tensor.Padding(1)).Add(a).ReLU()
		return single(b.Conv2d(x[2], tensor.Padding(1)).Add(b).ReLU().Mean(tensor.Dim(2, 3)))
	}, 3},
	{"beside images that lie otherwise", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		a := x[0].Conv2d(x[1], tensor.Padding(1)).Add(x[4]).ReLU()
		return single(a.Conv2d(x[2], tensor.Padding(1)).Mul(x[4]).Conv2d(x[2], tensor.Padding(1)))
	}, 2},
	{"read by other kernels", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		a := x[0].Conv2d(x[1], tensor.Padding(1)).ReLU().Conv2d(x[2], tensor.Padding(1))
		return []tensor.Tensor{a.MaxPool2d([]int{2}), a.Reshape(a.Size(0), -1), a.Conv2d(x[2])}, nil
	}, 1},
	{"returned", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		return single(x[0].Conv2d(x[1], tensor.Padding(1)))
	}, 0},
	{"written twice", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		a := x[0].Conv2d(x[1], tensor.Padding(1))
		if err := a.ReLUInPlace(); err != nil {
			return nil, err
		}
		return single(a.Conv2d(x[2], tensor.Padding(1)))
	}, 0},
	{"a part", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		a := x[0].Conv2d(x[1], tensor.Padding(1))
		return single(a.Narrow(1, 0, 16).Conv2d(x[2], tensor.Padding(1)).Add(a.Narrow(0, 0, 1)))
	}, 0},
	{"drawn", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		a := x[0].Conv2d(x[1], tensor.Padding(1)).ReLU().Dropout(0.5)
		return single(a.Conv2d(x[2], tensor.Padding(1)).ReLU().Conv2d(x[2], tensor.Padding(1)).ReLU().Conv2d(x[2], tensor.Padding(1)))
	}, 2},
}

func arranged(dtype tensor.DType) []tensor.Tensor {
	of := tensor.OfType(dtype)
	return []tensor.Tensor{tensor.Randn([]int{2, 8, 6, 5}, of), tensor.Randn([]int{16, 8, 3, 3}, of).MulScalar(0.1), tensor.Randn([]int{16, 16, 3, 3}, of).MulScalar(0.1), tensor.Randn([]int{16}, of), tensor.Randn([]int{2, 16, 6, 5}, of)}
}

// TestArranged: where channels lie is the compiler's, and changes no result. The reference adds
// in one order wherever they lie.
func TestArranged(t *testing.T) {
	device.Install(sim.New(sim.Config{Devices: 1, Async: true, ChannelsLast: true}))
	defer device.Install(simulated)
	each(t, testArranged)
}

func testArranged(t *testing.T, dev device.Device) {
	for _, dtype := range []tensor.DType{tensor.Float32, tensor.BFloat16} {
		if testing.Short() && (dtype == tensor.Float32) != (dev == device.CPU) { // one of them on each
			continue
		}
		x := arranged(dtype)
		for _, c := range arrangements {
			t.Run(fmt.Sprint(c.name, dtype), func(t *testing.T) {
				start := state()
				defer restore(start)
				fused, apart := compile.Func(c.f), compile.Func(c.f, compile.Unfused())
				defer fused.Close()
				defer apart.Close()
				seeded := func(f func() ([]tensor.Tensor, error)) []tensor.Tensor {
					restore(start)
					y, err := f()
					must(t, err)
					return y
				}
				for range 3 { // called, captured, launched
					got := seeded(func() ([]tensor.Tensor, error) { return fused.Call(x...) })
					want := seeded(func() ([]tensor.Tensor, error) { return apart.Call(x...) })
					if dev.Kind != device.KindCUDA {
						sameBits(t, got, want, fused.Program())
						continue
					}
					for i := range got {
						if d := apartBy(t, got[i], want[i]); !(d <= map[tensor.DType]float64{tensor.Float32: 5e-2, tensor.BFloat16: 0.3}[dtype]) {
							t.Errorf("result %d: %v apart\n%s", i, d, fused.Program())
						}
					}
				}
				n, explained := lasts(fused.Program()), strings.Contains(fused.Explain(), "channels are last")
				switch {
				case dev.Kind == device.KindSim && (n < c.want || (n > 0) != (c.want > 0) || explained != (c.want > 0)):
					t.Errorf("%d images have their channels last, want those of %d convolutions\n%s\n%s", n, c.want, fused.Program(), fused.Explain())
				case dev == device.CPU && n > 0, lasts(apart.Program()) > 0:
					t.Errorf("%d images have their channels last\n%s", n, fused.Program())
				}
			})
		}
	}
}
