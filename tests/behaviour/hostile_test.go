package behaviour_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestHostileCalls calls every operator with operands and arguments that nobody
// should use, one at a time. A call may succeed or fail, but it must not panic,
// must not blame itself, and must leave its operands as they were.
func TestHostileCalls(t *testing.T) {
	for i, o := range opcases.Cases {
		if o.Op.Tags&ir.TagHidden != 0 {
			continue // no program can call it
		}
		if testing.Short() && i%16 != 0 {
			continue
		}
		t.Run(o.Op.Name, func(t *testing.T) {
			samples := o.Samples
			if samples == nil {
				samples = []optest.Sample{{Shapes: plainShapes(len(o.Op.In)), Attrs: o.Defaults}}
			}
			h := hostility{t: t, o: o}
			for _, s := range samples[:min(len(samples), 2)] {
				h.operands(s)
				h.arguments(s)
				h.destinations(s)
			}
		})
	}
}

func plainShapes(n int) [][]int {
	shapes := make([][]int, n)
	for i := range shapes {
		shapes[i] = []int{2, 3}
	}
	return shapes
}

// hostility is the attack on one operator.
type hostility struct {
	t *testing.T
	o optest.Operator
}

// friendly returns operands that suit a sample, which require gradients where
// they can.
func (h hostility) friendly(s optest.Sample) []*core.Tensor {
	in := make([]*core.Tensor, max(len(s.Shapes), len(h.o.Op.In)))
	for i, shape := range s.Shapes {
		operand := h.o.Op.In[min(i, len(h.o.Op.In)-1)]
		dt := tensor.Float32
		for _, set := range []ir.DTypeSet{h.o.Op.DTypes, operand.DTypes} {
			if set != 0 && !set.Has(dt) {
				dt = set.List()[0]
			}
		}
		if operand.Fixed != ir.Invalid {
			dt = operand.Fixed
		}
		n := max(ir.NumElements(shape), 1)
		x := tensor.Arange(0, n, 1, tensor.OfType(tensor.Float32)).RemainderScalar(2).Narrow(0, 0, ir.NumElements(shape)).Reshape(shape...).ToType(dt).Clone()
		if dt.Differentiable() && h.o.Op.Kind != ir.Opaque {
			x = x.RequireGrad()
		}
		in[i] = x.Handle()
	}
	return in
}

// hostileTensors returns what takes the place of an operand of the given shape.
func hostileTensors(shape []int) map[string]T {
	plain := tensor.Ones(shape)
	gone := tensor.Ones(shape)
	gone.Release()
	failed := plain.Reshape(-2)
	_ = failed.Err()
	all := map[string]T{
		"zero": {}, "released": gone, "failed": failed, "far": plain.To(device.Sim(0)),
		"scalar": tensor.FromScalar(2.5), "empty": tensor.Zeros([]int{0}), "no rows": tensor.Zeros([]int{0, 3}),
		"rank 6": tensor.Ones([]int{1, 2, 1, 2, 1, 2}), "wide": tensor.Ones(append([]int{7}, shape...)),
		"NaN": tensor.Full(shape, math.NaN()), "infinite": tensor.Full(shape, math.Inf(-1)),
		"expanded":          tensor.FromScalar(1.0).Expand(shape...),
		"indices too large": tensor.Full(shape, math.MaxInt>>3, tensor.OfType(tensor.Int64)),
		"indices too small": tensor.Full(shape, math.MinInt>>3, tensor.OfType(tensor.Int64)),
	}
	for _, dt := range ir.AllDTypes() {
		all[dt.String()] = plain.ToType(dt)
	}
	return all
}

// operands replaces each operand by each hostile tensor.
func (h hostility) operands(s optest.Sample) {
	for i := range s.Shapes {
		for name, bad := range hostileTensors(s.Shapes[i]) {
			in := h.friendly(s)
			in[i] = bad.Handle()
			what := fmt.Sprintf("operand %d is %s", i, name)
			out := h.call(what, optest.Args{In: in, Attrs: s.Attrs, Place: new(core.Placement)})
			if refused := name == "zero" || name == "released" || name == "failed"; refused && len(out) > 0 && out[0].Err() == nil {
				h.t.Errorf("%s: no error", what)
			}
		}
	}
}

