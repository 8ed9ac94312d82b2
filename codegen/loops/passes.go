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

// Rows is what is computed row by row in stages. Values are numbered: operands first, then
// what stages give, in their order.
type Rows struct {
	Stages   []Stage
	DTypes   []ir.DType // of values
	Single   []bool     // by value: it has one element a row
	Operands int
	Stored   []bool // by value: it is a result
	Scalars  int    // numbers of a call
}

// A Stage computes something of all elements of a row, or where Single is set of one element
// a row; or it folds rows.
type Stage struct {
	Graph  *expr.Graph // nil for a fold
	Inputs []lower.Input
	Single bool
	Fold   *Fold
	Finish *expr.Graph // of a fold of rows
	// Into: a fold's accumulators are its second operand, one for every place of a row, and its
	// result is what they become.
	Into    bool
	In      []int // the values that it reads
	Out     int   // the value of the first result
	Results int
	Scalar  int // the first of its numbers
}

// A RowSet is what rows have for an instruction set.
type RowSet struct {
	ISA    x86.ISA
	Passes x86.Passes
	Values []int      // by array: the value that it is
	Read   []ir.DType // by number of a call: what it is read as, ir.Invalid where it is not
	Count  int        // the place in blocks of the rows' length, or -1
	Block  int        // places in a block
	Ready  []*lane.Prog
}

// Func makes the function of the passes.
func (s *RowSet) Func(name string, past bool) (*x86.Func, error) {
	passes := s.Passes
	passes.Past = past
	return x86.PassFunc(name, passes, s.ISA)
}

// Functions makes the subroutines that the passes call.
func (s *RowSet) Functions() ([]*x86.Func, error) { return functions(s.ISA, s.Ready...) }

// rowBuilder makes a RowSet.
type rowBuilder struct {
	*Rows
	isa   x86.ISA
	set   *RowSet
	place map[int]int    // by single value: its place in blocks
	array map[int]int    // by other value: its array
	of    map[int]int    // by value: the pass that gives it
	now   map[int]lane.V // by value: what the pass in the making has of it
	pass  *x86.Pass
	types []lane.Type // by value: what is computed with
}

// Loops returns what is to be made for an instruction set. The error says which part has no
// lanes.
func (r *Rows) Loops(isa x86.ISA) (*RowSet, error) {
	b := &rowBuilder{Rows: r, isa: isa, place: map[int]int{}, array: map[int]int{}, of: map[int]int{}, types: make([]lane.Type, len(r.DTypes)),
		set: &RowSet{ISA: isa, Count: -1, Block: r.Scalars, Read: make([]ir.DType, r.Scalars)}}
	for v, d := range r.DTypes {
		if b.types[v] = lower.Type(d.Compute()); b.types[v] == lane.Invalid {
			return nil, fmt.Errorf("%s has no lanes: %w", d, x86.ErrUnsupported)
		}
	}
	for v := range r.Operands {
		if r.Single[v] {
			b.set.Passes.In = append(b.set.Passes.In, b.copied(v))
		}
	}
	parts := r.passes()
	for v := range r.Operands {
		b.of[v] = -1
	}
	for i, part := range parts {
		for _, k := range part {
			for j := range r.Stages[k].Results {
				b.of[r.Stages[k].Out+j] = i
			}
		}
	}
	for i, part := range parts {
		if err := b.add(i, part, parts); err != nil {
			return nil, err
		}
	}
	for v := r.Operands; v < len(r.DTypes); v++ {
		if r.Single[v] && r.Stored[v] {
			b.set.Passes.Out = append(b.set.Passes.Out, b.copied(v))
		}
	}
	b.set.Passes.Arrays = len(b.set.Values)
	b.ahead()
	return b.set, nil
}

