package loops

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// A Fold is what a reduction or a scan folds by, for one compute dtype. The names of the
// accumulators are those of Combine's operands, "a" and "b".
type Fold struct {
	Init, Map, Combine *expr.Graph
	Operand            string                            // what Map calls the element
	Inputs             func(g *expr.Graph) []lower.Input // where a part's names are read
}

// A FoldSet is what a fold has for an instruction set.
type FoldSet struct {
	ISA     x86.ISA
	Parts   x86.Fold
	Scalars []ir.DType // what each scalar argument is read as, ir.Invalid where it is not
	// Reorders: elements may be combined with others than their neighbours, as the
	// function for one accumulator does.
	Reorders bool
	// Merges: elements are accumulators as they are, so the function for rows merges.
	Merges bool
}

// Loops returns what is to be made for an instruction set. The error says which part has
// no lanes.
func (f *Fold) Loops(isa x86.ISA) (FoldSet, error) {
	set := FoldSet{ISA: isa, Reorders: commutes(f.Combine), Merges: f.Map.Root.Op == expr.OpName && f.Map.Root.Name == f.Operand}
	for i, g := range []*expr.Graph{f.Init, f.Map, f.Combine} {
		inputs := f.Inputs(g)
		if err := set.read(g, inputs); err != nil {
			return set, err
		}
		p, err := Program(g, inputs, isa)
		if err != nil {
			return set, err
		}
		*[]**lane.Prog{&set.Parts.Init, &set.Parts.Map, &set.Parts.Combine}[i] = lower.Neutral(p)
	}
	if len(set.Parts.Init.Scalars()) > 0 {
		return set, fmt.Errorf("an identity that is an argument: %w", x86.ErrUnsupported)
	}
	return set, nil
}

// read notes as what a part reads the scalar arguments.
func (s *FoldSet) read(g *expr.Graph, inputs []lower.Input) error {
	for _, in := range inputs {
		d := g.KindDType(in.Kind)
		switch {
		case in.Index < 0:
			return fmt.Errorf("a fold reads the elements' places: %w", x86.ErrUnsupported)
		case !in.Scalar:
			continue
		}
		for len(s.Scalars) <= in.Index {
			s.Scalars = append(s.Scalars, ir.Invalid)
		}
		if was := s.Scalars[in.Index]; was != ir.Invalid && was != d {
			return fmt.Errorf("%s is read as %s and as %s: %w", in.Name, was, d, x86.ErrUnsupported)
		}
		s.Scalars[in.Index] = d
	}
	return nil
}

// Fold makes the function that folds elements into one accumulator; it may be used where
// the set reorders.
func (s *FoldSet) Fold(name string) (*x86.Func, error) { return x86.FoldAll(name, s.Parts, s.ISA) }

// Rows makes the function that folds elements into an accumulator each.
func (s *FoldSet) Rows(name string) (*x86.Func, error) { return x86.FoldRows(name, s.Parts, s.ISA) }

// Functions makes the subroutines that both call.
func (s *FoldSet) Functions() ([]*x86.Func, error) {
	return functions(s.ISA, s.Parts.Map, s.Parts.Combine)
}

// symmetric are the functions of two arguments that give the same when these change places.
var symmetric = []string{"add", "mul", "max", "min", "eq", "ne", "and", "or", "xor", "land", "lor", "hypot"}

// commutes reports whether a function of two accumulators is seen to give the same when
// these change places, save for the sign of a zero.
func commutes(g *expr.Graph) bool {
	known := map[string]int{}
	there := form{g, known, map[string]string{}, map[*expr.Value]int{}}
	back := form{g, known, map[string]string{"a": "b", "b": "a"}, map[*expr.Value]int{}}
	return there.of(g.Root) == back.of(g.Root)
}

// A form numbers the values of a graph in which names stand for others. Values that are
// computed alike have the same number in all forms that share known.
type form struct {
	g     *expr.Graph
	known map[string]int
	names map[string]string
	done  map[*expr.Value]int
}

func (f form) of(v *expr.Value) int {
	if n, ok := f.done[v]; ok {
		return n
	}
	name := v.Name
	if to := f.names[name]; v.Op == expr.OpName && to != "" {
		name = to
	}
	args := make([]int, len(v.Args))
	for i, arg := range v.Args {
		if i == 1 && name == "where" && equal(v.Args[0]) {
			alike := form{f.g, f.known, map[string]string{"b": "a"}, map[*expr.Value]int{}}
			args[i] = alike.of(arg)
			continue
		}
		args[i] = f.of(arg)
	}
	switch {
	case v.Op == expr.OpCall && slices.Contains(symmetric, name):
		slices.Sort(args)
	case v.Op == expr.OpCall && name == "abs" && f.g.KindDType(v.Kind).IsFloat() && v.Args[0].Name == "sub":
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

// equal reports whether v is that both accumulators are equal.
func equal(v *expr.Value) bool {
	return v.Op == expr.OpCall && v.Name == "eq" && v.Args[0].Op == expr.OpName && v.Args[1].Op == expr.OpName &&
		(v.Args[0].Name == "a" && v.Args[1].Name == "b" || v.Args[0].Name == "b" && v.Args[1].Name == "a")
}
