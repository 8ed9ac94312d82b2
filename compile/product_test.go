package compile_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/cuda/gpu"
	"github.com/sinter-go/sinter/compile"
	perceptrons "github.com/sinter-go/sinter/examples/compile/models"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// Functions of products x[0] @ x[1] with a bias x[2], and of x[3], like the product.
var products = []struct {
	name  string
	f     func(x ...tensor.Tensor) ([]tensor.Tensor, error)
	steps int // on the processor
}{
	{"bias and relu", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{x[0].MatMul(x[1]).Add(x[2]).ReLU()}, nil
	}, 1},
	{"chain", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{x[0].MatMul(x[1]).Add(x[2]).SiLU().Mul(x[3]).AddScalar(2)}, nil
	}, 1},
	{"residual", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{x[3].Add(x[0].MatMul(x[1]))}, nil
	}, 1},
	{"residual in place", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y := x[3].MulScalar(2).Contiguous()
		return []tensor.Tensor{y}, y.AddInPlace(x[0].MatMul(x[1]))
	}, 1},
	{"the product is a result, too", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y := x[0].MatMul(x[1])
		return []tensor.Tensor{y, y.Tanh()}, nil
	}, 1},
	{"several results, of which one is bool", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y := x[0].MatMul(x[1]).Mul(x[3])
		return []tensor.Tensor{y, y.Gt(x[2])}, nil
	}, 1},
	{"columns are summed", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y := x[0].MatMul(x[1]).Mul(x[3])
		return []tensor.Tensor{y, y.Reshape(-1, y.Size(-1)).Sum(tensor.Dim(0))}, nil
	}, 1},
	{"a column's numbers", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{x[0].MatMul(x[1]).Mul(x[3].Narrow(-1, 0, 1))}, nil
	}, 1},
	{"two products", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{x[0].MatMul(x[1]).Add(x[0].MulScalar(2).MatMul(x[1])).Sigmoid()}, nil
	}, 3},
	{"what follows is written over a factor", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		w := x[1].MulScalar(1).Contiguous()
		if len(x[0].Shape()) != 2 || x[0].Size(0) != x[0].Size(1) || x[1].Size(1) != x[1].Size(0) {
			return []tensor.Tensor{x[0].MatMul(w)}, nil
		}
		y := x[0].MatMul(w).ReLU()
		return []tensor.Tensor{y}, w.AddInPlace(y)
	}, 0},
}

// TestProducts: what is computed of a product's elements is computed with it, and gives what
// it gives alone, to the bit.
func TestProducts(t *testing.T) { each(t, testProducts) }

func testProducts(t *testing.T, dev device.Device) {
	if dev.Kind == device.KindSim {
		t.Skip("nothing is fused there")
	}
	for i, shape := range [][4]int{{1, 128, 64, 96}, {1, 7, 5, 3}, {1, 1, 40, 33}, {1, 300, 17, 1}, {3, 65, 80, 513}, {1, 64, 64, 64}, {2, 1, 1000, 10}, {1, 600, 200, 700}} {
		for k, dtype := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.BFloat16} {
			if testing.Short() && (i+k)%3 != 0 { // each shape in one of them
				continue
			}
			must(t, tensor.WithDefaults(tensor.Defaults{Device: dev}, func() error {
				of := tensor.OfType(dtype)
				lead := []int{shape[0], shape[1]}
				if shape[0] == 1 {
					lead = lead[1:]
				}
				k, n := shape[2], shape[3]
				x := []tensor.Tensor{tensor.Randn(append(append([]int(nil), lead...), k), of), tensor.Randn([]int{k, n}, of), tensor.Randn([]int{n}, of), tensor.Randn(append(append([]int(nil), lead...), n), of)}
				for _, c := range products {
					for _, turned := range []bool{false, true} {
						in := append([]tensor.Tensor(nil), x...)
						if turned {
							in[1] = x[1].Transpose(0, 1).Clone().Transpose(0, 1)
						}
						t.Run(fmt.Sprint(c.name, shape, dtype, turned), func(t *testing.T) {
							steps := 0
							if dev == device.CPU && dtype != tensor.BFloat16 {
								steps = c.steps
							}
							testProduct(t, dev, c.f, steps, in)
						})
					}
				}
				return nil
			}))
		}
	}
}

