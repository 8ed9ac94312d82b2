package opaque

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
)

// An adder is a GPU whose memory holds what was computed, in words.
type adder struct {
	code.GPU // nil: what is not expected fails
	memory   map[uint64]string
	scratch  uint64
}

func (g *adder) Scratch(int64) (uint64, error) {
	g.scratch += 0x1000
	return g.scratch, nil
}

func (g *adder) Run(c *ir.Call) error {
	var read []string
	for _, v := range c.In {
		read = append(read, g.memory[v.Addr])
	}
	g.memory[c.Out[0].Addr] = fmt.Sprintf("%s(%s)", c.Op.Name, strings.Join(read, ", "))
	return nil
}

// TestConvolutionApart: what follows a convolution reads what it would have read without fusion,
// whatever lies where the result is written. Operand 2 is like the result, operand 3 a bias.
func TestConvolutionApart(t *testing.T) {
	const product, addend, bias = 0, 1, 2 // values
	y := deviceView(0x100, 1, 2, 2, 2)
	add, relu := &ir.Op{Name: "add"}, &ir.Op{Name: "relu"}
	member := func(op *ir.Op, out int, in ...int) fusion.Member {
		m := fusion.Member{Kernel: &ir.Kernel{Op: op, Out: make([]ir.Port, 1)}, Out: out}
		for _, v := range in {
			m.In = append(m.In, fusion.Source{Value: v})
		}
		return m
	}
	for _, c := range []struct {
		name    string
		members []fusion.Member
		want    string
		scratch [2]uint64 // steps that write there: with the result elsewhere, and over the addend
	}{
		{"addend", []fusion.Member{member(add, 3, product, addend)}, "add(product, addend)", [2]uint64{0, 1}},
		{"bias, addend", []fusion.Member{member(add, 3, product, bias), member(add, 4, 3, addend)}, "add(add(product, bias), addend)", [2]uint64{0, 2}},
		{"addend, bias", []fusion.Member{member(add, 3, product, addend), member(add, 4, 3, bias)}, "add(add(product, addend), bias)", [2]uint64{0, 1}},
		{"sum first", []fusion.Member{member(add, 3, addend, bias), member(add, 4, product, 3)}, "add(product, add(addend, bias))", [2]uint64{1, 1}},
		{"sum first, relu", []fusion.Member{member(add, 3, addend, bias), member(add, 4, 3, product), member(relu, 5, 4)}, "relu(add(add(addend, bias), product))", [2]uint64{1, 1}},
	} {
		for over, at := range []uint64{0x200, y.Addr} {
			f := &fusedConvolution{Product: &fusion.Product{
				Of: &ir.Kernel{In: make([]ir.Port, 2)}, In: []int{-1, 2, 3},
				After: &fusion.Region{Op: &ir.Op{In: make([]ir.Operand, 3)}, Members: c.members},
			}}
			g := &adder{memory: map[uint64]string{at: "addend", 0x300: "bias"}, scratch: 0x10000}
			call := &ir.Call{In: []ir.View{deviceView(0x400), deviceView(0x500), y, deviceView(0x300, 1, 2, 1, 1)}, Out: []ir.View{y}, Attrs: make([]ir.Value, 4)}
			call.In[2].Addr = at
			err := f.apart(g, call, func(_ code.GPU, c *ir.Call) error {
				g.memory[c.Out[0].Addr] = "product"
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, g.memory[y.Addr]); d != "" {
				t.Errorf("%s, the addend at %#x (-want +got):\n%s", c.name, at, d)
			}
			if n := (g.scratch - 0x10000) / 0x1000; n != c.scratch[over] {
				t.Errorf("%s, the addend at %#x: %d results in scratch, want %d", c.name, at, n, c.scratch[over])
			}
		}
	}
}

func deviceView(addr uint64, shape ...int) ir.View {
	return ir.View{Addr: addr, DType: ir.Float32, Shape: shape, Strides: ir.ContiguousStrides(shape)}
}
