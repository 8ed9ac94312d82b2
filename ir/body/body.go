// Package body has what operators compute as typed graphs: the expressions of their
// descriptors, parsed and checked once for each dtype that they compute in. It is the
// one place that binds the names in an expression to operands and attributes. It knows
// nothing of tensors and of backends.
package body

import (
	"fmt"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// A Body is one variant of an operator, checked for one compute dtype. It never changes.
// Of element-wise and joint operators Expr is set, whose roots are the results; of reductions and scans the rest, where Init,
// Combine and Finish are checked for the accumulator's dtype, that of Map.
type Body struct {
	Expr                       *expr.Graph
	Init, Map, Combine, Finish *expr.Graph
	Params                     []expr.Param // the scalar attributes, in the order of ir.Call.Scalars
}

type key struct {
	op      *ir.Op
	variant int
	compute ir.DType
}

var bodies sync.Map // key to *Body; descriptors live as long as the process

// Of returns the body of op's variant for a compute dtype, so not for a 16-bit float.
func Of(op *ir.Op, variant int, compute ir.DType) (*Body, error) {
	k := key{op, variant, compute}
	if b, ok := bodies.Load(k); ok {
		return b.(*Body), nil
	}
	b, err := newBody(k)
	if err != nil {
		return nil, err
	}
	kept, _ := bodies.LoadOrStore(k, b)
	return kept.(*Body), nil
}

// Result returns the dtype of what the body computes.
func (b *Body) Result() ir.DType {
	if b.Expr != nil {
		return b.Expr.Result()
	}
	return b.Finish.Result()
}

func newBody(k key) (*Body, error) {
	if k.variant < 0 || k.variant >= len(k.op.Bodies) {
		return nil, fmt.Errorf("no body %d of %d", k.variant, len(k.op.Bodies))
	}
	src := k.op.Bodies[k.variant]
	b := &Body{Params: params(k.op)}
	switch k.op.Kind {
	case ir.Elementwise:
		var err error
		b.Expr, err = check(src.Expr, Env(k.op), k.compute)
		return b, err
	case ir.Joint:
		var list []*expr.Expr
		for _, text := range src.Joint {
			e, err := expr.Parse(text, Env(k.op))
			if err != nil {
				return nil, fmt.Errorf("body %q: %w", text, err)
			}
			list = append(list, e)
		}
		if len(list) == 0 || len(list) != len(k.op.Out) {
			return nil, fmt.Errorf("%d expressions for %d results", len(list), len(k.op.Out))
		}
		var err error
		if b.Expr, err = expr.CheckAll(list, k.compute); err != nil {
			return nil, fmt.Errorf("body %q for %s: %w", src.Joint, k.compute, err)
		}
		return b, nil
	case ir.Reduction, ir.Scan:
		return b, b.fold(k, src)
	}
	return nil, fmt.Errorf("operators of this kind are not launched")
}

// fold reads the body of a reduction or scan.
func (b *Body) fold(k key, src ir.Body) (err error) {
	if len(k.op.In) != 1 {
		return fmt.Errorf("a reduction has one operand, not %d", len(k.op.In))
	}
	if b.Map, err = check(orElse(src.Map, k.op.In[0].Name), Env(k.op), k.compute); err != nil {
		return err
	}
	acc := b.Map.Result()
	first, second := expr.Operand{Name: "a"}, expr.Operand{Name: "b"}
	counted := append(slices.Clip(b.Params), expr.Param{Name: "count", Kind: expr.IntParam})
	if b.Init, err = check(src.Init, expr.Env{Params: b.Params}, acc); err != nil {
		return err
	}
	if b.Combine, err = check(src.Combine, expr.Env{Operands: []expr.Operand{first, second}, Params: b.Params}, acc); err != nil {
		return err
	}
	b.Finish, err = check(orElse(src.Finish, "a"), expr.Env{Operands: []expr.Operand{first}, Params: counted}, acc)
	return err
}

// orElse returns def for an expression that is left out.
func orElse(src, def string) string {
	if src == "" {
		return def
	}
	return src
}

func check(src string, env expr.Env, t ir.DType) (*expr.Graph, error) {
	e, err := expr.Parse(src, env)
	if err != nil {
		return nil, fmt.Errorf("body %q: %w", src, err)
	}
	g, err := e.Check(t)
	if err != nil {
		return nil, fmt.Errorf("body %q for %s: %w", src, t, err)
	}
	return g, nil
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
