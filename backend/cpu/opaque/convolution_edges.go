package opaque

import (
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// What a weight that is infinite or not a number makes of padding: a convolution
// multiplies it with zeros, which gives NaN; the gradient of its input, which is the
// transposed convolution, has no such product. Where windows are read in place the fast
// loops do either, as suits them, and what they gave is computed again.

// padded is forward with the products of padding that it may leave out.
func padded[T float](v *convolution, x, weight, out ir.View) {
	if !v.reaches() || v.few() || v.narrow() {
		forward[T](v, x, weight, out)
		return
	}
	w := tile.Dense(weight, out.DType)
	direct := !v.touches() || w.NumElements() <= out.NumElements() || v.keptOf(w.Ptr) != nil
	if !direct {
		alone := *v // what follows may write over the result, which is looked at first
		alone.then = nil
		forward[T](&alone, x, w, out)
		if direct = exceptional(tile.Elements[T](out)); !direct {
			v.finish(v.whole())
		}
	}
	switch {
	case direct && v.exceptional(w, func() any { return exceptional(tile.Elements[T](w)) }):
		u, image := withPadding[T](v, x, out.DType)
		forward[T](u, image, w, out)
	case direct:
		forward[T](v, x, w, out)
	}
}

// scattered is gradInput without products of anything but the elements of g.
func scattered[T float](v *convolution, g, weight, out ir.View) {
	w := tile.Dense(weight, out.DType)
	direct := w.NumElements() <= out.NumElements()
	if !direct {
		gradInput[T](v, g, w, out)
		direct = exceptional(tile.Elements[T](out))
	}
	switch {
	case direct && exceptional(tile.Elements[T](w)):
		scatterWindows[T](v, tile.Dense(g, out.DType), w, out)
	case direct:
		gradInput[T](v, g, w, out)
	}
}

// A weightKind asks whether a weight of so many elements has exceptional ones.
type weightKind struct {
	weight   unsafe.Pointer
	elements int
	dtype    ir.DType
}

// exceptional returns what look says of a weight, which looks once where that is kept.
func (v *convolution) exceptional(w ir.View, look func() any) bool {
	if kept, ok := v.keptOf(w.Ptr).Form(weightKind{w.Ptr, w.NumElements(), w.DType}, look).(bool); ok {
		return kept
	}
	return look().(bool)
}

// exceptional reports whether some element is infinite or not a number.
func exceptional[T float](x []T) bool {
	var a, b, c, d T // 0 times each element
	for len(x) >= 4 {
		a, b, c, d = a+x[0]*0, b+x[1]*0, c+x[2]*0, d+x[3]*0
		x = x[4:]
	}
	for _, e := range x {
		a += e * 0
	}
	sum := a + b + c + d
	return sum != sum
}

// reaches reports whether there is padding.
func (v *convolution) reaches() bool {
	return slices.ContainsFunc(v.padding, func(n int) bool { return n > 0 })
}

// touches reports whether every place of the kernel is multiplied with some element of
// the input: no weight then is infinite while all results are finite.
func (v *convolution) touches() bool {
	for a, extent := range v.in {
		for k := range v.kernel[a] {
			first := k*v.dilation[a] - v.padding[a]
			if steps := -first; steps > 0 { // to the first element that is not padding
				first += (steps + v.stride[a] - 1) / v.stride[a] * v.stride[a]
			}
			if first >= extent || (first+v.padding[a]-k*v.dilation[a])/v.stride[a] >= v.out[a] {
				return false
			}
		}
	}
	return true
}

// withPadding returns the convolution of images that have their padding, and these. Where
// windows are far apart they are read with their padding anyway.
func withPadding[T float](v *convolution, x ir.View, dtype ir.DType) (*convolution, ir.View) {
	u := *v
	u.in, u.padding, u.direct = slices.Clone(v.in), slices.Clone(v.padding), false
	for a, n := range v.in {
		if !far(n, v.out[a], v.kernel[a], v.stride[a], v.padding[a], v.dilation[a]) {
			u.in[a], u.padding[a] = n+2*v.padding[a], 0
		}
	}
	u.inSize = ir.NumElements(u.in)
	image := tile.NewDense(dtype, append([]int{v.images, v.groups * v.channels}, u.in...))
	clear(tile.Elements[T](image))
	inner, first := image, 0
	for a := range v.padding {
		first += (v.padding[a] - u.padding[a]) * image.Strides[2+a]
	}
	inner.Ptr, inner.Shape = unsafe.Add(image.Ptr, first*dtype.Size()), x.Shape
	tile.Copy(inner, x)
	return &u, image
}

// scatterWindows adds to each window of the input what the element of g that it belongs
// to contributes: the products of weights and g, which are added where they belong.
func scatterWindows[T float](v *convolution, g, w, out ir.View) {
	from, weight, to := tile.Elements[T](g), tile.Elements[T](w), tile.Elements[T](out)
	clear(to)
	if g.NumElements() == 0 || w.NumElements() == 0 {
		return
	}
	targets := v.targets()
	pool.For(v.images*v.groups, 1, func(lo, hi int) {
		products := make([]T, v.terms()*v.outSize)
		for ; lo < hi; lo++ {
			p := gemm.Product[T]{M: v.terms(), N: v.outSize, K: v.outs, Serial: true}
			p.A = gemm.Matrix{Ptr: unsafe.Pointer(&weight[lo%v.groups*v.outs*v.terms()]), Row: 1, Col: v.terms()}
			p.B = gemm.Matrix{Ptr: unsafe.Pointer(&from[lo*v.outs*v.outSize]), Row: v.outSize, Col: 1}
			p.C = gemm.Matrix{Ptr: unsafe.Pointer(&products[0]), Row: v.outSize, Col: 1}
			p.Run()
			for c := range v.channels {
				channel := to[(lo*v.channels+c)*v.inSize:][:v.inSize]
				for k, place := range targets {
					row := products[(c*v.places+k)*v.outSize:][:v.outSize]
					for i, at := range place {
						if at >= 0 {
							channel[at] += row[i]
						}
					}
				}
			}
		}
	})
}

// targets returns, for each place of the kernel, where in a channel of the input it lies
// for every window, -1 in the padding.
func (v *convolution) targets() [][]int {
	list := make([][]int, v.places)
	place, window := make([]int, len(v.in)), make([]int, len(v.in))
	for k := range list {
		split(k, v.kernel, place)
		list[k] = make([]int, v.outSize)
		for i := range list[k] {
			split(i, v.out, window)
			at := 0
			for a, n := range v.in {
				p := window[a]*v.stride[a] - v.padding[a] + place[a]*v.dilation[a]
				if p < 0 || p >= n {
					at = -1
					break
				}
				at = at*n + p
			}
			list[k][i] = at
		}
	}
	return list
}

// split sets at to the position of element i of a shape.
func split(i int, shape, at []int) {
	for a := len(shape) - 1; a >= 0; a-- {
		at[a], i = i%shape[a], i/shape[a]
	}
}
