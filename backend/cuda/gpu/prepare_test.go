package gpu_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/gpu"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// A journal is a still driver that notes its work.
type journal struct {
	still
	work []string
}

func (j *journal) LaunchKernel(_ int, l driver.Launch) error {
	j.work = append(j.work, fmt.Sprint("kernel ", l.Grid, l.Block, l.Shared, len(l.Params)))
	return nil
}

func (j *journal) MemsetD8Async(_ int, _ driver.Ptr, _ byte, bytes int64, _ driver.Stream) error {
	j.work = append(j.work, fmt.Sprint("zero ", bytes))
	return nil
}

func (j *journal) MemcpyDtoDAsync(_ int, _, _ driver.Ptr, bytes int64, _ driver.Stream) error {
	j.work = append(j.work, fmt.Sprint("copy ", bytes))
	return nil
}

func (j *journal) MemcpyHtoDAsync(_ int, _ driver.Ptr, _ unsafe.Pointer, bytes int64, _ driver.Stream) error {
	j.work = append(j.work, fmt.Sprint("upload ", bytes))
	return nil
}

// take returns the work since it was last asked for.
func (j *journal) take() []string {
	work := j.work
	j.work = nil
	return work
}

// A planner launches every call three times: as it is, prepared, and in the memory that it
// was prepared for.
type planner struct {
	*gpu.Driver
	journal *journal
	t       *testing.T
	needy   map[string]bool // the operators that asked for memory, and whether they are opaque
}

func (p *planner) Launch(dev int, s device.StreamID, c *ir.Call) error {
	p.journal.take()
	blocks := func() int64 { return memory.StatsOf(device.CUDA(0)).Allocation.All.Allocated } // ever
	held := blocks()
	if err := p.Driver.Launch(dev, s, c); err != nil {
		return err
	}
	want := p.journal.take()
	if n := blocks() - held; n > 1 {
		p.t.Errorf("%s: launched it allocates %d blocks, not one for all that it needs", c.Op.Name, n)
	}
	bytes, err := p.Prepare(dev, s, c)
	if err != nil {
		p.t.Errorf("%s: prepare: %v", c.Op.Name, err)
	}
	if work := p.journal.take(); work != nil {
		p.t.Errorf("%s: to prepare it %q was enqueued", c.Op.Name, work)
	}
	allocated := func() int64 { return memory.StatsOf(device.CUDA(0)).AllocatedBytes.All.Allocated } // ever
	before := allocated()
	if err := p.Enqueue(dev, s, c, device.Memory{Addr: 1 << 50, Bytes: bytes}); err != nil {
		p.t.Errorf("%s: in %d bytes: %v", c.Op.Name, bytes, err)
	}
	if diff := cmp.Diff(want, p.journal.take()); diff != "" {
		p.t.Errorf("%s: enqueued in %d bytes (-launched +enqueued):\n%s", c.Op.Name, bytes, diff)
	}
	if more := allocated() - before; more != 0 {
		p.t.Errorf("%s: enqueued in given memory it allocates %d bytes", c.Op.Name, more)
	}
	if bytes > 0 {
		if err := p.Enqueue(dev, s, c, device.Memory{Addr: 1 << 50, Bytes: bytes - 512}); err == nil {
			p.t.Errorf("%s: is enqueued in less than the %d bytes that it asks for", c.Op.Name, bytes)
		}
		p.journal.take()
		p.needy[c.Op.Name] = c.Op.Kind == ir.Opaque
	}
	return nil
}

// TestPrepare prepares every call that the samples of operators make, and holds what it is
// then enqueued as, in given memory, to what a plain launch enqueues.
func TestPrepare(t *testing.T) {
	for _, name := range []library.Name{library.CUDNN, library.CUBLASLt, library.CUFFT} {
		if _, err := library.Open(name); err == nil {
			t.Skipf("%s is there, which knows nothing of a device that is not", name)
		}
	}
	j := &journal{still: still{next: 1 << 40, calls: map[string]int{}}}
	p := &planner{Driver: gpu.Over(j), journal: j, t: t, needy: map[string]bool{}}
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
