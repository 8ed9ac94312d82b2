package cudnn

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
)

// A Convolution is the cross-correlation y [n, out, spatial...] of
// x [n, channels, spatial...] with weight [out, channels/groups, kernel...], with
// one stride, padding and dilation for each spatial axis. No extent is 0.
type Convolution struct {
	X, Weight, Y              ir.View
	Stride, Padding, Dilation []int
	Groups                    int
	TF32                      bool // products of float32 may use it
	// Exact says that the factors, of float32, have no bits that TF32 cuts off, so that
	// it may be used whatever TF32 says, by algorithms that multiply them as they are.
	Exact bool
	// Add says that the result, which has no gaps, is added to, and the sum rounded once.
	// After an error it may hold anything.
	Add bool
	// Last says that it is computed with channels last, wherever they lie, or not at all.
	Last bool
	// Bias has a number for each channel of y, and Addend is like y; where they are given,
	// they are added to what is computed forward. ReLU takes the larger of that and 0. The
	// result is rounded once.
	Bias, Addend ir.View
	ReLU         bool
}

// Supports reports whether the views have one dtype that the library convolves.
func Supports(views ...ir.View) bool {
	for _, v := range views {
		if v.DType != views[0].DType {
			return false
		}
	}
	_, ok := elements[views[0].DType]
	return ok
}

// Convolve enqueues the computation of the tensor that direction names from the
// other two. The error wraps ErrUnsupported where the library has no algorithm,
// or is of the library that is missing; the result may be computed anew then.
//
// Where an image to convolve or the result has its channels last in memory, the library
// computes it so if it can, and what lies otherwise is copied.
func Convolve(g library.GPU, direction Direction, v Convolution) error {
	k, ok := keyOf(direction, &v)
	if !ok {
		return fmt.Errorf("%w: x %v, weight %v", ErrUnsupported, v.X.Shape, v.Weight.Shape)
	}
	d, err := deviceOf(g.API(), g.Device())
	if err != nil {
		return err
	}
	if k.last = wantsLast(direction, &k, &v); k.last {
		if err = d.convolve(g, k, v); v.Add || v.Last || !errors.Is(err, ErrUnsupported) {
			return err
		}
		k.last = false
	}
	return d.convolve(g, k, v)
}

// wantsLast reports whether a problem is computed with channels last if it can.
func wantsLast(direction Direction, k *key, v *Convolution) bool {
	switch {
	case k.spatial != 2 || len(v.X.Shape) != 4 || k.dtype == ir.Float64:
		return false
	case direction == Forward:
		return v.Last || IsLast(&v.Y) || IsLast(&v.X) && k.mathOf() != mathFMA && !v.Add
	}
	return v.Last
}

// convolve enqueues problem k.
func (d *device) convolve(g library.GPU, k key, v Convolution) (err error) {
	first, second, result := &v.X, &v.Weight, v.Y
	switch k.direction {
	case GradInput:
		first, second, result = &v.Weight, &v.Y, v.X
	case GradWeight:
		first, second, result = &v.X, &v.Y, v.Weight
	}
	for _, in := range []*ir.View{first, second} {
		if *in, err = arranged(g, *in, k.last); err != nil {
			return err
		}
	}
	var more extras
	if k.bias {
		bias, err := g.Dense(v.Bias, v.Bias.DType)
		if err != nil {
			return err
		}
		more.bias = bias.Addr
		if k.addend {
			addend, err := arranged(g, v.Addend, k.last)
			if err != nil {
				return err
			}
			more.addend = addend.Addr
		}
	}
	to := result
	if !lies(&to, k.last) {
		if v.Add {
			return fmt.Errorf("%w: strides %v of what is added to", ErrUnsupported, to.Strides)
		}
		to.Strides = stridesOf(to.Shape, k.last)
		if to.Addr, err = g.Scratch(int64(to.NumElements()) * int64(to.DType.Size())); err != nil {
			return err
		}
	}
	if err := d.run(g, &k, first.Addr, second.Addr, to.Addr, more); err != nil {
		return err
	}
	if to.Addr != result.Addr {
		return g.Store(result, to)
	}
	return nil
}

