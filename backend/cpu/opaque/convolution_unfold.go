package opaque

import (
	"slices"

	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// An unfolding replaces a convolution whose windows are far apart, or reach far into
// the padding, by one over images where the windows lie side by side along such axes.
type unfolding struct {
	to   *convolution
	from [][]int // of each axis: where its elements come from, -1 for padding; nil where it stays
}

// unfold returns nil where no axis needs that.
func (v *convolution) unfold() *unfolding {
	var u *unfolding
	for a, n := range v.out {
		k := v.kernel[a]
		if !far(v.in[a], n, k, v.stride[a], v.padding[a], v.dilation[a]) {
			continue
		}
		if u == nil {
			to := *v
			to.in, to.stride, to.padding, to.dilation = slices.Clone(v.in), slices.Clone(v.stride), slices.Clone(v.padding), slices.Clone(v.dilation)
			u = &unfolding{&to, make([][]int, len(v.out))}
		}
		from := make([]int, n*k)
		for i := range from {
			if from[i] = i/k*v.stride[a] - v.padding[a] + i%k*v.dilation[a]; from[i] < 0 || from[i] >= v.in[a] {
				from[i] = -1
			}
		}
		u.from[a] = from
		u.to.in[a], u.to.stride[a], u.to.padding[a], u.to.dilation[a] = n*k, k, 0, 1
	}
	if u == nil {
		return nil
	}
	u.to.inSize = ir.NumElements(u.to.in)
	u.to.direct = v.places == 1
	for a := range u.to.in {
		u.to.direct = u.to.direct && u.to.in[a] == u.to.out[a] && u.to.padding[a] == 0
	}
	return u
}

// unfolded returns the images in x as the unfolding has them.
func unfolded[T float](u *unfolding, x ir.View, dtype ir.DType) ir.View {
	x = tile.Dense(x, dtype)
	for a, from := range u.from {
		if from == nil {
			continue
		}
		shape := slices.Clone(x.Shape)
		shape[2+a] = len(from)
		next := tile.NewDense(dtype, shape)
		src, dst := tile.Elements[T](x), tile.Elements[T](next)
		n, inner := x.Shape[2+a], ir.NumElements(shape[3+a:])
		for i := range ir.NumElements(shape[:3+a]) {
			to := dst[i*inner : (i+1)*inner]
			if at := from[i%len(from)]; at >= 0 {
				copy(to, src[(i/len(from)*n+at)*inner:])
			} else {
				clear(to)
			}
		}
		x = next
	}
	return x
}

// folded sets out to the sums of x's elements that come from the same ones.
func folded[T float](u *unfolding, x, out ir.View) {
	for a, from := range u.from {
		if from == nil {
			continue
		}
		shape := slices.Clone(x.Shape)
		shape[2+a] = out.Shape[2+a]
		next := tile.NewDense(x.DType, shape)
		src, dst := tile.Elements[T](x), tile.Elements[T](next)
		clear(dst)
		n, inner := shape[2+a], ir.NumElements(shape[3+a:])
		for i := range ir.NumElements(x.Shape[:3+a]) {
			if at := from[i%len(from)]; at >= 0 {
				to := dst[(i/len(from)*n+at)*inner:]
				for j, e := range src[i*inner : (i+1)*inner] {
					to[j] += e
				}
			}
		}
		x = next
	}
	copy(tile.Elements[T](out), tile.Elements[T](x))
}
