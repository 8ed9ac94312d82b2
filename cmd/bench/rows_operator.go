package main

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// operatorGroup is the group of the rows that the schema's entries ask for.
const operatorGroup = "Operators"

// aboveLimit is the share of PyTorch's time above which a row is slow.
const aboveLimit = 1.05

// operatorRows are the rows of every public operator, forward and with gradients.
func (w *workload) operatorRows() (rows []row) {
	for i := range opcases.Cases {
		o := &opcases.Cases[i]
		for k := range o.Bench {
			if o.Bench[k].None == "" {
				rows = append(rows, w.operatorRow(o, &o.Bench[k])...)
			}
		}
	}
	for i := range rows {
		rows[i].brief, rows[i].targets = true, []target{atMost(aboveLimit, byPyTorch)}
	}
	return grouped(operatorGroup, measured(deviceTime, microseconds, rows))
}

// operatorRow makes the rows of one entry.
func (w *workload) operatorRow(o *optest.Operator, b *optest.Bench) (rows []row) {
	sample := b.Sample(w.extents)
	name := "op " + o.Op.Name
	if b.Name != "" {
		name += " of " + b.Name
	}
	forward := row{name: name, torch: b.PyTorch, setup: b.Setup, attrs: attributes(o.Op, sample.Attrs)}
	differentiable := false
	lists := len(o.Op.In) > 0 && o.Op.In[len(o.Op.In)-1].Variadic
	for i, x := range o.Operands(b, sample) {
		in := operand{
			Shape: x.Shape, DType: x.DType.String(), Name: x.Name, Low: x.Low, High: x.High, Perm: x.Perm, Axis: x.Dim, Sorted: x.Sorted,
			Below: x.Below, List: lists && i >= len(o.Op.In)-1,
		}
		if x.DType == ir.Uint8 {
			in.Low = max(in.Low, 0)
		}
		differentiable = differentiable || x.Grad
		forward.in = append(forward.in, in)
	}
	gradients := forward
	gradients.name, gradients.gradients, gradients.in = name+", gradients", true, nil
	for i, x := range o.Operands(b, sample) {
		in := forward.in[i]
		in.Grad = x.Grad
		gradients.in = append(gradients.in, in)
	}
	forward.ours, gradients.ours = applied(o, sample, w.dev), differentiated(o, b.Without, sample, w.dev)
	if b.Only != "gradients" {
		rows = append(rows, forward)
	}
	if b.Only != "forward" && differentiable && o.Op.Tags&ir.TagSyncs == 0 && !integerResults(o.Op) {
		rows = append(rows, gradients)
	}
	return rows
}

// integerResults reports whether all results have a dtype that none is differentiated
// in.
func integerResults(op *ir.Op) bool {
	for _, r := range op.Out {
		if r.DType == ir.Invalid || r.DType.Differentiable() {
			return false
		}
	}
	return true
}

// attributes are an operator's arguments by name, as Python takes them.
func attributes(op *ir.Op, values []ir.Value) map[string]any {
	out := map[string]any{}
	for i, v := range values {
		switch a := op.Attrs[i]; a.Kind {
		case ir.AttrInt:
			out[a.Name] = v.Int
		case ir.AttrInts:
			out[a.Name] = v.Ints
		case ir.AttrFloat, ir.AttrScalar:
			f := v.Scalar.Float()
			switch {
			case v.Scalar.Category() == ir.CategoryInt:
				out[a.Name] = v.Scalar.Int()
			case !math.IsInf(f, 0) && !math.IsNaN(f): // JSON has none
				out[a.Name] = f
			}
		case ir.AttrBool:
			out[a.Name] = v.Int != 0
		case ir.AttrString:
			out[a.Name] = v.Str
		}
	}
	return out
}

// args are the arguments of a call of an operator's closure.
func args(o *optest.Operator, sample optest.Sample, dev device.Device, x []T) optest.Args {
	in := make([]*core.Tensor, max(len(x), len(o.Op.In)))
	for i := range x {
		in[i] = x[i].Handle()
	}
	return optest.Args{In: in, Attrs: sample.Attrs, Place: &core.Placement{Device: dev, DType: ir.Float32}}
}

// applied makes an operator's work.
func applied(o *optest.Operator, sample optest.Sample, dev device.Device) maker {
	return action(func(x []T) (err error) {
		given := args(o, sample, dev, x)
		for _, out := range o.Call(given) {
			if e := out.Err(); err == nil {
				err = e
			}
			if !slices.Contains(given.In, out) { // some return what they are given
				out.Release()
			}
		}
		return err
	})
}

// differentiated makes an operator's work and that of its gradients, from gradients
// of its results that stay the same.
func differentiated(o *optest.Operator, without []string, sample optest.Sample, dev device.Device) maker {
	return func(side *ourSide) (call, error) {
		var given []T
		return func(x []T) error {
			return tensor.Scope(func() error {
				outs := recorded(o.Op, without, o.Call(args(o, sample, dev, x)))
				var leaves []T
				for _, t := range x {
					if t.RequiresGrad() {
						leaves = append(leaves, t)
					}
				}
				if given == nil {
					for _, out := range outs {
						dy := tensor.OnesLike(out)
						tensor.Keep(dy)
						given = append(given, dy)
						side.after = append(side.after, func() error { dy.Release(); return nil })
					}
				}
				for _, out := range outs {
					if err := out.Err(); err != nil {
						return err
					}
				}
				_, err := tensor.Gradients(outs, leaves, tensor.WithGradient(given...))
				return err
			})
		}, nil
	}
}

// recorded returns the results that gradients are known of, but for some by name, and those
// that failed.
func recorded(op *ir.Op, without []string, all []*core.Tensor) (outs []T) {
	for i, t := range all {
		left := i < len(op.Out) && slices.Contains(without, op.Out[i].Name)
		if t.RequiresGrad() && !left || t.Err() != nil {
			outs = append(outs, tensor.Wrap(t))
		}
	}
	return outs
}
