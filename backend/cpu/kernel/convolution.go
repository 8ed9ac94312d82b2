package kernel

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A convolution is the geometry shared by a convolution and its gradients. Every
// group of every image is a product of the group's weight, [out, channels *
// kernel places], with the unfolded image, [channels * places, positions].
type convolution struct {
	*windows
	images, groups int
	channels, outs int // in each group
	places         int // in the kernel
	inSize         int // elements of one channel of the input
	outSize        int // positions: elements of one channel of the result
	chunk          int // positions unfolded at once
	direct         bool
}

// unfolded bounds the elements unfolded at once, so that they stay in a cache.
const unfolded = 128 * 1024

// newConvolution reads the geometry: shapes of x, weight and result, and
// attributes stride, padding, dilation and groups from attribute first on.
func newConvolution(c *ir.Call, x, weight, out []int, first int) *convolution {
	a := c.Attrs[first:]
	v := &convolution{
		windows: newWindows(x[2:], out[2:], weight[2:], a[0].Ints, a[1].Ints, a[2].Ints),
		images:  x[0], groups: int(a[3].Int),
		channels: weight[1], places: ir.NumElements(weight[2:]),
		inSize: ir.NumElements(x[2:]), outSize: ir.NumElements(out[2:]),
	}
	v.outs = weight[0] / max(v.groups, 1)
	v.chunk = min(v.outSize, max(64, unfolded/max(1, v.channels*v.places)))
	v.direct = v.places == 1
	for i := range v.in {
		v.direct = v.direct && v.stride[i] == 1 && v.padding[i] == 0
	}
	return v
}

// chunks returns how many pieces the positions of one image are unfolded in.
func (v *convolution) chunks() int { return (v.outSize + v.chunk - 1) / v.chunk }

// grain is how many pieces of so many products each are worth a processor.
func (v *convolution) grain(chunks int) int {
	work := v.outs * v.channels * v.places * min(v.outSize, chunks*v.chunk)
	return max(1, mulWork/max(1, work))
}

// columns returns the unfolded channels of one group of an image for positions
// [lo, hi), in cols unless the image itself is that.
func columnsOf[T float](v *convolution, image, cols []T, lo, hi int) gemm.Matrix {
	if v.direct {
		return gemm.Matrix{Ptr: unsafe.Pointer(&image[lo]), Row: v.inSize, Col: 1}
	}
	n := hi - lo
	width := v.out[v.last]
	bases := v.rowBases(lo/width, (hi-1)/width+1)
	for ch := range v.channels {
		unfold(v.windows, bases, image[ch*v.inSize:(ch+1)*v.inSize], cols[ch*v.places*n:(ch+1)*v.places*n], lo, hi)
	}
	return gemm.Matrix{Ptr: unsafe.Pointer(&cols[0]), Row: n, Col: 1}
}

// borrow returns room for unfolded channels.
func borrow[T float](v *convolution) (*scratch.Block, []T) {
	n := v.channels * v.places * v.chunk
	b := scratch.Get(n * int(unsafe.Sizeof(T(0))))
	return b, scratch.Slice[T](b, n)
}

// A convFunc computes a convolution or a gradient of one from two contiguous
// operands.
type convFunc func(v *convolution, a, b, out ir.View)

// convolve runs f on c's operands in the compute dtype.
func convolve(c *ir.Call, t *table[convFunc], v *convolution) error {
	f, err := t.of(c.Compute)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	d := tile.TargetOf(c.Out[0], c.Compute)
	f(v, tile.Dense(c.In[0], c.Compute), tile.Dense(c.In[1], c.Compute), d)
	tile.Finish(c.Out[0], d)
	return nil
}

var convolutions = table[convFunc]{ir.Float32: forward[float32], ir.Float64: forward[float64]}

// Convolution returns the cross-correlation of x [n, channels, spatial...] with
// weight [out, channels/groups, kernel...]. Attributes: stride, padding, dilation
// and groups.
func Convolution(c *ir.Call) error {
	return convolve(c, &convolutions, newConvolution(c, c.In[0].Shape, c.In[1].Shape, c.Out[0].Shape, 0))
}

func forward[T float](v *convolution, x, weight, out ir.View) {
	src, w, dst := tile.Elements[T](x), tile.Elements[T](weight), tile.Elements[T](out)
	terms, chunks := v.channels*v.places, v.chunks()
	if terms == 0 {
		clear(dst)
		return
	}
	pool.For(v.images*v.groups*chunks, v.grain(1), func(from, to int) {
		block, cols := borrow[T](v)
		defer block.Put()
		for u := from; u < to; u++ {
			g, lo := u/chunks, u%chunks*v.chunk
			hi := min(lo+v.chunk, v.outSize)
			b := columnsOf(v, src[g*v.channels*v.inSize:(g+1)*v.channels*v.inSize], cols, lo, hi)
			a := gemm.Matrix{Ptr: unsafe.Pointer(&w[g%v.groups*v.outs*terms]), Row: terms, Col: 1}
			gemm.Mul[T](v.outs, hi-lo, terms, a, b, gemm.Matrix{Ptr: unsafe.Pointer(&dst[g*v.outs*v.outSize+lo]), Row: v.outSize, Col: 1}, false)
		}
	})
}

