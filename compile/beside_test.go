package compile_test

import (
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/profile"
	"github.com/sinter-go/sinter/runtime/core"
)

// A layer is a recurrent layer over x in one direction.
type layer func(x tensor.Tensor, opts ...tensor.Option) tensor.Tensor

// layersOf returns layers of width columns and a batch of one row.
func layersOf(width int) map[string]layer {
	rng := rand.New(rand.NewPCG(7, 7))
	random := func(shape ...int) tensor.Tensor {
		v := make([]float32, ir.NumElements(shape))
		for i := range v {
			v[i] = rng.Float32()*0.5 - 0.25
		}
		return tensor.From(v, shape...)
	}
	h := random(1, width)
	bytes := random(width, 4*width).MulScalar(400).ToType(tensor.Int8)
	scale, zero := tensor.From([]float32{0.0025}), tensor.From([]int8{3})
	one, three, four := random(width, width), random(3*width, width), random(4*width, width)
	return map[string]layer{
		"rnn": func(x tensor.Tensor, opts ...tensor.Option) tensor.Tensor { return tensor.RNN(x, h, one, one, opts...) },
		"gru": func(x tensor.Tensor, opts ...tensor.Option) tensor.Tensor {
			return tensor.GRU(x, h, three, three, opts...)
		},
		"lstm": func(x tensor.Tensor, opts ...tensor.Option) tensor.Tensor {
			y, _ := tensor.LSTM(x, h, h, four, four, opts...)
			return y
		},
		"int8": func(x tensor.Tensor, opts ...tensor.Option) tensor.Tensor {
			y, _ := tensor.Int8LSTM(tensor.Cat([]tensor.Tensor{x, x, x, x}, 2), h, h, bytes, scale, zero, opts...)
			return y
		},
	}
}

// TestBeside: the directions of a recurrent layer run side by side, and give what they give
// one after the other, to the bit, on however many processors.
func TestBeside(t *testing.T) {
	core.Poison.Store(true)
	defer core.Poison.Store(false)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const width = 24
	x := tensor.Rand([]int{9, 1, width})
	for name, one := range layersOf(width) {
		t.Run(name, func(t *testing.T) {
			both := func(in ...tensor.Tensor) ([]tensor.Tensor, error) {
				x := in[0]
				there, back := one(x), one(x.MulScalar(2), tensor.Reverse())
				y := tensor.Cat([]tensor.Tensor{there, back}, 2).Narrow(2, width/2, width)
				y = one(y).Add(one(y, tensor.Reverse()))
				return []tensor.Tensor{y}, y.Err()
			}
			want, err := both(x)
			must(t, err)
			f := compile.Func(both, compile.Captures())
			defer f.Close()
			run := func() {
				got, err := f.Call(x)
				must(t, err)
				sameBits(t, got, want, f.Program())
			}
			for _, threads := range []int{1, 2, 4} {
				runtime.GOMAXPROCS(threads)
				for range 3 {
					run()
				}
			}
			if steps := f.Program().Steps; !slices.ContainsFunc(steps, func(s program.Step) bool { return s.Beside }) {
				t.Errorf("no step runs beside another one:\n%s", f.Program())
			}
			runtime.GOMAXPROCS(2)
			p, err := profile.Start(io.Discard) // while it observes, calls follow one another
			must(t, err)
			run()
			must(t, p.Stop())
		})
	}
}

// TestNarrow: every recurrent operator is narrow where its batch and its weight are small.
func TestNarrow(t *testing.T) {
	count := 0
	for i := range opcases.Cases {
		op := opcases.Cases[i].Op
		weight := slices.IndexFunc(op.In, func(o ir.Operand) bool { return o.Name == "weight" })
		layer := strings.Contains(op.Name, "_sequence")
		if op.Kind != ir.Opaque {
			continue
		}
		for _, c := range []struct {
			steps, batch, width int
			want                bool
		}{{9, 1, 64, layer}, {9, 7, 64, layer}, {9, 8, 64, false}, {2, 1, 64, false}, {9, 1, 1024, false}, {9, 1, 0, false}} {
			call := ir.Call{Kernel: &ir.Kernel{Op: op}, In: make([]ir.View, len(op.In))}
			for i := range call.In {
				call.In[i] = ir.View{DType: ir.Float32, Shape: []int{c.steps, c.batch, c.width}}
			}
			if weight >= 0 {
				call.In[weight].Shape = []int{4 * c.width, c.width}
			}
			if got := (&cpu.Driver{}).Narrow(0, &call); got != c.want {
				t.Errorf("%s of %+v: got %v", op.Name, c, got)
			}
		}
		if layer {
			count++
		}
	}
	if count == 0 {
		t.Error("there are no recurrent operators")
	}
}
