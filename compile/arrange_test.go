package compile_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/brief"
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

// trained returns what a block of convolutions and batch norms with a shortcut gives, and the
// gradients of all by which it is computed.
func trained(x ...tensor.Tensor) ([]tensor.Tensor, error) {
	in := make([]tensor.Tensor, 4)
	for i := range in {
		in[i] = x[i].Detach().RequireGrad()
	}
	norm := func(x tensor.Tensor) tensor.Tensor {
		y, _, _ := x.BatchNormTrain(tensor.Weight(in[3]), tensor.Bias(in[3]))
		return y
	}
	a := norm(in[0].Conv2d(in[1], tensor.Padding(1), tensor.Stride(2))).ReLU().MaxPool2d([]int{3}, tensor.Stride(2), tensor.Padding(1))
	b := norm(a.Conv2d(in[2], tensor.Padding(1))).ReLU()
	c := norm(b.Conv2d(in[2].Narrow(2, 1, 1).Narrow(3, 1, 1))).Add(a).ReLU()
	y := c.Mean(tensor.Dim(2, 3))
	grads, err := tensor.Gradients([]tensor.Tensor{y.Square().Sum()}, in)
	return append(grads, y), err
}

// TestArrangedGradients: images of a step of training lie with their channels last from the
// first convolution to its gradient, and nothing on the way has them otherwise.
func TestArrangedGradients(t *testing.T) {
	each(t, func(t *testing.T, dev device.Device) {
		for i, c := range []struct {
			channels int
			images   []int
			large    bool // for GPUs alone
		}{{16, []int{4, 8, 25, 19}, false}, {24, []int{1, 8, 17, 15}, false}, {264, []int{16, 8, 67, 65}, true}} {
			if testing.Short() && i > 0 && dev.Kind == device.KindSim { // whose convolutions are the reference's
				continue
			}
			if !c.large || dev.Kind == device.KindCUDA {
				t.Run(fmt.Sprint(c.channels), func(t *testing.T) { testArrangedGradients(t, dev, c.channels, c.images) })
			}
		}
	})
}

func testArrangedGradients(t *testing.T, dev device.Device, n int, images []int) {
	start := state()
	defer restore(start)
	var x []tensor.Tensor
	for _, shape := range [][]int{images, {n, images[1], 3, 3}, {n, n, 3, 3}, {n}} {
		x = append(x, tensor.Randn(shape, tensor.OfType(tensor.BFloat16), tensor.On(dev)))
	}
	x[1], x[2] = x[1].MulScalar(0.1), x[2].MulScalar(0.1)
	fused, apart := compile.Func(trained), compile.Func(trained, compile.Unfused())
	defer fused.Close()
	defer apart.Close()
	for range 3 { // called, captured, launched
		got, err := fused.Call(x...)
		must(t, err)
		want, err := apart.Call(x...)
		must(t, err)
		for i := range got {
			if dev.Kind != device.KindCUDA {
				sameBits(t, got[i:i+1], want[i:i+1], fused.Program())
			} else if d := relative(t, got[i], want[i]); !(d < 0x1p-5) {
				t.Errorf("result %d: %v of its norm apart\n%s", i, d, fused.Program())
			}
		}
	}
	if dev == device.CPU {
		return
	}
	if last, otherwise := layouts(fused.Program()); last != 30 || otherwise != 3 {
		t.Errorf("%d images have their channels last, %d otherwise\n%s\n%s", last, otherwise, fused.Program(), fused.Explain())
	}
}

// TestArrangedNorms: a norm whose channels lie last gives the moments and the elements that its
// operand's numbers have, in wide arithmetic.
func TestArrangedNorms(t *testing.T) {
	device.Install(sim.New(sim.Config{Devices: 1, Async: true, ChannelsLast: true}))
	defer device.Install(simulated)
	each(t, func(t *testing.T, dev device.Device) {
		for i, c := range []struct {
			images []int
			large  bool // for GPUs alone
		}{
			{[]int{1, 8, 5, 7}, false}, {[]int{3, 24, 9, 11}, false}, {[]int{2, 16, 31, 33}, true}, {[]int{5, 264, 17, 19}, true},
			{[]int{2, 2056, 6, 7}, true}, {[]int{32, 64, 57, 55}, true},
		} {
			if testing.Short() && i > 0 && dev.Kind == device.KindSim { // whose convolutions are the reference's
				continue
			}
			if !c.large || dev.Kind == device.KindCUDA {
				t.Run(fmt.Sprint(c.images), func(t *testing.T) { testArrangedNorms(t, dev, c.images) })
			}
		}
	})
}

