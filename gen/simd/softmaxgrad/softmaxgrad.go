// Package softmaxgrad writes the vector loops of package backend/cpu/softmaxgrad, from lane programs.
package softmaxgrad

import (
	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/gen/simd/asm"
)

// Files returns the loops by instruction set.
func Files(by string) ([]asm.File, error) {
	u := asm.Unit{Dir: "backend/cpu/softmaxgrad", Pkg: "softmaxgrad", Name: "softmaxgrad", By: by}
	return u.Loops(
		asm.Loop{Name: "add32", Prog: add(lane.F32)}, asm.Loop{Name: "add64", Prog: add(lane.F64)},
		asm.Loop{Name: "pull32", Prog: pull(lane.F32, false)}, asm.Loop{Name: "pull64", Prog: pull(lane.F64, false)},
		asm.Loop{Name: "pullOf32", Prog: pull(lane.F32, true)}, asm.Loop{Name: "pullOf64", Prog: pull(lane.F64, true)},
	)
}

// add is the program that adds g*y to sums.
func add(t lane.Type) *lane.Prog {
	var p lane.Prog
	g, y, sum := p.Arg(0, t), p.Arg(1, t), p.Arg(2, t)
	p.Out(p.Add(sum, p.Mul(g, y)))
	return &p
}

// pull is the program that computes y*(g - sum). Each element has a sum of its own, or all have one.
func pull(t lane.Type, one bool) *lane.Prog {
	var p lane.Prog
	g, y := p.Arg(0, t), p.Arg(1, t)
	var sum lane.V
	if one {
		sum = p.Scalar(0, t)
	} else {
		sum = p.Arg(2, t)
	}
	p.Out(p.Mul(y, p.Sub(g, sum)))
	return &p
}
