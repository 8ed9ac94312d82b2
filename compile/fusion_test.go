package compile_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// fuses reports whether what a program explains was fused on the device: GPUs need NVRTC,
// and simulated devices fuse nothing.
func fuses(t *testing.T, dev device.Device, explained string) bool {
	t.Helper()
	switch {
	case dev.Kind == device.KindSim:
		return false
	case dev.Kind == device.KindCUDA && strings.Contains(explained, "it cannot be compiled at run time"):
		t.Log(explained)
		return false
	}
	return true
}

// chain is element-wise from end to end.
func chain(x ...tensor.Tensor) (tensor.Tensor, error) {
	y := x[0].Mul(x[0].Sigmoid()).Mul(x[1]).Add(x[2]).Tanh().MulScalar(0.5).Add(x[0])
	return y, y.Err()
}

// TestChain: a chain of element-wise operators is one launch, and gives what they give one
// by one.
func TestChain(t *testing.T) { each(t, testChain) }

func testChain(t *testing.T, dev device.Device) {
	for _, shapes := range [][3][]int{
		{{1000}, {1000}, {1000}}, {{70, 300}, {70, 300}, {70, 300}}, {{70, 300}, {300}, {70, 1}}, {{3, 5, 7}, {5, 1}, {1}},
		{{400, 1024}, {400, 1024}, {1024}},
	} {
		if dev.Kind == device.KindSim && shapes[0][0] == 400 {
			continue // to an interpreter of elements size makes no difference but in time
		}
		x := []tensor.Tensor{tensor.Randn(shapes[0]), tensor.Randn(shapes[1]), tensor.Randn(shapes[2])}
		f := compile.Func(chain)
		got, err := f.Call(x...)
		must(t, err)
		want, err := chain(x...)
		must(t, err)
		if d := diff(values(t, want), values(t, got)); d != "" {
			t.Errorf("%v: %s", shapes, d)
		}
		explained := f.Explain()
		if s := f.Stats(); fuses(t, dev, explained) && s.Steps != 1 {
			t.Errorf("%v: %d steps, want 1\n%s", shapes, s.Steps, explained)
		}
		if n := len(f.Recorded().Steps); n != 7 {
			t.Errorf("%v: %d operators were recorded, want 7", shapes, n)
		}
		moved, least := f.Program().Bytes()
		before, same := f.Recorded().Bytes()
		if fuses(t, dev, explained) && moved != least || before <= same {
			t.Errorf("%v: moves %d bytes of %d, before that %d of %d", shapes, moved, least, before, same)
		}
		f.Close()
	}
}

// TestExplained: what is one kernel is named with the program's lines, what is not with the
// reason.
func TestExplained(t *testing.T) {
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[0].Exp().Add(x[0])
		return y.ToType(tensor.Complex64).Neg(), nil
	})
	_, err := f.Call(tensor.Ones([]int{64, 3}))
	must(t, err)
	for _, want := range []string{"one kernel of exp, add, of ", "fusion_test.go:", "moves 1536 bytes, one by one 3840", "3 steps, which move 6912 bytes; what they are given and give is 2304:", "neg by itself, of "} {
		if got := f.Explain(); !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	plain := compile.Func(chain, compile.Unfused())
	x := tensor.Ones([]int{3})
	_, err = plain.Call(x, x, x)
	must(t, err)
	if s := plain.Stats(); s.Steps != 7 || strings.Contains(plain.Explain(), "one kernel") {
		t.Errorf("with Unfused: %s", plain.Explain())
	}
}

