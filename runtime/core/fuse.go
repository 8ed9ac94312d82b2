package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/caller"
	"github.com/sinter-go/sinter/runtime/device"
)

// A Fused says what became of element-wise launches of a program.
type Fused struct {
	Before  *program.Program // as it was recorded
	Regions []FusedRegion    // in the order in which they run
	Alone   []FusedRegion    // element-wise launches that run by themselves
	Direct  []FusedRegion    // launches that are left out, as others write what they give or join
	Last    []FusedRegion    // convolutions between which channels are last in memory
	Pooled  []FusedRegion    // launches that run behind a pooling, the second, instead of before it
}

// A FusedRegion is one kernel and what it stands for.
type FusedRegion struct {
	Ops   []string
	Bytes int64  // that the kernel reads and writes
	Eager int64  // that the operators one by one do
	Why   string // it is not fused

	callers []uintptr // of the operators
}

// Lines returns the lines of the program that called the operators.
func (f *FusedRegion) Lines() []string {
	var list []string
	for _, c := range f.callers {
		if line := caller.LineOf(c); line != "" && !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return list
}

// fuse makes one step of several where they are element-wise, unless nothing is to be, and
// says what became of them.
func (r *recorder) fuse(p *program.Program) *Fused {
	f := &Fused{Before: p}
	if r.unfused {
		return f
	}
	plan := fusion.Make(p, r.fusing())
	steps := make([]step, 0, len(plan.Order))
	f.Regions = slices.Grow(f.Regions, len(plan.Groups))
	for _, item := range plan.Order {
		s := r.program[item.Step]
		s.Out, s.In = r.refs.clone(s.Out), r.refs.clone(s.In) // whose versions the other program keeps
		if g := item.Group; g != nil {
			f.Regions = append(f.Regions, r.told(g.Steps, bytesOf(&g.Call)))
			s.Step = program.Step{Call: g.Call, Out: g.Out, In: g.In}
		} else if why := plan.Why[item.Step]; why != "" {
			alone := r.told([]int{item.Step}, bytesOf(&s.Call))
			alone.Why = why
			f.Alone = append(f.Alone, alone)
		}
		steps = append(steps, s)
	}
	r.program = steps
	return f
}

// fusing says what the drivers of the steps can fuse, for package fusion.
func (r *recorder) fusing() fusion.Options {
	return fusion.Options{
		Refused: func(i int) string { return refused(&r.program[i]) },
		Number:  r.number,
		Place: func(i int) int {
			d := r.program[i].dev
			return int(d.Kind)<<16 | d.Index
		},
		Kind: func(i int) string { return r.program[i].dev.Kind.String() },
		Code: func(i int, region *fusion.Region, c *ir.Call) error {
			return r.code(i, region.Op, func(f device.Fuser, dev int) (ir.Code, error) { return f.Fuse(dev, region, c) })
		},
		RowCode: func(i int, rows *fusion.Rows) error {
			return r.code(i, rows.Op, func(f device.Fuser, dev int) (ir.Code, error) { return f.FuseRows(dev, rows) })
		},
		ProductCode: func(i int, product *fusion.Product) error {
			return r.code(i, product.Op, func(f device.Fuser, dev int) (ir.Code, error) { return f.FuseProduct(dev, product) })
		},
		FoldCode: func(i int, fold *fusion.Fold) error {
			return r.code(i, fold.Op, func(f device.Fuser, dev int) (ir.Code, error) { return f.FuseFold(dev, fold) })
		},
		NormCode: func(i int, norm *fusion.Norm) error {
			return r.code(i, norm.Op, func(f device.Fuser, dev int) (ir.Code, error) { return f.(device.NormFuser).FuseNorm(dev, norm) })
		},
		TakesNorm: func(i int, norm *fusion.Norm, c *ir.Call) bool {
			f, able := r.program[i].drv.(device.NormFuser)
			return able && f.TakesNorm(r.program[i].dev.Index, norm, c)
		},
		Relaxed: r.relaxed,
		Rounds: func(i int) bool {
			f, able := r.program[i].drv.(device.Fuser)
			return able && f.Rounds()
		},
		RoundsFolds: func(i int) bool {
			f, able := r.program[i].drv.(device.Fuser)
			return able && f.RoundsFolds()
		},
		Takes: func(i int, product *fusion.Product, c *ir.Call) bool {
			f, able := r.program[i].drv.(device.Fuser)
			return able && f.TakesProduct(r.program[i].dev.Index, product, c)
		},
		TakesFold: func(i int, c *ir.Call) bool {
			f, able := r.program[i].drv.(device.Fuser)
			return able && f.TakesFold(r.program[i].dev.Index, c)
		},
	}
}

// direct has steps write their results where others would only copy them, and takes those
// out of the program.
func (r *recorder) direct(p *program.Program) []FusedRegion {
	steps, gone := fusion.Direct(p, func(i int) string { return refused(&r.program[i]) })
	if len(gone) == 0 {
		return nil
	}
	var list []FusedRegion
	out := make([]int, len(gone))
	for k, g := range gone {
		without := r.told([]int{g.Step}, 0)
		without.Why = p.Steps[g.By].Name() + " writes its result"
		list, out[k] = append(list, without), g.Step
	}
	for i := range steps {
		r.program[i].Step = steps[i]
	}
	r.without(out)
	return list
}

// pooled has steps run behind poolings where these leave less for them to do.
func (r *recorder) pooled(p *program.Program) []FusedRegion {
	steps, found := fusion.Pooled(p, func(i int) string { return refused(&r.program[i]) })
	if len(found) == 0 {
		return nil
	}
	r.program = slices.Clone(r.program)
	var list []FusedRegion
	for _, f := range found {
		told := r.told([]int{f.Cut, f.Pool, f.Mask, f.Unpool}, 0)
		told.Bytes = told.Eager - f.Saved
		list = append(list, told)
		r.program[f.Cut], r.program[f.Pool] = r.program[f.Pool], r.program[f.Cut]
		r.program[f.Unpool], r.program[f.Mask] = r.program[f.Mask], r.program[f.Unpool]
	}
	for i := range steps {
		r.program[i].Step = steps[i]
	}
	r.ownRefs()
	return list
}

// inPlace has steps write parts of what others would join them to, and takes those out of the
// program.
func (r *recorder) inPlace(p *program.Program) []FusedRegion {
	steps, from, found := fusion.InPlace(p, func(i int) string { return refused(&r.program[i]) },
		func(d ir.DType) *ir.Kernel { return copyOp.Kernel(0, d) })
	var list []FusedRegion
	for _, f := range found {
		without := r.told([]int{f.Step}, 0)
		without.Eager = f.Saved
		names := make([]string, len(f.By))
		for k, i := range f.By {
			names[k] = p.Steps[i].Name()
		}
		without.Why = "parts are written in place by " + strings.Join(slices.Compact(names), ", ")
		list = append(list, without)
	}
	if len(found) > 0 {
		r.replace(steps, from)
	}
	return list
}

// replace has the program be steps, each of which is, or stands for, a step of the program
// whose number from has, ascending.
func (r *recorder) replace(steps []program.Step, from []int) {
	old := r.program
	r.program = make([]step, len(steps))
	for i, k := range from {
		r.program[i] = old[k]
		r.program[i].Step = steps[i]
		// the other program keeps the versions of the old ones
		r.program[i].Out, r.program[i].In = r.refs.clone(steps[i].Out), r.refs.clone(steps[i].In)
	}
	before := func(step int) int { // of the steps now, those before one of then
		n, _ := slices.BinarySearch(from, step)
		return n
	}
	for i := range r.buffers {
		b := &r.buffers[i]
		if b.Made = before(b.Made); b.Released >= 0 { // below 0 where an eager run keeps it
			b.Released = before(b.Released)
		}
	}
}

// arrange has images lie with their channels last in memory where devices move fewer bytes
// then.
func (r *recorder) arrange(p *program.Program) []FusedRegion {
	steps, found := fusion.ChannelsLast(p, func(i int) (int64, bool) {
		s := &r.program[i]
		a, able := s.drv.(device.Arranger)
		if !able || refused(s) != "" {
			return 0, false
		}
		return a.ChannelsLast(s.dev.Index, &s.Call)
	})
	var list []FusedRegion
	for _, f := range found {
		told := r.told(f.Steps, 0)
		told.Bytes = told.Eager - f.Saved
		list = append(list, told)
	}
	for i := range steps {
		r.program[i].Step = steps[i]
	}
	if len(found) > 0 {
		r.ownRefs()
	}
	return list
}

// code gives an operator that stands for several the code of the device that step i runs on.
func (r *recorder) code(i int, op *ir.Op, fuse func(f device.Fuser, dev int) (ir.Code, error)) error {
	s := &r.program[i]
	fuser, able := s.drv.(device.Fuser)
	if !able {
		return fmt.Errorf("%s fuses nothing", s.dev.Kind)
	}
	code, err := fuse(fuser, s.dev.Index)
	if err == nil {
		op.Code = []ir.Code{code}
	} else {
		r.unsure.Store(true)
	}
	return err
}

// refused returns why a launch runs by itself, whatever is beside it.
func refused(s *step) string {
	switch {
	case s.Action != program.Launch:
		return ""
	case s.numbers != nil:
		return "its numbers are asked for in each run"
	case draws(&s.Call):
		return "it draws random numbers"
	case len(s.others) > 0:
		return "it uses memory of several devices"
	}
	return ""
}

// number returns the number of the host that an operand of a step is in every run.
func (r *recorder) number(i, j int) (ir.Scalar, bool) {
	s := &r.program[i]
	b := &r.buffers[s.In[j].Buffer]
	if b.number() == nil || s.In[j].Offset != 0 {
		return ir.Scalar{}, false
	}
	n := decode(b.storage.host(), s.Call.In[j].DType)
	return n, n.Category() != ir.CategoryInt || int64(n.Float()) == n.Int() // others would be rounded twice
}

// told says what a kernel stands for.
func (r *recorder) told(steps []int, bytes int64) FusedRegion {
	f := FusedRegion{Bytes: bytes, Ops: r.opNames.take(len(steps)), callers: r.frames.take(len(steps))}
	for k, i := range steps {
		s := &r.program[i]
		f.Ops[k], f.callers[k] = s.Name(), s.caller
		f.Eager += bytesOf(&s.Call)
	}
	return f
}

// bytesOf returns how many bytes of tensors a call reads and writes at least.
func bytesOf(c *ir.Call) int64 {
	n := int64(0)
	for i := range c.Out {
		n += c.Out[i].Bytes()
	}
	for i := range c.In {
		n += c.In[i].Bytes()
	}
	return n
}
