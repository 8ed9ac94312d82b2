package cublaslt

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
)

// beside are the addresses of what a call reads or writes besides factors and result; 0 where
// there is none. What is kept and what is added lie as the result does.
type beside struct {
	bias  uint64 // one element a column, or the sums of a factor
	kept  uint64 // what an activation is of: written with it, read by its gradient
	added uint64 // in place of what the result has
}

// keptAlign is the alignment in bytes of what is kept, and of its rows.
const keptAlign = 16

// MatMulGELU enqueues d = gelu(kept), by tanh, where kept = x @ y + bias is stored, too, as
// MatMul does. Results are of 16 bits and have no gaps. Gelu is of what has not been rounded.
func MatMulGELU(g library.GPU, x, y, bias, kept, d ir.View, tf32 bool, sums ir.Sums) error {
	dev, err := deviceOf(g.API(), g.Device())
	if err != nil {
		return err
	}
	return dev.with(g, x, y, d, bias, kept, ir.View{}, kind{x.DType, d.DType, epilogueKeptGELU | epilogueBias, tf32, sums, false, 1})
}

// MatMulGELUGrad enqueues d = (x @ y) * gelu'(of), by tanh, as MatMul does. Of and d are of 16
// bits and have no gaps.
func MatMulGELUGrad(g library.GPU, x, y, of, d ir.View, tf32 bool, sums ir.Sums) error {
	dev, err := deviceOf(g.API(), g.Device())
	if err != nil {
		return err
	}
	return dev.with(g, x, y, d, ir.View{}, of, ir.View{}, kind{x.DType, d.DType, epilogueGELUGrad, tf32, sums, false, 1})
}

// MatMulPlus enqueues d = x @ y + bias + added, as MatMul does, where bias need not be given.
// The sum is rounded once. Added and d have no gaps.
func MatMulPlus(g library.GPU, x, y, bias, added, d ir.View, tf32 bool, sums ir.Sums) error {
	dev, err := deviceOf(g.API(), g.Device())
	if err != nil {
		return err
	}
	return dev.with(g, x, y, d, bias, ir.View{}, added, kind{x.DType, d.DType, epilogueOf(bias.Given(), Identity), tf32, sums, true, 1})
}

// with enqueues a product of one matrix with what is kept or added, each of which may be
// missing.
func (dev *device) with(g library.GPU, x, y, d, bias, kept, added ir.View, of kind) error {
	x, y, bias, err := operands(g, x, y, bias)
	if err != nil {
		return err
	}
	size := d.DType.Size()
	p, ok := describe(x, y, d)
	geo, written := p.geometry(true)
	switch {
	case !ok || !written || p.count > 0 || !d.IsContiguous() || kept.Given() && !kept.IsContiguous() || added.Given() && !added.IsContiguous():
		return fmt.Errorf("%w: a product of shape %v and strides %v with more", ErrUnsupported, d.Shape, d.Strides)
	case bias.Given() && size == 2 && !p.aligned(&geo, size): // which would be rounded twice
		return fmt.Errorf("%w: a bias of rows of %d elements", ErrUnsupported, geo.ldd)
	case kept.Given() && (kept.Addr%keptAlign != 0 || geo.ldd*size%keptAlign != 0):
		return fmt.Errorf("%w: rows of %d elements are kept", ErrUnsupported, geo.ldd)
	}
	return dev.loop(g, &p, &geo, beside{bias.Addr, kept.Addr, added.Addr}, of)
}
