package schema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"go.yaml.in/yaml/v4"
)

// body reads the one body of an entry and the shape rule that goes with it.
func (l *loader) body(e *entry) {
	readers := []struct {
		key  string
		kind ir.BodyKind
		read func(*entry, *yaml.Node)
	}{
		{"expr", ir.Elementwise, l.elementwise}, {"reduce", ir.Reduction, l.reduction}, {"scan", ir.Scan, l.scan},
		{"view", ir.ViewBody, l.view}, {"compose", ir.Composition, l.compose}, {"kernel", ir.Opaque, l.kernel},
	}
	// An entry counts as having a body if reading it reported no mistake. Only then are its
	// gradient and its tests looked at, so that one mistake is not reported as three.
	before := len(l.errs)
	first := ""
	for _, r := range readers {
		f, ok := e.keys[r.key]
		switch {
		case !ok:
		case first != "":
			l.errorf(l.pos(f.key), "second body %s beside %s; an entry has one", r.key, first)
		default:
			first = r.key
			e.op.Kind = r.kind
			switch {
			case !e.parsed:
			case r.kind == ir.Elementwise && e.op.Parallel():
				e.op.Kind = ir.Joint
				l.joint(e, f.val)
			case r.kind != ir.Opaque && e.op.Parallel():
				l.errorf(l.pos(f.key), "%s: operands of type Tensor... are for expr and kernel", r.key)
			default:
				r.read(e, f.val)
			}
		}
	}
	if first == "" {
		l.errorf(e.at, "body is missing: want one of expr, reduce, scan, view, compose, kernel")
	}
	f, hasShape := e.keys["shape"]
	switch {
	case e.op.Parallel():
		l.parallel(e)
	case first == "kernel" && !hasShape:
		l.errorf(e.at, "key shape is missing: a kernel's results need a shape rule")
	case first != "kernel" && hasShape && first != "":
		l.errorf(l.pos(f.key), "shape: the shape of %s follows from its body; leave it out", first)
	case hasShape && e.parsed:
		e.op.Shape = l.rule(e, f.val, "shape", l.vocab.shape)
	}
	e.bodied = first != "" && e.parsed && len(l.errs) == before
}

// rule reads the call of a shape or view rule: a function of package shapes or ir by its
// name in the schema, or one of an imported package. Of the former the parameters are
// known by reflection, and each argument is checked against its own. A tensor among the
// arguments stands for its shape, and a view's first one for its layout.
func (l *loader) rule(e *entry, n *yaml.Node, what string, rules map[string]any) *Rule {
	text, ok := l.text(n, what)
	if !ok {
		return nil
	}
	x := l.lang(e, n)
	x.bindParams(e.op)
	x.fset = token.NewFileSet()
	tree, err := parser.ParseExprFrom(x.fset, "", callable(text), parser.SkipObjectResolution)
	if err != nil {
		x.syntax(err)
		return nil
	}
	call, ok := tree.(*ast.CallExpr)
	if !ok || call.Ellipsis.IsValid() {
		l.errorf(l.pos(n), "%s: want a rule as name(arguments), have %q", what, text)
		return nil
	}
	r := &Rule{Pos: x.at(call.Pos())}
	switch fn := call.Fun.(type) {
	case *ast.Ident:
		name := operatorName(fn.Name)
		f := rules[name]
		if f == nil {
			l.errorf(r.Pos, "%s: unknown rule %q (have %s)", what, name, keysOf(rules))
			return nil
		}
		r.Func = goName(f)
		t := reflect.TypeOf(f)
		if what == "shape" {
			l.ruleResults(e, r, name, t)
		}
		r.Args, _ = x.goArgs(call, "rule "+name, t)
	case *ast.SelectorExpr:
		pkg, isIdent := fn.X.(*ast.Ident)
		if !isIdent || !token.IsExported(fn.Sel.Name) {
			l.errorf(r.Pos, "%s: want a rule as name(arguments) or pkg.Func(arguments)", what)
			return nil
		}
		l.imported(r.Pos, pkg.Name)
		r.Pkg, r.Func = pkg.Name, fn.Sel.Name
		r.Args = x.ruleArgs(call, what)
	default:
		l.errorf(r.Pos, "%s: want a rule as name(arguments)", what)
		return nil
	}
	switch {
	case x.failed:
	case what == "view":
		l.viewed(e, x, r)
	default:
		l.shaped(e, x, r)
	}
	return r
}

