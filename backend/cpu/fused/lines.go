package fused

import (
	"sync"

	"github.com/sinter-go/sinter/backend/cpu/made"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/codegen/loops"
	"github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/fusion"
)

// bySingle is machine code over rows, made for the operands that have one element a row when
// these are first seen.
type bySingle struct {
	make func(single uint64) *vector.Rows
	code sync.Map // by such operands, by bit: a func() *vector.Rows
}

// get returns the code for the operands with one element a row, by bit; nil where there is none.
func (b *bySingle) get(single uint64) *vector.Rows {
	code, ok := b.code.Load(single)
	if !ok {
		code, _ = b.code.LoadOrStore(single, sync.OnceValue(func() *vector.Rows { return b.make(single) }))
	}
	return code.(func() *vector.Rows)()
}

// rowsOf is code of rows where of says which array of theirs a value is.
func rowsOf(code *made.Passes, of func(value int) int) *vector.Rows {
	own := &vector.Rows{Words: code.Block, Run: code.Into, Fill: func(block []uint64, s []ir.Scalar) { code.Fill(block, 1, 0, s) }}
	for _, v := range code.Values {
		own.Values = append(own.Values, of(v))
	}
	return own
}

// lines returns the code of a region over rows. Values are the operands, then the results.
func lines(r *fusion.Region) *bySingle {
	return &bySingle{make: func(single uint64) *vector.Rows {
		k := r.Kernel
		b, err := body.Of(k)
		if err != nil {
			return nil
		}
		operands, results := len(k.In), len(k.Out)
		n := operands + results
		l := &loops.Rows{Operands: operands, Scalars: len(r.Op.Attrs), Single: make([]bool, n), Stored: make([]bool, n), DTypes: make([]ir.DType, n)}
		stage := loops.Stage{Graph: b.Expr, Inputs: lower.Inputs(b.Expr), Out: operands, Results: results}
		for i, p := range k.In {
			l.DTypes[i], l.Single[i] = p.DType, single>>i&1 != 0
			stage.In = append(stage.In, i)
		}
		for i, p := range k.Out {
			l.DTypes[operands+i], l.Stored[operands+i] = p.DType, true
		}
		l.Stages = []loops.Stage{stage}
		code, err := made.CompilePasses(l)
		if err != nil {
			return nil
		}
		return rowsOf(code, func(v int) int {
			if v < operands {
				return v + results
			}
			return v - operands
		})
	}}
}