func testProduct(t *testing.T, dev device.Device, f func(x ...tensor.Tensor) ([]tensor.Tensor, error), steps int, x []tensor.Tensor) {
	fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
	defer fused.Close()
	defer apart.Close()
	got, err := fused.Call(x...)
	must(t, err)
	want, err := apart.Call(x...)
	must(t, err)
	if dev.Kind == device.KindCUDA {
		for i := range want {
			if d := apartBy(t, got[i], want[i]); d > 1e-2 {
				t.Errorf("result %d differs by %v\n%s", i, d, fused.Program())
			}
		}
	} else {
		sameBits(t, got, want, fused.Program())
	}
	if s := fused.Stats(); steps > 0 && s.Steps != steps {
		t.Errorf("%d launches, want %d\n%s\n%s", s.Steps, steps, fused.Program(), fused.Explain())
	}
}

// TestPerceptronLaunches: a step of training of a perceptron is so many launches at most, and
// leaves what it leaves one by one.
func TestPerceptronLaunches(t *testing.T) { each(t, testPerceptronLaunches) }

func testPerceptronLaunches(t *testing.T, dev device.Device) {
	if dev.Kind == device.KindSim {
		t.Skip("nothing is fused there")
	}
	const most = 12
	hidden := 1024
	if testing.Short() && !dev.Accelerator() {
		hidden = 256
	}
	var left [2][]tensor.Tensor
	for i, opts := range [][]compile.Option{{compile.Unfused()}, {compile.Relaxed()}} {
		must(t, tensor.WithDefaults(tensor.Defaults{Device: dev}, func() error {
			defer restore(state())
			random.Seed(1)
			model := perceptrons.Perceptron(784, hidden, hidden, 10)
			sgd, err := optim.NewSGD(nn.Parameters(model), 0.01)
			must(t, err)
			step := compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
				return optim.Minimize(sgd, func() tensor.Tensor { return model.Forward(x[0]).CrossEntropy(x[1]) })
			}, append(opts, compile.State(model, sgd))...)
			defer step.Close()
			x, y := tensor.Randn([]int{128, 784}), tensor.Randint([]int{128}, 0, 10)
			for range 3 {
				_, err := step.Call(x, y)
				must(t, err)
			}
			for _, p := range nn.Parameters(model) {
				left[i] = append(left[i], p.Tensor.Detach().Clone())
			}
			s := step.Stats()
			t.Logf("%d steps, %d nodes", s.Steps, s.Nodes)
			if i == 1 && fuses(t, dev, step.Explain()) && s.Steps > most {
				t.Errorf("%d launches, want %d at most\n%s\n%s", s.Steps, most, step.Program(), step.Explain())
			}
			return nil
		}))
	}
	for i := range left[0] {
		if dev.Kind == device.KindCUDA {
			if d := apartBy(t, left[0][i], left[1][i]); d > 1e-5 {
				t.Errorf("parameter %d differs by %v", i, d)
			}
			continue
		}
		a, err := left[0][i].Bytes()
		must(t, err)
		b, err := left[1][i].Bytes()
		must(t, err)
		if !bytes.Equal(a, b) {
			t.Errorf("parameter %d differs from that of steps one by one", i)
		}
	}
}

