package core

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// An Element is a Go type that tensors hold.
type Element interface {
	bool | uint8 | int8 | int16 | int32 | int64 | uint16 | uint32 | uint64 | ir.Half | ir.BF16 | float32 | float64 | complex64 | complex128
}

// DTypeOf returns the dtype whose elements are T, which for int is int64.
func DTypeOf[T Element | int]() ir.DType {
	var zero T
	switch any(zero).(type) {
	case bool:
		return ir.Bool
	case uint8:
		return ir.Uint8
	case int8:
		return ir.Int8
	case int16:
		return ir.Int16
	case int32:
		return ir.Int32
	case int, int64:
		return ir.Int64
	case uint16:
		return ir.Uint16
	case uint32:
		return ir.Uint32
	case uint64:
		return ir.Uint64
	case ir.Half:
		return ir.Float16
	case ir.BF16:
		return ir.BFloat16
	case float32:
		return ir.Float32
	case float64:
		return ir.Float64
	case complex64:
		return ir.Complex64
	}
	return ir.Complex128
}

var (
	fromOp  = &ir.Op{Name: "from"}
	dataOp  = &ir.Op{Name: "data"}
	emptyOp = &ir.Op{Name: "empty", Tags: ir.TagHidden}
	itemOp  = &ir.Op{Name: "item"}
)

// Empty returns a tensor whose elements have no defined value.
func Empty(shape []int, place Placement) *Tensor {
	t, err := newEmpty(shape, place)
	if err != nil {
		return Fail(emptyOp, err)
	}
	if place.RequireGrad {
		if err := t.SetRequiresGrad(true); err != nil {
			t.Release()
			return Fail(emptyOp, err)
		}
	}
	return t
}

// Zeros returns a tensor of zeros.
func Zeros(shape []int, place Placement) *Tensor {
	t := Empty(shape, place)
	if t.fail.Load() != nil {
		return t
	}
	if err := t.storage.zero(t.dev, current(t.dev)); err != nil {
		t.Release()
		return Fail(emptyOp, err)
	}
	return t
}

func newEmpty(shape []int, place Placement) (*Tensor, error) {
	dev, drv, err := device.Find(place.Device)
	if err != nil {
		return nil, err
	}
	dt := place.DType
	if dt == ir.Invalid {
		dt = DefaultFloat()
	}
	if !ir.ClassStored.Has(dt) {
		return nil, fmt.Errorf("%w: %s; want %s", ErrDType, dt, dtypeList(ir.ClassStored))
	}
	if err := checkNew(dev, drv, shape, dt); err != nil {
		return nil, err
	}
	return newIn(dev, drv, current(dev), place.Pin, rowMajorOf(shape), dt)
}

// checkNew reports a shape that no new tensor can have. Where nothing but its size is
// in the way, the error is what an accelerator's allocator says of so many bytes.
func checkNew(dev device.Device, drv device.Driver, shape []int, dt ir.DType) error {
	err := ir.CheckShape(shape)
	if err == nil || !dev.Accelerator() || len(shape) == 0 || slices.Min(shape) < 1 {
		return err
	}
	bytes := uint64(dt.Size())
	for _, d := range shape {
		high, low := bits.Mul64(bytes, uint64(d))
		if bytes = low; high != 0 || low > math.MaxInt64 {
			bytes = math.MaxInt64
			break
		}
	}
	block, refused := memory.Alloc(dev, drv, current(dev), int64(bytes))
	if refused != nil {
		return refused
	}
	return errors.Join(err, block.Free())
}

// rowMajorOf returns the contiguous layout of a shape, which it does not keep. Shape
// and strides are one allocation.
func rowMajorOf(shape []int) ir.Layout {
	n := len(shape)
	both := make([]int, 2*n)
	l := ir.Layout{Shape: both[:n:n], Strides: both[n:]}
	copy(l.Shape, shape)
	step := 1
	for i := n - 1; i >= 0; i-- {
		l.Strides[i] = step
		step *= max(shape[i], 1)
	}
	return l
}

// From returns a tensor with a copy of data, row-major, in the given shape. The
// dtype is T's unless place names one. No shape means a vector.
func From[T Element | int](data []T, shape []int, place Placement) *Tensor {
	if ints, ok := any(data).([]int); ok { // whose size is the platform's
		wide := make([]int64, len(ints))
		for i, v := range ints {
			wide[i] = int64(v)
		}
		return From(wide, shape, place)
	}
	if shape == nil {
		shape = []int{len(data)}
	}
	if err := ir.CheckShape(shape); err != nil {
		return Fail(fromOp, err)
	}
	if n := ir.NumElements(shape); n != len(data) {
		return Fail(fromOp, fmt.Errorf("%w: %d values for shape %v, which has %d elements", ir.ErrShape, len(data), shape, n))
	}
	dt := DTypeOf[T]()
	var raw []byte
	if len(data) > 0 {
		raw = unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), len(data)*dt.Size())
	}
	return FromBytes(raw, dt, shape, place)
}

