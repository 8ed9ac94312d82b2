package ref

import (
	"fmt"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// A body is one variant of an operator, checked for one compute dtype. Of an
// element-wise operator only expr is set; of the others the rest, where combine,
// init and finish are checked for the accumulator's dtype, that of fold.
type body struct {
	expr                       *expr.Graph
	init, fold, combine, final *expr.Graph
}

type bodyKey struct {
	op      *ir.Op
	variant int
	compute ir.DType
}

var bodies sync.Map // bodyKey to *body; descriptors live as long as the process

// bodyOf returns the body that c runs.
func bodyOf(c *ir.Call) (*body, error) {
	key := bodyKey{c.Op, c.Variant, c.Compute}
	if b, ok := bodies.Load(key); ok {
		return b.(*body), nil
	}
	b, err := newBody(c)
	if err != nil {
		return nil, err
	}
	bodies.Store(key, b)
	return b, nil
}

func newBody(c *ir.Call) (*body, error) {
	if c.Variant < 0 || c.Variant >= len(c.Op.Bodies) {
		return nil, fmt.Errorf("no body %d of %d", c.Variant, len(c.Op.Bodies))
	}
	src := c.Op.Bodies[c.Variant]
	switch c.Op.Kind {
	case ir.Elementwise:
		g, err := parse(src.Expr, "", expr.Env{Operands: operands(c.Op), Params: params(c.Op)}, c.Compute)
		return &body{expr: g}, err
	case ir.Reduction, ir.Scan:
		return newFold(c, src)
	}
	return nil, fmt.Errorf("operators of this kind are not launched")
}

// newFold reads the body of a reduction or scan.
func newFold(c *ir.Call, src ir.Body) (b *body, err error) {
	if len(c.Op.In) != 1 {
		return nil, fmt.Errorf("a reduction has one operand, not %d", len(c.Op.In))
	}
	b = new(body)
	args := params(c.Op)
	if b.fold, err = parse(src.Map, c.Op.In[0].Name, expr.Env{Operands: operands(c.Op), Params: args}, c.Compute); err != nil {
		return nil, err
	}
	acc := b.fold.Result()
	a, second := expr.Operand{Name: "a"}, expr.Operand{Name: "b"}
	count := expr.Param{Name: "count", Kind: expr.IntParam}
	for _, part := range []struct {
		src, def string
		env      expr.Env
		to       **expr.Graph
	}{
		{src.Init, "", expr.Env{Params: args}, &b.init},
		{src.Combine, "", expr.Env{Operands: []expr.Operand{a, second}, Params: args}, &b.combine},
		{src.Finish, "a", expr.Env{Operands: []expr.Operand{a}, Params: append(slices.Clip(args), count)}, &b.final},
	} {
		if *part.to, err = parse(part.src, part.def, part.env, acc); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// parse reads and checks an expression; def stands for one that is left out.
func parse(src, def string, env expr.Env, t ir.DType) (*expr.Graph, error) {
	if src == "" {
		src = def
	}
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

func operands(op *ir.Op) []expr.Operand {
	var out []expr.Operand
	for _, o := range op.In {
		out = append(out, expr.Operand{Name: o.Name, Fixed: o.Fixed})
	}
	return out
}

// paramKinds says how bodies see the scalar attributes.
var paramKinds = map[ir.AttrKind]expr.ParamKind{
	ir.AttrScalar: expr.ScalarParam, ir.AttrFloat: expr.FloatParam, ir.AttrInt: expr.IntParam, ir.AttrBool: expr.BoolParam,
}

// params returns the scalar attributes, in the order of Call.Scalars.
func params(op *ir.Op) []expr.Param {
	var out []expr.Param
	for _, a := range op.Attrs {
		if kind, ok := paramKinds[a.Kind]; ok {
			out = append(out, expr.Param{Name: a.Name, Kind: kind})
		}
	}
	return out
}
