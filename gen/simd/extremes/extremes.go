// Package extremes writes the assembly of package backend/cpu/fold for the greatest
// and the least of integers, from lane programs. In whatever order elements are
// compared, the result is the same.
package extremes

import (
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/gen/simd/asm"
	"github.com/sinter-go/sinter/gen/simd/lane"
	"github.com/sinter-go/sinter/gen/simd/x86"
)

// Files returns, for each type of integers, functions that fold elements into one, by
// instruction set, and rows into rows, which vectors of 256 bits do as fast as memory
// allows.
func Files(by string) ([]asm.File, error) {
	f := x86.NewFile("backend/cpu/fold", "fold", "extremes", by)
	for _, t := range []lane.Type{lane.U8, lane.I8, lane.I16, lane.I32, lane.I64} {
		for _, kind := range []string{"max", "min"} {
			name, fold := kind+strings.ToUpper(t.String()), extreme(kind, t)
			if err := f.Rows(name+"Rows", fold, x86.AVX2); err != nil {
				return nil, fmt.Errorf("extremes: %w", err)
			}
			for _, isa := range x86.ISAs {
				if err := f.Fold(name+"Fold", fold, isa); err != nil {
					return nil, fmt.Errorf("extremes: %w", err)
				}
			}
		}
	}
	return f.Files()
}

// extreme is the fold of a kind, from the type's other end on.
func extreme(kind string, t lane.Type) x86.Fold {
	first := int64(0)
	switch top := int64(1)<<(8*t.Size()-1) - 1; {
	case t == lane.U8 && kind == "min":
		first = 255
	case t != lane.U8 && kind == "min":
		first = top
	case t != lane.U8:
		first = -top - 1
	}
	var start, same, both lane.Prog
	start.Out(start.ConstI(t, first))
	same.Out(same.Arg(0, t))
	a, b := both.Arg(0, t), both.Arg(1, t)
	if kind == "max" {
		both.Out(both.Max(a, b))
	} else {
		both.Out(both.Min(a, b))
	}
	return x86.Fold{Init: &start, Map: &same, Combine: &both}
}