// ruleArgs returns the arguments of a rule of an imported package, whose parameters are not known.
func (x *lang) ruleArgs(call *ast.CallExpr, what string) (args []Value) {
	for i, a := range call.Args {
		v := x.value(a, nil)
		want := map[Type]Type{Tensor: Ints, TensorList: ShapeList}[v.Type]
		if what == "view" && i == 0 {
			want = Layout
		}
		if want != NoType && !v.failed() {
			v = x.metaArg(a, v, want, "argument")
		}
		args = append(args, v)
	}
	return args
}

// ruleResults checks that a shape rule gives as many shapes as there are results.
func (l *loader) ruleResults(e *entry, r *Rule, name string, t reflect.Type) {
	several := len(e.op.Results) > 1 || e.op.Results[0].List
	switch typeOfGo[t.Out(0)] {
	case ShapeList:
		if !several {
			l.errorf(r.Pos, "shape: rule %s gives a list of shapes, but there is one result", name)
		}
	case Ints:
		if several {
			l.errorf(r.Pos, "shape: rule %s gives one shape, but there are several results", name)
		}
	}
}

// shaped checks that a shape rule knows every operand: a kernel would read beyond one of another shape
// than it takes for granted.
func (l *loader) shaped(e *entry, x *lang, r *Rule) {
	for _, p := range e.op.Operands() {
		if !x.names[p.Name].used {
			l.errorf(r.Pos, "shape: the rule is not given operand %s, whose shape nothing else checks: name it among the arguments; a rule of your own (pkg.Func) may take it and check nothing", p.Name)
		}
	}
}

// viewed checks a view rule's first argument and that every parameter is used.
func (l *loader) viewed(e *entry, x *lang, r *Rule) {
	ops := e.op.Operands()
	if len(ops) != 1 || ops[0].Type != Tensor || ops[0].Optional || ops[0].OrScalar {
		l.errorf(r.Pos, "view: a view has one operand, a Tensor")
		return
	}
	if len(r.Args) == 0 || r.Args[0].Type != Layout {
		l.errorf(r.Pos, "view: the first argument must be the operand %s", ops[0].Name)
	}
	l.unusedParams(e, []*lang{x}, "view")
}

// unusedParams notes the parameters that no text of a body names; those that no
// gradient names either are reported.
func (l *loader) unusedParams(e *entry, xs []*lang, what string) {
	for _, p := range e.op.Params {
		used := p == e.op.Switch
		for _, x := range xs {
			used = used || x.failed || x.names[p.Name].used
		}
		if !used {
			e.unused = append(e.unused, p)
		}
	}
	e.unusedIn = what
}

// reportUnused reports the unused parameters, once the gradients are read.
func (l *loader) reportUnused(e *entry) {
	for _, p := range e.unused {
		l.errorf(p.Pos, "parameter %q is not used in %s", p.Name, e.unusedIn)
	}
}

// view reads a body that computes no elements: a rule from the operand's layout to
// the result's, over the same storage.
func (l *loader) view(e *entry, n *yaml.Node) {
	e.op.Tags |= ir.TagView
	if len(e.op.Results) != 1 || e.op.Results[0].List || e.op.Results[0].DType != ir.Invalid {
		l.errorf(e.op.Pos, "view: a view has one result with its operand's dtype")
	}
	e.op.View = l.rule(e, n, "view", l.vocab.view)
}

// goFunc matches a composition in Go: pkg.Func, pkg.Func(op, op) with the operators it
// is handed before its own arguments, or pkg.Func(pkg.Type{op, op}) with a struct of them.
var goFunc = regexp.MustCompile(`^\s*([A-Za-z_]\w*\.[A-Za-z_]\w*)(?:\((?:([A-Za-z_]\w*\.[A-Za-z_]\w*)\{([\w, ]*)\}|([\w, ]*))\))?\s*$`)

