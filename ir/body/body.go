// Package body has what operators compute as typed graphs: the expressions of their
// descriptors, parsed and checked once for each kernel. It is the
// one place that binds the names in an expression to operands and attributes. It knows
// nothing of tensors and of backends.
package body

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// A Body is one variant of an operator, checked for one compute dtype. It never changes.
// Of element-wise and joint operators Expr is set, whose roots are the results; of
// reductions and scans the rest, whose roots but for Finish's are the states. Init,
// Combine and Finish are checked for the dtype of Map, or where there are States for the
// compute dtype.
type Body struct {
	Expr                       *expr.Graph
	Init, Map, Combine, Finish *expr.Graph
	First, Step                *expr.Graph  // of States: what is made of first elements, or nil; Combine with Map in place of the second part
	Params                     []expr.Param // the scalar attributes, in the order of ir.Call.Scalars
}

// A checked is a kernel's body, or what is wrong with it.
type checked struct {
	body *Body
	err  error
}

var bodies = ir.NewSlot(func(k *ir.Kernel) *checked {
	b, err := newBody(k)
	return &checked{b, err}
})

// Of returns the body of a kernel, checked for what it computes in.
func Of(k *ir.Kernel) (*Body, error) {
	if k.DType != k.Compute {
		k = k.Op.Kernel(k.Variant, k.Compute)
	}
	c := bodies.Of(k)
	return c.body, c.err
}

// Define gives a kernel of an element-wise operator that was made while the program runs
// its graph. It is called before anyone asks for the body; the operator's expressions are
// for people.
func Define(k *ir.Kernel, g *expr.Graph) {
	bodies.Put(k, &checked{body: &Body{Expr: g, Params: params(k.Op)}})
}

// Verify reports what is wrong with a kernel, as its own method does, and whether its body
// computes what its ports say.
func Verify(k *ir.Kernel) error {
	if err := k.Verify(); err != nil || k.Op.Kind == ir.Opaque {
		return err
	}
	b, err := Of(k)
	if err != nil {
		return fmt.Errorf("%s: %w", k.Op.Name, err)
	}
	for i, got := range b.Results() {
		if want := k.Out[i].Compute; got != want {
			return fmt.Errorf("%s: result %s is computed as %v, its port as %v", k.Op.Name, k.Out[i].Name, got, want)
		}
	}
	return nil
}

// Results returns the dtypes of what the body computes.
func (b *Body) Results() []ir.DType {
	g := b.Expr
	if g == nil {
		g = b.Finish
	}
	var out []ir.DType
	for _, r := range g.Roots {
		out = append(out, g.KindDType(r.Kind))
	}
	return out
}

func newBody(k *ir.Kernel) (*Body, error) {
	if k.Variant < 0 || k.Variant >= len(k.Op.Bodies) {
		return nil, fmt.Errorf("no body %d of %d", k.Variant, len(k.Op.Bodies))
	}
	src := k.Op.Bodies[k.Variant]
	b := &Body{Params: params(k.Op)}
	if n, want := len(src.Exprs), max(len(k.Op.Out), 1); n != want && (k.Op.Kind == ir.Elementwise || k.Op.Kind == ir.Joint || src.States != nil) {
		return nil, fmt.Errorf("%d expressions for %d results", n, want)
	}
	var err error
	switch {
	case k.Op.Kind == ir.Elementwise, k.Op.Kind == ir.Joint:
		b.Expr, err = check(src.Exprs, Env(k.Op), k.Compute)
		return b, err
	case k.Op.Kind == ir.Reduction && src.States != nil:
		return b, b.states(k, src)
	case k.Op.Kind == ir.Reduction, k.Op.Kind == ir.Scan:
		return b, b.fold(k, src)
	}
	return nil, fmt.Errorf("operators of this kind are not launched")
}

