package cudnn

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/ir"
)

// maxSpatial is the most spatial axes the library convolves over. It knows no
// fewer than two: one is two, the first of extent 1.
const maxSpatial = 3

// A key is everything that the preparation of a problem depends on.
type key struct {
	direction                 Direction
	dtype                     ir.DType
	tf32, exact, add          bool
	bias, addend, relu        bool
	last                      bool // channels are last in memory
	spatial                   int  // axes
	x, weight, y              [2 + maxSpatial]int32
	stride, padding, dilation [maxSpatial]int32
	groups                    int32
}

// keyOf describes a convolution to the library; ok is false where it has more
// spatial axes or larger extents than that knows.
func keyOf(direction Direction, v *Convolution) (k key, ok bool) {
	n := len(v.Stride)
	if n < 1 || n > maxSpatial || v.Groups > math.MaxInt32 {
		return k, false
	}
	k.direction, k.dtype, k.groups = direction, v.X.DType, int32(v.Groups)
	k.add = v.Add
	k.bias, k.addend, k.relu = v.Bias.Given(), v.Addend.Given(), v.ReLU
	if !k.bias && (k.addend || k.relu) || k.bias && (direction != Forward || k.add || k.dtype == ir.Float64) {
		return k, false
	}
	k.exact = v.Exact && k.dtype == ir.Float32
	k.tf32 = k.exact || k.dtype == ir.Float32 && v.TF32
	k.spatial = max(n, 2)
	lead := k.spatial - n // axes of extent 1, before those of the views
	ok = true
	set := func(to *int32, e int) {
		if e > math.MaxInt32 {
			ok = false
		}
		*to = int32(e)
	}
	for i := range lead {
		k.x[2+i], k.weight[2+i], k.y[2+i] = 1, 1, 1
		k.stride[i], k.dilation[i] = 1, 1
	}
	for i := range 2 + n {
		at := i
		if i >= 2 {
			at += lead
		}
		set(&k.x[at], v.X.Shape[i])
		set(&k.weight[at], v.Weight.Shape[i])
		set(&k.y[at], v.Y.Shape[i])
	}
	for i := range n {
		set(&k.stride[lead+i], v.Stride[i])
		set(&k.padding[lead+i], v.Padding[i])
		set(&k.dilation[lead+i], v.Dilation[i])
	}
	return k, ok
}

// The library's constants, of its headers cudnn_graph.h, cudnn_ops.h and cudnn_cnn.h.
const (
	dataFloat, dataDouble, dataHalf, dataBFloat16 = 0, 1, 2, 9

	formatNCHW       = 0
	formatNHWC       = 1
	crossCorrelation = 1

	mathDefault = 0
	mathTensor  = 1
	mathFMA     = 3

	deterministic = 1

	activationReLU     = 1
	activationIdentity = 5
	propagateNaN       = 1

	precomputedGEMM = 1 // the algorithm that bias and activation are computed with
)

// elements are the library's cudnnDataType_t of each dtype it convolves.
var elements = map[ir.DType]uintptr{
	ir.Float16: dataHalf, ir.BFloat16: dataBFloat16, ir.Float32: dataFloat, ir.Float64: dataDouble,
}

// descriptors are the library's, of one problem; 0 where not made.
type descriptors struct{ x, weight, y, conv, bias, activation uintptr }

// A prepared problem is one as the library reads it, and how it is computed. Nothing of
// it changes once it is made.
type prepared struct {
	descriptors
	first, second, result uintptr // those of the operands, in the direction's order
	algorithm             uintptr
	workspace             int64
	one, zero             [1]float64 // the library's factors, float32 but for float64
	err                   error
}

// A candidate is cudnnConvolutionFwdAlgoPerf_t, and those of the other directions.
type candidate struct {
	algorithm, status int32
	_                 [2]int32 // time in float32, padding
	_                 uint64   // workspace
	determinism, math int32
	_                 [4]int32
}

// maxWorkspace is the most memory an algorithm may work in.
const maxWorkspace = 1 << 30