// elements is a function of element-wise operators that a random source chooses: of floats,
// integers and bools, with views, in-place forms and several results.
func elements(rng *rand.Rand, x ...tensor.Tensor) ([]tensor.Tensor, error) {
	list := []tensor.Tensor{x[0].Add(x[1]), x[1].Mul(x[2])}
	pick := func() tensor.Tensor { return list[rng.IntN(len(list))] }
	for range 4 + rng.IntN(14) {
		a, b := pick(), pick()
		var y tensor.Tensor
		switch rng.IntN(15) {
		case 0:
			y = a.Add(b)
		case 1:
			y = a.Mul(b).MulScalar(rng.Float64())
		case 2:
			y = a.Tanh()
		case 3:
			y = tensor.Where(a.Ge(b), a, b.Neg())
		case 4:
			y = a.Sub(x[2])
		case 5:
			y = a.Sigmoid().AddScalar(2)
		case 6:
			y = tensor.Where(a.Lt(b).LogicalOr(b.IsNaN()), a, x[2])
		case 7:
			y = a.Clone()
			if err := y.MulInPlace(b); err != nil {
				return nil, err
			}
		case 8:
			y = a.Clone()
			if err := y.Narrow(0, 0, 1).AddScalarInPlace(0.5); err != nil {
				return nil, err
			}
		case 9:
			y = a.Flatten().Exp().ClampScalar(-3, 3).ViewAs(a)
		case 10:
			y = a.Sum(tensor.Dim(rng.IntN(2)), tensor.KeepDim()).MulScalar(0.01).Add(b)
		case 11: // axes of one element, which come and go, and whose strides may be any
			mask := tensor.Where(a.Unsqueeze(0).Ge(b), tensor.Full([]int{}, 0.25, tensor.OfType(a.DType())), tensor.Zeros([]int{}, tensor.OfType(a.DType())))
			y = tensor.Zeros(a.Shape(), tensor.OfType(a.DType())).Add(mask).Add(x[1]).Squeeze(0)
		case 12: // integers and bools from the elements' order
			n := tensor.Arange(0, float64(a.Size(1)), 1).ToType(tensor.Int64)
			early := n.MulScalar(3).AddScalar(1).Lt(n.Neg().AddScalar(7)).LogicalNot()
			y = tensor.Where(early, a, x[2].Expand(a.Shape()...))
		case 13: // numbers at their ends
			y = tensor.Where(a.Gt(b), a.Div(b.Sub(b)), a).NaNToNum(tensor.NaN(0.5), tensor.Posinf(9), tensor.Neginf(-9)).Maximum(b)
		default:
			y = a.Transpose(0, 1).Square().Transpose(0, 1).ClampScalar(-9, 9)
		}
		if err := y.Err(); err != nil {
			return nil, err
		}
		list = append(list, y)
	}
	return []tensor.Tensor{list[len(list)-1], list[len(list)/2], x[0]}, nil
}

// TestFusedElements: random programs give what they give unfused, to the bit, whatever the
// dtype and the layout.
func TestFusedElements(t *testing.T) { each(t, testFusedElements) }

func testFusedElements(t *testing.T, dev device.Device) {
	programs := 300
	if testing.Short() || dev.Accelerator() {
		programs = 12
	}
	steps, regions := 0, 0
	for seed := range programs {
		dtype := []tensor.DType{tensor.Float32, tensor.Float64}[seed%2]
		shape := [][]int{{7, 33}, {64, 130}, {40, 1024}, {1, 5}}[seed%4]
		if dev.Kind == device.KindSim { // as in testChain
			shape = []int{min(shape[0], 7), min(shape[1], 130)}
		}
		draw := func(shape ...int) tensor.Tensor { return tensor.Randn(shape, tensor.OfType(dtype)) }
		x := []tensor.Tensor{draw(shape...), draw(shape[1]), draw(shape[0], 1)}
		if seed%3 == 0 {
			x[0] = draw(shape[1], shape[0]).Transpose(0, 1)
		}
		f := func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
			return elements(rand.New(rand.NewPCG(*firstSeed+uint64(seed), 5)), x...)
		}
		fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
		got, err := fused.Call(x...)
		must(t, err)
		want, err := apart.Call(x...)
		must(t, err)
		for i := range want {
			w, err := want[i].Bytes()
			must(t, err)
			g, err := got[i].Bytes()
			must(t, err)
			if !bytes.Equal(g, w) {
				t.Errorf("program %d of %v %v: result %d differs\n%s\n%s", seed, dtype, shape, i, fused.Program(), fused.Recorded())
			}
		}
		if fuses(t, dev, fused.Explain()) {
			steps, regions = steps+apart.Stats().Steps, regions+fused.Stats().Steps
		}
		fused.Close()
		apart.Close()
	}
	if 3*regions > 2*steps {
		t.Errorf("%d steps are %d fused: next to nothing is", steps, regions)
	}
}
