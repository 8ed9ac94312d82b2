package ref

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/backend/ref/element"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
)

// A runner computes one call in real arithmetic F.
type runner[F any] struct {
	call *ir.Call
	body *body.Body
	a    arith[F]
	// Where the interpreter finds the operands' elements and the position of these.
	operands []*expr.Number[F]
	index    *expr.Number[F]
}

// number returns s, whose category is that of dtype d, for the interpreter.
func (r *runner[F]) number(s ir.Scalar, d ir.DType) expr.Number[F] {
	return r.exact(element.Convert(s, d), d)
}

// exact is number where s is one of d.
func (r *runner[F]) exact(s ir.Scalar, d ir.DType) expr.Number[F] {
	switch d.Category() {
	case ir.CategoryBool:
		return expr.Number[F]{Bool: s.Bool()}
	case ir.CategoryInt:
		return expr.Number[F]{Int: s.Int()}
	case ir.CategoryComplex:
		return expr.Number[F]{Complex: s.Complex()}
	}
	return expr.Number[F]{Float: r.a.FromFloat(s.Float())}
}

// scalar returns n, a value of dtype d.
func (r *runner[F]) scalar(n expr.Number[F], d ir.DType) ir.Scalar {
	switch d.Category() {
	case ir.CategoryBool:
		return ir.BoolScalar(n.Bool)
	case ir.CategoryInt:
		return ir.IntScalar(n.Int)
	case ir.CategoryComplex:
		return ir.ComplexScalar(n.Complex)
	}
	return ir.FloatScalar(r.a.ToFloat(n.Float))
}

// env returns the values of the call's scalar attributes for a body that is
// checked for dtype t.
func (r *runner[F]) env(t ir.DType) (expr.Bindings[F], error) {
	args := r.body.Params
	if len(args) != len(r.call.Scalars) {
		return nil, fmt.Errorf("%d scalar arguments for %d", len(r.call.Scalars), len(args))
	}
	env := expr.Bindings[F]{}
	for i, p := range args {
		s := r.call.Scalars[i]
		switch p.Kind {
		case expr.ScalarParam:
			*env.Of(p.Name) = r.number(s, t)
		case expr.FloatParam:
			*env.Of(p.Name) = r.number(s, t.Real())
		case expr.IntParam:
			*env.Of(p.Name) = r.number(s, ir.Int64)
		case expr.BoolParam:
			*env.Of(p.Name) = r.number(s, ir.Bool)
		}
	}
	return env, nil
}

// bind says that load puts the operands into env.
func (r *runner[F]) bind(env expr.Bindings[F]) {
	for _, o := range r.call.Op.In[:len(r.call.In)] {
		r.operands = append(r.operands, env.Of(o.Name))
	}
	r.index = env.Of("index")
}

// load puts the operands at row-major position i of the space where bind said.
func (r *runner[F]) load(i int) {
	for k, v := range r.call.In {
		o := r.call.Op.In[k]
		d := r.call.Compute
		if o.Fixed != ir.Invalid {
			d = o.Fixed.Compute()
		}
		s := element.Load(v, i)
		if v.DType != d { // else it has its value already
			s = element.Convert(s, d)
		}
		*r.operands[k] = r.exact(s, d)
	}
	r.index.Int = int64(i)
}

// elementwise computes the results of every place of the space.
func (r *runner[F]) elementwise() error {
	env, err := r.env(r.call.Compute)
	if err != nil {
		return err
	}
	r.bind(env)
	in, same := expr.NewInterpreter(r.body.Expr, r.a, env), len(r.call.In) == 0 && !r.body.Expr.Indexed()
	for i := range ir.NumElements(r.call.Space) {
		if same && i > 0 {
			for _, v := range r.call.Out {
				element.Repeat(v)
			}
			break
		}
		r.load(i)
		values, err := in.Values()
		if err != nil {
			return err
		}
		r.store(i, values, r.body.Expr)
	}
	return nil
}

// joint computes the results of every place from what was in the operands and in the
// results there.
func (r *runner[F]) joint() error {
	env, err := r.env(r.call.Compute)
	if err != nil {
		return err
	}
	op, call := r.call.Op, r.call
	n := len(call.Out) / len(op.Out)
	in := expr.NewInterpreter(r.body.Expr, r.a, env)
	for k := range n {
		for i := range call.Out[k].NumElements() {
			for j := range op.Out {
				*env.Of(op.Out[j].Name) = r.number(element.Load(call.Out[j*n+k], i), call.Compute)
			}
			for j, o := range op.In {
				v := call.In[j*n+k]
				*env.Of(o.Name) = r.number(element.Load(v, i%v.NumElements()), call.Compute)
			}
			values, err := in.Values()
			if err != nil {
				return err
			}
			for j, root := range r.body.Expr.Roots {
				d := r.body.Expr.KindDType(root.Kind)
				element.StoreFrom(call.Out[j*n+k], i, r.scalar(values[j], d), d)
			}
		}
	}
	return nil
}

// store writes the values of body g to row-major position i of the results.
func (r *runner[F]) store(i int, values []expr.Number[F], g *expr.Graph) {
	for k, root := range g.Roots {
		d := g.KindDType(root.Kind)
		element.StoreFrom(r.call.Out[k], i, r.scalar(values[k], d), d)
	}
}

