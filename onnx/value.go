package onnx

import (
	"sync"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

var tensorCPU = device.CPU

// A form is what a value is.
type form uint8

const (
	formTensor form = iota
	formSequence
	formNone // an optional value that is none
)

// A value is what a place holds while a model runs.
type value struct {
	form     form
	t        tensor.Tensor
	elem     format.Elem // that of t, or of a sequence's tensors
	list     []*value    // of a sequence
	constant *constant   // of a value that is the model's
	borrowed bool        // the memory is the caller's or the model's
	known    bool        // the same in every run of these shapes, while one is recorded
	refs     int         // places of the run that hold it
}

// A constant is what a model keeps about a value of its own, for all runs.
type constant struct {
	mu       sync.Mutex
	elements []int // the elements, once they were asked for
	moved    tensor.Tensor
	dev      device.Device // where moved is
	there    bool
	derived  map[string]tensor.Tensor // what kernels made of it, by their name for it
}

// noValue is an operand or an optional value that is none.
var noValue = &value{form: formNone, constant: &constant{}, borrowed: true}

func constantValue(t tensor.Tensor, e format.Elem) *value {
	return &value{t: t, elem: e, constant: &constant{}, borrowed: true}
}

// on returns the value's tensor on a device, for a constant the copy that the model keeps.
func (v *value) on(d device.Device) tensor.Tensor {
	if v.t.Device() == d {
		return v.t
	}
	if v.constant == nil {
		return v.t.To(d)
	}
	v.constant.mu.Lock()
	defer v.constant.mu.Unlock()
	if !v.constant.there || v.constant.dev != d {
		core.Unrecorded(func() { core.OutsideScope(func() { v.constant.moved = v.t.To(d) }) })
		v.constant.dev, v.constant.there = d, true
	}
	return v.constant.moved
}

// ints returns the elements as ints.
func (v *value) ints() ([]int, error) {
	if v.constant != nil {
		v.constant.mu.Lock()
		defer v.constant.mu.Unlock()
		if v.constant.elements != nil {
			return v.constant.elements, nil
		}
	}
	out, err := intsOf(v.t)
	if err == nil && v.constant != nil {
		v.constant.elements = out
	}
	return out, err
}

// intsOf returns the elements of a tensor as ints.
func intsOf(t tensor.Tensor) (out []int, err error) {
	core.Unrecorded(func() { out, err = readInts(t) })
	return out, err
}

func readInts(t tensor.Tensor) ([]int, error) {
	if t.DType() != tensor.Int64 {
		t = t.ToType(tensor.Int64)
	}
	data, err := tensor.Data[int64](t)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(data))
	for i, x := range data {
		out[i] = int(x)
	}
	return out, nil
}
