// Package softmaxgrad writes the vector loops of package backend/cpu/softmaxgrad, from lane programs.
package softmaxgrad

import (
	"fmt"

	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/gen/simd/asm"
)

// Files returns the loops by instruction set.
func Files(by string) ([]asm.File, error) {
	f := x86.NewFile("backend/cpu/softmaxgrad", "softmaxgrad", "softmaxgrad", by)
	for _, l := range []struct {
		name string
		prog *lane.Prog
	}{
		{"add32", add(lane.F32)}, {"add64", add(lane.F64)}, {"pull32", pull(lane.F32, false)}, {"pull64", pull(lane.F64, false)},
		{"pullOf32", pull(lane.F32, true)}, {"pullOf64", pull(lane.F64, true)},
	} {
		for _, isa := range x86.ISAs {
			if err := f.Loop(l.name, l.prog, isa); err != nil {
				return nil, fmt.Errorf("softmaxgrad: %w", err)
			}
		}
	}
	return f.Files()
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