// passes are the stages of each pass: those of one element a row, those of all, folds.
func (r *Rows) passes() (parts [][]int) {
	kind := func(s *Stage) int {
		switch {
		case s.Fold != nil:
			return 2
		case s.Single:
			return 0
		}
		return 1
	}
	last := 3
	for k := range r.Stages {
		at := kind(&r.Stages[k])
		if at < last || at == last && at == 1 {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], k)
		last = at
	}
	return parts
}

// copied is the array of a single value that is an operand or a result. In blocks it is what is
// computed with.
func (b *rowBuilder) copied(v int) x86.Copied {
	d := b.DTypes[v]
	half := map[ir.DType]x86.Half{ir.Float16: x86.Float16, ir.BFloat16: x86.BFloat16}[d]
	return x86.Copied{Array: b.arrayOf(v), At: b.placeOf(v), Size: d.Size(), Half: half}
}

func (b *rowBuilder) placeOf(v int) int {
	at, ok := b.place[v]
	if !ok {
		at = b.newPlace()
		b.place[v] = at
	}
	return at
}

func (b *rowBuilder) newPlace() int {
	b.set.Block++
	return b.set.Block - 1
}

func (b *rowBuilder) arrayOf(v int) int {
	k, ok := b.array[v]
	if !ok {
		k = len(b.set.Values)
		b.array[v], b.set.Values = k, append(b.set.Values, v)
	}
	return k
}

// add makes a pass.
func (b *rowBuilder) add(at int, stages []int, parts [][]int) error {
	var pass x86.Pass
	b.pass, b.now = &pass, map[int]lane.V{}
	before, prog := &lane.Prog{}, &lane.Prog{}
	mine := map[int]lane.V{} // what the program before gives itself
	var folded []int
	for _, k := range stages {
		s := &b.Stages[k]
		switch {
		case s.Into:
			if err := b.into(prog, s); err != nil {
				return err
			}
		case s.Fold != nil:
			folded = append(folded, k)
		case s.Single:
			vs, err := b.inline(before, s, func(v int) lane.V {
				if x, ok := mine[v]; ok {
					return x
				}
				return before.Scalar(b.placeOf(v), b.types[v])
			})
			if err != nil {
				return err
			}
			for j, v := range vs {
				mine[s.Out+j] = v
				before.Out(v)
				pass.Given = append(pass.Given, b.placeOf(s.Out+j))
			}
		default:
			vs, err := b.inline(prog, s, func(v int) lane.V { return b.element(prog, v) })
			if err != nil {
				return err
			}
			for j, v := range vs {
				b.now[s.Out+j] = v
			}
		}
	}
	b.store(prog, at, parts)
	for _, k := range folded {
		if err := b.fold(prog, &b.Stages[k]); err != nil {
			return err
		}
	}
	if len(pass.Given) > 0 {
		pass.Before = before
	}
	if len(prog.Outs()) > 0 {
		prog = lower.Quiet(prog)
		pass.Prog = prog
	}
	for _, p := range []*lane.Prog{before, prog} {
		if err := p.Err(); err != nil {
			return err
		}
		b.set.Ready = append(b.set.Ready, p)
	}
	b.set.Passes.List = append(b.set.Passes.List, pass)
	return nil
}

// store adds as results what the pass gives and a later one reads, or what is a result of the rows.
func (b *rowBuilder) store(p *lane.Prog, at int, parts [][]int) {
	for v := b.Operands; v < len(b.DTypes); v++ {
		x, ok := b.now[v]
		later := b.usedAfter(v, at, parts)
		if !ok || b.of[v] != at || !later && !b.Stored[v] {
			continue
		}
		p.Out(lower.Store(p, x, b.DTypes[v]))
		b.pass.Out, b.pass.Last = append(b.pass.Out, b.arrayOf(v)), append(b.pass.Last, !later)
	}
}

// usedAfter reports whether a stage of a later pass reads a value.
func (b *rowBuilder) usedAfter(v, at int, parts [][]int) bool {
	for _, part := range parts[at+1:] {
		for _, k := range part {
			if slices.Contains(b.Stages[k].In, v) {
				return true
			}
		}
	}
	return false
}