// TestPerceptronPlanned: a step of training of a perceptron is so many launches at most on a
// GPU, too, which this machine need not have: it is planned by what GPUs take. Where NaN must
// stay NaN, two of them are relu's.
func TestPerceptronPlanned(t *testing.T) {
	defer restore(state())
	model := perceptrons.Perceptron(784, 1024, 1024, 10)
	sgd, err := optim.NewSGD(nn.Parameters(model), 0.01)
	must(t, err)
	step := compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return optim.Minimize(sgd, func() tensor.Tensor { return model.Forward(x[0]).CrossEntropy(x[1]) })
	}, compile.State(model, sgd))
	defer step.Close()
	_, err = step.Call(tensor.Randn([]int{128, 784}), tensor.Randint([]int{128}, 0, 10))
	must(t, err)
	p, driver := step.Recorded(), new(gpu.Driver)
	for i := range p.Steps { // as memory of a device is
		c := &p.Steps[i].Call
		for _, views := range [][]ir.View{c.In, c.Out} {
			for j := range views {
				views[j].Ptr = nil
			}
		}
	}
	for _, relaxed := range []bool{true, false} {
		most := 14
		if relaxed {
			most = 12
		}
		if names := launches(t, p, driver, relaxed); len(names) > most {
			t.Errorf("relaxed %v: %d launches, want %d at most: %v", relaxed, len(names), most, names)
		}
	}
}

// launches are what a program would be for a GPU.
func launches(t *testing.T, p *program.Program, driver *gpu.Driver, relaxed bool) (names []string) {
	plan := fusion.Make(p, fusion.Options{
		Relaxed:     relaxed,
		Refused:     func(int) string { return "" },
		Rounds:      func(int) bool { return true },
		RoundsFolds: func(int) bool { return true },
		Number:      func(int, int) (ir.Scalar, bool) { return ir.Scalar{}, false },
		Place:       func(int) int { return 0 },
		Kind:        func(int) string { return t.Name() },
		Code:        func(int, *fusion.Region, *ir.Call) error { return nil },
		RowCode:     func(int, *fusion.Rows) error { return nil },
		ProductCode: func(int, *fusion.Product) error { return nil },
		Takes:       func(_ int, p *fusion.Product, c *ir.Call) bool { return driver.TakesProduct(0, p, c) },
	})
	for _, item := range plan.Order {
		s := &p.Steps[item.Step]
		name := s.Name()
		if item.Group != nil {
			name = item.Group.Call.Op.Name
		}
		if len(s.In) > 0 { // the gradient of the loss, 1, is written once
			names = append(names, name)
		}
	}
	return names
}

// TestThinProducts: products of which one extent is small, which GPUs have kernels for, are
// right to the rounding of sums in float32, alone, with a bias and with what follows.
func TestThinProducts(t *testing.T) { each(t, testThinProducts) }

func testThinProducts(t *testing.T, dev device.Device) {
	if dev.Kind == device.KindSim {
		t.Skip("it has no such kernels, and takes its time")
	}
	was, err := cuda.MatmulAllowTF32()
	must(t, err)
	cuda.SetMatmulAllowTF32(false) // which other kernels take where these do not
	t.Cleanup(func() { cuda.SetMatmulAllowTF32(was) })
	wide := func(x tensor.Tensor) tensor.Tensor { return x.ToType(tensor.Float64) }
	alone := func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].MatMul(x[1]), nil }
	biased := func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].MatMul(x[1]).Add(x[2]), nil }
	followed := func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].MatMul(x[1]).Mul(x[3]).Tanh(), nil }
	for _, s := range [][3]int{{128, 10, 1024}, {10, 1024, 128}, {128, 1024, 10}, {33, 16, 17}, {5, 3, 200}, {1, 7, 515}, {300, 1, 64}, {9, 40, 16}, {16, 33, 256}, {1000, 16, 250}} {
		m, n, k := s[0], s[1], s[2]
		for _, transposed := range []bool{false, true} {
			x := []tensor.Tensor{tensor.Randn([]int{m, k}), tensor.Randn([]int{k, n}), tensor.Randn([]int{n}), tensor.Randn([]int{m, n})}
			if transposed {
				x[0], x[1] = tensor.Randn([]int{k, m}).Transpose(0, 1), tensor.Randn([]int{n, k}).Transpose(0, 1)
			}
			for i, f := range []func(x ...tensor.Tensor) (tensor.Tensor, error){alone, biased, followed} {
				c := compile.Func(f)
				want, err := f(wide(x[0]), wide(x[1]), wide(x[2]), wide(x[3]))
				must(t, err)
				for _, call := range []func(x ...tensor.Tensor) (tensor.Tensor, error){f, c.Call} {
					got, err := call(x...)
					must(t, err)
					apart, err := wide(got).Sub(want).Abs().Max().Item()
					must(t, err)
					if most := 1e-6 * float64(k); !(apart <= most+1e-5) {
						t.Errorf("%v, transposed %v, function %d: %v apart, want %v at most", s, transposed, i, apart, most)
					}
				}
				c.Close()
			}
		}
	}
}