// A folding is the state of a reduction or scan.
type folding[F any] struct {
	*runner[F]
	mapEnv, accEnv expr.Bindings[F]
	states         []ir.State       // one without a name where the body has none
	acc            []expr.Number[F] // of each

	begin, mapped, combined, finished *expr.Interpreter[F]
}

func (r *runner[F]) newFolding() (f folding[F], err error) {
	f.runner, f.states = r, r.call.Op.Bodies[r.call.Variant].States
	t := r.call.Compute
	if f.states == nil {
		f.states, t = make([]ir.State, 1), r.body.Map.Result()
	}
	if f.mapEnv, err = r.env(r.call.Compute); err != nil {
		return f, err
	}
	if f.accEnv, err = r.env(t); err != nil {
		return f, err
	}
	r.bind(f.mapEnv)
	f.begin, f.mapped = expr.NewInterpreter(r.body.Init, r.a, f.accEnv), expr.NewInterpreter(r.body.Map, r.a, f.mapEnv)
	f.combined, f.finished = expr.NewInterpreter(r.body.Combine, r.a, f.accEnv), expr.NewInterpreter(r.body.Finish, r.a, f.accEnv)
	return f, nil
}

// first makes what the body has of the first elements, at position i of the space, or of
// none.
func (f *folding[F]) first(i int, none bool) error {
	list := f.call.Op.Bodies[f.call.Variant].First
	values := make([]expr.Number[F], len(list))
	for k := range values { // a zero
		values[k] = f.number(ir.IntScalar(0), f.call.Compute)
	}
	if len(list) > 0 && !none {
		f.load(i)
		var err error
		if values, err = expr.NewInterpreter(f.body.First, f.a, f.mapEnv).Values(); err != nil {
			return err
		}
	}
	for k, first := range list {
		*f.mapEnv.Of(first.Full()), *f.accEnv.Of(first.Full()) = values[k], values[k]
	}
	return nil
}

// start sets the accumulators to the identity.
func (f *folding[F]) start() (err error) {
	f.acc, err = f.begin.Values()
	if err != nil {
		return err
	}
	init, mapped := f.body.Init, f.body.Map
	for k, n := range f.acc { // a literal has a kind of its own until it meets others
		f.acc[k] = f.number(f.scalar(n, init.KindDType(init.Roots[k].Kind)), mapped.KindDType(mapped.Roots[k].Kind))
	}
	return nil
}

// add folds the elements at row-major position i of the space.
func (f *folding[F]) add(i int) error {
	f.load(i)
	element, err := f.mapped.Values()
	if err != nil {
		return err
	}
	f.set("a", f.acc)
	f.set("b", element)
	f.acc, err = f.combined.Values()
	return err
}

// set gives the names of a part their values.
func (f *folding[F]) set(part string, values []expr.Number[F]) {
	for k, s := range f.states {
		*f.accEnv.Of(s.Of(part)) = values[k]
	}
}

// finish writes what count elements came to to row-major position i of the results.
func (f *folding[F]) finish(i int, count int64) error {
	f.set("a", f.acc)
	f.accEnv.Of("count").Int = count
	values, err := f.finished.Values()
	if err == nil {
		f.store(i, values, f.body.Finish)
	}
	return err
}

// reduction folds, for every element of the space whose coordinates along the
// reduced axes are 0, all that differ from it along these only.
func (r *runner[F]) reduction() error {
	f, err := r.newFolding()
	if err != nil {
		return err
	}
	space := r.call.Space
	kept, reduced := slices.Clone(space), make([]int, len(space))
	for a := range reduced {
		reduced[a] = 1
	}
	for _, a := range r.call.Axes {
		kept[a], reduced[a] = 1, space[a]
	}
	r.call = withShape(r.call, kept)
	strides := ir.ContiguousStrides(space)
	for i := range ir.NumElements(kept) {
		first := element.Offset(kept, strides, i)
		if err := f.start(); err != nil {
			return err
		}
		if err := f.first(first, ir.NumElements(reduced) == 0); err != nil {
			return err
		}
		for k := range ir.NumElements(reduced) {
			if err := f.add(first + element.Offset(reduced, strides, k)); err != nil {
				return err
			}
		}
		if err := f.finish(i, r.call.ReducedCount()); err != nil {
			return err
		}
	}
	return nil
}

// withShape returns c with results of the given shape, the same but for axes of
// extent 1.
func withShape(c *ir.Call, shape []int) *ir.Call {
	with := *c
	with.Out = slices.Clone(c.Out)
	for i := range with.Out {
		with.Out[i].Shape = shape
	}
	return &with
}

// scan folds along one axis and keeps every prefix.
func (r *runner[F]) scan() error {
	f, err := r.newFolding()
	if err != nil {
		return err
	}
	if len(r.call.Axes) != 1 {
		return fmt.Errorf("a scan is along one axis, not %v", r.call.Axes)
	}
	space, axis := r.call.Space, r.call.Axes[0]
	starts := slices.Clone(space)
	starts[axis] = 1
	strides := ir.ContiguousStrides(space)
	for i := range ir.NumElements(starts) {
		first := element.Offset(starts, strides, i)
		if err := f.start(); err != nil {
			return err
		}
		for k := range space[axis] {
			at := first + k*strides[axis]
			if err := f.add(at); err != nil {
				return err
			}
			if err := f.finish(at, int64(k)+1); err != nil {
				return err
			}
		}
	}
	return nil
}