func testArrangedNorms(t *testing.T, dev device.Device, images []int) {
	const eps = 1e-5
	n := images[1]
	of := func(shape ...int) tensor.Tensor {
		return tensor.Randn(shape, tensor.OfType(tensor.BFloat16), tensor.On(dev))
	}
	x := []tensor.Tensor{of(images...).AddScalar(3), of(n, n, 3, 3).MulScalar(0.1), of(n), of(n)}
	f := compile.Func(func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		convolved := func(y tensor.Tensor) tensor.Tensor { return y.Conv2d(x[1], tensor.Padding(1)) }
		same := convolved(convolved(x[0])).MulScalar(0).Add(x[0]) // which lies as the convolution gives it
		out, average, variance := same.BatchNormTrain(tensor.Weight(x[2]), tensor.Bias(x[3]), tensor.Eps(eps))
		return []tensor.Tensor{out, average, variance, convolved(convolved(out.ReLU()))}, nil
	})
	defer f.Close()
	for range 3 { // called, captured, launched
		got, err := f.Call(x...)
		must(t, err)
		var list [][]float32
		for _, y := range append(got[:3:3], x[0], x[2], x[3]) {
			list = append(list, values(t, y.ToType(tensor.Float32)))
		}
		out, average, variance, a, weight, bias := list[0], list[1], list[2], list[3], list[4], list[5]
		places := images[2] * images[3]
		for ch := range n {
			mean, spread, count := 0.0, 0.0, float64(images[0]*places)
			each := func(f func(i int)) {
				for u := range images[0] {
					for i := range places {
						f((u*n+ch)*places + i)
					}
				}
			}
			each(func(i int) { mean += float64(a[i]) / count })
			each(func(i int) { spread += (float64(a[i]) - mean) * (float64(a[i]) - mean) / count })
			near := func(what string, got float32, want, size float64) {
				if math.Abs(float64(got)-want) > 0x1p-8*(math.Abs(want)+size) {
					t.Fatalf("channel %d: %s is %v, want %v\n%s", ch, what, got, want, f.Program())
				}
			}
			near("the mean", average[ch], mean, 0x1p-10)
			near("the variance", variance[ch], spread, 0x1p-10)
			each(func(i int) {
				factor := float64(weight[ch]) / math.Sqrt(spread+eps)
				near("an element", out[i], (float64(a[i])-mean)*factor+float64(bias[ch]), 0x1p-6)
			})
		}
	}
	if last, otherwise := layouts(f.Program()); dev != device.CPU && last < otherwise {
		t.Errorf("%d images have their channels last, %d otherwise\n%s", last, otherwise, f.Program())
	}
}

// relative returns the norm of the distance of a from b over that of b: a gradient of relu that
// another rounding turns on or off is a large distance of one element.
func relative(t *testing.T, a, b tensor.Tensor) float64 {
	x, y := values(t, a.ToType(tensor.Float32)), values(t, b.ToType(tensor.Float32))
	apart, all := 0.0, 0.0
	for i := range x {
		d, want := float64(x[i])-float64(y[i]), float64(y[i])
		apart, all = apart+d*d, all+want*want
	}
	return math.Sqrt(apart / all)
}

// layouts returns how many images that convolutions, their gradients and norms of channels read
// and write have their channels last, and how many lie otherwise.
func layouts(p *program.Program) (last, otherwise int) {
	for i := range p.Steps {
		c := &p.Steps[i].Call
		if p.Steps[i].Action != program.Launch {
			continue
		}
		var images []ir.View
		switch tags := c.Op.Tags; {
		case tags&(ir.TagConvolution|ir.TagGradInput|ir.TagChannels) != 0:
			images = []ir.View{c.In[0], c.Out[0]}
			if tags&ir.TagChannels != 0 && len(c.In[1].Shape) == 4 {
				images = append(images, c.In[1])
			}
		case tags&ir.TagGradWeight != 0:
			images = c.In[:2]
		}
		for _, v := range images {
			if slices.Equal(v.Strides, ir.ChannelsLastStrides(v.Shape)) {
				last++
			} else {
				otherwise++
			}
		}
	}
	return last, otherwise
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
		for i, c := range arrangements {
			if brief.Skip(i) {
				continue
			}
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
