package x86test

import (
	"errors"

	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/codegen/x86"
)

// Functions compiles all programs for an instruction set: a loop and a chain for each case, a fold
// and rows for each reduction, named with these words but for the loop, and the subroutines that they call.
func Functions(isa x86.ISA) ([]*x86.Func, error) {
	list, err := subroutines(isa)
	if err != nil {
		return nil, err
	}
	add := func(f *x86.Func, e error) {
		if e != nil {
			err = errors.Join(err, e)
			return
		}
		list = append(list, f)
	}
	for _, c := range Cases() {
		if f, e := x86.Loop(c.Name, c.Prog, isa); !(c.Only512 && isa == x86.AVX2 && errors.Is(e, x86.ErrUnsupported)) {
			add(f, e)
			add(x86.Chain(c.Name+"Chain", c.Prog, isa))
		}
	}
	for _, c := range FoldCases() {
		add(x86.FoldAll(c.Name+"Fold", c.Fold, isa))
		add(x86.FoldRows(c.Name+"Rows", c.Fold, isa))
	}
	return list, err
}

// subroutines compiles the functions that the programs call.
func subroutines(isa x86.ISA) (list []*x86.Func, err error) {
	add := func(name string, p *lane.Prog) {
		f, e := x86.Subroutine(name, p, isa)
		list, err = append(list, f), errors.Join(err, e)
	}
	for _, t := range floats {
		var e, h lane.Prog
		e.Out(ExpLike(&e, e.Arg(0, t)))
		h.Out(Half(&h, h.Arg(0, t), h.Arg(1, t)))
		if t == lane.F32 {
			var w lane.Prog
			w.Out(Wide(&w, w.Arg(0, t), w.Arg(1, t)))
			add("testWide", &w)
		}
		add("testExp", &e)
		add("testHalf", &h)
	}
	return list, err
}