// composeInGo reads a composition written in Go; m are goFunc's offsets in n.
func (l *loader) composeInGo(e *entry, n *yaml.Node, m []int) {
	src := l.source(n)
	ref, ok := l.goFuncRef(n, src.text[m[2]:m[3]], "compose")
	if !ok {
		return
	}
	e.op.GoCompose = &ref
	from, to := m[8], m[9] // of the operators
	if m[4] >= 0 {
		in, ok := l.goFuncRef(n, src.text[m[4]:m[5]], "compose")
		if ok && in.Pkg != ref.Pkg {
			l.errorf(src.at(m[4]), "compose: %s.%s is handed a struct of its own package, not %s.%s", ref.Pkg, ref.Func, in.Pkg, in.Func)
		}
		ref.In, from, to = in.Func, m[6], m[7]
	}
	if from < 0 {
		return
	}
	at := from // the next operator's name
	for part := range strings.SplitSeq(src.text[from:to], ",") {
		name := strings.TrimSpace(part)
		if op := l.spec.Lookup(name); op != nil {
			ref.With = append(ref.With, op)
		} else {
			l.errorf(src.at(at+strings.Index(part, name)), "compose: unknown operator %q to hand to %s.%s", name, ref.Pkg, ref.Func)
		}
		at += len(part) + 1
	}
}

// compose reads a body of other operators: a Go function, or statements, one block of
// them for each name of the operator's enum if the body is a map.
func (l *loader) compose(e *entry, n *yaml.Node) {
	if m := goFunc.FindStringSubmatchIndex(n.Value); n.Kind == yaml.ScalarNode && m != nil {
		l.composeInGo(e, n, m)
		return
	}
	names, bodies := l.cases(e, n, "compose", n.Kind == yaml.MappingNode)
	var xs []*lang
	for i := range names {
		if _, ok := l.text(bodies[i], "compose"); !ok {
			continue
		}
		x := l.lang(e, bodies[i])
		x.bindParams(e.op)
		b := x.block()
		if b == nil {
			return
		}
		e.op.Compose = append(e.op.Compose, *b)
		xs = append(xs, x)
	}
	if len(xs) > 0 {
		l.unusedParams(e, xs, "compose")
	}
}

// kernel reads the functions that do the work of an opaque operator, by kind of device. A
// kind that is not Required may be missing: the operator is then an error on it, or its
// parts stand for it. With parts, only the reference needs one.
func (l *loader) kernel(e *entry, n *yaml.Node) {
	keys := l.known(n, "kernel", append(slices.Clip(Kinds), "writes")...)
	_, parts := e.keys["parts"]
	e.op.Kernel = map[string]GoRef{}
	for _, kind := range Kinds {
		if f, ok := keys[kind]; ok {
			e.op.Kernel[kind], _ = l.goRef(f.val, "kernel: "+kind)
		} else if n.Kind == yaml.MappingNode && slices.Contains(Required, kind) && (!parts || kind == "ref") {
			l.errorf(l.pos(n), "kernel: key %s is missing: want pkg.Func", kind)
		}
	}
	f, ok := keys["writes"]
	switch {
	case ok && !e.op.Parallel():
		l.errorf(l.pos(f.key), "kernel: writes is for operands of type Tensor..., which %s has not", e.op.Name)
	case ok:
		l.writes(e.op, f.val)
	case e.op.Parallel() && n.Kind == yaml.MappingNode:
		l.errorf(l.pos(n), "kernel: key writes is missing: want a list of the operands that are written")
	}
}

// parts reads which kinds of devices have code of an entry, and the operator that stands
// for it on others.
func (l *loader) parts(e *entry) {
	op := e.op
	if f, ok := e.keys["code"]; ok {
		switch op.Kind {
		case ir.Opaque, ir.ViewBody:
			l.errorf(l.pos(f.key), "code: a kernel names the kinds of devices that have it, and views run on all")
		}
		for _, item := range l.list(f.val, "code") {
			if kind, ok := l.text(item, "code"); ok {
				op.Only = append(op.Only, kind)
			}
		}
		if op.Tags&ir.TagHidden == 0 {
			l.errorf(l.pos(f.key), "code: the entry must be hidden: public operators run on every device")
		}
	}
	f, ok := e.keys["parts"]
	if !ok {
		return
	}
	name, ok := l.text(f.val, "parts")
	if !ok {
		return
	}
	other := l.spec.Lookup(name)
	switch {
	case other == nil:
		l.errorf(l.pos(f.val), "parts: unknown operator %q", name)
	case op.Parallel() || op.Results[0].List || op.Tags&ir.TagHidden == 0:
		l.errorf(l.pos(f.key), "parts: the entry must be hidden, and of no lists of tensors")
	case op.Kind != ir.Opaque && op.Only == nil:
		l.errorf(l.pos(f.key), "parts: every device has code of the entry; say with code which do")
	case !sameSignature(op, other):
		l.errorf(l.pos(f.val), "parts: the parameters and results of %s are not those of %s", name, op.Name)
	default:
		op.Fallback = other
	}
}