// make fills p for the problem k, with a handle.
func (d *device) make(h uintptr, p *prepared, k *key) error {
	if err := d.describe(p, k); err != nil {
		return err
	}
	if p.one[0] = 1; k.dtype != ir.Float64 {
		p.one[0] = 0
		*(*float32)(unsafe.Pointer(&p.one)) = 1
	}
	switch k.direction {
	case Forward:
		p.first, p.second, p.result = p.x, p.weight, p.y
	case GradInput:
		p.first, p.second, p.result = p.weight, p.y, p.x
	case GradWeight:
		p.first, p.second, p.result = p.x, p.y, p.weight
	}
	return d.choose(h, p, k)
}

// mathOf is what the library may do to the operands, as the flags stand.
func (k *key) mathOf() uintptr {
	switch {
	case k.dtype == ir.Float32 && !k.tf32:
		return mathFMA
	case k.dtype == ir.Float16 || k.dtype == ir.BFloat16:
		return mathTensor
	}
	return mathDefault
}

// describe makes p's descriptors; those made before an error stay in p.
func (d *device) describe(p *prepared, k *key) error {
	c := dl.Get()
	defer c.Free()
	element, rank := elements[k.dtype], uintptr(2+k.spatial)
	made := func(to *uintptr, create dl.Func, call string) error {
		c.Words[0] = 0
		err := d.check(call, create.Call(c, c.Addr(0)))
		*to = c.Words[0]
		return err
	}
	type tensor struct {
		to    *uintptr
		shape *[2 + maxSpatial]int32
	}
	tensors := []tensor{{&p.x, &k.x}, {&p.y, &k.y}}
	if k.bias {
		tensors = append(tensors, tensor{&p.bias, &[2 + maxSpatial]int32{1, k.y[1], 1, 1, 1}})
	}
	for _, t := range tensors {
		if err := made(t.to, d.tensorCreate, "cudnnCreateTensorDescriptor"); err != nil {
			return err
		}
		strides, ok := k.strides(t.shape[:rank])
		if !ok {
			return fmt.Errorf("%w: %v has too many elements", ErrUnsupported, t.shape[:rank])
		}
		result := d.tensorSet.Call(c, *t.to, element, rank, c.Keep(unsafe.Pointer(t.shape)), c.Keep(unsafe.Pointer(&strides)))
		if err := d.check("cudnnSetTensorNdDescriptor", result); err != nil {
			return err
		}
	}
	if err := made(&p.weight, d.filterCreate, "cudnnCreateFilterDescriptor"); err != nil {
		return err
	}
	format := uintptr(formatNCHW)
	if k.last {
		format = formatNHWC
	}
	result := d.filterSet.Call(c, p.weight, element, format, rank, c.Keep(unsafe.Pointer(&k.weight)))
	if err := d.check("cudnnSetFilterNdDescriptor", result); err != nil {
		return err
	}
	if err := made(&p.conv, d.convCreate, "cudnnCreateConvolutionDescriptor"); err != nil {
		return err
	}
	compute := uintptr(dataFloat)
	if k.dtype == ir.Float64 {
		compute = dataDouble
	}
	result = d.convSet.Call(c, p.conv, uintptr(k.spatial), c.Keep(unsafe.Pointer(&k.padding)),
		c.Keep(unsafe.Pointer(&k.stride)), c.Keep(unsafe.Pointer(&k.dilation)), crossCorrelation, compute)
	if err := d.check("cudnnSetConvolutionNdDescriptor", result); err != nil {
		return err
	}
	err := d.check("cudnnSetConvolutionGroupCount", d.convGroups.Call(c, p.conv, uintptr(k.groups)))
	if err != nil || !k.bias {
		return err
	}
	return d.describeActivation(c, p, k)
}

// describeActivation makes p's descriptor of what follows the convolution.
func (d *device) describeActivation(c *dl.Frame, p *prepared, k *key) error {
	c.Words[0] = 0
	err := d.check("cudnnCreateActivationDescriptor", d.actCreate.Call(c, c.Addr(0)))
	if p.activation = c.Words[0]; err != nil {
		return err
	}
	mode := uintptr(activationIdentity)
	if k.relu {
		mode = activationReLU
	}
	// The number that other activations have besides is 0, as dl.Func.Call has it.
	return d.check("cudnnSetActivationDescriptor", d.actSet.Call(c, p.activation, mode, propagateNaN))
}

