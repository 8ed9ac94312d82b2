package kernel

import (
	"github.com/sinter-go/sinter/backend/cuda/cudnn"
	"github.com/sinter-go/sinter/ir"
)

// Convolution returns the cross-correlation of x [n, channels, spatial...] with
// weight [out, channels/groups, kernel...], by cuDNN where it is there.
func Convolution(g ir.GPU, c *ir.Call) error {
	return convolve(g, c, cudnn.Forward, 0, c.In[0], c.In[1], c.Out[0], ownConvolution)
}

// ConvolutionGradInput returns the gradient of a convolution with respect to x.
func ConvolutionGradInput(g ir.GPU, c *ir.Call) error {
	return convolve(g, c, cudnn.GradInput, 1, c.Out[0], c.In[1], c.In[0], ownConvolutionGradInput)
}

// ConvolutionGradWeight returns the gradient of a convolution with respect to
// weight.
func ConvolutionGradWeight(g ir.GPU, c *ir.Call) error {
	return convolve(g, c, cudnn.GradWeight, 1, c.In[1], c.Out[0], c.In[0], ownConvolutionGradWeight)
}

// convolve computes one of x, weight and y, as direction says, from the other two.
// The convolution's attributes begin at index first.
func convolve(g ir.GPU, c *ir.Call, direction cudnn.Direction, first int, x, weight, y ir.View, own ir.CUDALaunch) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	if c.In[0].NumElements() == 0 || c.In[1].NumElements() == 0 {
		return zero(g, c.Out[0])
	}
	if l, ok := onLibrary(g); ok && cudnn.Supports(x, weight, y) {
		a := c.Attrs[first:]
		err := cudnn.Convolve(l, direction, cudnn.Convolution{
			X: x, Weight: weight, Y: y,
			Stride: a[0].Ints, Padding: a[1].Ints, Dilation: a[2].Ints, Groups: int(a[3].Int),
		})
		if err == nil || !noCUDNN.covered(err) {
			return err
		}
	}
	return own(g, c)
}
