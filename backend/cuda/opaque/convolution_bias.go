package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/cublaslt"
	"github.com/sinter-go/sinter/backend/cuda/cudnn"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// ConvolutionBias is Convolution with a third operand, of one axis, that is added to
// each channel before the result is rounded. The libraries add to what is there, which
// is the bias, spread.
func ConvolutionBias(g code.GPU, c *ir.Call) error {
	x, weight, bias, y := c.In[0], c.In[1], c.In[2], c.Out[0]
	if len(bias.Shape) != 1 || bias.Shape[0] != y.Shape[1] {
		return fmt.Errorf("bias %v must have one axis, as long as the second of the result %v", bias.Shape, y.Shape)
	}
	if y.NumElements() == 0 {
		return nil
	}
	if done, err := biasLast(g, c, bias); done || err != nil {
		return err
	}
	spread := bias
	spread.Shape, spread.Strides = y.Shape, make([]int, len(y.Shape))
	spread.Strides[1] = bias.Strides[0]
	out, err := contiguous(g, y, y.DType)
	if err != nil {
		return err
	}
	if done, err := addConvolution(g, c, x, weight, out.View, spread); err != nil {
		return err
	} else if done {
		return out.finish(g)
	}
	return sumConvolution(g, c, spread)
}

// biasLast computes the convolution where channels are last in memory, where cuDNN adds the bias
// as it goes, and reports whether it did.
func biasLast(g code.GPU, c *ir.Call, bias ir.View) (bool, error) {
	l, ok := onLibrary(g)
	if x, weight, y := c.In[0], c.In[1], c.Out[0]; !ok || !last(x, y) || x.NumElements() == 0 || weight.NumElements() == 0 || !cudnn.Supports(x, weight, y, bias) {
		return false, nil
	}
	a := c.Attrs
	err := cudnn.Convolve(l, cudnn.Forward, cudnn.Convolution{
		X: c.In[0], Weight: c.In[1], Y: c.Out[0], Bias: bias,
		Stride: a[0].Ints, Padding: a[1].Ints, Dilation: a[2].Ints, Groups: int(a[3].Int), TF32: c.Precision.ConvTF32,
	})
	if err != nil && noCUDNN.covered(err) {
		g.Ahead() // the library's workspace
		return false, nil
	}
	return err == nil, err
}

// addConvolution has a library add the convolution to out, which gets the bias first,
// and reports whether there is one that does.
func addConvolution(g code.GPU, c *ir.Call, x, weight, out, bias ir.View) (bool, error) {
	l, ok := onLibrary(g)
	if !ok || x.NumElements() == 0 || weight.NumElements() == 0 || !cudnn.Supports(x, weight, out) {
		return false, nil
	}
	g.Ahead() // the library's workspace
	if err := g.Store(out, bias); err != nil {
		return false, err
	}
	if pointwise(cudnn.Forward, c.Attrs, x, weight) {
		err := multiplyPoints(l, cudnn.Forward, x, weight, out, c.Precision, cublaslt.MatMulAdd)
		if err == nil || !noCUBLASLt.covered(err) {
			return err == nil, err
		}
		return false, nil
	}
	a := c.Attrs
	err := cudnn.Convolve(l, cudnn.Forward, cudnn.Convolution{
		X: x, Weight: weight, Y: out,
		Stride: a[0].Ints, Padding: a[1].Ints, Dilation: a[2].Ints, Groups: int(a[3].Int), TF32: c.Precision.ConvTF32, Add: true,
	})
	if err != nil && noCUDNN.covered(err) {
		return false, nil
	}
	return err == nil, err
}

// sumConvolution adds the bias to sums that are not rounded.
func sumConvolution(g code.GPU, c *ir.Call, bias ir.View) error {
	y := c.Out[0]
	sums, err := scratchView(g, y.Shape, c.Compute)
	if err != nil {
		return err
	}
	inner := *c
	inner.In, inner.Out = c.In[:2], []ir.View{sums}
	if err := Convolution(g, &inner); err != nil {
		return err
	}
	// A row of the kernel's is an image.
	bias.Shape, bias.Strides = bias.Shape[1:], bias.Strides[1:]
	if bias, err = g.Dense(bias, c.Compute); err != nil {
		return err
	}
	var p driver.Params
	p.Uint64(sums.Addr)
	p.Uint64(bias.Addr)
	p.Int64(int64(y.Shape[0]))
	p.Int64(int64(bias.NumElements()))
	if err := g.Launch("linear", ofType("bias", c.Compute), biasBlocks(y.Shape[0], bias.NumElements()), biasBlock, 0, p.Bytes()); err != nil {
		return err
	}
	return g.Store(y, sums)
}
