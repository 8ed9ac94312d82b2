package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// A convolution is the geometry that a convolution and its gradients share:
// channels and outs are those of one of its groups.
type convolution struct {
	windows
	name           string // of the kernel, without dtype
	images, groups int
	channels, outs int
	dtype          ir.DType
}

// newConvolution reads the geometry: shapes of x, weight and the result, and
// attributes stride, padding, dilation and groups from attribute first on.
func newConvolution(name string, c *ir.Call, x, weight, y []int, first int) (*convolution, error) {
	a := c.Attrs[first:]
	v := &convolution{
		windows: windows{in: x[2:], out: y[2:], kernel: weight[2:], stride: a[0].Ints, padding: a[1].Ints, dilation: a[2].Ints},
		name:    name, images: x[0], groups: int(a[3].Int), channels: weight[1], dtype: c.Out[0].DType,
	}
	v.outs = weight[0] / v.groups
	return v, v.check()
}

// ownConvolution is Convolution by kernels of our own.
func ownConvolution(g code.GPU, c *ir.Call) error {
	v, err := newConvolution("forward", c, c.In[0].Shape, c.In[1].Shape, c.Out[0].Shape, 0)
	if err != nil {
		return err
	}
	positions := ir.NumElements(v.out)
	return v.run(g, c, c.In[1], c.In[0], gathered{
		m: v.outs, n: positions, k: v.channels * ir.NumElements(v.kernel), byImage: true,
		right: v.groups * v.channels * ir.NumElements(v.in), result: v.groups * v.outs * positions,
	})
}

// ownConvolutionGradInput is ConvolutionGradInput by kernels of our own.
func ownConvolutionGradInput(g code.GPU, c *ir.Call) error {
	v, err := newConvolution("grad_input", c, c.Out[0].Shape, c.In[1].Shape, c.In[0].Shape, 1)
	if err != nil {
		return err
	}
	inputs := ir.NumElements(v.in)
	return v.run(g, c, c.In[1], c.In[0], gathered{
		m: v.channels, n: inputs, k: v.outs * ir.NumElements(v.kernel), byImage: true,
		right: v.groups * v.outs * ir.NumElements(v.out), result: v.groups * v.channels * inputs,
	})
}

// ownConvolutionGradWeight is ConvolutionGradWeight by kernels of our own.
func ownConvolutionGradWeight(g code.GPU, c *ir.Call) error {
	v, err := newConvolution("grad_weight", c, c.In[1].Shape, c.Out[0].Shape, c.In[0].Shape, 1)
	if err != nil {
		return err
	}
	positions := ir.NumElements(v.out)
	return v.run(g, c, c.In[0], c.In[1], gathered{
		m: v.outs, n: v.channels * ir.NumElements(v.kernel), k: positions,
		left: v.groups * v.outs * positions, right: v.groups * v.channels * ir.NumElements(v.in),
	})
}

// gathered is the matrix product that a group of one image is. Images are joined
// along n where byImage, else along k.
type gathered struct {
	m, n, k             int
	byImage             bool
	left, right, result int // elements of an image in the operands and the result, 0 where it has no part
}

// imagesAtOnce returns how many images a launch takes.
func (p *gathered) imagesAtOnce(images int) int {
	if p.byImage {
		return min(images, productLimit/p.n)
	}
	return min(images, productLimit/p.k)
}

// run multiplies the operands left and right into c's result.
func (v *convolution) run(g code.GPU, c *ir.Call, left, right ir.View, p gathered) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	if left.NumElements() == 0 || right.NumElements() == 0 {
		return zero(g, c.Out[0])
	}
	if max(p.m, p.n, p.k) >= productLimit {
		return fmt.Errorf("a convolution as a product of %d x %d x %d elements on cuda, where each is less than %d", p.m, p.k, p.n, productLimit)
	}
	left, err := g.Dense(left, v.dtype)
	if err != nil {
		return err
	}
	if right, err = g.Dense(right, v.dtype); err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], v.dtype)
	if err != nil {
		return err
	}
	if err := v.launch(g, left.Addr, right.Addr, out.Addr, p); err != nil {
		return err
	}
	return out.finish(g)
}

// launch enqueues the product for all images and groups. Results that every image
// has a part in are summed in slices.
func (v *convolution) launch(g code.GPU, left, right, out uint64, p gathered) error {
	const columns = 64
	rows := 64
	if p.m <= 24 && v.axes() == fewAxes {
		rows = 16
	}
	step := p.imagesAtOnce(v.images)
	launches := ceil(int64(v.images), int64(step))
	results := int64(v.groups) * int64(p.m) * int64(p.n)
	shares, partial := int64(1), uint64(0)
	if !p.byImage {
		blocks := ceil(int64(p.m), int64(rows)) * ceil(int64(p.n), columns) * int64(v.groups)
		k := int64(step) * int64(p.k)
		shares = max(1, min(ceil(4*int64(g.Multiprocessors()), blocks), k/sliceLeast, slicedMost/(4*results*launches)))
		if launches*shares > 1 {
			var err error
			if partial, err = g.Scratch(launches * shares * results * int64(accumulator(v.dtype))); err != nil {
				return err
			}
		}
	}
	size := uint64(v.dtype.Size())
	name := fmt.Sprintf("%s_%s_%d_%d", v.name, v.dtype, v.axes(), rows)
	for i, at := int64(0), 0; at < v.images; i, at = i+1, at+step {
		q, images, past := p, min(step, v.images-at), uint64(at)*size
		if q.byImage {
			q.n *= images
		} else {
			q.k *= images
		}
		addrs := [4]uint64{out + past*uint64(p.result), left + past*uint64(p.left), right + past*uint64(p.right), partial}
		tiles := ceil(int64(q.m), int64(rows)) * ceil(int64(q.n), columns)
		for group := 0; group < v.groups; group += gridLimit {
			params := v.params(addrs, q, group, int(i*shares), int(launches*shares), int(shares))
			blocks := [3]int{int(tiles), int(shares), min(gridLimit, v.groups-group)}
			if err := g.Launch("convolution", name, blocks, block(blockThreads), 0, params.Bytes()); err != nil {
				return err
			}
		}
	}
	if partial == 0 {
		return nil
	}
	return merge(g, "convolution", ofType(v.name, v.dtype), out, partial, results, launches*shares)
}

// params packs Convolution of kernels/convolution.cu.
func (v *convolution) params(addrs [4]uint64, p gathered, group, slice, slices, shares int) *driver.Params {
	var params driver.Params
	for _, addr := range addrs {
		params.Uint64(addr)
	}
	v.append(&params)
	if p.byImage {
		slices = 1
	}
	places := ir.NumElements(v.kernel)
	for _, n := range []int{v.channels, v.outs, v.groups, places, p.m, p.n, p.k, group, slice, slices, shares} {
		params.Int32(int32(n))
	}
	for _, n := range []int{ir.NumElements(v.out), ir.NumElements(v.in), places} {
		divider(&params, n)
	}
	return &params
}
