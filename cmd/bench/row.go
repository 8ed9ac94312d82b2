package main

import (
	"context"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// T is the tensor type.
type T = tensor.Tensor

// A row is one line of the table: work for both sides, or a fact that only we
// have.
type row struct {
	name  string
	group string
	in    []operand
	clock clock
	unit  unit
	work  float64 // bytes, operations or keys a call, for units that are rates
	tf32  bool    // lets products of float32 use TF32, on both sides

	threads int  // that all sides use; 0: as many as they choose
	again   bool // one set of operands, which caches may hold
	idle    bool // all sides sleep before a batch, which is one call
	brief   bool // one of many, with shorter batches

	attrs     map[string]any // arguments of the operator by name, for the statement
	gradients bool           // the statement's gradients, too, of the operands that say so

	ours  maker  // nil: there is no such thing here yet
	torch string // a Python statement on operands a, b, c; "" for none
	setup string // Python before it: torch, F and what beside.py defines are there

	limit  bool   // a fact about the machine, that native tells
	native string // work of the native side with its numbers and %d for the threads; "" for none
	bound  string // the limit that a target is a share of, likewise: measured in the same rounds

	// fact, if not nil, is measured in place of ours, in the row's unit, as often as
	// its own nature asks for.
	fact func(ctx context.Context, b *bench) (float64, error)

	targets []target
}

// A call does a row's work once on one set of operands.
type call func(x []T) error

// A maker prepares a row's work for our side: on its device, with what has to be
// given up again in its list after.
type maker func(o *ourSide) (call, error)

// action makes work that needs nothing prepared.
func action(f call) maker {
	return func(*ourSide) (call, error) { return f, nil }
}

// result makes an operator's work: its result is looked at and released.
func result(f func(x []T) T) maker {
	return action(func(x []T) error {
		out := f(x)
		err := out.Err()
		out.Release()
		return err
	})
}

// An operand is a tensor of fresh random numbers: standard normal ones, with
// below > 0 integers from 0 on, or numbers between low and high where these differ.
type operand struct {
	Shape      []int  `json:"shape"`
	DType      string `json:"dtype"`
	Below      int    `json:"below,omitempty"`
	Transposed bool   `json:"transposed,omitempty"` // lies in memory with the last two axes swapped
	Positive   bool   `json:"positive,omitempty"`   // above 0
	Where      string `json:"where,omitempty"`      // "host", "pinned" or "peer", the next device; "" for the device

	Name   string  `json:"name,omitempty"` // in the statement; "" for a, b or c
	List   bool    `json:"list,omitempty"` // one of the list with that name
	Low    float64 `json:"low,omitempty"`
	High   float64 `json:"high,omitempty"`
	Sorted bool    `json:"sorted,omitempty"` // ascending
	Perm   bool    `json:"perm,omitempty"`   // distinct integers along an axis
	Axis   int     `json:"axis,omitempty"`
	Grad   bool    `json:"grad,omitempty"` // requires gradients
}

// dtype returns the operand's dtype.
func (o operand) dtype() tensor.DType {
	d, err := ir.ParseDType(o.DType)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return d
}

// f32 is a float32 operand.
func f32(shape ...int) operand { return operand{Shape: shape, DType: "float32"} }

// on returns o in another place.
func (o operand) on(where string) operand {
	o.Where = where
	return o
}

// bytes returns the size of an operand's elements.
func (o operand) bytes() int64 {
	return int64(ir.NumElements(o.Shape)) * int64(o.dtype().Size())
}

// make draws the operand.
func (o operand) make(dev device.Device) (T, error) {
	opts := []tensor.Option{tensor.OfType(o.dtype())}
	switch o.Where {
	case "pinned":
		opts = append(opts, tensor.Pinned())
	case "peer":
		opts = append(opts, tensor.On(device.Device{Kind: dev.Kind, Index: dev.Index + 1}))
	case "":
		opts = append(opts, tensor.On(dev))
	}
	shape := append([]int(nil), o.Shape...)
	if o.Transposed {
		shape[len(shape)-1], shape[len(shape)-2] = shape[len(shape)-2], shape[len(shape)-1]
	}
	x := o.draw(shape, opts)
	if o.Positive {
		x = x.Abs().AddScalar(0.01)
	}
	if o.Transposed {
		x = x.Transpose(-1, -2)
	}
	if o.Grad && x.Err() == nil {
		return x, x.SetRequireGrad(true)
	}
	return x, x.Err()
}

// draw makes the operand's numbers; the first option is its dtype.
func (o operand) draw(shape []int, opts []tensor.Option) T {
	d := o.dtype()
	real := slices.Concat([]tensor.Option{tensor.OfType(tensor.Float32)}, opts[1:])
	between := o.Low != o.High
	uniform := func() T { return tensor.Rand(shape, real...).MulScalar(o.High - o.Low).AddScalar(o.Low) }
	switch {
	case o.Perm && len(shape) == 1:
		all := tensor.Randperm(o.Below, opts...)
		return all.Narrow(0, 0, shape[0]).Clone()
	case o.Perm:
		return tensor.Rand(shape, real...).Argsort(o.Axis).ToType(d)
	case o.Below > 0:
		return tensor.Randint(shape, 0, o.Below, opts...)
	case d == tensor.Bool:
		return tensor.Rand(shape, real...).GtScalar(0.5)
	case d.IsComplex() && between:
		return tensor.Complex(uniform(), uniform()).ToType(d)
	case d.IsComplex():
		return tensor.Complex(tensor.Randn(shape, real...), tensor.Randn(shape, real...)).ToType(d)
	case between && !d.IsFloat():
		return tensor.Randint(shape, int(math.Ceil(o.Low)), int(math.Floor(o.High))+1, opts...)
	case o.Sorted:
		values, indices := uniform().Sort(-1)
		indices.Release()
		return values.ToType(d)
	case between:
		return uniform().ToType(d)
	}
	return tensor.Randn(shape, opts...)
}

// A clock is a way to measure a batch of calls.
type clock string

const (
	hostTime   clock = "host"   // until the last call has returned; the device may still work
	deviceTime clock = "device" // between events around the calls
	wallTime   clock = "wall"   // until all work is done
	usedTime   clock = "used"   // of processors by a side's process, for the same: where others use them, too
)

// A unit is how a figure is shown: seconds/scale, or work/seconds/scale of a
// rate.
type unit struct {
	name  string
	rate  bool
	scale float64
}

var (
	nanoseconds  = unit{"ns", false, 1e-9}
	microseconds = unit{"us", false, 1e-6}
	milliseconds = unit{"ms", false, 1e-3}
	bandwidth    = unit{"GB/s", true, 1e9}
	gigaflops    = unit{"GFLOP/s", true, 1e9}
	teraflops    = unit{"TFLOP/s", true, 1e12}
	gigakeys     = unit{"Gkeys/s", true, 1e9}
	images       = unit{"images/s", true, 1}
	allocations  = unit{"allocs", false, 1}
	plain        = unit{"", false, 1}
)

// value turns the seconds of a call into a figure of the row's unit.
func (r *row) value(seconds float64) float64 {
	if r.unit.rate {
		return r.work / seconds / r.unit.scale
	}
	return seconds / r.unit.scale
}

// What targets refer to beside names of rows.
const (
	byPyTorch = "PyTorch" // PyTorch's figure of the same row
	byNative  = "native"  // the native side's figure of the same row
	absolute  = ""        // the number itself
)

// A target is what a figure should reach: a share of what another is. One of
// atMost and atLeast is set.
type target struct {
	of              string // byPyTorch, absolute or the name of a row
	atMost, atLeast float64
	match           bool    // where PyTorch is faster than the share, it decides
	or              *target // atLeast: what is asked for is the lower of both
}

func atMost(share float64, of string) target  { return target{of: of, atMost: share} }
func atLeast(share float64, of string) target { return target{of: of, atLeast: share} }

// orAtLeast asks for a share of something else where that is lower.
func (t target) orAtLeast(share float64, of string) target {
	other := atLeast(share, of)
	t.or = &other
	return t
}

// ofCopy asks for a share of the measured device copy or, where PyTorch is
// faster than that, for PyTorch's speed.
func ofCopy(share float64) target { return target{of: copyRow, atLeast: share, match: true} }

// The rows that others are compared with.
const (
	copyRow   = "device copy"
	launchRow = "bare launch"
)