// TestHalfPerceptrons: a bias and relu or gelu by tanh of 16-bit floats are computed with the product
// where that may round once and have it that relu of NaN is 0.
func TestHalfPerceptrons(t *testing.T) { each(t, testHalfPerceptrons) }

var activations = map[string]func(x tensor.Tensor) tensor.Tensor{
	"relu":         func(x tensor.Tensor) tensor.Tensor { return x.ReLU() },
	"gelu by tanh": func(x tensor.Tensor) tensor.Tensor { return x.GELU(tensor.ApproximateTanh) },
	"gelu":         func(x tensor.Tensor) tensor.Tensor { return x.GELU() },
}

func testHalfPerceptrons(t *testing.T, dev device.Device) {
	for _, dtype := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		for _, s := range [][3]int{{64, 48, 96}, {33, 40, 7}} {
			of := tensor.OfType(dtype)
			x, w, b := tensor.Randn([]int{s[0], s[1]}, of), tensor.Randn([]int{s[2], s[1]}, of).MulScalar(0.1), tensor.Randn([]int{s[2]}, of)
			for name, act := range activations {
				f := func(x ...tensor.Tensor) (tensor.Tensor, error) {
					return act(x[0].Linear(x[1], tensor.Bias(x[2]))), nil
				}
				want, err := f(x, w, b)
				must(t, err)
				relaxed := compile.Func(f, compile.Relaxed())
				defer relaxed.Close()
				for range 3 {
					got, err := relaxed.Call(x, w, b)
					must(t, err)
					if d := apartBy(t, got, want); !(d <= map[tensor.DType]float64{tensor.Float16: 4e-3, tensor.BFloat16: 3e-2}[dtype]) {
						t.Errorf("%s, %v %v: %v apart", name, dtype, s, d)
					}
				}
				if n := relaxed.Stats().Steps; dev.Kind == device.KindCUDA && (n == 1) != (name != "gelu") {
					t.Errorf("%s, %v %v: %d launches\n%s", name, dtype, s, n, relaxed.Explain())
				}
			}
		}
	}
}

// TestHalfPerceptronsPlanned: they are one launch on a GPU, which this machine need not have, but
// for what cuBLASLt does not compute, or no quicker.
func TestHalfPerceptronsPlanned(t *testing.T) {
	for _, dtype := range []tensor.DType{tensor.Float32, tensor.BFloat16} {
		for name, act := range activations {
			of := tensor.OfType(dtype)
			f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
				return act(x[0].Linear(x[1], tensor.Bias(x[2]))), nil
			}, compile.Unfused())
			defer f.Close()
			_, err := f.Call(tensor.Randn([]int{256, 256}, of), tensor.Randn([]int{256, 256}, of), tensor.Randn([]int{256}, of))
			must(t, err)
			p := f.Recorded()
			for i := range p.Steps { // as memory of a device is
				for _, views := range [][]ir.View{p.Steps[i].Call.In, p.Steps[i].Call.Out} {
					for j := range views {
						views[j].Ptr = nil
					}
				}
			}
			for _, relaxed := range []bool{true, false} {
				want := 2
				if relaxed && (name == "relu" || name == "gelu by tanh" && dtype == tensor.BFloat16) {
					want = 1
				}
				if names := launches(t, p, new(gpu.Driver), relaxed); len(names) != want {
					t.Errorf("%s, %v, relaxed %v: %d launches, want %d: %v", name, dtype, relaxed, len(names), want, names)
				}
			}
		}
	}
}