// sameSignature reports whether one operator can be called as the other.
func sameSignature(a, b *Op) bool {
	return slices.EqualFunc(a.Params, b.Params, func(p, q *Param) bool { return p.Name == q.Name && p.Type == q.Type && p.Optional == q.Optional }) &&
		slices.EqualFunc(a.Results, b.Results, func(p, q Result) bool { return p.Name == q.Name && p.DType == q.DType })
}

// On reports whether devices of a kind have code of the operator, if operators of its
// body do.
func (o *Op) On(kind string) bool { return o.Only == nil || slices.Contains(o.Only, kind) }

// has reports whether devices of a kind have code of the operator itself.
func (o *Op) has(kind string) bool {
	if o.Kind == ir.Opaque {
		return o.Kernel[kind].Func != ""
	}
	return o.On(kind)
}

// runs reports whether the operator can be applied on devices of a kind: they have code of
// it or of what stands for it. Public ones are checked by themselves.
func (o *Op) runs(kind string) bool {
	return o.Tags&ir.TagHidden == 0 || o.has(kind) || o.Fallback != nil && o.Fallback.runs(kind)
}

// stranded reports operators that need one which some device they run on has no code of.
func (l *loader) stranded() {
	for _, op := range l.spec.Ops {
		for _, kind := range Kinds {
			if kind == "ref" {
				continue // it interprets all
			}
			for _, callee := range composedOf(op) {
				// The fallback is for kinds without code of op, the other operators for those with it.
				if op.has(kind) != (callee == op.Fallback) && !callee.runs(kind) {
					l.reporter.op = op.Name
					l.errorf(op.Pos, "%s has neither code for %s nor parts: say with code which devices have %s", callee.Name, kind, op.Name)
				}
			}
		}
	}
}

// recursion reports compositions that reach themselves.
func (l *loader) recursion() {
	const (
		unseen = iota
		open
		done
	)
	state := map[*Op]int{}
	var visit func(op *Op)
	visit = func(op *Op) {
		state[op] = open
		for _, callee := range composedOf(op) {
			switch state[callee] {
			case open:
				l.reporter.op = op.Name
				l.errorf(op.Pos, "compose: the composition reaches itself through %s", callee.Name)
			case unseen:
				visit(callee)
			}
		}
		state[op] = done
	}
	for _, op := range l.spec.Ops {
		if state[op] == unseen {
			visit(op)
		}
	}
}

// composedOf returns the operators that a composition calls.
func composedOf(op *Op) []*Op {
	var out []*Op
	if op.Fallback != nil {
		out = append(out, op.Fallback)
	}
	if op.GoCompose != nil {
		out = append(out, op.GoCompose.With...)
	}
	for _, b := range op.Compose {
		b.Walk(func(v *Value) {
			if v.Kind == CallValue {
				out = append(out, v.Op)
			}
		})
	}
	return out
}

// Walk calls f for every value in the block, arguments before their call.
func (b *Block) Walk(f func(*Value)) {
	walkStmts(b.Stmts, f)
}

func walkStmts(stmts []Stmt, f func(*Value)) {
	for i := range stmts {
		s := &stmts[i]
		if s.If != nil {
			s.If.walk(f)
		}
		walkStmts(s.Body, f)
		for j := range s.Values {
			s.Values[j].walk(f)
		}
	}
}

func (v *Value) walk(f func(*Value)) {
	for i := range v.Args {
		v.Args[i].walk(f)
	}
	f(v)
}

func keysOf(m map[string]any) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(sortedKeys(m), ", ")
}
