package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"go.yaml.in/yaml/v4"
)

// A Bench is a row of the bench: an operator on operands of some size, and what
// PyTorch does in its place.
type Bench struct {
	Name    string // what tells it from the operator's other rows, or ""
	None    string // why there is no row, or ""
	DType   ir.DType
	Shapes  [][]Extent         // by operand; a list operand takes the rest
	Args    map[string]Literal // an Int or an Ints may be of Extents
	Values  map[string]Fill    // by operand
	PyTorch string             // an expression over the operands' and arguments' names; "" for none
	Setup   string             // Python before it
	Only    string             // "forward" or "gradients", or "" for both
	Without []string           // operands and results that the row with gradients has none for
}

// An Extent is a number that may depend on how large a bench is: Factor times the
// size called Name, or Factor alone.
type Extent struct {
	Factor int
	Name   string
}

// A Fill is how an operand is filled: with integers from 0 to below Below, with
// permutations along each row, with numbers between two or in ascending order, or from
// the test's domain.
type Fill struct {
	Below       Extent
	Perm        bool
	Sorted      bool
	Domain      [2]float64
	Constrained bool // Domain is given
}

// BenchSizes are the names of sizes: the elements of a vector, the side of a
// matrix, that of a product's, the members of a batch.
var BenchSizes = []string{"n", "m", "k", "b"}

var extentText = regexp.MustCompile(`^(?:(\d+)\*)?([a-z])$`)

// extent reads an integer, the name of a size, or a product of both.
func (l *loader) extent(n *yaml.Node, what string) (Extent, bool) {
	if v, err := strconv.Atoi(n.Value); err == nil && n.Kind == yaml.ScalarNode {
		return Extent{Factor: v}, true
	}
	found := extentText.FindStringSubmatch(n.Value)
	if n.Kind != yaml.ScalarNode || found == nil || !slices.Contains(BenchSizes, found[2]) {
		l.errorf(l.pos(n), "%s: want an integer, one of the sizes %s, or a product such as 4*b, have %s", what, strings.Join(BenchSizes, ", "), kindName(n))
		return Extent{}, false
	}
	factor, err := strconv.Atoi(found[1])
	if err != nil {
		factor = 1
	}
	return Extent{factor, found[2]}, true
}

func (l *loader) extents(n *yaml.Node, what string) (list []Extent, ok bool) {
	for _, item := range l.list(n, what) {
		e, ok := l.extent(item, what)
		if !ok {
			return nil, false
		}
		list = append(list, e)
	}
	return list, n.Kind == yaml.SequenceNode
}

// bench reads the bench key: a row, or a list of rows. What they leave out is
// derived, and all of it where there is no such key.
func (l *loader) bench(e *entry) {
	f, ok := e.keys["bench"]
	switch {
	case !e.parsed || e.op.Parallel():
		return
	case e.op.Tags&ir.TagHidden != 0:
		if ok {
			l.errorf(l.pos(f.key), "bench: a hidden operator has no row")
		}
		return
	case !ok:
		if l.spec.Base == nil { // a user's operators have no counterpart
			e.op.Bench = e.op.usualRows(Bench{})
		}
		return
	}
	items := []*yaml.Node{f.val}
	if f.val.Kind == yaml.SequenceNode {
		items = f.val.Content
	}
	for _, item := range items {
		l.benchRow(e, item)
	}
	names := map[string]bool{}
	for _, b := range e.op.Bench {
		key := b.Name + " " + b.Only
		if names[key] {
			l.errorf(l.pos(f.key), "bench: two rows are called %q", b.Name)
		}
		names[key] = true
	}
}

