package gpu_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/gpu"
	"github.com/sinter-go/sinter/backend/cuda/launch"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// A tally counts the blocks of memory that each launch takes.
type tally struct {
	*gpu.Driver
	t     *testing.T
	needy map[string]bool // the operators that asked for memory, and whether they are opaque
}

func (p *tally) Launch(dev int, s device.StreamID, c *ir.Call) error {
	blocks := func() int64 { // that scratch ever took; its allocator is that of the driver inside
		device.Install(p.Driver)
		defer device.Install(p)
		return memory.StatsOf(device.CUDA(0)).Allocation.All.Allocated
	}
	held, late := blocks(), launch.Late()
	err := p.Driver.Launch(dev, s, c)
	switch n := blocks() - held; {
	case n > 1:
		p.t.Errorf("%s: launched it allocates %d blocks, not one for all that it needs", c.Op.Name, n)
	case n == 1:
		p.needy[c.Op.Name] = c.Op.Kind == ir.Opaque
	}
	if launch.Late() != late {
		p.t.Errorf("%s: launched it asks for memory behind work that it has enqueued", c.Op.Name)
	}
	return err
}

// TestScratch launches every call that the samples of operators make: a launch takes at most
// one block of memory, for all that its code asks for, before anything is enqueued. So the code asks for the same while
// it is counted and while it is run.
func TestScratch(t *testing.T) {
	for _, name := range []library.Name{library.CUDNN, library.CUBLASLt, library.CUFFT} {
		if _, err := library.Open(name); err == nil {
			t.Skipf("%s is there, which knows nothing of a device that is not", name)
		}
	}
	p := &tally{Driver: gpu.Over(&still{next: 1 << 40, calls: map[string]int{}}), t: t, needy: map[string]bool{}}
	old, _ := device.DriverOf(device.KindCUDA)
	device.Install(p)
	t.Cleanup(func() { device.Install(old) })
	for i := range opcases.Cases {
		o := &opcases.Cases[i]
		switch {
		case !o.RunsOn(device.KindCUDA), o.Op.Kind == ir.Composition, o.Op.Kind == ir.ViewBody, o.Op.Tags&ir.TagSyncs != 0:
			continue
		}
		for _, sample := range o.Samples {
			for _, strided := range []bool{false, true} {
				for _, out := range o.Call(zeros(o, sample, strided)) {
					if err := out.Err(); err != nil {
						t.Errorf("%s %v: %v", o.Op.Name, sample.Shapes, err)
					}
					out.Release()
				}
			}
		}
	}
	if opaque := slices.Collect(maps.Values(p.needy)); len(opaque) < 20 || !slices.Contains(opaque, true) || !slices.Contains(opaque, false) {
		t.Errorf("%d operators ask for memory: %v", len(opaque), slices.Sorted(maps.Keys(p.needy)))
	}
}

// zeros returns operands for a sample on cuda:0, of zeros; strided ones have a gap behind
// each element along their last axis.
func zeros(o *optest.Operator, sample optest.Sample, strided bool) (args optest.Args) {
	on := core.Placement{Device: device.CUDA(0)}
	args = optest.Args{Attrs: sample.Attrs, Place: &on}
	for i, shape := range sample.Shapes {
		in := &o.Op.In[min(i, len(o.Op.In)-1)]
		on.DType = in.Fixed
		if on.DType == ir.Invalid {
			on.DType = o.Op.DTypes.List()[0]
			if o.Op.DTypes.Has(ir.Float32) {
				on.DType = ir.Float32
			}
		}
		x := core.Zeros(shape, on)
		if strided && len(shape) > 0 {
			wide := slices.Clone(shape)
			wide[len(wide)-1] *= 2
			x = core.Zeros(wide, on)
			l := x.Layout()
			l.Shape, l.Strides = shape, slices.Clone(l.Strides)
			l.Strides[len(shape)-1] = 2
			x = core.View(core.Apply{Op: viewOp, In: []*core.Tensor{x}}, l, nil)
		}
		args.In = append(args.In, x)
	}
	on.DType = ir.Invalid
	if n := len(o.Op.In); n > 0 && !o.Op.In[n-1].Variadic {
		args.In = append(args.In, make([]*core.Tensor, n-len(args.In))...)
	}
	return args
}

var viewOp = &ir.Op{Name: "every_other", Kind: ir.ViewBody, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, DTypes: ir.ClassAll, Switch: -1}
