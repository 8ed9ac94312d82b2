package compile_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// random4 is a function over two tensors of shape [4 4], made of the bytes of code: views,
// in-place forms, broadcasts, several results and a backward pass.
func random4(code []byte, x ...tensor.Tensor) ([]tensor.Tensor, error) {
	list := []tensor.Tensor{x[0].Add(x[1])}
	at := func(b byte) tensor.Tensor { return list[int(b)%len(list)] }
	for i := 0; i+2 < len(code) && i < 60; i += 3 {
		a, b := at(code[i+1]), at(code[i+2])
		var y tensor.Tensor
		switch code[i] % 14 {
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
		default:
			parts := a.Chunk(2, 0)
			y = tensor.Cat([]tensor.Tensor{parts[1], parts[0]}, 0)
		}
		if err := y.Err(); err != nil {
			return nil, err
		}
		list = append(list, y.ClampScalar(-8, 8))
	}
	last := list[len(list)-1]
	grads, err := tensor.Gradients([]tensor.Tensor{last.Mul(list[0]).Sum()}, x)
	if err != nil {
		return nil, err
	}
	return append(grads, last.Detach(), at(7).Detach()), nil
}

// FuzzPrograms compares random programs with eager code to the bit, freed memory being
// poisoned.
func FuzzPrograms(f *testing.F) {
	for _, seed := range []string{"", "abcdefghijklmnopqrstuvwxyz", "000111222333444555666777888999", "\x09\x00\x01\x0a\x01\x01\x02\x02\x00\x06\x01\x03\x0c\x00\x01"} {
		f.Add([]byte(seed))
	}
	for i := range 40 { // what runs without -fuzz
		code := make([]byte, 30)
		for k := range code {
			code[k] = byte(i*131 + k*k*17 + k*i*7)
		}
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		each(t, func(t *testing.T, dev device.Device) { sameAsEager(t, dev, code) })
	})
}

// sameAsEager compares the program of random4 with eager code: call by call, and on
// accelerators as a graph, too.
func sameAsEager(t *testing.T, dev device.Device, code []byte) {
	core.Poison.Store(true)
	defer core.Poison.Store(false)
	leaf := func(from, to float64) tensor.Tensor {
		return tensor.Linspace(from, to, 16).Reshape(4, 4).Contiguous().RequireGrad()
	}
	x := []tensor.Tensor{leaf(-1, 1), leaf(2, -1)}
	step := compile.Step(func(x ...tensor.Tensor) ([]tensor.Tensor, error) { return random4(code, x...) })
	defer step.Close()
	for range 3 {
		before := state()
		want, eager := random4(code, x...)
		after := state()
		restore(before)
		got, err := step.Call(x...)
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
				if d := cmp.Diff(values(t, want[i]), values(t, got[i]), alike(dev)); d != "" {
					t.Errorf("result %d: %s\n%s", i, d, step.Program())
				}
			} else if !bytes.Equal(g, w) {
				t.Errorf("result %d: %v, eager's %v\n%s", i, got[i], want[i], step.Program())
			}
		}
	}
	if s := step.Stats(); s.Traces != 1 || s.Nodes == 0 && s.OneByOne == "" { // numbers of the host are brought there
		t.Errorf("%+v", s)
	}
}
