package loops

import (
	"fmt"

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
	set := FoldSet{ISA: isa, Reorders: f.Combine.Commutes(), Merges: f.Map.Roots[0].Op == expr.OpName && f.Map.Roots[0].Name == f.Operand}
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