var gradInputs = table[convFunc]{ir.Float32: gradInput[float32], ir.Float64: gradInput[float64]}

// ConvolutionGradInput returns the gradient of a convolution with respect to its
// input, from the gradient g of its result and the weight. Attributes: input, the
// input's shape, then those of Convolution.
func ConvolutionGradInput(c *ir.Call) error {
	return convolve(c, &gradInputs, newConvolution(c, c.Out[0].Shape, c.In[1].Shape, c.In[0].Shape, 1))
}

func gradInput[T float](v *convolution, g, weight, out ir.View) {
	src, w, dst := tile.Elements[T](g), tile.Elements[T](weight), tile.Elements[T](out)
	clear(dst)
	terms := v.channels * v.places
	if len(src) == 0 || terms == 0 {
		return
	}
	pool.For(v.images*v.groups, v.grain(v.chunks()), func(from, to int) {
		block, cols := borrow[T](v)
		defer block.Put()
		for u := from; u < to; u++ {
			a := gemm.Matrix{Ptr: unsafe.Pointer(&w[u%v.groups*v.outs*terms]), Row: terms, Col: 1}.T()
			image := dst[u*v.channels*v.inSize : (u+1)*v.channels*v.inSize]
			for lo := 0; lo < v.outSize; lo += v.chunk {
				n := min(v.chunk, v.outSize-lo)
				b := gemm.Matrix{Ptr: unsafe.Pointer(&src[u*v.outs*v.outSize+lo]), Row: v.outSize, Col: 1}
				gemm.Mul[T](terms, n, v.outs, a, b, gemm.Matrix{Ptr: unsafe.Pointer(&cols[0]), Row: n, Col: 1}, false)
				width := v.out[v.last]
				bases := v.rowBases(lo/width, (lo+n-1)/width+1)
				for ch := range v.channels {
					fold(v.windows, bases, image[ch*v.inSize:(ch+1)*v.inSize], cols[ch*v.places*n:(ch+1)*v.places*n], lo, lo+n)
				}
			}
		}
	})
}

var gradWeights = table[convFunc]{ir.Float32: gradWeight[float32], ir.Float64: gradWeight[float64]}

// ConvolutionGradWeight returns the gradient of a convolution with respect to its
// weight, from the gradient g of its result and the input x. Attributes: kernel,
// the weight's shape, then those of Convolution.
func ConvolutionGradWeight(c *ir.Call) error {
	return convolve(c, &gradWeights, newConvolution(c, c.In[1].Shape, c.Out[0].Shape, c.In[0].Shape, 1))
}

const (
	// parts is how many sums over images are kept apart at most, so that
	// processors can share the work: a constant, so that rounding is too.
	parts = 16
	// partElements bounds the memory of these sums.
	partElements = 4 << 20
)

func gradWeight[T float](v *convolution, g, x, out ir.View) {
	src, data, dst := tile.Elements[T](g), tile.Elements[T](x), tile.Elements[T](out)
	if len(src) == 0 || len(data) == 0 {
		clear(dst)
		return
	}
	n := min(v.images, parts, max(1, partElements/len(dst)))
	sums := make([][]T, n)
	pool.For(n, 1, func(from, to int) {
		block, cols := borrow[T](v)
		defer block.Put()
		for p := from; p < to; p++ {
			sums[p] = dst
			if p > 0 {
				sums[p] = make([]T, len(dst))
			}
			weightOfImages(v, src, data, sums[p], cols, p*v.images/n, (p+1)*v.images/n)
		}
	})
	for _, s := range sums[1:] {
		for i, e := range s {
			dst[i] += e
		}
	}
}

// weightOfImages sets sum to what images [from, to) contribute.
func weightOfImages[T float](v *convolution, src, data, sum, cols []T, from, to int) {
	terms := v.channels * v.places
	for u := from * v.groups; u < to*v.groups; u++ {
		c := gemm.Matrix{Ptr: unsafe.Pointer(&sum[u%v.groups*v.outs*terms]), Row: terms, Col: 1}
		for lo := 0; lo < v.outSize; lo += v.chunk {
			hi := min(lo+v.chunk, v.outSize)
			b := columnsOf(v, data[u*v.channels*v.inSize:(u+1)*v.channels*v.inSize], cols, lo, hi).T()
			a := gemm.Matrix{Ptr: unsafe.Pointer(&src[u*v.outs*v.outSize+lo]), Row: v.outSize, Col: 1}
			gemm.Mul[T](v.outs, terms, hi-lo, a, b, c, u >= (from+1)*v.groups || lo > 0)
		}
	}
}
