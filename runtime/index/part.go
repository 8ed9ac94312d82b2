package index

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// A part is what an index names of a tensor, axis by axis.
type part struct {
	of    []int // the tensor's shape
	place core.Placement
	axes  []axis // of the tensor
	slots []slot // of the part
	masks []masked

	// Where there are tensors of places:
	block []int // the shape they broadcast to
	apart bool  // other axes are between them, so the block's come first
	lead  int   // one past the last axis with such a tensor
}

// An axis is what is taken along an axis of the tensor: a region, or what a tensor
// of places names.
type axis struct {
	start, extent, step int
	reverse             bool
	at                  *core.Tensor // nil for a region
}

// A slot is an axis of the part: one of the tensor that is kept, a new one (axis is
// -1), or where tensors of places stand (block is set).
type slot struct {
	axis  int
	block bool
}

// A masked is a mask and the first of the axes that it lies over.
type masked struct {
	tensor *core.Tensor
	axis   int
}

// newPart returns the part of x that ix names.
func newPart(x *core.Tensor, ix []any) (*part, error) {
	es, err := entries(x, ix)
	if err == nil {
		es, err = filled(es, x.Shape())
	}
	if err != nil {
		return nil, err
	}
	p := &part{of: x.Shape(), place: core.Placement{Device: x.Device()}}
	for _, e := range es {
		if err := p.add(&e); err != nil {
			return nil, err
		}
	}
	return p, p.arrange()
}

// add appends an entry.
func (p *part) add(e *entry) error {
	a := len(p.axes)
	switch e.kind {
	case newAxis:
		p.slots = append(p.slots, slot{axis: -1})
		return nil
	case mask:
		if m := e.tensor.Shape(); !slices.Equal(m, p.of[a:a+len(m)]) {
			return fmt.Errorf("%w: a mask of shape %v does not fit the axes from %d on of shape %v", ir.ErrShape, m, a, p.of)
		}
		p.masks = append(p.masks, masked{e.tensor, a})
		for i := range e.axes() {
			p.axes = append(p.axes, axis{extent: p.of[a+i], step: 1, at: e.tensor})
			p.slots = append(p.slots, slot{a + i, true})
		}
		return nil
	case places:
		p.axes = append(p.axes, axis{extent: p.of[a], step: 1, at: e.tensor})
		p.slots = append(p.slots, slot{a, true})
		return nil
	case number:
		n, i := p.of[a], e.number
		if i < 0 {
			i += n
		}
		if i < 0 || i >= n {
			return outOfRange(e.number, a, n)
		}
		p.axes = append(p.axes, axis{start: i, extent: 1, step: 1})
		return nil
	}
	var x axis
	x.start, x.extent, x.step, x.reverse = e.bounds(p.of[a])
	p.axes = append(p.axes, x)
	p.slots = append(p.slots, slot{axis: a})
	return nil
}

// outOfRange is the error of a number that names no element of axis a, of n.
func outOfRange(i, a, n int) error {
	if n == 0 {
		return fmt.Errorf("%w: index %d is out of range for axis %d, which has no elements", ir.ErrShape, i, a)
	}
	return fmt.Errorf("%w: index %d is out of range for axis %d with %d elements (want %d to %d)", ir.ErrShape, i, a, n, -n, n-1)
}

// arrange finds where the axes of tensors of places go. Tensors without axes are as
// good as numbers for that, where there are others.
func (p *part) arrange() error {
	for i, a := range p.axes {
		if a.at != nil {
			p.lead = i + 1
		}
	}
	if p.lead == 0 {
		return nil
	}
	scalar := func(s slot) bool { return s.block && p.axes[s.axis].at.Rank() == 0 }
	if slices.ContainsFunc(p.slots, func(s slot) bool { return s.block && !scalar(s) }) {
		p.slots = slices.DeleteFunc(p.slots, scalar)
	}
	first, last, count := -1, -1, 0
	for i, s := range p.slots {
		if s.block {
			if first < 0 {
				first = i
			}
			last = i
			count++
		}
	}
	p.apart = last-first+1 != count
	if len(p.masks) > 0 {
		return nil // they become tensors of places once their elements are counted
	}
	return p.broadcast()
}

