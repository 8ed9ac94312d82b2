package compile_test

import (
	"bytes"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/brief"
)

// forward4 is a function over two tensors of shape [4 4], made of the bytes of code: views,
// in-place forms, broadcasts and several results, of which it returns the last and two more.
func forward4(code []byte, x ...tensor.Tensor) ([]tensor.Tensor, error) {
	list := []tensor.Tensor{x[0].Add(x[1])}
	at := func(b byte) tensor.Tensor { return list[int(b)%len(list)] }
	for i := 0; i+2 < len(code) && i < 60; i += 3 {
		a, b := at(code[i+1]), at(code[i+2])
		var y tensor.Tensor
		switch code[i] % 16 {
		case 0:
			y = a.Add(b)
		case 1:
			y = a.Mul(b)
		case 2:
			y = a.Transpose(0, 1)
		case 3:
			y = a.Sum(tensor.Dim(int(code[i+2])%2), tensor.KeepDim()).Add(b)
		case 4:
			y = a.Narrow(0, int(code[i+2])%3, 2).Sum(tensor.Dim(0), tensor.KeepDim()).Mul(b)
		case 5:
			y = a.ReLU()
		case 6:
			y = a.MatMul(b).MulScalar(0.125)
		case 7:
			y = a.Flip(int(code[i+2]) % 2)
		case 8:
			y = a.Softmax(1)
		case 9:
			y = a.Detach().Clone()
			view := y.Narrow(1, int(code[i+2])%3, 2)
			if err := view.AddScalarInPlace(0.5); err != nil {
				return nil, err
			}
		case 10:
			y = a.Clone()
			if err := y.MulInPlace(b.Detach()); err != nil {
				return nil, err
			}
		case 11:
			y = a.Sub(tensor.From([]float32{1, 2, 3, float32(code[i+2])}))
		case 12:
			y = a.Tanh().Add(tensor.Randn([]int{4, 1}))
		case 13: // over one channel
			y = a.Reshape(1, 1, 4, 4).Conv2d(b.Narrow(0, 0, 3).Narrow(1, int(code[i+2])%2, 3).Reshape(1, 1, 3, 3), tensor.Padding(1)).Reshape(4, 4)
		case 14: // of two channels, with a bias
			y = a.Reshape(1, 2, 2, 4).Conv2d(b.Narrow(0, 0, 1).Reshape(2, 2, 1, 1), tensor.Bias(b.Narrow(0, 1, 1).Narrow(1, 0, 2).Reshape(2))).ReLU().Reshape(4, 4)
		default:
			parts := a.Chunk(2, 0)
			y = tensor.Cat([]tensor.Tensor{parts[1], parts[0]}, 0)
		}
		if err := y.Err(); err != nil {
			return nil, err
		}
		list = append(list, y.ClampScalar(-8, 8))
	}
	return []tensor.Tensor{list[len(list)-1], list[0], at(7).AddScalar(1)}, nil
}

// backward4 returns the gradients of a function of what a forward4 gave.
func backward4(y []tensor.Tensor, err error, x []tensor.Tensor) ([]tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	grads, err := tensor.Gradients([]tensor.Tensor{y[0].Mul(y[1]).Add(y[2]).Sum()}, x)
	if err != nil {
		return nil, err
	}
	return append(grads, y[0].Detach(), y[2].Detach()), nil
}

// random4 is forward4 and backward4.
func random4(code []byte, x ...tensor.Tensor) ([]tensor.Tensor, error) {
	y, err := forward4(code, x...)
	return backward4(y, err, x)
}

// FuzzPrograms compares random programs with eager code to the bit, freed memory being
// poisoned.
func FuzzPrograms(f *testing.F) {
	for _, seed := range []string{"", "abcdefghijklmnopqrstuvwxyz", "000111222333444555666777888999", "\x09\x00\x01\x0a\x01\x01\x02\x02\x00\x06\x01\x03\x0c\x00\x01"} {
		f.Add([]byte(seed))
	}
	for i := range 40 { // what runs without -fuzz
		if brief.Skip(i) || testing.Short() && i > 20 {
			continue
		}
		code := make([]byte, 30)
		for k := range code {
			code[k] = byte(i*131 + k*k*17 + k*i*7 + int(*firstSeed)*(2*k+1))
		}
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		each(t, func(t *testing.T, dev device.Device) { sameAsEager(t, dev, code) })
	})
}

// sameAsEager compares programs of random4 with eager code: call by call, and on accelerators
// as a graph, too; with the backward pass in the program, and as one of its own.
func sameAsEager(t *testing.T, dev device.Device, code []byte) {
	core.Poison.Store(true)
	defer core.Poison.Store(false)
	leaf := func(from, to float64) tensor.Tensor {
		return tensor.Linspace(from, to, 16).Reshape(4, 4).Contiguous().RequireGrad()
	}
	x := []tensor.Tensor{leaf(-1, 1), leaf(2, -1)}
	step := compile.Step(func(x ...tensor.Tensor) ([]tensor.Tensor, error) { return random4(code, x...) })
	f := compile.Func(func(x ...tensor.Tensor) ([]tensor.Tensor, error) { return forward4(code, x...) })
	apart := func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y, err := f.Call(x...)
		return backward4(y, err, x)
	}
	compare(t, dev, code, x, step.Call, step)
	compare(t, dev, code, x, apart, f)
}

// compare compares calls with random4.
func compare(t *testing.T, dev device.Device, code []byte, x []tensor.Tensor, call func(x ...tensor.Tensor) ([]tensor.Tensor, error), f *compile.Compiled[[]tensor.Tensor]) {
	defer f.Close()
	for range 3 {
		before := state()
		want, eager := random4(code, x...)
		after := state()
		restore(before)
		got, err := call(x...)
		if (err != nil) != (eager != nil) {
			t.Fatalf("error %v, eager's %v", err, eager)
		}
		if err != nil {
			return
		}
		if state() != after {
			t.Errorf("random state %v, want %v", state(), after)
		}
		for i := range want {
			w, err := want[i].Bytes()
			must(t, err)
			g, err := got[i].Bytes()
			must(t, err)
			if dev.Kind == device.KindCUDA {
				if d := diff(values(t, want[i]), values(t, got[i]), alike(dev)); d != "" {
					t.Errorf("result %d: %s\n%s", i, d, f.Program())
				}
			} else if !bytes.Equal(g, w) {
				t.Errorf("result %d: %v, eager's %v\n%s", i, got[i], want[i], f.Program())
			}
		}
	}
	if s := f.Stats(); s.Traces != 1 || s.Nodes == 0 && s.OneByOne == "" { // numbers of the host are brought there
		t.Errorf("%+v", s)
	}
}