// hostileValues are what takes the place of an argument.
var hostileValues = map[ir.AttrKind][]ir.Value{
	ir.AttrInt:    {{Int: math.MinInt64}, {Int: -1}, {Int: 0}, {Int: 7}, {Int: 1 << 50}, {Int: math.MaxInt64}},
	ir.AttrBool:   {{Int: 0}, {Int: 1}},
	ir.AttrEnum:   {{Int: 99}, {Int: 255}},
	ir.AttrDType:  {{Int: 0}, {Int: int64(ir.Bool)}, {Int: int64(ir.Complex64)}, {Int: 99}, {Int: 255}},
	ir.AttrString: {{Str: ""}, {Str: "->"}, {Str: "ij,jk->ik->"}, {Str: "i...j...->"}, {Str: "ii->ii"}, {Str: "é,→"}, {Str: ",,,"}},
	ir.AttrFloat:  {floatValue(math.NaN()), floatValue(math.Inf(1)), floatValue(math.Inf(-1)), floatValue(-1), floatValue(0), floatValue(1e300)},
	ir.AttrScalar: {floatValue(math.NaN()), floatValue(math.Inf(1)), {Scalar: ir.BoolScalar(true)}, {Scalar: ir.IntScalar(math.MinInt64)}, {Scalar: ir.ComplexScalar(complex(1, -2))}},
	ir.AttrInts: {
		{}, {Ints: []int{}}, {Ints: []int{0}}, {Ints: []int{-1}}, {Ints: []int{7}}, {Ints: []int{0, 0}}, {Ints: []int{-1, -1}}, {Ints: []int{math.MinInt}},
		{Ints: []int{math.MaxInt}}, {Ints: []int{math.MaxInt, math.MaxInt}}, {Ints: []int{math.MaxInt >> 13, 2}}, {Ints: []int{1, 2, 3, 4, 5, 6, 7, 8, 9}}, {Ints: []int{0, 1}}, {Ints: []int{1, 0}},
	},
}

func floatValue(f float64) ir.Value { return ir.Value{Scalar: ir.FloatScalar(f)} }

// arguments replaces each argument by each hostile value.
func (h hostility) arguments(s optest.Sample) {
	for i, a := range h.o.Op.Attrs {
		for _, bad := range hostileValues[a.Kind] {
			attrs := append([]ir.Value(nil), s.Attrs...)
			attrs[i] = bad
			h.call(fmt.Sprintf("argument %s is %+v", a.Name, bad), optest.Args{In: h.friendly(s), Attrs: attrs, Place: new(core.Placement)})
		}
	}
}

// destinations gives the forms that write hostile tensors to write to, and has
// the operand of the in-place form be one.
func (h hostility) destinations(s optest.Sample) {
	in := h.friendly(s)
	for name, dst := range hostileTensors([]int{2, 3}) {
		if h.o.Out != nil {
			h.attempt("the form with a result, "+name, func() { _ = h.o.Out(dst.Handle(), optest.Args{In: in, Attrs: s.Attrs, Place: new(core.Placement)}) })
		}
		if h.o.InPlace != nil && len(in) > 0 {
			changed := append([]*core.Tensor(nil), in...)
			changed[0] = dst.Handle()
			h.attempt("the form in place, "+name, func() { _ = h.o.InPlace(optest.Args{In: changed, Attrs: s.Attrs, Place: new(core.Placement)}) })
		}
	}
	if h.o.Out != nil && len(in) > 0 && in[0] != nil {
		h.attempt("the form with a result, written to its operand", func() { _ = h.o.Out(in[0], optest.Args{In: in, Attrs: s.Attrs, Place: new(core.Placement)}) })
	}
}

// call makes the call and, when it succeeds, goes backward through it.
func (h hostility) call(what string, a optest.Args) (out []*core.Tensor) {
	before := snapshots(a.In)
	h.attempt(what, func() { out = h.o.Call(a) })
	if len(out) == 0 && !mayBeEmpty(h.o.Op) {
		h.t.Errorf("%s: no result", what)
	}
	for _, r := range out {
		err := r.Err()
		if err != nil {
			h.blames(what, err)
			continue
		}
		if r.NumElements() > 1<<20 {
			continue
		}
		h.attempt(what+", printed", func() { _ = r.String() })
		if r.RequiresGrad() {
			x := tensor.Wrap(r)
			h.attempt(what+", backward", func() { h.blames(what, x.Sum().Backward()) })
		}
	}
	for i, was := range before {
		if now := snapshots(a.In)[i]; was != nil && !bytes.Equal(was, now) && h.o.Op.Tags&ir.TagWrites == 0 {
			h.t.Errorf("%s: operand %d was changed", what, i)
		}
	}
	return out
}

// mayBeEmpty reports whether op may return a list, which may hold nothing: only
// compositions do, and their descriptors do not tell.
func mayBeEmpty(op *ir.Op) bool { return op.Kind == ir.Composition && len(op.Out) == 1 }

// blames reports an error that says the library is wrong.
func (h hostility) blames(what string, err error) {
	if err != nil && (strings.Contains(err.Error(), "internal error") || strings.Contains(err.Error(), "panicked")) {
		h.t.Errorf("%s: %v", what, err)
	}
}

func (h hostility) attempt(what string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			h.t.Errorf("%s: panic: %v\n%s", what, p, debug.Stack())
		}
	}()
	core.InScope(func(*core.Scope) { f() })
}

// snapshots returns the bytes of the operands that are small and whole.
func snapshots(in []*core.Tensor) [][]byte {
	all := make([][]byte, len(in))
	for i, x := range in {
		if x != nil && x.NumElements() < 1<<10 && x.Err() == nil {
			all[i], _ = core.Bytes(x)
		}
	}
	return all
}