// FromBytes returns a tensor with a copy of the given row-major elements of
// dtype dt in this machine's byte order.
func FromBytes(raw []byte, dt ir.DType, shape []int, place Placement) *Tensor {
	if err := ir.CheckShape(shape); err != nil {
		return Fail(fromOp, err)
	}
	if !ir.ClassStored.Has(dt) {
		return Fail(fromOp, fmt.Errorf("%w: %s; want %s", ErrDType, dt, dtypeList(ir.ClassStored)))
	}
	if want := ir.NumElements(shape) * dt.Size(); len(raw) != want {
		return Fail(fromOp, fmt.Errorf("%w: %d bytes for %s %v, which has %d", ir.ErrShape, len(raw), dt, shape, want))
	}
	if r := recorderNow(); r != nil {
		return r.from(raw, dt, shape, place)
	}
	host, err := newEmpty(shape, Placement{DType: dt})
	if err != nil {
		return Fail(fromOp, err)
	}
	copy(host.storage.host(), raw)
	return settled(host, place)
}

// from returns a copy of elements that each run makes of those that there are now.
func (r *recorder) from(raw []byte, dt ir.DType, shape []int, place Placement) *Tensor {
	var host *Tensor
	Unrecorded(func() {
		OutsideScope(func() { host = FromBytes(raw, dt, shape, Placement{}) })
	})
	if host.fail.Load() != nil {
		return host
	}
	r.constant(host)
	return settled(Copy(host), place)
}

// settled moves a tensor in host memory, which it takes over, to where place says.
func settled(host *Tensor, place Placement) *Tensor {
	out := host
	then := func(next *Tensor) {
		if next != out {
			out.Release()
		}
		out = next
	}
	if place.DType != ir.Invalid {
		then(Cast(out, place.DType))
	}
	then(To(out, place.Device, TransferOptions{}))
	if place.Pin != device.KindCPU {
		then(Pin(out, place.Pin))
	}
	if out.fail.Load() == nil && place.RequireGrad {
		if err := out.SetRequiresGrad(true); err != nil {
			then(Fail(fromOp, err))
		}
	}
	return out
}

// ScalarTensor returns a zero-dimensional host tensor of s that has the lowest
// priority in promotion. Floats are held as float64, so that they are rounded to
// the compute dtype only.
func ScalarTensor(s ir.Scalar) *Tensor {
	drv, err := device.DriverOf(device.KindCPU)
	if err != nil {
		return Fail(fromOp, err)
	}
	n := &number{}
	switch s.Category() {
	case ir.CategoryBool:
		put(n, s.Bool(), ir.Bool)
	case ir.CategoryInt:
		put(n, s.Int(), s.DType(ir.Float64))
	case ir.CategoryComplex:
		put(n, s.Complex(), ir.Complex128)
	default:
		put(n, s.Float(), ir.Float64)
	}
	n.storage.drv, n.storage.block.Host, n.storage.bytes = drv, unsafe.Pointer(&n.value), int64(n.tensor.dtype.Size())
	n.storage.refs.Store(1)
	n.tensor.storage, n.tensor.wrapped, n.tensor.layout.Strides = &n.storage, true, none
	scopeAdd(&n.tensor)
	return &n.tensor
}

// none are the strides of tensors without axes.
var none = []int{}

// A number is a tensor of one element with its storage and its memory.
type number struct {
	tensor  Tensor
	storage Storage
	value   complex128
}

func put[T Element](n *number, v T, dt ir.DType) {
	*(*T)(unsafe.Pointer(&n.value)) = v
	n.tensor.dtype = dt
}

// Solid returns x, or where x is a number that ScalarTensor made, a
// zero-dimensional tensor of dtype dt with its value, which promotes as tensors do.
func Solid(x *Tensor, dt ir.DType) *Tensor {
	if x == nil || x.fail.Load() != nil || !x.wrapped {
		return x
	}
	return castTo(x.again(x.layout), dt)
}