func (l *loader) benchRow(e *entry, n *yaml.Node) {
	keys := l.known(n, "bench", "name", "none", "dtype", "shapes", "args", "values", "torch", "setup", "only", "without")
	b := Bench{}
	for _, k := range []struct {
		key string
		to  *string
	}{{"name", &b.Name}, {"none", &b.None}, {"torch", &b.PyTorch}, {"setup", &b.Setup}, {"only", &b.Only}} {
		if f, ok := keys[k.key]; ok {
			*k.to, _ = l.text(f.val, k.key)
		}
	}
	if b.None != "" && len(keys) > 1 {
		l.errorf(l.pos(n), "bench: none is the reason why there is no row; it stands alone")
	}
	if !slices.Contains([]string{"", "forward", "gradients"}, b.Only) {
		l.errorf(l.pos(n), "bench: only is forward or gradients, have %q", b.Only)
	}
	if f, ok := keys["dtype"]; ok {
		if s, ok := l.text(f.val, "dtype"); ok {
			var err error
			if b.DType, err = ir.ParseDType(s); err != nil || !e.op.DTypes.Has(b.DType) {
				l.errorf(l.pos(f.val), "bench: want a dtype that the operator computes in, have %q", s)
			}
		}
	}
	if f, ok := keys["shapes"]; ok {
		b.Shapes = [][]Extent{}
		for _, item := range l.list(f.val, "shapes") {
			shape, ok := l.extents(item, "shape")
			if !ok {
				return
			}
			b.Shapes = append(b.Shapes, shape)
		}
		l.sampleShapes(e.op, f.val, len(b.Shapes))
	}
	if f, ok := keys["args"]; ok {
		b.Args = l.benchArgs(e, f.val)
	}
	if f, ok := keys["without"]; ok {
		for _, item := range l.list(f.val, "without") {
			name, ok := l.text(item, "without")
			known := slices.ContainsFunc(e.op.Operands(), func(p *Param) bool { return p.Name == name }) ||
				slices.ContainsFunc(e.op.Results, func(r Result) bool { return r.Name == name })
			if ok && !known {
				l.errorf(l.pos(item), "without: %q is no operand and no result (have operands %s)", name, operandNames(e.op))
			}
			b.Without = append(b.Without, name)
		}
	}
	if f, ok := keys["values"]; ok {
		b.Values = l.benchValues(e.op, f.val)
	}
	e.op.Bench = append(e.op.Bench, e.op.usualRows(b)...)
}

// benchArgs reads arguments, whose integers may be sizes.
func (l *loader) benchArgs(e *entry, n *yaml.Node) map[string]Literal {
	out := map[string]Literal{}
	for _, f := range l.fields(n, "args") {
		i := slices.IndexFunc(e.op.Params, func(p *Param) bool { return p.Name == f.name && p.Attr >= 0 })
		if i < 0 {
			l.errorf(l.pos(f.key), "args: %q is no argument of %s", f.name, e.op.Name)
			continue
		}
		p := e.op.Params[i]
		var lit Literal
		var ok bool
		switch {
		case p.Type == Ints && f.val.Kind == yaml.SequenceNode:
			lit.Extents, ok = l.extents(f.val, "argument "+p.Name)
		case p.Type == Int:
			var x Extent
			x, ok = l.extent(f.val, "argument "+p.Name)
			lit.Extents = []Extent{x}
		default:
			lit, ok = l.argument(p, f.val)
		}
		if ok {
			out[f.name] = lit
		}
	}
	return out
}

var belowText = regexp.MustCompile(`^index\((.*)\)$`)

// benchValues reads how operands are filled.
func (l *loader) benchValues(op *Op, n *yaml.Node) map[string]Fill {
	out := map[string]Fill{}
	for _, f := range l.fields(n, "values") {
		if !slices.ContainsFunc(op.Params, func(p *Param) bool { return p.Name == f.name && p.Operand >= 0 }) {
			l.errorf(l.pos(f.key), "values: %q is no operand (have %s)", f.name, operandNames(op))
			continue
		}
		var fill Fill
		below := belowText.FindStringSubmatch(f.val.Value)
		switch {
		case f.val.Value == "perm":
			fill.Perm = true
		case f.val.Value == "sorted":
			fill.Sorted = true
		case below != nil:
			at := *f.val
			at.Value = below[1]
			fill.Below, _ = l.extent(&at, "values")
		case domainValues(f.val.Value):
			fill.Constrained = true
			if _, err := fmt.Sscanf(strings.ReplaceAll(f.val.Value, ",", " "), "domain(%g %g)", &fill.Domain[0], &fill.Domain[1]); err != nil {
				l.errorf(l.pos(f.val), "values: %v", err)
			}
		default:
			l.errorf(l.pos(f.val), "values: want index(n), perm, sorted or domain(lo, hi), have %q", f.val.Value)
		}
		out[f.name] = fill
	}
	return out
}

// usualRows completes a row by what follows from the operator's kind and its test. A
// reduction and a scan are several: of all elements, along rows, along columns.
func (o *Op) usualRows(b Bench) []Bench {
	if b.None != "" {
		return []Bench{b}
	}
	if b.Shapes == nil {
		b.Shapes = o.usualShapes()
	}
	b.Args = o.usualArgs(b.Args)
	if b.Values == nil && len(o.Test.Samples) > 0 {
		for name, text := range o.Test.Samples[0].Values {
			var lo, hi float64
			if _, err := fmt.Sscanf(strings.ReplaceAll(text, ",", " "), "domain(%g %g)", &lo, &hi); err == nil {
				if b.Values == nil {
					b.Values = map[string]Fill{}
				}
				b.Values[name] = Fill{Domain: [2]float64{lo, hi}, Constrained: true}
			}
		}
	}
	switch b.PyTorch {
	case "":
		b.PyTorch = o.sameInPyTorch(b)
	case "none":
		b.PyTorch = ""
	}
	axes := []Extent{{Factor: 1}, {Factor: 0}}
	i := slices.IndexFunc(o.Params, func(p *Param) bool { return p.Name == "dim" })
	if i < 0 || b.Name != "" || len(b.Shapes) != 1 || !slices.Equal(b.Shapes[0], matrix) {
		return []Bench{b}
	}
	along := func(name string, axis Extent) Bench {
		r := b
		r.Name, r.Args = name, map[string]Literal{}
		for k, v := range b.Args {
			r.Args[k] = v
		}
		r.Args["dim"] = Literal{Extents: []Extent{axis}}
		return r
	}
	rows := []Bench{along("rows", axes[0]), along("columns", axes[1])}
	if o.Params[i].Option {
		rows = append([]Bench{b}, rows...)
	}
	return rows
}

