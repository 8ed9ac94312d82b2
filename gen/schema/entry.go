package schema

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"go.yaml.in/yaml/v4"
)

// describe reads what an entry says besides its body, gradient and test.
func (l *loader) describe(e *entry) {
	if f, ok := e.keys["doc"]; !ok {
		l.errorf(e.at, "key doc is missing: want a sentence that continues the operator's name")
	} else if s, ok := l.text(f.val, "doc"); ok {
		e.op.Doc = strings.TrimSpace(s)
		if !strings.HasSuffix(e.op.Doc, ".") {
			l.errorf(l.pos(f.val), "doc: want sentences that end in a period")
		}
		if 'A' <= e.op.Doc[0] && e.op.Doc[0] <= 'Z' {
			l.errorf(l.pos(f.val), "doc: want a sentence that continues the operator's name, such as \"returns the sum of x\"")
		}
	}
	if f, ok := e.keys["result"]; ok {
		if s, ok := l.text(f.val, "result"); ok {
			if e.op.Result = strings.TrimSpace(s); strings.HasSuffix(e.op.Result, ".") {
				l.errorf(l.pos(f.val), "result: want the shape of the result in words, without a period, such as \"that of x\"")
			}
		}
	}
	if f, ok := e.keys["go"]; ok {
		if s, ok := l.text(f.val, "go"); ok {
			if !token.IsIdentifier(s) || !token.IsExported(s) {
				l.errorf(l.pos(f.val), "go: want an exported Go name, have %q", s)
			}
			e.op.GoName = s
		}
	}
	if len(e.op.Operands()) == 0 {
		e.op.Tags |= ir.TagFactory
	}
	if f, ok := e.keys["tags"]; ok {
		l.tags(e, f.val)
	}
	l.dtypes(e)
	l.differs(e)
	if f, ok := e.keys["promote"]; ok {
		l.promote(e.op, f.val)
	}
}

// tagBits are the tags that descriptors carry at run time. The others are flags of Op,
// for emitters and tests.
var tagBits = func() map[string]ir.Tag {
	bits := map[string]ir.Tag{}
	for n := range ir.TagNames() {
		if n.Word != "" {
			bits[n.Word] = n.Tag
		}
	}
	return bits
}()

// tagFlags are the other tags.
func tagFlags(op *Op) map[string]*bool {
	return map[string]*bool{"no_method": &op.NoMethod, "no_inplace": &op.NoInPlace, "no_out": &op.NoOut, "rounds_once": &op.RoundsOnce, "mixed": &op.Mixed}
}

// tagNames returns all tags in order.
func tagNames() []string {
	names := slices.Concat(slices.Collect(maps.Keys(tagBits)), slices.Collect(maps.Keys(tagFlags(new(Op)))))
	slices.Sort(names)
	return names
}

// tags reads what is said of an operator besides what it computes.
func (l *loader) tags(e *entry, n *yaml.Node) {
	op := e.op
	flags := tagFlags(op)
	seen := map[string]bool{}
	for _, item := range l.list(n, "tags") {
		name, ok := l.text(item, "tag")
		switch {
		case !ok:
		case seen[name]:
			l.errorf(l.pos(item), "tag %q is there twice", name)
		case flags[name] != nil:
			*flags[name] = true
		case tagBits[name] != 0:
			op.Tags |= tagBits[name]
		default:
			l.errorf(l.pos(item), "unknown tag %q (have %s)", name, strings.Join(tagNames(), ", "))
		}
		seen[name] = true
	}
	if _, kernel := e.keys["kernel"]; op.Tags&ir.TagOrders != 0 && !kernel {
		l.errorf(l.pos(n), "tag orders: is for a kernel; of other bodies it is seen")
	}
	if _, expr := e.keys["expr"]; op.Tags&ir.TagNarrow != 0 && !(expr && op.Parallel()) {
		l.errorf(l.pos(n), "tag narrow: is for an expr over operands of type Tensor...")
	}
	if op.Tags&ir.TagSeeded != 0 {
		l.seeded(op, n)
	}
}

// seeded checks the arguments that a seeded operator draws its numbers by.
func (l *loader) seeded(op *Op, n *yaml.Node) {
	var names []string
	for _, p := range op.Params {
		if !p.Option && p.Type == Int {
			names = append(names, p.Name)
			p.Draws = map[string]ir.Draws{"seed": ir.DrawsSeed, "offset": ir.DrawsOffset}[p.Name]
		}
	}
	// Last, because the function that draws them itself leaves them out of its parameters.
	if len(names) < 2 || !slices.Equal(names[len(names)-2:], []string{"seed", "offset"}) {
		l.errorf(l.pos(n), "tag seeded: the last two arguments before * must be seed int, offset int")
	}
}