// Data returns a copy of the elements, row-major, after waiting for them. T must
// be the dtype's Go type.
func Data[T Element](t *Tensor) ([]T, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	if want := DTypeOf[T](); t.dtype != want {
		var zero T
		return nil, at(fmt.Errorf("data: %w: the tensor is %s, not %T; convert it first", ErrDType, t.dtype, zero))
	}
	out := []T{}
	err := t.read(func(raw []byte) {
		out = make([]T, len(raw)/t.dtype.Size())
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), len(raw)), raw)
	})
	return out, err
}

// Bytes returns a copy of the elements, row-major, in this machine's byte order.
func Bytes(t *Tensor) ([]byte, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	out := []byte{}
	err := t.read(func(raw []byte) { out = slices.Clone(raw) })
	return out, err
}

// read calls f with the elements, row-major, after waiting for them. F must not
// keep them. It is not called where there are none.
func (t *Tensor) read(f func(raw []byte)) error {
	n := t.NumElements() * t.dtype.Size()
	if n == 0 {
		return nil
	}
	if err := hostRead(t, dataOp.Name); err != nil {
		return err
	}
	var err error
	NoGrad(func() {
		InScope(func(*Scope) {
			host := To(t.Detach(), device.CPU, TransferOptions{})
			if host.fail.Load() == nil && !host.IsContiguous() {
				host = Copy(host)
			}
			if err = host.Err(); err != nil {
				err = at(fmt.Errorf("%s: %w", dataOp.Name, err))
				return
			}
			v := host.kernelView()
			f(unsafe.Slice((*byte)(v.Ptr), n))
		})
	})
	return err
}

// Item returns the value of a tensor of one element, after waiting for it.
func Item(t *Tensor) (ir.Scalar, error) {
	if err := t.Err(); err != nil {
		return ir.Scalar{}, err
	}
	if n := t.NumElements(); n != 1 {
		return ir.Scalar{}, at(fmt.Errorf("%s: %w: a tensor of %d elements (shape %v) cannot be one number", itemOp.Name, ir.ErrShape, n, t.Shape()))
	}
	raw, err := Bytes(t)
	if err != nil {
		return ir.Scalar{}, err
	}
	return decode(raw, t.dtype), nil
}

// ItemInt is Item as an int64, which holds what is no larger than the largest one.
func ItemInt(t *Tensor) (int64, error) {
	s, err := Item(t)
	if err == nil && s.Category() == ir.CategoryInt && !s.Fits(ir.Int64) {
		err = at(fmt.Errorf("%s: %w: %v is more than an int64 holds; take it with Data", itemOp.Name, ErrDType, s))
	}
	if err != nil {
		return 0, err
	}
	return s.Int(), nil
}

// decode reads one element.
func decode(raw []byte, dt ir.DType) ir.Scalar {
	p := unsafe.Pointer(&raw[0])
	switch dt {
	case ir.Bool:
		return ir.BoolScalar(raw[0] != 0)
	case ir.Uint8:
		return ir.IntScalar(int64(raw[0]))
	case ir.Int8:
		return ir.IntScalar(int64(*(*int8)(p)))
	case ir.Int16:
		return ir.IntScalar(int64(*(*int16)(p)))
	case ir.Int32:
		return ir.IntScalar(int64(*(*int32)(p)))
	case ir.Int64:
		return ir.IntScalar(*(*int64)(p))
	case ir.Uint16:
		return ir.IntScalar(int64(*(*uint16)(p)))
	case ir.Uint32:
		return ir.IntScalar(int64(*(*uint32)(p)))
	case ir.Uint64:
		return ir.UintScalar(*(*uint64)(p))
	case ir.Float16:
		return ir.FloatScalar(float64((*(*ir.Half)(p)).Float32()))
	case ir.BFloat16:
		return ir.FloatScalar(float64((*(*ir.BF16)(p)).Float32()))
	case ir.Float32:
		return ir.FloatScalar(float64(*(*float32)(p)))
	case ir.Float64:
		return ir.FloatScalar(*(*float64)(p))
	case ir.Complex64:
		return ir.ComplexScalar(complex128(*(*complex64)(p)))
	}
	return ir.ComplexScalar(*(*complex128)(p))
}

// Scalars returns the elements of t, row-major, as host numbers.
func Scalars(t *Tensor) ([]ir.Scalar, error) {
	raw, err := Bytes(t)
	if err != nil {
		return nil, err
	}
	size := t.dtype.Size()
	out := make([]ir.Scalar, len(raw)/size)
	for i := range out {
		out[i] = decode(raw[i*size:(i+1)*size], t.dtype)
	}
	return out, nil
}
