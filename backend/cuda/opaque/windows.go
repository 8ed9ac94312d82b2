package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/ir"
)

// windows is how a kernel's windows lie over spatial axes: Windows of
// kernels/windows.cuh.
type windows struct {
	in, out, kernel           []int // extents along each axis
	stride, padding, dilation []int
}

// fewAxes and mostAxes are the numbers of axes that there are kernels for.
const (
	fewAxes  = 2
	mostAxes = 6
)

// axes returns the number of axes of the kernel to launch.
func (w *windows) axes() int {
	if len(w.in) <= fewAxes {
		return fewAxes
	}
	return mostAxes
}

// check reports windows that the kernels cannot take.
func (w *windows) check() error {
	if len(w.in) > mostAxes {
		return fmt.Errorf("%d spatial axes on cuda, where at most %d are implemented", len(w.in), mostAxes)
	}
	for a, n := range w.in {
		if !space.Fits(n + 2*w.padding[a]) {
			return fmt.Errorf("extent %d with padding %d on cuda, where windows move over less than %d elements", n, w.padding[a], int64(space.Limit))
		}
	}
	for _, extents := range [][]int{w.in, w.out, w.kernel} {
		if !space.Fits(ir.NumElements(extents)) {
			return fmt.Errorf("windows over extents %v on cuda, where these are less than %d elements together", extents, int64(space.Limit))
		}
	}
	return nil
}

// append adds the windows to a kernel's parameters.
func (w *windows) append(p *driver.Params) {
	axes := w.axes()
	lead := axes - len(w.in)
	each := func(list []int, missing int, add func(int)) {
		for range lead {
			add(missing)
		}
		for _, v := range list {
			add(v)
		}
	}
	number := func(v int) { p.Int32(int32(min(v, space.Limit-1))) } // a stride may be larger than all it steps over
	p.Align(8)
	each(w.in, 1, number)
	each(w.out, 1, number)
	each(w.kernel, 1, number)
	each(w.stride, 1, number)
	each(w.padding, 0, number)
	each(w.dilation, 1, number)
	p.Int64(int64(ir.NumElements(w.in)))
	for _, extents := range [][]int{w.out, w.in, w.kernel} {
		each(extents, 1, func(v int) { divider(p, v) })
	}
}

// divider adds the Divider by n, or by 1 where there is nothing to divide.
func divider(p *driver.Params, n int) { space.AppendDivider(p, max(n, 1)) }
