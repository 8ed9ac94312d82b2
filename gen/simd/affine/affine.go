// Package affine writes the vector loops of package backend/cpu/affine, from lane programs.
package affine

import (
	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/gen/simd/asm"
)

// Files returns the loops by instruction set.
func Files(by string) ([]asm.File, error) {
	u := asm.Unit{Dir: "backend/cpu/affine", Pkg: "affine", Name: "affine", By: by}
	return u.Loops(
		asm.Loop{Name: "pull32", Prog: pull(lane.F32)}, asm.Loop{Name: "pull64", Prog: pull(lane.F64)},
		asm.Loop{Name: "weigh32", Prog: weigh(lane.F32)}, asm.Loop{Name: "weigh64", Prog: weigh(lane.F64)},
	)
}

// pull is the program that multiplies gradients by weights, and adds what weights and biases get of
// them.
func pull(t lane.Type) *lane.Prog {
	var p lane.Prog
	g, x, weight := p.Arg(0, t), p.Arg(1, t), p.Arg(2, t)
	weights, biases := p.Arg(3, t), p.Arg(4, t)
	h := p.Mul(p.Sub(x, p.Scalar(0, t)), p.Scalar(1, t))
	p.Out(p.Mul(g, weight))
	p.Out(p.Add(weights, p.Mul(g, h)))
	p.Out(p.Add(biases, g))
	return &p
}

// weigh is the program that only multiplies.
func weigh(t lane.Type) *lane.Prog {
	var p lane.Prog
	p.Out(p.Mul(p.Arg(0, t), p.Arg(1, t)))
	return &p
}