// element is a value of all elements, or of one a row, in the program of the pass.
func (b *rowBuilder) element(p *lane.Prog, v int) lane.V {
	if x, ok := b.now[v]; ok {
		return x
	}
	if b.Single[v] {
		return p.Scalar(b.placeOf(v), b.types[v])
	}
	x := lower.Load(p, len(b.pass.In), b.DTypes[v])
	b.pass.In = append(b.pass.In, b.arrayOf(v))
	b.now[v] = x
	return x
}

// inline adds what a stage computes of values.
func (b *rowBuilder) inline(p *lane.Prog, s *Stage, value func(v int) lane.V) ([]lane.V, error) {
	sub, err := Program(s.Graph, s.Inputs, b.isa)
	if err != nil {
		return nil, err
	}
	if err := b.read(s.Graph, s.Inputs, s.Scalar); err != nil {
		return nil, err
	}
	args := make([]lane.V, len(sub.Args()))
	for i, t := range sub.Args() {
		if t != lane.Invalid {
			args[i] = value(s.In[i])
		}
	}
	return p.InlineWith(sub, func(i int, t lane.Type) lane.V { return p.Scalar(s.Scalar+i, t) }, args...), p.Err()
}

// read notes as what numbers are read.
func (b *rowBuilder) read(g *expr.Graph, inputs []lower.Input, first int) error {
	for _, in := range inputs {
		switch {
		case in.Index < 0:
			return fmt.Errorf("rows that read the elements' places: %w", x86.ErrUnsupported)
		case in.Scalar:
			b.set.Read[first+in.Index] = g.KindDType(in.Kind)
		}
	}
	return nil
}

// A foldParts is what a fold does to an accumulator.
type foldParts struct {
	init    *lane.Prog
	mapped  *lane.Prog // of an element
	combine *lane.Prog // of an accumulator and a mapped element, and of two accumulators
	extreme bool       // it is the greatest or the least, which have one NaN for all
}

// parts makes those of a stage.
func (b *rowBuilder) parts(s *Stage, acc lane.Type) (p foldParts, err error) {
	f := s.Fold
	set, err := f.Loops(b.isa)
	if err != nil {
		return p, err
	}
	if !set.Reorders && !s.Into {
		return p, fmt.Errorf("a fold in the elements' order: %w", x86.ErrUnsupported)
	}
	if err := b.read(f.Map, f.Inputs(f.Map), s.Scalar); err != nil {
		return p, err
	}
	p.init = set.Parts.Init
	if p.mapped, err = Program(f.Map, f.Inputs(f.Map), b.isa); err != nil {
		return p, err
	}
	if p.combine, err = Program(f.Combine, f.Inputs(f.Combine), b.isa); err != nil {
		return p, err
	}
	if c := p.combine; len(c.Scalars()) > 0 || len(c.Args()) != 2 || c.Args()[0] != acc || c.Args()[1] != acc || !acc.IsFloat() {
		return p, fmt.Errorf("accumulators of another type: %w", x86.ErrUnsupported)
	}
	root := rootOf(f.Combine)
	p.extreme = root == "max" || root == "min"
	return p, nil
}

// mapped is the element that a fold combines.
func (b *rowBuilder) mapped(p *lane.Prog, s *Stage, parts *foldParts) lane.V {
	return p.InlineWith(parts.mapped, func(i int, t lane.Type) lane.V { return p.Scalar(s.Scalar+i, t) }, b.element(p, s.In[0]))[0]
}

// into adds a fold into accumulators that there are for every place.
func (b *rowBuilder) into(p *lane.Prog, s *Stage) error {
	parts, err := b.parts(s, b.types[s.Out])
	if err != nil {
		return err
	}
	if parts.extreme {
		return fmt.Errorf("extremes of columns: %w", x86.ErrUnsupported)
	}
	x := b.mapped(p, s, &parts)
	b.now[s.Out] = p.Inline(parts.combine, b.element(p, s.In[1]), x)[0]
	return p.Err()
}