// strides returns those of a tensor's shape in the problem's layout; ok is false where they
// exceed what the library counts.
func (k *key) strides(shape []int32) (strides [2 + maxSpatial]int32, ok bool) {
	if !k.last {
		return dense(shape)
	}
	s, ok := dense([]int32{shape[0], shape[2], shape[3], shape[1]})
	return [2 + maxSpatial]int32{s[0], s[3], s[1], s[2]}, ok
}

// dense returns the row-major strides of a shape; ok is false where they exceed
// what the library counts.
func dense(shape []int32) (strides [2 + maxSpatial]int32, ok bool) {
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = int32(n)
		if n *= int64(shape[i]); n > math.MaxInt32 {
			return strides, false
		}
	}
	return strides, true
}

// plain are, of each direction, the algorithms that multiply elements as they are:
// others transform them first.
var plain = [directions][]int32{Forward: {0, 1, 2}, GradInput: {0, 1}, GradWeight: {0, 1, 3}}

// choose sets p's algorithm: the first that the heuristics name, that works, and
// that gives equal bits for equal calls; without the last where none does.
func (d *device) choose(h uintptr, p *prepared, k *key) error {
	c := dl.Get()
	defer c.Free()
	r := &d.of[k.direction]
	if err := d.check("cudnnSetConvolutionMathType", d.convMath.Call(c, p.conv, k.mathOf())); err != nil {
		return err
	}
	var list [16]candidate
	result := r.heuristic.Call(c, h, p.first, p.second, p.conv, p.result,
		uintptr(len(list)), c.Addr(0), c.Keep(unsafe.Pointer(&list)))
	if err := d.check("heuristics of "+r.name, result); err != nil {
		return err
	}
	count := min(int(int32(c.Words[0])), len(list))
	for _, repeatable := range []bool{true, false} {
		for i := range list[:count] {
			l := &list[i]
			if l.status != statusSuccess || repeatable != (l.determinism == deterministic) {
				continue
			}
			if k.exact && !slices.Contains(plain[k.direction], l.algorithm) || k.bias && l.algorithm != precomputedGEMM {
				continue
			}
			if d.take(h, p, k, l) {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: no algorithm for %v of x %v and weight %v", ErrUnsupported, k.dtype, k.x[:2+k.spatial], k.weight[:2+k.spatial])
}

// take makes l p's algorithm, if it computes the problem within the bounds that
// the flags and memory set.
func (d *device) take(h uintptr, p *prepared, k *key, l *candidate) bool {
	c := dl.Get()
	defer c.Free()
	mode := uintptr(l.math)
	if k.mathOf() == mathFMA {
		mode = mathFMA
	}
	if d.convMath.Call(c, p.conv, mode) != statusSuccess {
		return false
	}
	r := &d.of[k.direction]
	if int32(r.workspace.Call(c, h, p.first, p.second, p.conv, p.result, uintptr(l.algorithm), c.Addr(0))) != statusSuccess {
		return false
	}
	if c.Words[0] > maxWorkspace {
		return false
	}
	p.algorithm, p.workspace = uintptr(l.algorithm), int64(c.Words[0])
	return true
}

// drop leaves the descriptors of a problem that nothing reaches any more to the next
// problem that is prepared. It calls no library, so it may run in a cleanup.
func (d *device) drop(of descriptors) {
	d.unused.mu.Lock()
	defer d.unused.mu.Unlock()
	d.unused.list = append(d.unused.list, of)
}

// destroyUnused frees the descriptors that were dropped.
func (d *device) destroyUnused() {
	d.unused.mu.Lock()
	list := d.unused.list
	d.unused.list = nil
	d.unused.mu.Unlock()
	for _, of := range list {
		d.destroy(of)
	}
}

// destroy frees a problem's descriptors, which are memory of the library alone.
func (d *device) destroy(of descriptors) {
	c := dl.Get()
	defer c.Free()
	for _, made := range []struct {
		destroy dl.Func
		address uintptr
	}{{d.tensorDestroy, of.x}, {d.tensorDestroy, of.y}, {d.filterDestroy, of.weight}, {d.convDestroy, of.conv},
		{d.tensorDestroy, of.bias}, {d.actDestroy, of.activation}} {
		if made.address != 0 {
			made.destroy.Call(c, made.address)
		}
	}
}