// IsLast reports whether the elements of [n, channels, height, width] lie as those of
// [n, height, width, channels] without gaps, and not as its own.
func IsLast(v *ir.View) bool { return len(v.Shape) == 4 && lies(v, true) && !v.IsContiguous() }

// lies reports whether the elements of a view lie without gaps, row-major, or where last is
// set as those of [n, height, width, channels].
func lies(v *ir.View, last bool) bool {
	if !last {
		return v.IsContiguous()
	}
	s, t := v.Shape, v.Strides
	return ir.IsContiguous([]int{s[0], s[2], s[3], s[1]}, []int{t[0], t[2], t[3], t[1]})
}

// stridesOf returns those of a view that lies so.
func stridesOf(s []int, last bool) []int {
	if !last {
		return ir.ContiguousStrides(s)
	}
	return ir.ChannelsLastStrides(s)
}

// arranged returns v, or a copy, with its channels last or row-major.
func arranged(g library.GPU, v ir.View, last bool) (ir.View, error) {
	if !last {
		return g.Dense(v, v.DType)
	}
	to := v
	to.Strides = stridesOf(v.Shape, true)
	if v.Ptr == nil && lies(&v, true) {
		return to, nil
	}
	var err error
	if to.Addr, err = g.Scratch(int64(v.NumElements()) * int64(v.DType.Size())); err != nil {
		return to, err
	}
	to.Ptr = nil
	return to, g.Store(to, v)
}

// extras are where what is added lies; 0 where nothing is.
type extras struct{ bias, addend uint64 }

// run enqueues one call of the library.
func (d *device) run(g library.GPU, k *key, first, second, result uint64, more extras) error {
	p, err := d.prepare(g.Stream(), k)
	if err != nil {
		return library.Located(d.ordinal, err)
	}
	workspace, err := g.Scratch(p.workspace)
	if err != nil || !g.Due() {
		return err
	}
	return library.Located(d.ordinal, d.call(g.Stream(), k, p, workspace, first, second, result, more))
}

// prepare returns a problem prepared. It leaves the device again: taking scratch
// memory may make another device's context current, as blocks of that one are given
// back.
func (d *device) prepare(s driver.Stream, k *key) (*prepared, error) {
	if err := d.api.Enter(d.ordinal); err != nil {
		return nil, err
	}
	defer d.api.Leave()
	p := d.find(s, k)
	return p, p.err
}

// call calls the library for a prepared problem.
func (d *device) call(s driver.Stream, k *key, p *prepared, workspace, first, second, result uint64, more extras) error {
	if err := d.api.Enter(d.ordinal); err != nil {
		return err
	}
	defer d.api.Leave()
	return d.with(s, func(h uintptr) error {
		c := dl.Get()
		defer c.Free()
		at := c.Keep(unsafe.Pointer(p))
		one, zero := at+unsafe.Offsetof(p.one), at+unsafe.Offsetof(p.zero)
		if k.add {
			zero = one
		}
		if k.bias {
			return d.callFused(c, h, p, at, workspace, first, second, result, more)
		}
		r := &d.of[k.direction]
		err := d.check(r.name, r.run.Call(c, h, one, p.first, uintptr(first), p.second, uintptr(second),
			p.conv, p.algorithm, uintptr(workspace), uintptr(p.workspace), zero, p.result, uintptr(result)))
		runtime.KeepAlive(p) // its descriptors go with it
		return err
	})
}

// callFused is call for a convolution with a bias and what follows that.
func (d *device) callFused(c *dl.Frame, h uintptr, p *prepared, at uintptr, workspace, first, second, result uint64, more extras) error {
	one, factor, addend := at+unsafe.Offsetof(p.one), at+unsafe.Offsetof(p.one), more.addend
	if addend == 0 { // the library wants an address, and multiplies by 0
		factor, addend = at+unsafe.Offsetof(p.zero), result
	}
	err := d.check("cudnnConvolutionBiasActivationForward", d.fused.Call(c, h, one, p.first, uintptr(first), p.second, uintptr(second),
		p.conv, p.algorithm, uintptr(workspace), uintptr(p.workspace), factor, p.result, uintptr(addend), p.bias, uintptr(more.bias),
		p.activation, p.result, uintptr(result)))
	runtime.KeepAlive(p)
	return err
}
