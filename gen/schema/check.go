package schema

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"go.yaml.in/yaml/v4"
)

// DefaultDomain is where operands are drawn from if a test gives no domain.
var DefaultDomain = [2]float64{-2, 2}

// DefaultULP is the bound of a test that gives none.
const DefaultULP = 2

// test reads the test key. An element-wise operator with float results needs a
// domain, and two cases from outside or samples.
func (l *loader) test(e *entry) {
	t := &e.op.Test
	t.Domain, t.ULP = DefaultDomain, DefaultULP
	f, ok := e.keys["test"]
	if !ok {
		if e.needsTest() {
			l.errorf(e.at, "key test is missing: want a domain and cases or samples")
		}
		return
	}
	if e.op.Parallel() {
		return // reported with its body
	}
	keys := l.known(f.val, "test", "domain", "ulp", "avoid", "cases", "samples", "gradient")
	if k, ok := keys["gradient"]; ok {
		if s, is := l.text(k.val, "gradient"); is && s != "none" {
			l.errorf(l.pos(k.val), "gradient: want none, for one that is no derivative on purpose, have %q", s)
		}
		if e.op.NoGrad {
			l.errorf(l.pos(k.val), "gradient: the operator has none to leave out")
		}
		t.NoGradient = true
	}
	if k, ok := keys["domain"]; ok {
		l.domains(e, k.val)
	}
	if k, ok := keys["ulp"]; ok {
		if t.ULP, ok = l.float(k.val, "ulp"); ok && t.ULP < 0 {
			l.errorf(l.pos(k.val), "ulp: want a bound of 0 or more, have %v", t.ULP)
		}
	}
	if k, ok := keys["avoid"]; ok {
		for _, item := range l.list(k.val, "avoid") {
			if x, ok := l.float(item, "avoid"); ok {
				t.Avoid = append(t.Avoid, x)
			}
		}
	}
	if !e.parsed {
		return
	}
	if k, ok := keys["cases"]; ok {
		l.cased(e, k.val)
	}
	if k, ok := keys["samples"]; ok {
		for _, item := range l.list(k.val, "samples") {
			l.sample(e, item)
		}
	}
	l.complete(e, keys, f)
}

// needsTest reports whether an entry must have a test key: compositions and
// views may be tested through the operators and shapes they are made of.
func (e *entry) needsTest() bool {
	if len(e.op.Operands()) == 0 || e.op.Parallel() {
		return false
	}
	switch e.op.Kind {
	case ir.ViewBody, ir.Composition:
		return false
	}
	return e.bodied
}

// complete reports what a test must have and has not.
func (l *loader) complete(e *entry, keys map[string]field, f field) {
	if !e.needsTest() {
		return
	}
	_, domain := keys["domain"]
	floats := e.op.DTypes&differentiable != 0
	switch e.op.Kind {
	case ir.Elementwise:
		if floats && !domain {
			l.errorf(l.pos(f.key), "test: key domain is missing: want [lo, hi] for the floating operands")
		}
		if len(e.op.Test.Samples) == 0 && len(e.op.Test.Cases) < 2 && e.op.Tags&ir.TagHidden == 0 {
			l.errorf(l.pos(f.key), "test: want two or more cases with results from elsewhere, or samples")
		}
	case ir.Opaque:
		if len(e.op.Test.Samples) == 0 {
			l.errorf(l.pos(f.key), "test: key samples is missing: a kernel needs operand shapes to be tested with")
		}
	}
}

// domains reads [lo, hi], or a map from operand to such.
func (l *loader) domains(e *entry, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		if d, ok := l.interval(n, "domain"); ok {
			e.op.Test.Domain = d
		}
		return
	}
	e.op.Test.Domains = map[string][2]float64{}
	for _, f := range l.fields(n, "domain") {
		if !slices.ContainsFunc(e.op.Params, func(p *Param) bool { return p.Name == f.name && p.Operand >= 0 }) {
			l.errorf(l.pos(f.key), "domain: %q is no operand (have %s)", f.name, operandNames(e.op))
			continue
		}
		if d, ok := l.interval(f.val, "domain"); ok {
			e.op.Test.Domains[f.name] = d
		}
	}
}

func (l *loader) interval(n *yaml.Node, what string) (d [2]float64, ok bool) {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		l.errorf(l.pos(n), "%s: want [lo, hi], have %s", what, kindName(n))
		return d, false
	}
	lo, ok1 := l.float(n.Content[0], what)
	hi, ok2 := l.float(n.Content[1], what)
	if !ok1 || !ok2 {
		return d, false
	}
	if !(lo <= hi) {
		l.errorf(l.pos(n), "%s: want lo <= hi, have [%v, %v]", what, lo, hi)
		return d, false
	}
	return [2]float64{lo, hi}, true
}

// cased reads literal cases: [operands..., result], or a mapping
// {in: [...], args: {...}, want: r} of the same. An args item before the lists
// holds for those that follow it.
func (l *loader) cased(e *entry, n *yaml.Node) {
	operands := e.op.Operands()
	if e.op.Kind != ir.Elementwise || len(operands) == 0 {
		l.errorf(l.pos(n), "cases: literal cases are for expr entries with operands; give samples")
		return
	}
	for _, item := range l.list(n, "cases") {
		in, args := item, map[string]Literal(nil)
		if item.Kind == yaml.MappingNode {
			keys := l.known(item, "case", "args", "case")
			k, ok := keys["case"]
			if !ok {
				l.errorf(l.pos(item), "case: key case is missing: want the operands' values, then the result")
				continue
			}
			in = k.val
			if a, ok := keys["args"]; ok {
				args = l.args(e, a.val)
			}
		}
		if in.Kind != yaml.SequenceNode || len(in.Content) != len(operands)+len(e.op.Results) {
			l.errorf(l.pos(in), "case: want %s, then %s", count(len(operands), "operand value"), resultsOf(e.op))
			continue
		}
		var c Case
		good := true
		for _, v := range in.Content {
			s, ok := l.number(v, "case")
			good = good && ok
			c.In = append(c.In, s)
		}
		c.Args = args
		l.meets(e.op, item, "the case's arguments", args)
		c.In, c.Want = c.In[:len(operands)], c.In[len(operands):]
		if good {
			e.op.Test.Cases = append(e.op.Test.Cases, c)
		}
	}
}

