package opaque

import (
	"github.com/sinter-go/sinter/backend/cpu/fft"
	"github.com/sinter-go/sinter/ir"
)

// FFTC2C is the discrete Fourier transform of complex x along the axes in attribute
// dims, with the sign of the inverse one where attribute inverse says so, times
// attribute scale.
func FFTC2C(c *ir.Call) error {
	axes, err := ir.Axes(c.Attrs[0].Ints, len(c.In[0].Shape))
	if err != nil {
		return err
	}
	return fft.C2C(c.Out[0], c.In[0], axes, c.Attrs[1].Int != 0, c.Attrs[2].Scalar.Float())
}

// FFTR2C is the first half of the transform of real x along attribute dim, times
// attribute scale and, where a result stands for two, attribute inner.
func FFTR2C(c *ir.Call) error {
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil {
		return err
	}
	return fft.R2C(c.Out[0], c.In[0], axis, c.Attrs[1].Scalar.Float(), c.Attrs[2].Scalar.Float())
}

// FFTC2R is the real tensor of attribute n points along attribute dim whose
// transform's first half is x, multiplied first as FFTR2C multiplies results.
func FFTC2R(c *ir.Call) error {
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil {
		return err
	}
	return fft.C2R(c.Out[0], c.In[0], axis, c.Attrs[2].Scalar.Float(), c.Attrs[3].Scalar.Float())
}