// dtypes reads the dtypes key: the compute dtypes, and what operands accept. Alone a class
// or a list is the compute dtypes, which operands are promoted to. A map gives operands
// dtypes of their own, which keep them out of promotion, and T is the compute dtypes.
func (l *loader) dtypes(e *entry) {
	op := e.op
	f, ok := e.keys["dtypes"]
	if !ok {
		// A composition takes what its parts take, and they say so when they are called.
		// Bodies that are compiled for each dtype have to say for which.
		op.DTypes = ir.ClassAll
		for _, body := range []string{"expr", "reduce", "scan", "kernel"} {
			if _, has := e.keys[body]; has {
				l.errorf(e.at, "key dtypes is missing: an entry with %s must say which it accepts", body)
			}
		}
		return
	}
	if f.val.Kind != yaml.MappingNode {
		op.DTypes, _ = l.dtypeSet(f.val)
		return
	}
	var free ir.DTypeSet // what operands that promote accept
	for _, k := range l.fields(f.val, "dtypes") {
		set, ok := l.dtypeSet(k.val)
		if k.name == "T" {
			op.DTypes = set
			continue
		}
		i := slices.IndexFunc(op.Params, func(p *Param) bool { return p.Name == k.name && p.Operand >= 0 })
		switch {
		case i < 0:
			if e.parsed {
				l.errorf(l.pos(k.key), "dtypes: %q is no operand (have T and %s)", k.name, operandNames(op))
			}
		case !ok:
		default:
			p := op.Params[i]
			p.DTypes = set
			switch ds := set.List(); {
			case len(ds) == 1:
				p.Fixed = ds[0]
			case ir.Positions[k.val.Value] != ir.Invalid:
				p.Fixed = ir.Positions[k.val.Value]
			default:
				free |= set
			}
		}
	}
	if op.DTypes == 0 { // without T, what operands with a choice accept is computed in
		op.DTypes = free
	}
	if op.DTypes == 0 { // every operand is fixed
		for _, p := range op.Operands() {
			op.DTypes |= p.DTypes
		}
	}
}

// differs reads the reasons for which dtypes are not treated as PyTorch does.
func (l *loader) differs(e *entry) {
	f, ok := e.keys["differs"]
	if !ok {
		return
	}
	for _, k := range l.fields(f.val, "differs") {
		set, known := l.dtypeSet(k.key)
		why, is := l.text(k.val, "differs")
		switch {
		case !known || !is:
		case why == "":
			l.errorf(l.pos(k.val), "differs: want the reason")
		default:
			e.op.Differs = append(e.op.Differs, Difference{set, why})
		}
	}
}

func operandNames(op *Op) string {
	var names []string
	for _, p := range op.Operands() {
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return "no operands"
	}
	return strings.Join(names, ", ")
}

// dtypeSet reads a class, a dtype, or a list of them.
func (l *loader) dtypeSet(n *yaml.Node) (set ir.DTypeSet, ok bool) {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
		if len(items) == 0 {
			l.errorf(l.pos(n), "dtypes: the list is empty")
			return 0, false
		}
	}
	ok = true
	for _, item := range items {
		s, isText := l.text(item, "dtypes")
		if !isText {
			ok = false
			continue
		}
		if class, is := ir.Classes[s]; is {
			set |= class
		} else if d, err := codeDType(s); err == nil {
			set |= ir.SetOf(d)
		} else {
			l.errorf(l.pos(item), "dtypes: unknown class or dtype %q (classes are bool, int, float, complex, real, num, all, index, label)", s)
			ok = false
		}
	}
	return set, ok
}

// codeDType returns the dtype of a name, if it is one that devices have code for.
func codeDType(name string) (ir.DType, error) {
	d, err := ir.ParseDType(name)
	if err != nil || d.Carried() {
		return ir.Invalid, fmt.Errorf("unknown dtype %q (have %v)", name, ir.ClassAll.List())
	}
	return d, nil
}

var promotions = map[string]ir.Promotion{
	"none": ir.PromoteNone, "arith": ir.PromoteArith, "arith_float": ir.PromoteArithFloat, "compare": ir.PromoteCompare,
	"first": ir.PromoteFirst, "sum_acc": ir.PromoteSumAcc, "to_real": ir.PromoteToReal, "to_complex": ir.PromoteToComplex,
	"option": ir.PromoteOption,
}

// promote reads how the compute dtype follows from the operands' dtypes. The rules
// themselves are package ir's; option takes the dtype from an argument.
func (l *loader) promote(op *Op, n *yaml.Node) {
	s, ok := l.text(n, "promote")
	if !ok {
		return
	}
	if arg, ok := strings.CutPrefix(s, "fixed("); ok && strings.HasSuffix(arg, ")") {
		d, err := codeDType(strings.TrimSuffix(arg, ")"))
		if err != nil {
			l.errorf(l.pos(n), "promote: %v", err)
		}
		op.Promote, op.Fixed = ir.PromoteFixed, d
		return
	}
	p, ok := promotions[s]
	if !ok {
		l.errorf(l.pos(n), "promote: unknown rule %q (have none, first, arith, arith_float, compare, sum_acc, to_real, to_complex, fixed(dtype), option)", s)
		return
	}
	op.Promote = p
	hasDType := slices.ContainsFunc(op.Params, func(p *Param) bool { return p.Type == DType })
	if p == ir.PromoteOption && !hasDType {
		l.errorf(l.pos(n), "promote: option needs a parameter of type dtype")
	}
}

// firstEnum returns the parameter that selects the body, or nil.
func firstEnum(op *Op) *Param {
	for _, p := range op.Params {
		if p.Type == Enum {
			return p
		}
	}
	return nil
}

// cases returns the bodies below a key, one for each name of the operator's
// enum where isMap says that n is such a map, or n alone.
func (l *loader) cases(e *entry, n *yaml.Node, what string, isMap bool) (names []string, bodies []*yaml.Node) {
	if !isMap {
		return []string{""}, []*yaml.Node{n}
	}
	sw := firstEnum(e.op)
	if sw == nil {
		l.errorf(l.pos(n), "%s: a map of bodies needs an enum among the parameters", what)
		return nil, nil
	}
	e.op.Switch = sw
	have := l.known(n, what, sw.Enum...)
	for _, name := range sw.Enum {
		f, ok := have[name]
		if !ok {
			l.errorf(l.pos(n), "%s: body for %s %s is missing", what, sw.Name, name)
			continue
		}
		names, bodies = append(names, name), append(bodies, f.val)
	}
	return names, bodies
}
