package exec

import (
	"sync"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// A code is what runs a kernel, looked up once; nil where there is no such loop.
type code struct {
	loop   vector.Func       // over operands and results in the dtypes that they are computed in
	stored vector.Func       // over those in the dtypes of the kernel's ports
	narrow bool              // stored is another than loop, for a port is stored as 16 bits
	set    vector.Set        // loop, and what does the same otherwise
	fold   *vector.FoldFuncs // of a reduction or a scan
	parts  parts             // of a reduction with States
	opaque ir.KernelFunc
	rows   func(single uint64) *vector.Rows // over rows, for operands with one element for each
	outers outers                           // of an operator of two operands
	rates  sync.Map                         // bytes of an element, of operands and result, to bytes a nanosecond, float64
}

// parts are the loops of a reduction with States, all of them or none.
type parts struct {
	start, first, step, merge, finish vector.Func         // first is nil where nothing is made of first elements
	narrow                            vector.Func         // step over elements of float32 that are computed with as float64, or nil
	alone                             []*vector.FoldFuncs // what folds each state by itself; none where they are folded together
}

var codes = ir.NewSlot(func(k *ir.Kernel) *code {
	c := &code{outers: outersOf(k)}
	switch of := k.Op.CodeFor(vector.Kind).(type) {
	case ir.KernelFunc:
		c.opaque = of
	case *vector.Code:
		c.fold, c.set, c.rows = of.Fold(k, simd.Active()), of.Set(k, simd.Active()), of.Rows
		c.loop, c.stored, c.narrow = c.set.Main, c.set.Main, k.Converts()
		switch {
		case k.DType != k.Compute:
			c.stored = c.set.Stored(k.DType)
		case c.narrow:
			c.stored = c.set.OfPorts()
		}
		if p := of.Parts; p != nil {
			main := func(part *vector.Code) vector.Func {
				if part == nil {
					return nil
				}
				s := part.Set(k, simd.Active())
				return s.Main
			}
			c.parts = parts{start: main(p.Start), first: main(p.First), step: main(p.Step), merge: main(p.Merge), finish: main(p.Finish)}
			step := p.Step.Set(k, simd.Active())
			c.parts.narrow = step.Stored(ir.Float32)
			c.parts.alone = aloneOf(p.Alone, k)
		}
	}
	return c
})

// aloneOf returns what folds each state of a kernel by itself, none where one has nothing.
func aloneOf(tables []*[ir.NumDTypes]*vector.FoldFuncs, k *ir.Kernel) []*vector.FoldFuncs {
	var all []*vector.FoldFuncs
	for _, t := range tables {
		loops := t[k.Compute]
		if loops == nil {
			return nil
		}
		all = append(all, loops)
	}
	return all
}