// fold adds a fold to the pass.
func (b *rowBuilder) fold(p *lane.Prog, s *Stage) error {
	acc := b.types[s.Out]
	parts, err := b.parts(s, acc)
	if err != nil {
		return err
	}
	p.Out(b.mapped(p, s, &parts))
	fold := x86.PassFold{Init: parts.init, At: b.newPlace(), Given: b.placeOf(s.Out), Step: parts.combine, Combine: parts.combine}
	if fold.Finish, err = b.finish(s, acc, fold.At, parts.extreme); err != nil {
		return err
	}
	b.pass.Folds = append(b.pass.Folds, fold)
	b.set.Ready = append(b.set.Ready, fold.Step, fold.Combine, fold.Finish)
	return nil
}

// rootOf is the function of two operands that a graph is, "" for others.
func rootOf(g *expr.Graph) string {
	r := g.Roots[0]
	if r.Op == expr.OpCall && len(r.Args) == 2 && r.Args[0].Op == expr.OpName && r.Args[1].Op == expr.OpName {
		return r.Name
	}
	return ""
}

// finish is the program that makes the result of the accumulator, which is at a place.
func (b *rowBuilder) finish(s *Stage, acc lane.Type, at int, extreme bool) (*lane.Prog, error) {
	inputs := lower.Inputs(s.Finish)
	sub, err := Program(s.Finish, inputs, b.isa)
	if err != nil {
		return nil, err
	}
	p := &lane.Prog{}
	a := p.Scalar(at, acc)
	if extreme { // the one NaN that package fold gives
		a = p.Select(p.Cmp(lane.UNO, a, a), p.ConstBits(acc, nan(acc)), a)
	}
	count := -1
	for _, in := range inputs {
		if in.Scalar && in.Name == "count" {
			count = in.Index
			if b.set.Count < 0 {
				b.set.Count = b.newPlace()
			}
		} else if in.Scalar {
			b.set.Read[s.Scalar+in.Index] = s.Finish.KindDType(in.Kind)
		}
	}
	args := make([]lane.V, len(sub.Args()))
	if len(args) > 1 {
		return nil, fmt.Errorf("a result of more than an accumulator: %w", x86.ErrUnsupported)
	}
	for i := range args {
		args[i] = a
	}
	y := p.InlineWith(sub, func(i int, t lane.Type) lane.V {
		if i == count {
			return p.Scalar(b.set.Count, t)
		}
		return p.Scalar(s.Scalar+i, t)
	}, args...)[0]
	p.Out(lower.Rounded(p, y, b.DTypes[s.Out]))
	return p, p.Err()
}

// nan returns the bits of NaN.
func nan(t lane.Type) uint64 {
	if t == lane.F32 {
		return 0x7fc00000
	}
	return 0x7ff8000000000000
}

// ahead spreads over the last passes what they ask for of the next rows, all of every operand:
// memory is read best while it is written, and that of three passes computes most in the
// second, by measurement.
func (b *rowBuilder) ahead() {
	list := b.set.Passes.List
	var work []int // passes over elements
	for i := range list {
		if list[i].Prog != nil {
			work = append(work, i)
		}
	}
	share := make([]int, len(work))
	if n := len(work); n > 2 {
		share[n-2], share[n-1] = 2, 2
	} else if n > 0 {
		share[n-1] = 4
	}
	for v := range b.Operands {
		if b.Single[v] {
			continue
		}
		part := 0
		for i, of := range share {
			if of > 0 {
				pass := &list[work[i]]
				pass.Ahead = append(pass.Ahead, x86.Ahead{Array: b.arrayOf(v), Size: b.DTypes[v].Size(), Part: part, Of: of})
				part += of
			}
		}
	}
}
