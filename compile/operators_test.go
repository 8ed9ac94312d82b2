package compile_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/cmplx"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/random"
)

// inProgram returns an operator that runs as a program, recorded at every call, and
// compares each result with eager code's to the bit. It reports what went wrong, and
// returns what eager code does. Where whole, programs that can be graphs run as such, too.
func inProgram(t *testing.T, o optest.Operator, whole bool, ran, graphs *atomic.Int64) optest.Operator {
	eager := o.Call
	o.Out, o.InPlace = nil, nil
	o.Call = func(a optest.Args) []*core.Tensor {
		if core.FirstError(slices.DeleteFunc(slices.Clone(a.In), func(x *core.Tensor) bool { return x == nil })...) != nil {
			return eager(a)
		}
		before := random.Current().State()
		want := eager(a)
		after := random.Current().State()
		if core.FirstError(want...) != nil {
			return want
		}
		random.Current().SetState(before)
		rec, err := core.Record(a.In, core.RecordOptions{Streams: 3}, func(in []*core.Tensor) ([]*core.Tensor, error) {
			b := a
			b.In = in
			return eager(b), nil
		})
		if err != nil {
			if errors.Is(err, core.ErrHostRead) && o.Op.Tags&ir.TagSyncs != 0 {
				random.Current().SetState(after)
				return want
			}
			if errors.Is(err, core.ErrUnrecordable) && strings.Contains(err.Error(), "positions in the storage") && slices.ContainsFunc(a.In, ofPart) {
				return want
			}
			t.Errorf("%s: recording: %v", o.Op.Name, err)
			return want
		}
		// The collector does not know how much memory of a device it holds.
		defer rec.Close()
		if dev := a.Place.Device; ran.Add(1)%128 == 0 && dev.Accelerator() { // which keeps what closed programs held
			if err := memory.EmptyCache(dev); err != nil {
				t.Error(err)
			}
		}
		runs := 1
		if _, why := rec.Graph(); why == "" && whole {
			runs = 3 // of which the second and the third are a graph's
			graphs.Add(1)
		}
		for run := 0; run < runs && err == nil; run++ {
			var got []*core.Tensor
			random.Current().SetState(before)
			got, err = rec.Run(a.In)
			if err == nil && random.Current().State() != after {
				err = fmt.Errorf("random state %v, eager leaves %v", random.Current().State(), after)
			}
			for i := 0; i < len(want) && err == nil; i++ {
				err = same(got[i], want[i])
			}
			for _, y := range got {
				y.Release()
			}
			if _, why := rec.Graph(); err == nil && why != "" && runs > 1 {
				err = fmt.Errorf("given call by call: %s", why)
			}
		}
		if err != nil {
			t.Errorf("%s in a program: %v\n%s", o.Op.Name, err, rec.Program)
		}
		return want
	}
	return o
}

// ofPart reports whether x is a part of its storage.
func ofPart(x *core.Tensor) bool { return x != nil && x.StorageElements() != x.NumElements() }

// same reports how a tensor differs from another.
func same(got, want *core.Tensor) error {
	g, err := core.Bytes(got)
	if err != nil {
		return err
	}
	w, err := core.Bytes(want)
	if err != nil {
		return err
	}
	like := bytes.Equal(g, w) || got.Device().Kind == device.KindCUDA && near(got, want)
	if fmt.Sprint(got.Shape(), got.DType(), got.Device()) != fmt.Sprint(want.Shape(), want.DType(), want.Device()) || !like {
		return fmt.Errorf("%s %v on %s differs from eager's %s %v on %s", got.DType(), got.Shape(), got.Device(), want.DType(), want.Shape(), want.Device())
	}
	return nil
}

// near reports whether floats differ by little: on GPUs sums that kernels make by atomic
// additions, and products for which a library takes another kernel, are not the same twice.
func near(got, want *core.Tensor) bool {
	if !got.DType().IsFloat() && !got.DType().IsComplex() {
		return false
	}
	tolerance := 1e-3
	if got.DType().Size() == 2 {
		tolerance = 4e-2
	}
	g, w := core.Cast(got, ir.Complex128), core.Cast(want, ir.Complex128)
	a, err := core.Data[complex128](g)
	b, late := core.Data[complex128](w)
	if err != nil || late != nil || len(a) != len(b) {
		return false
	}
	for i := range a {
		if cmplx.IsNaN(a[i]) && cmplx.IsNaN(b[i]) || a[i] == b[i] {
			continue
		}
		if !(cmplx.Abs(a[i]-b[i]) <= tolerance*(1+cmplx.Abs(b[i]))) {
			return false
		}
	}
	return true
}

// TestOperators: every operator in a program gives eager code's bits, with freed memory
// poisoned, on the processor, on a simulated accelerator, and in part on a GPU where there is
// one. None is computed eagerly but those that the schema says read values.
func TestOperators(t *testing.T) {
	core.Poison.Store(true)
	t.Cleanup(func() { core.Poison.Store(false) })
	for _, dev := range devices() {
		every, whole := 1, 13 // of a capture the memory is a pool of its own
		if testing.Short() || dev.Kind == device.KindCUDA {
			every = whole
		}
		if testing.Short() {
			every *= 4
		}
		t.Run(dev.Kind.String(), func(t *testing.T) {
			var ran, graphs atomic.Int64
			var table []optest.Operator
			for i, o := range opcases.Cases {
				if i%every != 0 {
					continue
				}
				table = append(table, inProgram(t, o, i%whole == 0, &ran, &graphs))
			}
			t.Run("all", func(t *testing.T) { optest.RunOn(t, table, dev, optest.WithoutReference()) })
			if ran.Load() == 0 || dev.Accelerator() && graphs.Load() == 0 {
				t.Errorf("%d ran as programs, %d as graphs", ran.Load(), graphs.Load())
			}
		})
	}
}
