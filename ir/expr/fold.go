package expr

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// A Fold is what a reduction with states folds by. Init, Map and Combine have an
// expression for each state, Finish one for each result. First has what is made of first
// elements, whose names are in Names.
type Fold struct {
	States                     []ir.State
	Names                      []string // as expressions have them: first.pivot
	First                      []*Expr
	Init, Map, Combine, Finish []*Expr
}

// A FoldEnv is what the parts of a fold may name.
type FoldEnv struct{ Init, Map, Combine, Finish Env }

// Fold returns what the parts of a fold may name, where e is what expressions of one element
// may: parameters all; map what was made of first elements, by the names firsts, and the
// operands; combine the states of two parts; finish those of one, what was made of first
// elements, and if it is counted, how many elements were folded.
func (e Env) Fold(states []ir.State, firsts []string, counted bool) FoldEnv {
	var made []Operand
	for _, name := range firsts {
		made = append(made, Operand{Name: name})
	}
	a := StateOperands(states, "a")
	f := FoldEnv{
		Init:    Env{Params: e.Params},
		Map:     Env{Operands: slices.Concat(made, e.Operands), Params: e.Params},
		Combine: Env{Operands: slices.Concat(a, StateOperands(states, "b")), Params: e.Params},
		Finish:  Env{Operands: slices.Concat(a, made), Params: e.Params},
	}
	if counted {
		f.Finish.Params = append(slices.Clip(e.Params), Param{Name: "count", Kind: IntParam})
	}
	return f
}

// StateOperands are states as expressions name them, of part "a" or "b".
func StateOperands(states []ir.State, part string) []Operand {
	var out []Operand
	for _, s := range states {
		out = append(out, Operand{Name: s.Of(part), Fixed: s.DType})
	}
	return out
}

// A FoldGraph is a Fold checked for one compute dtype. The roots are the states, and the
// results of Finish. Step is what Combine makes of a part and an element. First is nil
// where there is nothing of first elements.
type FoldGraph struct{ Init, First, Map, Combine, Step, Finish *Graph }

// Check types the parts for the compute dtype t. Errors name the part, and are of type
// *FoldError.
func (f *Fold) Check(t ir.DType) (g FoldGraph, err error) {
	var kinds []Kind
	for _, s := range f.States {
		switch {
		case s.DType == ir.Bool || t == ir.Bool:
			kinds = append(kinds, BoolKind)
		case s.DType == ir.Int64:
			kinds = append(kinds, IntKind)
		default:
			kinds = append(kinds, TKind)
		}
	}
	for _, part := range []struct {
		key  string
		list []*Expr
		want []Kind
		to   **Graph
	}{
		{"init", f.Init, kinds, &g.Init}, {"first", f.First, f.firstKinds(t), &g.First}, {"map", f.Map, kinds, &g.Map}, {"combine", f.Combine, kinds, &g.Combine},
		{"combine", f.step(), kinds, &g.Step}, {"finish", f.Finish, nil, &g.Finish},
	} {
		if len(part.list) == 0 {
			continue
		}
		var at int
		if *part.to, at, err = checkAll(part.list, t, part.want); err != nil {
			return g, &FoldError{part.key, at, err}
		}
	}
	return g, nil
}

// firstKinds are the kinds of what is made of first elements: numbers of the compute dtype.
func (f *Fold) firstKinds(t ir.DType) (kinds []Kind) {
	for range f.First {
		if t == ir.Bool {
			kinds = append(kinds, BoolKind)
		} else {
			kinds = append(kinds, TKind)
		}
	}
	return kinds
}

// A FoldError is a mistake in a part of a fold.
type FoldError struct {
	Part string // init, first, map, combine or finish
	At   int    // of which state, or result
	Err  error
}

func (e *FoldError) Error() string { return fmt.Sprintf("%s: %v", e.Part, e.Err) }

func (e *FoldError) Unwrap() error { return e.Err }

// step returns Combine with what Map gives in place of the second part.
func (f *Fold) step() []*Expr {
	with := map[string]*Node{}
	for i, s := range f.States {
		with[s.Of("b")] = f.Map[i].Root
	}
	env := f.Map[0].Env
	env.Operands = append(StateOperands(f.States, "a"), env.Operands...)
	var out []*Expr
	for _, x := range f.Combine {
		out = append(out, &Expr{x.Root.put(with).neutral(), env})
	}
	return out
}

