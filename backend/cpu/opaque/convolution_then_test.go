package opaque

import (
	"bytes"
	"math"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// TestConvolutionThen: what follows gets each element of the result once, as it is without
// anything that follows, on every way through the kernels, and may write over it.
func TestConvolutionThen(t *testing.T) {
	for _, dtype := range []ir.DType{ir.Float32, ir.Float64, ir.BFloat16} {
		var cases []convCase
		for _, c := range slices.Concat(planeCases, winogradCases) {
			cases = append(cases, c.general())
		}
		for _, c := range lineCases {
			cases = append(cases, c.general())
		}
		for n, k := range cases {
			rng := newRand()
			if products := ir.NumElements(k.result()) * ir.NumElements(k.weight[1:]); testing.Short() && ((n+int(dtype))%4 != 0 || products > 30_000_000) {
				continue
			}
			x := cputest.FillFloat(cputest.NewView(dtype, "contiguous", k.x...), rng, -1, 1)
			w := cputest.FillFloat(cputest.NewView(dtype, "contiguous", k.weight...), rng, -1, 1)
			in := []ir.View{x, w}
			if n%2 == 0 {
				in = append(in, cputest.FillFloat(cputest.NewView(dtype, "contiguous", k.weight[0]), rng, -1, 1))
			}
			followed(t, dtype, k, in)
			if dtype != ir.BFloat16 && k.padding[0] > 0 {
				cputest.Set(w, w.NumElements()/2, complex(math.Inf(1), 0))
				followed(t, dtype, k, in)
			}
		}
	}
}

func followed(t *testing.T, dtype ir.DType, k convCase, in []ir.View) {
	t.Helper()
	shape := k.result()
	want, got, seen := cputest.NewView(dtype, "contiguous", shape...), cputest.NewView(dtype, "contiguous", shape...), cputest.NewView(dtype, "contiguous", shape...)
	of := Convolution
	if len(in) > 2 {
		of = ConvolutionBias
	}
	must(t, of, call(dtype, k.attrs(), []ir.View{want}, in...))
	var mu sync.Mutex
	channels, windows, size := shape[1], ir.NumElements(shape[2:]), dtype.Size()
	times := make([]int, want.NumElements())
	err := ConvolutionThen(call(dtype, k.attrs(), []ir.View{got}, in...), func(b Block) {
		mu.Lock()
		defer mu.Unlock()
		for u := b.Image; u < b.Image+b.Images; u++ {
			for c := b.Channel; c < b.Channel+b.Channels; c++ {
				at := (u*channels+c)*windows + b.Window
				for i := at; i < at+b.Windows; i++ {
					times[i]++
				}
				from, to := bytesOf(got)[at*size:(at+b.Windows)*size], bytesOf(seen)[at*size:]
				copy(to, from)
				clear(from)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range times {
		if n != 1 {
			t.Fatalf("%s %+v: element %v is in %d blocks", dtype, k, coords(shape, i), n)
		}
	}
	if !bytes.Equal(bytesOf(seen), bytesOf(want)) {
		t.Errorf("%s %+v: what follows sees other elements: %s", dtype, k, cmp.Diff(numbers(want), numbers(seen)))
	}
	for i, b := range bytesOf(got) {
		if b != 0 {
			t.Fatalf("%s %+v: byte %d was written after what follows", dtype, k, i)
		}
	}
}

func bytesOf(v ir.View) []byte {
	return unsafe.Slice((*byte)(v.Ptr), v.NumElements()*v.DType.Size())
}

// TestConvolutionThenStrides: what follows needs a contiguous result.
func TestConvolutionThenStrides(t *testing.T) {
	x := cputest.From(ir.Float32, []int{1, 1, 2}, 1, 2)
	w := cputest.From(ir.Float32, []int{2, 1, 1}, 1, 2)
	out := tile.NewDense(ir.Float32, []int{1, 2, 2})
	out.Strides = []int{4, 1, 2}
	if err := ConvolutionThen(call(ir.Float32, convolutionAttrs(), []ir.View{out}, x, w), func(Block) {}); err == nil {
		t.Error("a result whose channels are last is taken")
	}
}
