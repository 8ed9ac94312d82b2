package index

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// Write writes value, which broadcasts to the part of x that ix names, there, or with
// add adds it to what is there; a place that is named several times then receives
// every one. While operators are recorded and x or value requires gradients, the new
// x is computed beside the old one, and x, which must then be no view, stands for it.
func (o *Operators) Write(x, value *core.Tensor, add bool, ix []any) error {
	return o.writing(x, ix, opOf(add), func(p *part) (*core.Tensor, error) {
		if t := core.FirstError(value); t != nil {
			return t, nil
		}
		if add && !ir.CanCast(value.DType(), x.DType()) {
			return core.Fail(addOp, fmt.Errorf("%w: result type %s can't be cast to %s", core.ErrDType, value.DType(), x.DType())), nil
		}
		w := writer{Operators: o, part: p, x: x, add: add}
		w.recorded = core.GradEnabled() && (x.RequiresGrad() || value.RequiresGrad())
		if value.SharesStorage(x) {
			value = core.Copy(value) // it may be part of what is written
		}
		return w.write(core.Cast(core.To(value, x.Device(), core.TransferOptions{}), x.DType()))
	})
}

// WriteNumber is Write of a number, which x's dtype must hold; one that is added must
// be of no higher category than x's elements.
func (o *Operators) WriteNumber(x *core.Tensor, value any, add bool, ix []any) error {
	return o.writing(x, ix, opOf(add), func(p *part) (*core.Tensor, error) {
		s, err := ir.ScalarOf(value)
		switch dt := x.DType(); {
		case err != nil:
			return core.Fail(opOf(add), err), nil
		case !s.Fits(dt) || add && s.Category() > dt.Category():
			return core.Fail(opOf(add), fmt.Errorf("%w: value is %v, which %s does not hold", core.ErrDType, s, dt)), nil
		}
		w := writer{Operators: o, part: p, x: x, add: add, recorded: core.GradEnabled() && x.RequiresGrad()}
		return w.write(o.Full([]int{}, s, core.PlacementLike(x)))
	})
}

func opOf(add bool) *ir.Op {
	if add {
		return addOp
	}
	return setOp
}

// writing calls f with the part of x that ix names. F returns a tensor that carries an
// error, which is named after op, or an error that is complete. Either is left in x.
func (o *Operators) writing(x *core.Tensor, ix []any, op *ir.Op, f func(p *part) (*core.Tensor, error)) error {
	if err := x.Err(); err != nil {
		return err
	}
	var err error
	out := core.Composing(func() *core.Tensor {
		p, bad := newPart(x, ix)
		if bad != nil {
			return core.Fail(op, bad)
		}
		var t *core.Tensor
		t, err = f(p)
		return t
	})
	if out != nil {
		core.Composed(op, nil, out)
		err = out.Err()
	}
	return core.NotWritten(x, err)
}

// A writer writes to a part of a tensor.
type writer struct {
	*Operators
	*part
	x             *core.Tensor
	add, recorded bool
}

// write writes v, of x's dtype and device.
func (w *writer) write(v *core.Tensor) (*core.Tensor, error) {
	if t := core.FirstError(v); t != nil {
		return t, nil
	}
	if v.NumElements() == 1 {
		if m := w.loneMask(w.Operators); m != nil {
			return w.masked(m, w.Reshape(v, []int{}))
		}
	}
	if err := w.placed(w.Operators); err != nil {
		return core.Fail(opOf(w.add), err), nil
	}
	v, err := w.spread(v)
	if err != nil {
		return core.Fail(opOf(w.add), err), nil
	}
	_, extents, _ := w.bounds(0)
	if w.plain() {
		return w.regional(w.flipped(w.Operators, w.Reshape(v, extents), 0))
	}
	if axis, at := w.single(w.Operators); at != nil {
		extents[axis] = core.Look(at).NumElements()
		v = w.flipped(w.Operators, w.Reshape(v, extents), 0)
		at = w.AxisIndex(at, axis, w.of[axis], 1) // an error of scatter would tell places in at expanded to v
		return w.put(w.region(w.Operators, w.x, 0), axis, at, v, 0)
	}
	rows, at := core.Look(w.rows(w.Operators, w.x)), w.positions(w.Operators)
	at = w.Reshape(at, []int{core.Look(at).NumElements()})
	v = w.Reshape(v, append([]int{core.Look(at).NumElements()}, rows.Shape()[1:]...))
	return w.put(rows, 0, at, w.flipped(w.Operators, v, w.lead), w.lead)
}

// put writes slices v of target along dim to the places at, or adds them there. Target is
// the region of x along the axes from the given one on, in a shape of its own. A view of
// x's elements is written to as it is.
func (w *writer) put(target *core.Tensor, dim int, at, v *core.Tensor, from int) (*core.Tensor, error) {
	if t := core.FirstError(target, at, v); t != nil {
		return t, nil
	}
	change, over := w.IndexAdd, w.IndexAddOut
	if !w.add {
		change, over = w.Scatter, w.ScatterOut
		along := slices.Repeat([]int{1}, v.Rank())
		along[dim] = at.NumElements()
		at = w.Expand(w.Reshape(at, along), v.Shape())
	}
	if !w.recorded && target.SharesStorage(w.x) {
		return nil, over(target, target, dim, at, v)
	}
	_, extents, _ := w.bounds(from)
	return w.assign(w.Reshape(change(target, dim, at, v), extents), from)
}

// spread returns v expanded to the shape of the part. Axes of extent 1 that v has before
// as many as the part has are left out.
func (w *writer) spread(v *core.Tensor) (*core.Tensor, error) {
	have, want := v.Shape(), w.shape()
	for len(have) > len(want) && have[0] == 1 {
		have = have[1:]
	}
	both, err := ir.Broadcast(have, want)
	if err != nil || len(both) != len(want) || ir.NumElements(both) != ir.NumElements(want) {
		return nil, fmt.Errorf("%w: a value of shape %v does not broadcast to the part, of shape %v", ir.ErrShape, v.Shape(), want)
	}
	return w.Expand(w.Reshape(v, have), want), nil
}

// regional writes v, of the region's shape, to the region, or adds it there.
func (w *writer) regional(v *core.Tensor) (*core.Tensor, error) {
	if !w.add {
		return w.assign(v, 0)
	}
	r := w.region(w.Operators, w.x, 0)
	if w.recorded {
		return w.assign(w.Add(r, v), 0)
	}
	if t := core.FirstError(r, v); t != nil {
		return t, nil
	}
	return nil, w.AddInPlace(r, v)
}

// masked writes the number v where mask m, which broadcasts to the region, is true.
func (w *writer) masked(m, v *core.Tensor) (*core.Tensor, error) {
	r := w.region(w.Operators, w.x, 0)
	if w.add {
		v = w.Add(r, v)
	}
	return w.assign(w.Where(m, v, r), 0)
}

// assign has the region of x along the axes from the given one on, with all of x along
// the others, be v.
func (w *writer) assign(v *core.Tensor, from int) (*core.Tensor, error) {
	if t := core.FirstError(v); t != nil {
		return t, nil
	}
	start, extents, step := w.bounds(from)
	to := w.x
	if w.recorded {
		v = w.RegionPut(w.x, v, start, step)
	} else {
		to = w.Region(w.x, start, extents, step)
	}
	if t := core.FirstError(v, to); t != nil {
		return t, nil
	}
	return nil, core.CopyFrom(to, v, core.TransferOptions{}, w.SumTo)
}