// args reads a map from argument to value. Arguments without a default that
// are left out are reported.
func (l *loader) args(e *entry, n *yaml.Node) map[string]Literal {
	out := map[string]Literal{}
	for _, f := range l.fields(n, "args") {
		i := slices.IndexFunc(e.op.Params, func(p *Param) bool { return p.Name == f.name && p.Attr >= 0 })
		if i < 0 {
			l.errorf(l.pos(f.key), "args: %q is no argument of %s", f.name, e.op.Name)
			continue
		}
		if lit, ok := l.argument(e.op.Params[i], f.val); ok {
			out[f.name] = lit
		}
	}
	return out
}

func (l *loader) argument(p *Param, n *yaml.Node) (Literal, bool) {
	switch {
	case p.Type == Ints && n.Kind == yaml.SequenceNode:
		list, ok := l.ints(n, "argument "+p.Name)
		return Literal{Ints: list}, ok
	case n.Kind != yaml.ScalarNode:
		l.errorf(l.pos(n), "argument %s: want %s, have %s", p.Name, literalOf(p), kindName(n))
		return Literal{}, false
	}
	text := n.Value
	switch {
	case p.Type == String:
		text = strconv.Quote(text)
	case n.Tag == "!!null":
		text = "nil"
	}
	lit, msg := parseLiteral(p, text)
	if msg != "" {
		l.errorf(l.pos(n), "argument %s: %s", p.Name, msg)
	}
	return lit, msg == ""
}

// sample reads {shapes: [...], args: {...}, values: {...}}.
func (l *loader) sample(e *entry, n *yaml.Node) {
	keys := l.known(n, "sample", "shapes", "args", "values")
	var s Sample
	if f, ok := keys["shapes"]; ok {
		for _, item := range l.list(f.val, "shapes") {
			shape, ok := l.ints(item, "shape")
			if !ok {
				return
			}
			if slices.ContainsFunc(shape, func(d int) bool { return d < 0 }) {
				l.errorf(l.pos(item), "shape: negative extent in %v", shape)
			}
			s.Shapes = append(s.Shapes, shape)
		}
		l.sampleShapes(e.op, f.val, len(s.Shapes))
	} else if len(e.op.Operands()) > 0 {
		l.errorf(l.pos(n), "sample: key shapes is missing")
	}
	if f, ok := keys["args"]; ok {
		s.Args = l.args(e, f.val)
	}
	for _, p := range e.op.Params {
		if _, ok := s.Args[p.Name]; !ok && p.Attr >= 0 && !p.Option {
			l.errorf(l.pos(n), "sample: argument %q has no value", p.Name)
		}
	}
	l.meets(e.op, n, "the sample's arguments", s.Args)
	if f, ok := keys["values"]; ok {
		s.Values = l.values(e.op, f.val)
	}
	e.op.Test.Samples = append(e.op.Test.Samples, s)
}

// sampleShapes checks that there are as many shapes as operands: optional ones
// may be left out at the end, and a list operand takes any number.
func (l *loader) sampleShapes(op *Op, n *yaml.Node, have int) {
	least, most := 0, 0
	for _, p := range op.Operands() {
		switch {
		case p.Type == TensorList:
			most = 1 << 30
		case p.Optional:
			most++
		default:
			least, most = least+1, most+1
		}
	}
	if have < least || have > most {
		l.errorf(l.pos(n), "sample: want the shapes of operands %s, have %s", operandNames(op), count(have, "shape"))
	}
}

var indexValues = regexp.MustCompile(`^index\((\d+)\)$`)

// values reads how operands of a sample are filled.
func (l *loader) values(op *Op, n *yaml.Node) map[string]string {
	out := map[string]string{}
	for _, f := range l.fields(n, "values") {
		i := slices.IndexFunc(op.Params, func(p *Param) bool { return p.Name == f.name && p.Operand >= 0 })
		if i < 0 {
			l.errorf(l.pos(f.key), "values: %q is no operand (have %s)", f.name, operandNames(op))
			continue
		}
		s, ok := l.text(f.val, "values")
		if !ok {
			continue
		}
		if s != "perm" && !indexValues.MatchString(s) && !domainValues(s) {
			l.errorf(l.pos(f.val), "values: want index(n), perm or domain(lo, hi), have %q", s)
		}
		out[f.name] = s
	}
	return out
}

// domainValues reports whether s is domain(lo, hi) of two real numbers.
func domainValues(s string) bool {
	arg, ok := strings.CutPrefix(s, "domain(")
	arg, closed := strings.CutSuffix(arg, ")")
	lo, hi, two := strings.Cut(arg, ",")
	if !ok || !closed || !two {
		return false
	}
	a, err1 := strconv.ParseFloat(strings.TrimSpace(lo), 64)
	b, err2 := strconv.ParseFloat(strings.TrimSpace(hi), 64)
	return err1 == nil && err2 == nil && a <= b
}
