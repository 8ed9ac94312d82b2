package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/cudnn"
	"github.com/sinter-go/sinter/ir"
)

// ChannelsLast returns how many bytes are moved for a convolution of 16-bit floats or in TF32, or
// for a gradient of one of 16-bit floats, besides, unless the channels of its images are last in
// memory: cuDNN has both copied. What is a product of matrices has no need of that. Ok is false
// where the library is not there, or does not compute it so. Of a norm of channels ok says that
// its kernels take such images.
func ChannelsLast(c *ir.Call) (bytes int64, ok bool) {
	if c == nil || c.Op == nil || len(c.In) < 2 || len(c.Out) == 0 {
		return 0, false
	}
	if c.Op.Tags&ir.TagChannels != 0 {
		return 0, takesLast(c.Out[0]) && c.In[0].DType == c.Out[0].DType
	}
	direction, first := cudnn.Forward, 0
	x, weight, y := c.In[0], c.In[1], c.Out[0]
	switch {
	case c.Op.Tags&ir.TagGradInput != 0:
		direction, first, x, y = cudnn.GradInput, 1, c.Out[0], c.In[0]
	case c.Op.Tags&ir.TagGradWeight != 0:
		direction, first, x, weight, y = cudnn.GradWeight, 1, c.In[1], c.Out[0], c.In[0]
	}
	if len(c.Attrs) < first+4 {
		return 0, false
	}
	a := c.Attrs[first:]
	if !half(x) && !(direction == cudnn.Forward && x.DType == ir.Float32 && c.Precision.ConvTF32) || !cudnn.Supports(x, weight, y) || len(x.Shape) != 4 || y.NumElements() == 0 || x.NumElements() == 0 || a[3].Int != 1 || !cudnn.Available() {
		return 0, false
	}
	if pointwise(direction, a, x, weight) && direction != cudnn.GradWeight {
		return 0, true
	}
	return 2 * (x.Bytes() + y.Bytes()), true
}

// last reports whether an image to convolve or the result has its channels last in memory, which
// cuDNN computes as they are.
func last(x, y ir.View) bool { return cudnn.IsLast(&x) || cudnn.IsLast(&y) }