// fold reads the body of a reduction or scan.
func (b *Body) fold(k *ir.Kernel, src ir.Body) (err error) {
	if len(k.Op.In) != 1 {
		return fmt.Errorf("a reduction has one operand, not %d", len(k.Op.In))
	}
	if b.Map, err = check([]string{orElse(src.Map, k.Op.In[0].Name)}, Env(k.Op), k.Compute); err != nil {
		return err
	}
	acc := b.Map.Result()
	env := Env(k.Op).Fold(make([]ir.State, 1), nil, k.Op.Kind == ir.Reduction)
	if b.Init, err = check([]string{src.Init}, env.Init, acc); err != nil {
		return err
	}
	if b.Combine, err = check([]string{src.Combine}, env.Combine, acc); err != nil {
		return err
	}
	b.Finish, err = check([]string{orElse(src.Finish, "a")}, env.Finish, acc)
	return err
}

// states reads the body of a reduction with several states, operands or results.
func (b *Body) states(k *ir.Kernel, src ir.Body) error {
	elements := Env(k.Op)
	f := expr.Fold{States: src.States}
	for _, first := range src.First {
		x, err := parse(first.Expr, elements)
		if err != nil {
			return err
		}
		f.Names, f.First = append(f.Names, first.Full()), append(f.First, x)
	}
	env := elements.Fold(src.States, f.Names, true)
	for _, part := range []struct {
		to    *[]*expr.Expr
		env   expr.Env
		texts func(s ir.State) string
	}{
		{&f.Init, env.Init, func(s ir.State) string { return s.Init }},
		{&f.Map, env.Map, func(s ir.State) string { return s.Map }},
		{&f.Combine, env.Combine, func(s ir.State) string { return s.Combine }},
	} {
		for _, s := range src.States {
			x, err := parse(part.texts(s), part.env)
			if err != nil {
				return err
			}
			*part.to = append(*part.to, x)
		}
	}
	for _, text := range src.Exprs {
		x, err := parse(text, env.Finish)
		if err != nil {
			return err
		}
		f.Finish = append(f.Finish, x)
	}
	g, err := f.Check(k.Compute)
	if err != nil {
		return fmt.Errorf("body for %s: %w", k.Compute, err)
	}
	b.Init, b.First, b.Map, b.Combine, b.Step, b.Finish = g.Init, g.First, g.Map, g.Combine, g.Step, g.Finish
	return nil
}

// orElse returns def for an expression that is left out.
func orElse(src, def string) string {
	if src == "" {
		return def
	}
	return src
}

// check parses expressions and types them for dtype t.
func check(texts []string, env expr.Env, t ir.DType) (*expr.Graph, error) {
	var list []*expr.Expr
	for _, text := range texts {
		x, err := parse(text, env)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	g, err := expr.CheckAll(list, t)
	if err != nil {
		return nil, fmt.Errorf("body %q for %s: %w", texts, t, err)
	}
	return g, nil
}

func parse(text string, env expr.Env) (*expr.Expr, error) {
	x, err := expr.Parse(text, env)
	if err != nil {
		return nil, fmt.Errorf("body %q: %w", text, err)
	}
	return x, nil
}

// Env returns what the expressions of op may name: operands, those first that a joint
// body writes over, and attributes.
func Env(op *ir.Op) expr.Env {
	env := expr.Env{Params: params(op)}
	if op.Kind == ir.Joint {
		for _, r := range op.Out {
			env.Operands = append(env.Operands, expr.Operand{Name: r.Name})
		}
	}
	for _, o := range op.In {
		env.Operands = append(env.Operands, expr.Operand{Name: o.Name, Fixed: o.Fixed})
	}
	return env
}

// paramKinds says how bodies see the scalar attributes.
var paramKinds = [...]expr.ParamKind{
	ir.AttrScalar: expr.ScalarParam, ir.AttrFloat: expr.FloatParam, ir.AttrInt: expr.IntParam, ir.AttrBool: expr.BoolParam,
}

func params(op *ir.Op) []expr.Param {
	var out []expr.Param
	for _, a := range op.Attrs {
		switch a.Kind {
		case ir.AttrScalar, ir.AttrFloat, ir.AttrInt, ir.AttrBool:
			out = append(out, expr.Param{Name: a.Name, Kind: paramKinds[a.Kind]})
		}
	}
	return out
}
