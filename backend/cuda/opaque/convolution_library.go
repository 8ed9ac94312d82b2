package opaque

import (
	"slices"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/cublaslt"
	"github.com/sinter-go/sinter/backend/cuda/cudnn"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
)

// Convolution returns the cross-correlation of x [n, channels, spatial...] with
// weight [out, channels/groups, kernel...], by cuDNN where it is there.
func Convolution(g code.GPU, c *ir.Call) error {
	return convolve(g, c, cudnn.Forward, 0, c.In[0], c.In[1], c.Out[0], ownConvolution)
}

// ConvolutionGradInput returns the gradient of a convolution with respect to x.
func ConvolutionGradInput(g code.GPU, c *ir.Call) error {
	return convolve(g, c, cudnn.GradInput, 1, c.Out[0], c.In[1], c.In[0], ownConvolutionGradInput)
}

// ConvolutionGradWeight returns the gradient of a convolution with respect to
// weight.
func ConvolutionGradWeight(g code.GPU, c *ir.Call) error {
	return convolve(g, c, cudnn.GradWeight, 1, c.In[1], c.Out[0], c.In[0], ownConvolutionGradWeight)
}

// convolve computes one of x, weight and y, as direction says, from the other two.
// The convolution's attributes begin at index first.
func convolve(g code.GPU, c *ir.Call, direction cudnn.Direction, first int, x, weight, y ir.View, own code.Launch) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	if c.In[0].NumElements() == 0 || c.In[1].NumElements() == 0 {
		return zero(g, c.Out[0])
	}
	sums := c.Out[0].DType == ir.Float32 && half(c.In[0]) && c.In[1].DType == c.In[0].DType
	if l, ok := onLibrary(g); ok && (sums || cudnn.Supports(x, weight, y)) {
		a := c.Attrs[first:]
		gradient := direction != cudnn.Forward && takesGradientLast(a, y) && !sums
		if pointwise(direction, a, x, weight) && !(last(x, y) && (direction == cudnn.Forward || gradient)) {
			err := multiplyPoints(l, direction, x, weight, y, c.Precision, cublaslt.MatMul)
			if err == nil || !noCUBLASLt.covered(err) {
				return err
			}
		}
		if gradient {
			if done, err := gradientLast(l, direction, a, x, weight, y, c.Precision); done {
				return err
			}
		}
		if direction != cudnn.Forward && y.DType == ir.BFloat16 && !sums {
			return wideGradient(g, c, direction, first, x, weight, y, own)
		}
		if direction == cudnn.GradWeight && fewWeights(g, c, weight, x, y) {
			return own(g, c)
		}
		if sums {
			if err := widen(g, &x, &weight, &y); err != nil {
				return err
			}
		}
		err := cudnn.Convolve(l, direction, cudnn.Convolution{
			X: x, Weight: weight, Y: y,
			Stride: a[0].Ints, Padding: a[1].Ints, Dilation: a[2].Ints, Groups: int(a[3].Int), TF32: c.Precision.ConvTF32, Exact: sums,
		})
		if err == nil || !noCUDNN.covered(err) {
			return err
		}
	}
	return own(g, c)
}

// fewWeights reports whether the gradient of a weight along one axis, of float32 without TF32, is of so few
// elements that most of the GPU has nothing to do where each is added up by one block: that is how cuDNN's
// algorithm that repeats its bits does it, which took 2.5 times as long as ours for three tiles of the result.
// It should be as quick at about eight, by these rates; more than four have not been measured.
func fewWeights(g code.GPU, c *ir.Call, weight, x, y ir.View) bool {
	for _, v := range []*ir.View{&weight, &x, &y} {
		if v.DType != ir.Float32 || len(v.Shape) != 3 || ir.NumElements(v.Shape[2:]) >= productLimit {
			return false
		}
	}
	if c.Precision.ConvTF32 {
		return false
	}
	const tile, few = 64, 32
	groups := int64(c.Attrs[len(c.Attrs)-1].Int)
	tiles := groups * ceil(int64(weight.Shape[0])/groups, tile) * ceil(int64(ir.NumElements(weight.Shape[1:])), tile)
	return few*tiles <= int64(g.Multiprocessors())
}

