package lower

import "github.com/sinter-go/sinter/codegen/lane"

// Shared returns a program that computes as p does where operands from the second on have one
// element for all: these are scalars behind p's own. It is nil where p has fewer than two operands, or reads
// others than floats of one size or the element's index.
func Shared(p *lane.Prog) *lane.Prog {
	types := p.Args()
	if len(types) < 2 || len(p.Outs()) != 1 || !types[0].IsFloat() || p.Type(p.Outs()[0]) != types[0] {
		return nil
	}
	q := &lane.Prog{}
	args := make([]lane.V, len(types))
	for i, t := range types {
		switch {
		case t != types[0]:
			return nil
		case i == 0:
			args[i] = q.Arg(i, t)
		default:
			args[i] = q.Scalar(len(p.Scalars())+i-1, t)
		}
	}
	for _, v := range q.Inline(p, args...) {
		q.Out(v)
	}
	if q.Err() != nil {
		return nil
	}
	return q
}
