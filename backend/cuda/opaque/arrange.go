package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/cudnn"
	"github.com/sinter-go/sinter/ir"
)

// ChannelsLast returns how many bytes cuDNN moves for a convolution of 16-bit floats or in TF32
// besides, unless the channels of its operand and its result are last in memory: it copies both. What
// is a product of matrices has no need of that. Ok is false where the library is not there, or
// does not compute it so.
func ChannelsLast(c *ir.Call) (bytes int64, ok bool) {
	if c == nil || len(c.In) < 2 || len(c.Out) == 0 || len(c.Attrs) < 4 {
		return 0, false
	}
	x, weight, y := c.In[0], c.In[1], c.Out[0]
	if !half(x) && !(x.DType == ir.Float32 && c.Precision.ConvTF32) || !cudnn.Supports(x, weight, y) || len(x.Shape) != 4 || y.NumElements() == 0 || x.NumElements() == 0 || c.Attrs[3].Int != 1 || !cudnn.Available() {
		return 0, false
	}
	if pointwise(cudnn.Forward, c.Attrs, x, weight) {
		return 0, true
	}
	return 2 * (x.Bytes() + y.Bytes()), true
}

// last reports whether an image to convolve or the result has its channels last in memory, which
// cuDNN computes as they are.
func last(x, y ir.View) bool { return cudnn.IsLast(&x) || cudnn.IsLast(&y) }