// wideGradient is convolve for a gradient in bfloat16, of numbers that were made float32: what
// algorithms cuDNN has for those of 16 bits that repeat their bits takes up to forty times as long.
func wideGradient(g code.GPU, c *ir.Call, direction cudnn.Direction, first int, x, weight, y ir.View, own code.Launch) error {
	wide, err := scratchView(g, c.Out[0].Shape, ir.Float32)
	if err != nil {
		return err
	}
	if direction == cudnn.GradInput {
		x = wide
	} else {
		weight = wide
	}
	inner := *c
	inner.Out = []ir.View{wide}
	// The result is of float32 and the factors are not: sums of what they are.
	if err := convolve(g, &inner, direction, first, x, weight, y, own); err != nil {
		return err
	}
	return g.Store(c.Out[0], wide)
}

// takesGradientLast reports whether gradientLast computes gradients of a convolution with these
// attributes from those of its result.
func takesGradientLast(a []ir.Value, y ir.View) bool {
	return half(y) && len(y.Shape) == 4 && a[3].Int == 1
}

// gradientLast computes a gradient of 16 bits of images whose channels are last, copies unless
// they lie so, which tensor cores multiply; done is false where that is not computed. Those of a
// pointwise convolution are one product then, of all images.
func gradientLast(g library.GPU, direction cudnn.Direction, a []ir.Value, x, weight, y ir.View, p ir.Precision) (done bool, err error) {
	g.Ahead() // of copies
	if isPointwise(a, weight) {
		if direction == cudnn.GradWeight {
			err = multiplyWeight(g, x, weight, y, p)
		} else {
			err = multiplyInput(g, x, weight, y, p)
		}
		return err == nil || !noCUBLASLt.covered(err), err
	}
	err = cudnn.Convolve(g, direction, cudnn.Convolution{X: x, Weight: weight, Y: y,
		Stride: a[0].Ints, Padding: a[1].Ints, Dilation: a[2].Ints, Groups: 1, Last: true})
	return err == nil || !noCUDNN.covered(err), err
}

// multiplyWeight computes the gradient of a pointwise convolution's weight as one product of
// matrices of all places.
func multiplyWeight(g library.GPU, x, weight, y ir.View, p ir.Precision) error {
	px, err := points(g, x)
	if err != nil {
		return err
	}
	py, err := points(g, y)
	if err != nil {
		return err
	}
	to, err := contiguous(g, weight, weight.DType)
	if err != nil {
		return err
	}
	if err := cublaslt.MatMul(g, transposed(py), px, weights(to.View), p.ConvTF32, p.Sums); err != nil {
		return err
	}
	return to.finish(g)
}

// multiplyInput is multiplyWeight for the gradient of the input.
func multiplyInput(g library.GPU, x, weight, y ir.View, p ir.Precision) error {
	py, err := points(g, y)
	if err != nil {
		return err
	}
	w, err := g.Dense(weight, weight.DType)
	if err != nil {
		return err
	}
	to := x
	if !cudnn.IsLast(&x) {
		to.Strides = ir.ChannelsLastStrides(x.Shape)
		if to.Addr, err = g.Scratch(x.Bytes()); err != nil {
			return err
		}
	}
	if err := cublaslt.MatMul(g, py, weights(w), matrix(to), p.ConvTF32, p.Sums); err != nil {
		return err
	}
	if to.Addr != x.Addr {
		return g.Store(x, to)
	}
	return nil
}

// weights returns the matrix of the weight, without gaps, of a pointwise convolution.
func weights(weight ir.View) ir.View {
	weight.Shape, weight.Strides = weight.Shape[:2], []int{weight.Shape[1], 1}
	return weight
}

