package cudnn

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestFakeFused: one call of the library adds the bias and what is added besides, and takes
// the larger of the sum and 0, each only where it is asked for, in either layout.
func TestFakeFused(t *testing.T) {
	g, d, lib := newFake(t)
	p := problems[2]
	for _, dt := range []ir.DType{ir.Float32, ir.BFloat16} {
		for i := range 8 {
			addend, relu, last := i&1 != 0, i&2 != 0, i&4 != 0
			v := p.convolution(dt)
			v.Bias, v.ReLU = view(dt, []int{4}), relu
			more := extras{bias: 5}
			if addend {
				v.Addend, more.addend = v.Y, 4
			}
			k, ok := keyOf(Forward, &v)
			if k.last = last; !ok {
				t.Fatalf("%v %d: no key", dt, i)
			}
			must(t, d.run(g, &k, 1, 2, 3, more))
			if ask(t, lib, "fake_relu") == 1 != relu || ask(t, lib, "fake_beta") == 1 != addend || ask(t, lib, "fake_format") == 1 != last {
				t.Errorf("%v: addend %t, relu %t, last %t: the library was told otherwise", dt, addend, relu, last)
			}
		}
	}
	ask(t, lib, "fake_algorithm", 6) // which computes nothing besides
	clear(d.prepared)
	v := p.convolution(ir.Float32)
	v.Bias = view(ir.Float32, []int{4})
	k, _ := keyOf(Forward, &v)
	if err := d.run(g, &k, 1, 2, 3, extras{bias: 5}); err == nil {
		t.Error("an algorithm that adds no bias was taken")
	}
}

// TestNoKey: what the library does not compute in one call.
func TestNoKey(t *testing.T) {
	p := problems[2]
	y := view(ir.Float32, p.y())
	for name, change := range map[string]func(v *Convolution){
		"an addend without a bias": func(v *Convolution) { v.Addend = y },
		"relu without a bias":      func(v *Convolution) { v.ReLU = true },
		"bias and adding":          func(v *Convolution) { v.Bias, v.Add = view(ir.Float32, []int{4}), true },
		"float64":                  func(v *Convolution) { *v = p.convolution(ir.Float64); v.Bias = view(ir.Float64, []int{4}) },
	} {
		v := p.convolution(ir.Float32)
		change(&v)
		if _, ok := keyOf(Forward, &v); ok {
			t.Errorf("%s has a key", name)
		}
	}
	v := p.convolution(ir.Float32)
	v.Bias = view(ir.Float32, []int{4})
	if _, ok := keyOf(GradInput, &v); ok {
		t.Error("a gradient with a bias has a key")
	}
}

// TestLast: channels are last where the elements lie as those of [n, height, width, channels].
func TestLast(t *testing.T) {
	for _, c := range []struct {
		shape, strides []int
		want           bool
	}{
		{[]int{2, 3, 4, 5}, []int{60, 1, 15, 3}, true},
		{[]int{2, 3, 4, 5}, []int{60, 20, 5, 1}, false},
		{[]int{2, 3, 4, 5}, []int{120, 1, 15, 3}, false},
		{[]int{2, 3, 1, 1}, []int{3, 1, 3, 3}, false}, // both
		{[]int{2, 3, 4}, []int{12, 1, 3}, false},
	} {
		v := ir.View{DType: ir.Float32, Shape: c.shape, Strides: c.strides}
		if got := IsLast(&v); got != c.want {
			t.Errorf("%v %v: %t", c.shape, c.strides, got)
		}
	}
	k := key{last: true}
	if s, ok := k.strides([]int32{2, 3, 4, 5}); !ok || s != [5]int32{60, 1, 15, 3} {
		t.Errorf("strides %v, %t", s, ok)
	}
}
