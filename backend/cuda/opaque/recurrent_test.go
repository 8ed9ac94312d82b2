package opaque_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/cudnn"
	"github.com/sinter-go/sinter/backend/cuda/opaque"
	"github.com/sinter-go/sinter/ir"
)

// stepParams is Step of kernels/recurrent.cu.
type stepParams struct {
	Gates, Inner, Bias, Before, G, GCell, GNext, Out, Cell, GInner uint64
	Count, Width                                                   uint32
}

// A counter is a recorder that has memory and no library.
type counter struct {
	recorder
	next uint64
}

func (c *counter) Scratch(int64) (uint64, error) {
	c.next += 1 << 20
	return c.next, nil
}

func (c *counter) Dense(v ir.View, dt ir.DType) (ir.View, error) { return v, nil }
func (c *counter) Multiprocessors() int                          { return 1 }
func (c *counter) Ahead()                                        {}

func (c *counter) Repeat(n int, f func(i int) error) error {
	for i := range n {
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

func (c *counter) Zero(addr uint64, bytes int64) error {
	c.launch = append(c.launch, fmt.Sprintf("zero %x %d", addr, bytes))
	c.params = append(c.params, nil)
	return nil
}

// names returns what was launched, without the extents of grids.
func (c *counter) names() []string {
	var out []string
	for _, l := range c.launch {
		words := strings.Fields(l)
		out = append(out, words[0]+" "+words[1])
	}
	return out
}

// TestStepsOfLSTM: a step is one product and one kernel, forward and backward, and
// each finds its part of the sequences.
func TestStepsOfLSTM(t *testing.T) {
	const steps, batch, width = 3, 2, 4
	sequence, gates := []int{steps, batch, width}, []int{steps, batch, 4 * width}
	state, weight := []int{batch, width}, []int{4 * width, width}
	at := func(k int) uint64 { return uint64(k) << 32 }
	for _, reverse := range []bool{false, true} {
		g := &counter{next: 1 << 60}
		if err := opaque.LSTMSequence(g, &ir.Call{
			Kernel: &ir.Kernel{Compute: ir.Float32}, Attrs: []ir.Value{ir.BoolValue(reverse)},
			In:  []ir.View{deviceView(at(1), gates...), deviceView(at(2), state...), deviceView(at(3), state...), deviceView(at(4), weight...), deviceView(at(5), 4*width)},
			Out: []ir.View{deviceView(at(6), sequence...), deviceView(at(7), sequence...)},
		}); err != nil {
			t.Fatal(err)
		}
		product, cell := "matmul matmul_float32_16", "recurrent lstm_float32"
		if diff := cmp.Diff([]string{product, cell, product, cell, product, cell}, g.names()); diff != "" {
			t.Errorf("reverse %t: launches (-want +got):\n%s", reverse, diff)
		}
		var got []stepParams
		for i := 1; i < len(g.params); i += 2 {
			got = append(got, *paramsOf[stepParams](t, g.params[i]))
		}
		var want []stepParams
		before := at(3)
		for i := range uint64(steps) {
			k := i
			if reverse {
				k = steps - 1 - i
			}
			one := uint64(batch * width * 4)
			want = append(want, stepParams{
				Gates: at(1) + 4*one*k, Inner: 1<<60 + 1<<20, Bias: at(5), Before: before,
				Out: at(6) + one*k, Cell: at(7) + one*k, Count: batch * width, Width: width,
			})
			before = at(7) + one*k
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reverse %t: steps (-want +got):\n%s", reverse, diff)
		}
	}
	g := &counter{next: 1 << 60}
	if err := opaque.LSTMSequenceGrad(g, &ir.Call{
		Kernel: &ir.Kernel{Compute: ir.Float32}, Attrs: []ir.Value{ir.BoolValue(false)},
		In: []ir.View{deviceView(at(1), sequence...), deviceView(at(2), sequence...), deviceView(at(3), gates...), deviceView(at(4), gates...),
			deviceView(at(5), sequence...), deviceView(at(6), weight...), deviceView(at(7), 4*width)},
		Out: []ir.View{deviceView(at(8), gates...), deviceView(at(9), state...), deviceView(at(10), state...)},
	}); err != nil {
		t.Fatal(err)
	}
	product, cell := "matmul matmul_float32_16", "recurrent lstm_grad_float32"
	want := []string{"zero 900000000", "zero a00000000", cell, product, cell, product, cell, product}
	if diff := cmp.Diff(want, g.names()); diff != "" {
		t.Errorf("backward: launches (-want +got):\n%s", diff)
	}
}

// TestPointwise: convolutions that are products of matrices, and those that are not.
func TestPointwise(t *testing.T) {
	for _, c := range []struct {
		name      string
		direction cudnn.Direction
		attrs     []ir.Value
		x, weight []int
		want      bool
	}{
		{"forward", cudnn.Forward, windowsOf(1, 0, 1), []int{8, 3, 5, 5}, []int{4, 3, 1, 1}, true},
		{"gradient of the input", cudnn.GradInput, windowsOf(1, 0, 1), []int{8, 3, 5, 5}, []int{4, 3, 1, 1}, true},
		{"gradient of the weight", cudnn.GradWeight, windowsOf(1, 0, 1), []int{8, 3, 5, 5}, []int{4, 3, 1, 1}, false},
		{"of one image", cudnn.GradWeight, windowsOf(1, 0, 1), []int{1, 3, 5, 5}, []int{4, 3, 1, 1}, true},
		{"kernel", cudnn.Forward, windowsOf(1, 0, 1), []int{8, 3, 5, 5}, []int{4, 3, 1, 2}, false},
		{"stride", cudnn.Forward, windowsOf(2, 0, 1), []int{8, 3, 5, 5}, []int{4, 3, 1, 1}, false},
		{"padding", cudnn.Forward, windowsOf(1, 1, 1), []int{8, 3, 5, 5}, []int{4, 3, 1, 1}, false},
		{"groups", cudnn.Forward, windowsOf(1, 0, 2), []int{8, 4, 5, 5}, []int{4, 2, 1, 1}, false},
	} {
		if got := opaque.Pointwise(c.direction, c.attrs, deviceView(1, c.x...), deviceView(2, c.weight...)); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// windowsOf returns the attributes of a convolution over two axes.
func windowsOf(stride, padding, groups int) []ir.Value {
	return []ir.Value{ir.IntsValue([]int{stride, stride}), ir.IntsValue([]int{padding, padding}), ir.IntsValue([]int{1, 1}), ir.IntValue(groups)}
}