// broadcast finds the shape that the tensors of places have together.
func (p *part) broadcast() error {
	var shapes [][]int
	for _, a := range p.axes {
		if a.at != nil {
			shapes = append(shapes, a.at.Shape())
		}
	}
	var err error
	if p.block, err = ir.Broadcast(shapes...); err != nil {
		return fmt.Errorf("%w: tensors of places must broadcast, these have shapes %v", ir.ErrShape, shapes)
	}
	return nil
}

// placed makes tensors of places of the masks, for which the host waits.
func (p *part) placed(o *Operators) error {
	if len(p.masks) == 0 {
		return nil
	}
	for _, m := range p.masks {
		rows := o.Nonzero(m.tensor)
		n := core.Look(rows).Shape()[0]
		for i := range m.tensor.Rank() {
			column := o.Region(rows, []int{0, i}, []int{n, 1}, []int{1, 1})
			p.axes[m.axis+i].at = o.Reshape(column, []int{n})
		}
	}
	p.masks = nil
	return p.broadcast()
}

// plain reports whether p has numbers, ranges and new axes only.
func (p *part) plain() bool { return p.lead == 0 }

// wholeMask returns the mask over all axes that is all there is to p, or nil.
func (p *part) wholeMask() *core.Tensor {
	if len(p.masks) == 1 && p.masks[0].tensor.Rank() == len(p.of) && len(p.slots) == len(p.of) {
		return p.masks[0].tensor
	}
	return nil
}

// loneMask returns the one mask that p has besides numbers and ranges, shaped to lie
// over the region of p; nil where there is none or other tensors.
func (p *part) loneMask(o *Operators) *core.Tensor {
	if len(p.masks) != 1 {
		return nil
	}
	m := p.masks[0]
	for a, x := range p.axes {
		if x.at != nil && (a < m.axis || a >= m.axis+m.tensor.Rank()) {
			return nil
		}
	}
	return o.Reshape(m.tensor, slices.Concat(m.tensor.Shape(), slices.Repeat([]int{1}, len(p.of)-m.axis-m.tensor.Rank())))
}

// order returns the slots in the order that the part has their axes in: one for all
// tensors of places, first where they are apart.
func (p *part) order() []slot {
	var out []slot
	placed := p.apart
	if placed {
		out = append(out, slot{block: true})
	}
	for _, s := range p.slots {
		if s.block && placed {
			continue
		}
		placed = placed || s.block
		out = append(out, s)
	}
	return out
}

// shape returns the extents of the part.
func (p *part) shape() []int {
	out := []int{}
	for _, s := range p.order() {
		out = append(out, p.extents(s)...)
	}
	return out
}

// extents returns the extents of the part along a slot.
func (p *part) extents(s slot) []int {
	switch {
	case s.block:
		return p.block
	case s.axis < 0:
		return []int{1}
	}
	return []int{p.axes[s.axis].extent}
}

// region returns x along its axes from the given one on as p says, all of it along
// the others.
func (p *part) region(o *Operators, x *core.Tensor, from int) *core.Tensor {
	start, extents, step := p.bounds(from)
	return o.Region(x, start, extents, step)
}

// bounds returns the region of p along axes from the given one on, with all of the
// axes before it.
func (p *part) bounds(from int) (start, extents, step []int) {
	for i, a := range p.axes {
		if i < from {
			a = axis{extent: p.of[i], step: 1}
		}
		start, extents, step = append(start, a.start), append(extents, a.extent), append(step, a.step)
	}
	return start, extents, step
}

// flipped returns x with those axes reversed that p reverses. X has the axes of p from
// the given one on; where that is not the first, an axis before them stands for others.
func (p *part) flipped(o *Operators, x *core.Tensor, from int) *core.Tensor {
	var dims []int
	for i, a := range p.axes {
		if a.reverse && i >= from && a.extent > 1 {
			dims = append(dims, i-max(from-1, 0))
		}
	}
	if dims == nil {
		return x
	}
	return o.Flip(x, dims)
}
