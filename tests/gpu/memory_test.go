package gpu_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestNothingIsLeft: what programs release, what scopes end, what is dropped and
// what fails gives all memory back.
func TestNothingIsLeft(t *testing.T) {
	need(t)
	on := tensor.On(gpu)
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"released", func() error {
			x := tensor.Randn([]int{1000}, on)
			y := x.Exp()
			z := y.Sum()
			_, err := z.Item()
			for _, t := range []T{x, y, z} {
				t.Release()
			}
			return err
		}},
		{"a scope with a backward pass", func() (err error) {
			w := tensor.Randn([]int{30, 30}, on, tensor.RequireGrad())
			err = tensor.Scope(func() error { return w.MatMul(w).Softmax(1).AddScalar(1).Log().Sum().Backward() })
			w.Release()
			return err
		}},
		{"a graph that nobody walked", func() error {
			w := tensor.Randn([]int{500}, on, tensor.RequireGrad())
			y, i := w.Mul(w).Sort(0)
			return errors.Join(y.Err(), i.Err())
		}},
		{"dropped", func() error {
			for range 50 {
				if err := tensor.Randn([]int{10_000}, on).Tanh().Err(); err != nil {
					return err
				}
			}
			return nil
		}},
		{"a mistake in the middle", func() error {
			err := tensor.Zeros([]int{300, 2}, on).Exp().MatMul(tensor.Zeros([]int{3}, on)).ReLU().Err()
			if err == nil {
				return errors.New("a product of shapes that do not fit")
			}
			return nil
		}},
		{"training", train},
	} {
		t.Run(c.name, func(t *testing.T) {
			balanced(t, func() {
				for range 3 {
					must(t, c.run())
				}
			})
		})
	}
}

// train takes a few steps of a small model on the GPU.
func train() error {
	model := nn.NewSequential(nn.NewLinear(20, 30), nn.NewBatchNorm(30), nn.ReLU(), nn.NewDropout(0.1), nn.NewLinear(30, 5))
	if err := nn.To(model, gpu); err != nil {
		return err
	}
	adam, err := optim.NewAdam(nn.Parameters(model), 1e-3)
	if err != nil {
		return err
	}
	for range 3 {
		loss, err := optim.Minimize(adam, func() T {
			return model.Forward(tensor.Randn([]int{16, 20}, tensor.On(gpu))).CrossEntropy(tensor.Randint([]int{16}, 0, 5, tensor.On(gpu)))
		})
		if err != nil {
			return err
		}
		loss.Release()
	}
	return nil
}

// TestOutOfMemory: what does not fit is an error that says how things stand, and
// the program goes on with all it had.
func TestOutOfMemory(t *testing.T) {
	need(t)
	balanced(t, func() {
		before := tensor.Arange(0, 1000, 1, tensor.On(gpu))
		_, total, err := cuda.MemGetInfo(gpu)
		must(t, err)
		huge := tensor.Empty([]int{int(total/4) + 1000}, tensor.On(gpu)) // float32: more than there is
		var oom *cuda.OutOfMemoryError
		if err := huge.Err(); !errors.Is(err, device.ErrOutOfMemory) || !errors.As(err, &oom) || !strings.Contains(err.Error(), "Tried to allocate") {
			t.Errorf("a tensor larger than the device: %v", err)
		}
		sum, err := before.Sum().Item()
		if sum != 499_500 || err != nil {
			t.Errorf("a tensor from before sums to %v, %v", sum, err)
		}
		must(t, tensor.Zeros([]int{1 << 16}, tensor.On(gpu)).Err())
		before.Release()
	})
}

// TestFaults: an index out of range is reported where the program waits, by name,
// once; what was there before is unharmed and the device goes on.
func TestFaults(t *testing.T) {
	need(t)
	for _, c := range []struct {
		name string
		run  func(x, index T) T
	}{
		{"gather", func(x, index T) T { return x.Gather(0, index) }},
		{"index_select", func(x, index T) T { return x.IndexSelect(0, index) }},
		{"embedding", func(x, index T) T { return index.Embedding(x.Reshape(-1, 1)) }},
	} {
		for _, bad := range []int64{10, -11, 1 << 40} {
			t.Run(fmt.Sprint(c.name, " ", bad), func(t *testing.T) {
				x := tensor.Arange(0, 10, 1, tensor.On(gpu), tensor.OfType(tensor.Float32))
				index := tensor.From([]int64{1, bad, 2}).To(gpu)
				_, err := c.run(x, index).Bytes()
				if err == nil || !strings.Contains(err.Error(), "index") {
					t.Errorf("no error names the index: %v", err)
				}
				got, err := tensor.Data[float32](c.run(x, tensor.From([]int64{3, 9, 0}).To(gpu)).Reshape(-1))
				if diff := cmp.Diff([]float32{3, 9, 0}, got); diff != "" || err != nil {
					t.Errorf("afterwards: %v (-want +got):\n%s", err, diff)
				}
				all, err := tensor.Data[float32](x)
				if err != nil || !slices.Equal(all, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
					t.Errorf("the operand is %v, %v", all, err)
				}
			})
		}
	}
}