// points returns the matrix of an image's channels by the places of all images, channels next to
// each other: a copy, unless they lie so.
func points(g library.GPU, v ir.View) (ir.View, error) {
	v, err := channelsLast(g, v)
	return matrix(v), err
}

// matrix returns the matrix of an image whose channels are last by the places of all images.
func matrix(v ir.View) ir.View {
	channels := v.Shape[1]
	v.Shape, v.Strides = []int{v.NumElements() / channels, channels}, []int{channels, 1}
	return v
}

func half(v ir.View) bool { return v.DType == ir.Float16 || v.DType == ir.BFloat16 }

// widen makes views of 16-bit floats such of float32. cuDNN writes no wider sums than
// its operands are. TF32 has all bits of these.
func widen(g code.GPU, views ...*ir.View) error {
	for _, v := range views {
		if !half(*v) {
			continue
		}
		dense, err := g.Dense(*v, ir.Float32)
		if err != nil {
			return err
		}
		*v = dense
	}
	return nil
}

// pointwise reports whether a convolution with these attributes is a product of
// matrices as memory has them: each element of the result is made of the channels
// of one place. The gradient of the weight is a sum over images, which is one
// product where there is one image.
func pointwise(direction cudnn.Direction, a []ir.Value, x, weight ir.View) bool {
	return isPointwise(a, weight) && (direction != cudnn.GradWeight || x.Shape[0] == 1)
}

// isPointwise reports whether each element of the result is made of the channels of one place.
func isPointwise(a []ir.Value, weight ir.View) bool {
	isNot := func(want int) func(int) bool { return func(n int) bool { return n != want } }
	return a[3].Int == 1 && !slices.ContainsFunc(weight.Shape[2:], isNot(1)) && !slices.ContainsFunc(a[0].Ints, isNot(1)) &&
		!slices.ContainsFunc(a[1].Ints, isNot(0))
}

// A multiplier is MatMul of package cublaslt, or MatMulAdd.
type multiplier func(g library.GPU, x, y, d ir.View, tf32 bool, sums ir.Sums) error

// multiplyPoints computes one of x [n, channels, places], weight [out, channels]
// and y [n, out, places] of a pointwise convolution from the other two. cuDNN takes
// three times as long for 16-bit floats in this layout.
func multiplyPoints(g library.GPU, direction cudnn.Direction, x, weight, y ir.View, p ir.Precision, multiply multiplier) error {
	result := [...]*ir.View{cudnn.Forward: &y, cudnn.GradInput: &x, cudnn.GradWeight: &weight}[direction]
	for _, v := range []*ir.View{&x, &weight, &y} {
		if v == result {
			continue
		}
		dense, err := g.Dense(*v, v.DType)
		if err != nil {
			return err
		}
		*v = dense
	}
	out, err := contiguous(g, *result, result.DType)
	if err != nil {
		return err
	}
	*result = out.View
	px, py := places(x), places(y)
	w := weights(weight)
	switch direction {
	case cudnn.Forward:
		err = multiply(g, w, px, py, p.ConvTF32, p.Sums)
	case cudnn.GradInput:
		err = multiply(g, transposed(w), py, px, p.ConvTF32, p.Sums)
	default:
		err = multiply(g, image(py), transposed(image(px)), w, p.ConvTF32, p.Sums)
	}
	if err != nil {
		return err
	}
	return out.finish(g)
}

// places returns a contiguous [n, channels, spatial...] with its spatial axes joined.
func places(v ir.View) ir.View {
	shape := []int{v.Shape[0], v.Shape[1], ir.NumElements(v.Shape[2:])}
	v.Shape, v.Strides = shape, ir.ContiguousStrides(shape)
	return v
}

// image returns the matrix of the one image of v.
func image(v ir.View) ir.View {
	v.Shape, v.Strides = v.Shape[1:], v.Strides[1:]
	return v
}

// transposed returns v with its two axes exchanged.
func transposed(v ir.View) ir.View {
	v.Shape, v.Strides = []int{v.Shape[1], v.Shape[0]}, []int{v.Strides[1], v.Strides[0]}
	return v
}
