package optest

import (
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/precision"
)

// tf32Rel bounds the error of a sum of products whose operands were cut to ten
// bits of fraction, relative to the sum of the products' magnitudes: each operand
// errs by less than 2^-10 of itself.
const tf32Rel = 0x1p-9

// setTF32 sets both TF32 flags until t and its subtests have ended.
func setTF32(t *testing.T, on bool) {
	matmul, conv := precision.MatmulTF32(), precision.ConvTF32()
	precision.SetMatmulTF32(on)
	precision.SetConvTF32(on)
	t.Cleanup(func() {
		precision.SetMatmulTF32(matmul)
		precision.SetConvTF32(conv)
	})
}

// exactHalves has sums of 16-bit products in float32 to their end until t has ended.
func exactHalves(t *testing.T) {
	for _, h := range []precision.Half{precision.FP16, precision.BF16} {
		reduced, split := precision.ReducedReduction(h)
		if err := precision.SetReducedReduction(h, false, true); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := precision.SetReducedReduction(h, reduced, split); err != nil {
				t.Error(err)
			}
		})
	}
}

// RunTF32On checks the operators of the table that follow the TF32 flags, on dev
// and with the flags on: their float32 and complex64 results are held to the
// bounds of TF32, those of other dtypes and operators are for RunOn. The
// flags are the process's: no other test may run meanwhile.
func RunTF32On(t *testing.T, table []Operator, dev device.Device) {
	setTF32(t, true)
	for i := range table {
		o := &table[i]
		if o.Op.Tags&ir.TagTF32 == 0 {
			continue
		}
		t.Run(o.Op.Name, func(t *testing.T) {
			t.Parallel()
			for _, err := range CheckTF32(o, dev) {
				t.Error(err)
			}
		})
	}
}

// CheckTF32 checks one operator on dev as RunTF32On does, under the flags as they
// are, and returns the mistakes it finds.
func CheckTF32(o *Operator, dev device.Device) (errs []error) {
	installOracle()
	r := runner{o: o, dev: dev}
	for _, dt := range []ir.DType{ir.Float32, ir.Complex64} {
		if !o.Op.DTypes.Has(dt) {
			continue
		}
		for i, s := range r.samples() {
			for layout := range numLayouts {
				if r.redundant(i, s, layout) {
					continue
				}
				tr := trial{s, dt, layout}
				if err := r.compareTF32(tr); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", tr, err))
				}
			}
		}
	}
	return errs
}

// compareTF32 applies the operator on the device under test, and twice on the
// oracle: to the operands and, for the sums of magnitudes, to their absolute
// values. The largest of these is the scale, as algorithms that transform their
// operands spread errors over neighbouring results.
func (r runner) compareTF32(tr trial) error {
	values := r.draw(tr, false)
	sizes := make([][]ir.Scalar, len(values))
	for i, list := range values {
		for _, v := range list {
			size := ir.FloatScalar(magnitude(v))
			if v.Category() == ir.CategoryComplex {
				size = ir.ComplexScalar(complex(magnitude(v), 0))
			}
			sizes[i] = append(sizes[i], size)
		}
	}
	got, err := r.results(tr, values, r.dev, false)
	if err != nil {
		return err
	}
	want, err := r.results(tr, values, oracle, true)
	if err != nil {
		return fmt.Errorf("the reference fails: %w", err)
	}
	sums, err := r.results(tr, sizes, oracle, true)
	if err != nil {
		return fmt.Errorf("the reference fails: %w", err)
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d elements, want %d", len(got), len(want))
	}
	allowed := 0.0
	for _, v := range sums {
		allowed = max(allowed, tf32Rel*magnitude(v))
	}
	for i := range got {
		off := magnitude(ir.ComplexScalar(got[i].Complex() - want[i].Complex()))
		if !(off <= allowed) {
			return fmt.Errorf("element %d: %v, want %v (off by %.3g, allowed %.3g)", i, got[i], want[i], off, allowed)
		}
	}
	return nil
}

// results returns the elements of the operator's first result.
func (r runner) results(tr trial, values [][]ir.Scalar, dev device.Device, wide bool) ([]ir.Scalar, error) {
	in, err := r.operands(tr, values, dev, wide)
	if err != nil {
		return nil, err
	}
	out := r.o.Call(r.args(tr, in, dev))[0]
	if err := out.Err(); err != nil {
		return nil, err
	}
	return core.Scalars(out)
}

func magnitude(v ir.Scalar) float64 { return math.Hypot(v.Float(), imag(v.Complex())) }
