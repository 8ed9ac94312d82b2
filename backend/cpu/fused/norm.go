package fused

import (
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/exec"
	"github.com/sinter-go/sinter/backend/cpu/opaque"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
)

// TakesNorm reports whether Norm has code that serves a call: what is written is folded while it
// is in a register or a cache.
func TakesNorm(n *fusion.Norm, c *ir.Call) bool {
	return exec.FoldsChannels(n.Sums, c.Space, opaque.NormStep(c.Space))
}

// Norm returns the function of a norm and of what folds its first result, block by block of a
// channel.
func Norm(n *fusion.Norm) (ir.Code, error) {
	return ir.Code{For: vector.Kind, Of: ir.KernelFunc((&norms{n, scalarsOf(n.Sums)}).run)}, nil
}

// scalarsOf returns how many scalars calls of a kernel have.
func scalarsOf(k *ir.Kernel) (n int) {
	for _, a := range k.Op.Attrs {
		switch a.Kind {
		case ir.AttrScalar, ir.AttrFloat, ir.AttrInt, ir.AttrBool:
			n++
		}
	}
	return n
}

// norms runs norms on the processor.
type norms struct {
	of      *fusion.Norm
	scalars int // of the fold
}

// run is the function.
func (f *norms) run(c *ir.Call) error {
	n, last := f.scalars, len(c.Out)-1
	own := ir.Call{Kernel: f.of.Of, Out: c.Out[:last], In: c.In, Scalars: c.Scalars[n:], Attrs: c.Attrs[n:], Precision: c.Precision}
	sums := exec.NewChannels(f.of.Sums, c.Space, opaque.NormStep(c.Space), c.Scalars[:n])
	if sums == nil { // TakesNorm has refused it
		return fmt.Errorf("%s: no code folds channels of shape %v", c.Op.Name, c.Space)
	}
	defer sums.Release()
	x, stride := &c.Out[0], c.Space[1]*ir.NumElements(c.Space[2:])
	fold := &opaque.NormFold{Block: func(at opaque.Block) {
		first := at.Image*stride + at.Channel*ir.NumElements(c.Space[2:]) + at.Window
		sums.Part(at.Channel, at.Image, at.Window, at.Images, at.Windows, stride, unsafe.Add(x.Ptr, first*x.DType.Size()))
	}}
	if sums.Adds() {
		fold.Write = func(at opaque.Block, add func(rows, n, first int, lanes unsafe.Pointer)) {
			sums.Each(at.Channel, at.Image, at.Window, at.Images, at.Windows, stride, add)
		}
	}
	if err := opaque.NormWith(&own, fold); err != nil {
		return err
	}
	sums.Finish(c.Out[last].Ptr)
	return nil
}
