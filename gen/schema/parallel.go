package schema

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"go.yaml.in/yaml/v4"
)

// writes reads which operands a kernel on lists of tensors writes, and makes them
// its results.
func (l *loader) writes(op *Op, n *yaml.Node) {
	items := l.list(n, "kernel: writes")
	if n.Kind == yaml.SequenceNode && len(items) == 0 {
		l.errorf(l.pos(n), "kernel: writes: the list is empty; want the operands that are written")
	}
	var results []Result
	for _, item := range items {
		name, ok := l.text(item, "kernel: writes")
		if !ok {
			continue
		}
		i := slices.IndexFunc(op.Params, func(p *Param) bool { return p.Name == name && p.Parallel })
		if i < 0 {
			l.errorf(l.pos(item), "kernel: writes: %q is no operand (have %s)", name, operandNames(op))
			continue
		}
		p := op.Params[i]
		switch {
		case p.Written:
			l.errorf(l.pos(item), "kernel: writes: %q is there twice", name)
		case p.DTypes != 0 && p.Fixed == ir.Invalid:
			l.errorf(l.pos(item), "kernel: writes: %q accepts several dtypes; what is written has the compute dtype, or one that is fixed", name)
		}
		p.Written = true
		results = append(results, Result{Name: p.Name, DType: p.Fixed})
	}
	if len(results) > 0 {
		op.Results = results
	}
}

// parallel checks the keys that mean nothing to an operator on lists of tensors:
// it is applied to tensors that exist, by code that holds them.
func (l *loader) parallel(e *entry) {
	for _, k := range []struct{ name, why string }{
		{"shape", "what is written has its shape"},
		{"promote", "the tensors agree in their dtype"},
		{"test", "the tables of tests have tensors that are returned; test it where it is called"},
	} {
		if f, ok := e.keys[k.name]; ok {
			l.errorf(l.pos(f.key), "%s: not for operands of type Tensor...: %s; leave it out", k.name, k.why)
		}
	}
	if e.op.Tags&ir.TagHidden == 0 {
		l.errorf(e.at, "tags: operands of type Tensor... need the tag hidden: there is no public function")
	}
	if f, ok := e.keys["grad"]; !ok {
		l.errorf(e.at, "grad: want none: what is written over has no gradient")
	} else if !isNone(f.val) {
		l.errorf(l.pos(f.key), "grad: want none: what is written over has no gradient")
	}
	for _, p := range e.op.Attrs() {
		if p.Option {
			l.errorf(p.Pos, "argument %q must stand before *: there is no public function to take options", p.Name)
		}
	}
}
