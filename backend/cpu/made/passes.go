package made

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/codegen/jit"
	"github.com/sinter-go/sinter/codegen/loops"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/ir"
)

// A Passes is machine code of what is computed row by row. An array is a value with elements
// for every place of a row, or what has one a row and is copied.
type Passes struct {
	Values []int // by array: the value that it is
	Block  int   // words that there are for every row, which Fill fills
	count  int
	read   scalars
	main   jit.Func
	past   func() (jit.Func, error)
}

// CompilePasses makes the code of rows for the active level. The error says what stands in
// the way.
func CompilePasses(r *loops.Rows) (*Passes, error) {
	err := fmt.Errorf("no vector code for level %s", simd.Active())
	for _, isa := range sets.At(simd.Active()) {
		var set *loops.RowSet
		if set, err = r.Loops(isa); err != nil {
			continue
		}
		var p *Passes
		if p, err = passes(set); err == nil {
			return p, nil
		}
	}
	return nil, err
}

func passes(set *loops.RowSet) (*Passes, error) {
	if set.Block > 64 {
		return nil, fmt.Errorf("%d numbers of a row: %w", set.Block, x86.ErrUnsupported)
	}
	p := &Passes{Values: set.Values, Block: set.Block, count: set.Count, read: make(scalars, len(set.Read))}
	for i, d := range set.Read {
		if d != ir.Invalid {
			p.read[i] = scalarBits(d)
		}
	}
	code := func(past bool) (jit.Func, error) {
		subroutines, err := set.Functions()
		if err != nil {
			return jit.Func{}, err
		}
		fn, err := set.Func("rows", past)
		if err != nil {
			return jit.Func{}, err
		}
		list, err := load(subroutines, fn)
		if err != nil {
			return jit.Func{}, err
		}
		return list[0], nil
	}
	var err error
	p.main, err = code(false)
	p.past = sync.OnceValues(func() (jit.Func, error) { return code(true) })
	return p, err
}

// Fill sets the words of so many rows that do not depend on what is computed.
func (p *Passes) Fill(blocks []uint64, rows, length int, s []ir.Scalar) {
	for r := range rows {
		block := blocks[r*p.Block : (r+1)*p.Block]
		for i, f := range p.read {
			if f != nil {
				block[i] = f(s[i])
			}
		}
		if p.count >= 0 {
			block[p.count] = uint64(length)
		}
	}
}

// Run computes rows, at most as many as blocks is for: arrays begin at at, and the next row is
// as many bytes further as steps says. With past, rows begin with a cache line
// and have whole ones, and what is ahead bytes further is asked for; false is returned where there is no code for it.
func (p *Passes) Run(rows, length int, at []unsafe.Pointer, steps, ahead []int, blocks []uint64, past bool) bool {
	code := p.main
	if past {
		var err error
		if code, err = p.past(); err != nil {
			return false
		}
	}
	code.Passes(rows, length, &at[0], &steps[0], &blocks[0], 8*p.Block, &ahead[0])
	return true
}

// Into computes so many rows and folds them into accumulators that there are for every place of a
// row. The words of one block are for all rows.
func (p *Passes) Into(rows, length int, at []unsafe.Pointer, steps []int, block []uint64) {
	p.main.Passes(rows, length, &at[0], &steps[0], &block[0], 0, &steps[0])
}
