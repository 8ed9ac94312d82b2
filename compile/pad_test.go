package compile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestPad: one program serves arguments of many lengths, with eager code's results and
// gradients.
func TestPad(t *testing.T) { each(t, testPad) }

func testPad(t *testing.T, dev device.Device) {
	bound := roughly
	if dev.Kind == device.KindCUDA {
		bound = cmpopts.EquateApprox(1e-2, 3e-3) // products of few rows are not of TF32, those of more are
	}
	layer := nn.NewLinear(3, 2)
	rows := func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y := layer.Forward(x[0]).Mul(x[1])
		return []tensor.Tensor{y, x[0].Sum(tensor.Dim(1)), x[2].MulScalar(2)}, nil
	}
	f := compile.Func(rows, compile.State(layer), compile.Pad(0, 4, 0, 1))
	scale := tensor.From([]float32{1, 2, 3, 4, 5}) // is not padded
	leaves := func(f func(x ...tensor.Tensor) ([]tensor.Tensor, error), n int) (left [][]float32) {
		x, w := tensor.Linspace(-1, 1, 3*n).Reshape(n, 3).Contiguous().RequireGrad(), tensor.Linspace(1, 2, n).Reshape(n, 1)
		must(t, nn.ZeroGrad(layer))
		list, err := f(x.MulScalar(1), w, scale)
		must(t, err)
		must(t, list[0].Square().Sum().Add(list[1].Sum()).Backward())
		for _, y := range list {
			left = append(left, []float32{float32(y.Size(0))}, values(t, y.Detach()))
		}
		for _, p := range append(nn.Parameters(layer), &nn.Parameter{Tensor: x}) {
			g, ok := p.Grad()
			if !ok {
				t.Fatal("no gradient")
			}
			left = append(left, values(t, g))
		}
		return left
	}
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 1, 7} {
		if d := cmp.Diff(leaves(rows, n), leaves(f.Call, n), bound); d != "" {
			t.Errorf("%d rows: %s", n, d)
		}
	}
	if s := f.Stats(); s.Traces != 2 {
		t.Errorf("%+v", s)
	}
	f.Close()
}

// TestPadRefused: what padding would lose is an error with the program's line.
func TestPadRefused(t *testing.T) {
	neg := func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Neg(), nil }
	for _, c := range []struct {
		name, text string
		want       error
		call       func() error
	}{
		{"two lengths", "argument 1 has 3 elements", tensor.ErrShape, func() error {
			_, err := compile.Func(neg, compile.Pad(0, 4)).Call(tensor.Ones([]int{2}), tensor.Ones([]int{3}))
			return err
		}},
		{"no such argument", "argument 1 that has it", tensor.ErrShape, func() error {
			_, err := compile.Func(neg, compile.Pad(1, 4, 1)).Call(tensor.Ones([]int{2, 2}), tensor.Ones([]int{3}))
			return err
		}},
		{"in place", "changes argument 0, which is padded", compile.ErrUnrecordable, func() error {
			x := tensor.Ones([]int{4})
			_, err := compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
				return x[0].Neg(), x[0].AddScalarInPlace(1)
			}, compile.Pad(0, 4)).Call(x)
			if v := values(t, x)[0]; v != 1 {
				t.Errorf("the argument is %v", v)
			}
			return err
		}},
		{"gradient of a step", "argument 0", compile.ErrUnrecordable, func() error {
			_, err := compile.Step(neg, compile.Pad(0, 4)).Call(tensor.Ones([]int{3}).RequireGrad())
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.call(); !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) || !strings.Contains(fmt.Sprint(err), "pad_test.go:") {
				t.Errorf("error %v, want %v with %q and the line", err, c.want, c.text)
			}
		})
	}
	for _, o := range []compile.Option{compile.Pad(-1, 4), compile.Pad(0, 0), compile.Pad(0, 4, -1)} {
		if _, err := compile.Func(neg, o).Call(tensor.Ones([]int{2})); err == nil || !strings.Contains(err.Error(), "padding") {
			t.Errorf("%v: error %v", o, err)
		}
	}
}

// TestBackground: while fused code is made calls give the same results one by one, and so do
// passes of calls from before; Wait waits for it.
func TestBackground(t *testing.T) { each(t, testBackground) }

func testBackground(t *testing.T, dev device.Device) {
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].Mul(x[0].Sigmoid()).Add(x[1]).Tanh().MulScalar(0.5), nil
	}, compile.Background())
	must(t, f.Wait(t.Context()))
	x, y := tensor.Linspace(-1, 1, 12).RequireGrad(), tensor.Ones([]int{12})
	var losses []tensor.Tensor
	var want []string
	call := func() {
		z, err := f.Call(x, y)
		must(t, err)
		losses = append(losses, z.Sum())
		want = append(want, fmt.Sprint(values(t, z.Detach())))
	}
	call()
	must(t, f.Wait(t.Context()))
	if s := f.Stats(); s.Steps != 1 && dev.Kind != device.KindSim || s.Traces != 1 {
		t.Errorf("%+v", s)
	}
	for range 3 {
		call()
	}
	if s := f.Stats(); s.Traces != 1 || (s.Nodes > 0) != dev.Accelerator() {
		t.Errorf("%+v", s)
	}
	var grads []string
	for _, l := range losses {
		must(t, l.Backward())
		g, _ := x.Grad()
		grads = append(grads, fmt.Sprint(values(t, g)))
		must(t, x.ZeroGrad())
	}
	for i := range losses {
		if d := cmp.Diff([]string{want[0], grads[0]}, []string{want[i], grads[i]}); d != "" {
			t.Errorf("call %d: %s", i, d)
		}
	}
	for n := range 30 { // dropped while their code is made
		must(t, f.Prepare(tensor.Ones([]int{n + 1}), tensor.Ones([]int{n + 1})))
		f.Close()
	}
	must(t, f.Prepare(x, y))
	ended, end := context.WithCancel(t.Context())
	end()
	if err := f.Wait(ended); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	must(t, f.Wait(t.Context()))
	f.Close()
}
