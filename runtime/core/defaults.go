package core

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/local"
)

// Defaults are what the making of a tensor takes where nothing else decides.
type Defaults struct {
	Device device.Device // the zero Device is the CPU
	Float  ir.DType      // of floating-point values and results; Invalid is float32
}

// defaults holds the calling goroutine's innermost WithDefaults.
var defaults = local.NewKey[Defaults]()

// DefaultFloat returns the dtype of a floating-point result that nothing else
// decides: float32, unless the calling goroutine is in a WithDefaults. Complex
// results have twice its size.
func DefaultFloat() ir.DType {
	if d, ok := defaults.Get(); ok {
		return d.Float
	}
	return ir.Float32
}

// DefaultPlacement returns where a factory creates that was told nothing.
func DefaultPlacement() *Placement {
	d, _ := defaults.Get()
	return &Placement{Device: d.Device}
}

// WithDefaults calls f with d as the calling goroutine's defaults. They nest,
// and what was in force before is again when f returns or panics; other goroutines
// are not affected, also not those that f starts. It returns f's error, or that there
// is no such device or Float is no floating dtype, and then f is not called.
func WithDefaults(d Defaults, f func() error) error {
	if d.Float == ir.Invalid {
		d.Float = ir.Float32
	}
	if !d.Float.IsFloat() {
		return at(fmt.Errorf("%w: the default float cannot be %s; want a floating dtype", ErrDType, d.Float))
	}
	if _, _, err := device.Find(d.Device); err != nil {
		return at(err)
	}
	return defaults.Try(d, f)
}

// defaultComplex is the dtype of a complex result that nothing else decides.
func defaultComplex() ir.DType {
	if DefaultFloat() == ir.Float64 {
		return ir.Complex128
	}
	return ir.Complex64
}

// PinKind returns the kind of accelerator that host memory is page-locked for: that
// of the first of ds, or where none is given that of the accelerators there are.
func PinKind(ds []device.Device) device.Kind {
	for _, d := range ds {
		if d.Accelerator() {
			return d.Kind
		}
	}
	return device.AcceleratorKind()
}
