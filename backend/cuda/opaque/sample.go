package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// cubicMode is the number of bicubic in the enum of interpolations.
const cubicMode = 2

// samplePlane is the kernel of the common case, whose blocks take planeChannels
// channels each.
const (
	gridSample    = "grid_sample"
	samplePlane   = "grid_sample_plane"
	planeChannels = 16
)

// bilinearMode is the number of bilinear in the enum of interpolations.
const bilinearMode = 0

// common reports whether it is the sampling that samplePlane does.
func (s *sampling) common() bool {
	return len(s.x) == 4 && s.attrs[1].Int == bilinearMode && max(s.attrs[0].Ints[0], s.attrs[0].Ints[1]) == 0 && ceil(int64(s.x[1]), planeChannels) <= gridLimit
}

// sampleMost is how many blocks a sampling has at most; they go on with what is left.
const sampleMost = 1 << 20

// A sampling is the geometry that a sampling and its gradients share: Sampling of
// kernels/sample.cu.
type sampling struct {
	attrs   []ir.Value // order, mode, padding_mode, align_corners
	x, grid []int
	dtype   ir.DType
}

func newSampling(attrs []ir.Value, x, grid []int) (*sampling, error) {
	if attrs[1].Int == cubicMode && len(x) != 4 {
		return nil, fmt.Errorf("bicubic sampling takes two spatial axes, x %v has %d", x, len(x)-2)
	}
	return &sampling{attrs: attrs, x: x, grid: grid}, nil
}

func (s *sampling) points() int { return ir.NumElements(s.grid[1 : len(s.grid)-1]) }

// launch enqueues a kernel over the addresses after the geometry.
func (s *sampling) launch(g code.GPU, name string, addrs ...uint64) error {
	var p driver.Params
	for _, n := range []int{s.x[0], s.x[1], s.points(), ir.NumElements(s.x[2:])} {
		p.Int64(int64(n))
	}
	axes := len(s.x) - 2
	for i := range 3 {
		extent := 1
		if i < axes {
			extent = s.x[len(s.x)-1-i]
		}
		p.Int32(int32(extent))
	}
	for i := range 3 {
		order := 0
		if i < axes {
			order = s.attrs[0].Ints[i]
		}
		p.Int32(int32(order))
	}
	p.Int32(int32(axes))
	for _, a := range s.attrs[1:4] {
		p.Int32(int32(a.Int))
	}
	p.Align(8)
	for _, a := range addrs {
		p.Uint64(a)
	}
	count, parts := ceil(int64(s.x[0])*int64(s.points()), blockThreads), 1
	if name == ofType(samplePlane, s.dtype) {
		parts = int(ceil(int64(s.x[1]), planeChannels))
	}
	return g.Launch("sample", name, [3]int{int(min(count, sampleMost)), parts, 1}, block(blockThreads), 0, p.Bytes())
}

// denseAll returns the views without gaps, in dtype dt.
func denseAll(g code.GPU, views []ir.View, dt ir.DType) ([]ir.View, error) {
	list := make([]ir.View, len(views))
	for i, v := range views {
		var err error
		if list[i], err = g.Dense(v, dt); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// GridSample returns x [n, channels, spatial...] at the places that grid
// [n, out..., axes] names, or a derivative of that by the coordinates. Attributes:
// order, interpolation, padding_mode and align_corners.
func GridSample(g code.GPU, c *ir.Call) error {
	return sample(g, c, gridSample, c.In[0].Shape, c.In[1].Shape)
}

// GridSampleGradGrid returns the gradient of GridSample with respect to grid, from
// the gradient g of its result, x and grid. Attributes: those of GridSample.
func GridSampleGradGrid(g code.GPU, c *ir.Call) error {
	return sample(g, c, "grid_sample_grad_grid", c.In[1].Shape, c.In[2].Shape)
}

// sample launches a kernel that writes every element of the result.
func sample(g code.GPU, c *ir.Call, name string, x, grid []int) error {
	s, err := newSampling(c.Attrs, x, grid)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	dt := c.Out[0].DType
	if s.dtype = dt; name == gridSample && s.common() {
		name = samplePlane
	}
	in, err := denseAll(g, c.In, dt)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], dt)
	if err != nil {
		return err
	}
	addrs := []uint64{out.Addr}
	for _, v := range in {
		addrs = append(addrs, v.Addr)
	}
	if err := s.launch(g, ofType(name, dt), addrs...); err != nil {
		return err
	}
	return out.finish(g)
}

// GridSampleGradInput returns the gradient of GridSample with respect to x, from
// the gradient g of its result and grid, by additions in any order. Attributes:
// input, the shape of x, then those of GridSample.
func GridSampleGradInput(g code.GPU, c *ir.Call) error {
	s, err := newSampling(c.Attrs[1:], c.Out[0].Shape, c.In[1].Shape)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	dt := c.Out[0].DType
	in, err := denseAll(g, c.In, dt)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], dt.Compute())
	if err != nil {
		return err
	}
	if err := g.Zero(out.Addr, int64(out.NumElements())*int64(out.DType.Size())); err != nil {
		return err
	}
	if in[0].NumElements() > 0 {
		if err := s.launch(g, ofType("grid_sample_grad_input", dt), out.Addr, in[0].Addr, in[1].Addr); err != nil {
			return err
		}
	}
	return out.finish(g)
}