var matrix = []Extent{{1, "m"}, {1, "m"}}

// byRank are the shapes of operands with no more than 4 axes.
var byRank = [][]Extent{{}, {{1, "n"}}, matrix, {{1, "b"}, {Factor: 128}, {Factor: 1024}}, {{1, "b"}, {Factor: 64}, {Factor: 32}, {Factor: 32}}}

// usualShapes are vectors for an operator of elements, a matrix for one with rows; for
// others as many axes as in the first sample, if all operands are alike there. Nil if
// nothing follows.
func (o *Op) usualShapes() [][]Extent {
	n := len(o.Operands())
	switch {
	case n == 0:
		return [][]Extent{}
	case o.Kind == ir.Elementwise:
		return slices.Repeat(byRank[1:2], n)
	case o.Kind == ir.Reduction, o.Kind == ir.Scan:
		return [][]Extent{matrix}
	case len(o.Test.Samples) == 0 || len(o.Test.Samples[0].Shapes) == 0: // what operands there are may be left out
		return nil
	}
	shapes := o.Test.Samples[0].Shapes
	for _, s := range shapes {
		if !slices.Equal(s, shapes[0]) || len(s) >= len(byRank) {
			return nil
		}
	}
	return slices.Repeat(byRank[len(shapes[0]):][:1], len(shapes))
}

// usualArgs completes arguments by those of the first sample or case.
func (o *Op) usualArgs(given map[string]Literal) map[string]Literal {
	var from map[string]Literal
	switch {
	case len(o.Test.Samples) > 0:
		from = o.Test.Samples[0].Args
	case len(o.Test.Cases) > 0:
		from = o.Test.Cases[0].Args
	}
	out := map[string]Literal{}
	for _, p := range o.Attrs() {
		switch lit, ok := given[p.Name]; {
		case ok:
			out[p.Name] = lit
		case p.Option:
		case from != nil && !from[p.Name].zero():
			out[p.Name] = from[p.Name]
		case o.Factory() && p.Name == "shape":
			out[p.Name] = Literal{Extents: byRank[1]}
		case p.Name == "offset" || p.Name == "seed":
			out[p.Name] = Literal{Scalar: ir.IntScalar(1)}
		}
	}
	return out
}

// zero reports whether nothing was given.
func (l Literal) zero() bool {
	return !l.Nil && l.Scalar.Category() == ir.CategoryNone && l.Ints == nil && l.Extents == nil && l.Str == "" && l.DType == ir.Invalid
}

// sameInPyTorch calls the function of the same name with what has no default, and
// the options that are given.
func (o *Op) sameInPyTorch(b Bench) string {
	var args []string
	operands := 0
	for _, p := range o.Params {
		_, given := b.Args[p.Name]
		switch {
		case p.Type == TensorList:
			args = append(args, p.Name)
		case p.Operand >= 0 && p.Option:
			if operands < len(b.Shapes) {
				args = append(args, p.Name+"="+p.Name)
			}
		case p.Operand >= 0:
			args = append(args, p.Name)
		case o.Tags&ir.TagSeeded != 0 && (p.Name == "seed" || p.Name == "offset"):
		case p.Option && (given || p.Name == "dim"):
			args = append(args, p.Name+"="+p.Name)
		case !p.Option:
			args = append(args, p.Name)
		}
		if p.Operand >= 0 {
			operands++
		}
	}
	if o.Factory() {
		args = append(args, "device=device")
	}
	return o.Name + "(" + strings.Join(args, ", ") + ")"
}

// Lacks says what of a row could not be derived and has to be given, or "".
func (b *Bench) Lacks(o *Op) string {
	if b.None != "" {
		return ""
	}
	if b.Shapes == nil && len(o.Operands()) > 0 {
		return "shapes"
	}
	for _, p := range o.Attrs() {
		if _, ok := b.Args[p.Name]; !ok && !p.Option {
			return "args: " + p.Name
		}
	}
	return ""
}