// neutral returns n without factors and divisors of 1, and terms of 0: what it gives may
// differ in the sign of a zero.
func (n *Node) neutral() *Node {
	if n.Op != OpCall {
		return n
	}
	args := make([]*Node, len(n.Args))
	for i, a := range n.Args {
		args[i] = a.neutral()
	}
	switch {
	case (n.Name == "mul" || n.Name == "div") && args[1].IsConst(1), (n.Name == "add" || n.Name == "sub") && args[1].IsConst(0):
		return args[0]
	case n.Name == "mul" && args[0].IsConst(1), n.Name == "add" && args[0].IsConst(0):
		return args[1]
	case n.Name == "mul" && args[0].Op == OpConst && args[1].Op == OpConst && (args[0].IsConst(0) || args[1].IsConst(0)):
		return constant(0)
	}
	out := *n
	out.Args, out.size = args, 0
	out.size = out.count()
	return &out
}

// symmetric are the functions of two arguments that give the same when these change places.
var symmetric = []string{"add", "mul", "max", "min", "eq", "ne", "and", "or", "xor", "land", "lor", "hypot"}

// Commutes reports whether what two parts are combined to is seen to be the same when
// they change places, save for the sign of a zero. The names of the parts begin with a
// and b.
func (g *Graph) Commutes() bool {
	there, back := map[string]string{}, map[string]string{}
	for _, o := range g.Env.Operands {
		switch {
		case partOf(o.Name) == "a":
			back[o.Name] = "b" + o.Name[1:]
		case partOf(o.Name) == "b":
			back[o.Name] = "a" + o.Name[1:]
		}
	}
	known := map[string]int{}
	x, y := form{g, known, there, map[*Value]int{}}, form{g, known, back, map[*Value]int{}}
	return !slices.ContainsFunc(g.Roots, func(v *Value) bool { return x.of(v) != y.of(v) })
}

// partOf returns which part a name is of, "" if of none.
func partOf(name string) string {
	if len(name) > 0 && (len(name) == 1 || name[1] == '.') && (name[0] == 'a' || name[0] == 'b') {
		return name[:1]
	}
	return ""
}

// A form numbers the values of a graph in which names stand for others. Values that are
// computed alike have the same number in all forms that share known.
type form struct {
	g     *Graph
	known map[string]int
	names map[string]string
	done  map[*Value]int
}

func (f form) of(v *Value) int {
	if n, ok := f.done[v]; ok {
		return n
	}
	name := v.Name
	if to := f.names[name]; v.Op == OpName && to != "" {
		name = to
	}
	args := make([]int, len(v.Args))
	for i, arg := range v.Args {
		if i == 1 && name == "where" {
			if first, second := equality(v.Args[0]); first != "" {
				args[i] = f.where(first, second).of(arg)
				continue
			}
		}
		args[i] = f.of(arg)
	}
	switch {
	case v.Op == OpCall && slices.Contains(symmetric, name):
		slices.Sort(args)
	case v.Op == OpCall && name == "abs" && f.g.KindDType(v.Kind).IsFloat() && v.Args[0].Name == "sub":
		name, args = "distance", []int{f.of(v.Args[0].Args[0]), f.of(v.Args[0].Args[1])}
		slices.Sort(args)
	}
	key := fmt.Sprintf("%d %d %s %s %v", v.Op, v.Kind, name, v.Const, args)
	if _, ok := f.known[key]; !ok {
		f.known[key] = len(f.known)
	}
	f.done[v] = f.known[key]
	return f.done[v]
}

// where is the form where the second of two names stands for the first.
func (f form) where(first, second string) form {
	names := maps.Clone(f.names)
	for _, name := range []string{first, second} {
		names[name] = first
	}
	return form{f.g, f.known, names, map[*Value]int{}}
}

// equality returns the names of a state in both parts where v says that they are equal.
func equality(v *Value) (first, second string) {
	if v.Op != OpCall || v.Name != "eq" || v.Args[0].Op != OpName || v.Args[1].Op != OpName {
		return "", ""
	}
	x, y := v.Args[0].Name, v.Args[1].Name
	if partOf(x) == "b" {
		x, y = y, x
	}
	if partOf(x) != "a" || y != "b"+x[1:] {
		return "", ""
	}
	return x, y
}
