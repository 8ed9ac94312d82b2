package optim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
)

// A rule is how an optimizer changes parameters.
type rule interface {
	// together changes a group's parameters in one operator, which op returns.
	together(g *group) error
	op() *ir.Op
	// numbers returns the float attributes of that operator, for a group's phase.
	numbers(phase int64) []float64
	// phase returns what together depends on of the number of a step.
	phase(step int64) int64
}

// A group is parameters that one operator can change together, with what belongs
// to each.
type group struct {
	groupKey
	index         []int // in base.params
	params, grads []*core.Tensor
	others        []*core.Tensor    // with two: the gradients are the means of grads and these
	kept          [2][]*core.Tensor // by what is kept
}

// A groupKey is what the parameters of a group have in common.
type groupKey struct {
	dev   device.Device
	dtype tensor.DType
	grads tensor.DType
	two   bool
	phase int64
}

// gradFor returns the gradient of a parameter, or nil, in a dtype that an operator reads; or two whose
// mean it is.
func gradFor(op *ir.Op, h *core.Tensor) (g, other *core.Tensor) {
	if g, other, _ = h.GradOfTwo(); other != nil {
		if g.Err() == nil && h.DType() == tensor.Float32 && op.Reads(g.DType(), h.DType()) {
			return g, other
		}
		g.Release()
		other.Release()
	}
	g = h.GradAsItIs()
	if g == nil || g.Err() != nil || op.Reads(g.DType(), h.DType()) {
		return g, nil
	}
	g.Release()
	return h.Grad(), nil
}

// step makes one step of every parameter that has a gradient, with recording off.
// Nothing changes before all of them, and what is kept beside them, are there.
func (b *base) step(r rule) error { return b.stepOf(r, b.params) }

// stepOf is step for some of the parameters. Others among these are passed over.
func (b *base) stepOf(r rule, some []*nn.Parameter) error {
	if err := errors.Join(b.made(), b.checkRate()); err != nil {
		return err
	}
	return tensor.NoGrad(func() error {
		defer b.dropGroups()
		if err := b.collect(r, some); err != nil {
			return err
		}
		for _, g := range b.groups[:b.used] {
			if err := b.change(g, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// placeOf returns where a parameter first stands in b.params, and whether it does.
func (b *base) placeOf(p *nn.Parameter) (int, bool) {
	if b.places == nil {
		b.places = make(map[*nn.Parameter]int, len(b.params))
		for i := len(b.params) - 1; i >= 0; i-- {
			b.places[b.params[i]] = i
		}
	}
	i, known := b.places[p]
	return i, known
}

// collect sorts those of some parameters that have a gradient into groups.
func (b *base) collect(r rule, some []*nn.Parameter) error {
	all := slices.Equal(some, b.params)
	var seen map[int]bool
	if !all {
		seen = make(map[int]bool, len(some))
	}
	for k, p := range some {
		i := k
		if !all {
			at, known := b.placeOf(p)
			if !known || seen[at] {
				continue
			}
			i, seen[at] = at, true
		}
		h := p.Handle()
		grad, other := gradFor(r.op(), h)
		if grad == nil {
			continue
		}
		err := b.capturable(i)
		if err == nil {
			err = b.states[i].prepare(p.Tensor, len(b.names))
		}
		if err == nil {
			err = grad.Err()
		}
		if err != nil {
			grad.Release()
			other.Release()
			return fmt.Errorf("optim: parameter %d: %w", i, err)
		}
		core.Declare(h)
		core.Declare(kept(b.states[i].kept)...)
		g := b.groupOf(groupKey{h.Device(), h.DType(), grad.DType(), other != nil, r.phase(b.states[i].steps + 1)})
		g.index = append(g.index, i)
		g.params, g.grads = append(g.params, h), append(g.grads, grad)
		if g.two {
			g.others = append(g.others, other)
		}
		for k, t := range b.states[i].kept {
			g.kept[k] = append(g.kept[k], t.Handle())
		}
	}
	return nil
}

// groupOf returns this step's group with a key. Groups are used again, for their
// memory.
func (b *base) groupOf(key groupKey) *group {
	for _, g := range b.groups[:b.used] {
		if g.groupKey == key {
			return g
		}
	}
	if b.used == len(b.groups) {
		b.groups = append(b.groups, new(group))
	}
	g := b.groups[b.used]
	b.used++
	g.groupKey = key
	return g
}

// dropGroups releases the handles on gradients and forgets all tensors.
func (b *base) dropGroups() {
	for _, g := range b.groups[:b.used] {
		for _, list := range [][]*core.Tensor{g.grads, g.others} {
			for _, grad := range list {
				grad.Release() // the gradient stays
			}
		}
		g.index = g.index[:0]
		for _, list := range []*[]*core.Tensor{&g.params, &g.grads, &g.others, &g.kept[0], &g.kept[1]} {
			clear(*list)
			*list = (*list)[:0]
		}
	}
	b.used = 0
}

// change makes a group's step.
func (b *base) change(g *group, r rule) error {
	if graph.Current(g.dev) != nil {
		return b.capture(g, r)
	}
	if core.Recording() {
		return b.record(g, r)
	}
	switch err := r.together(g); {
	case errors.Is(err, core.ErrOverlap): // nothing was changed; one after the other they can be
		return b.changeEach(g, r)
	case err != nil:
		return fmt.Errorf("optim: %s: %w", g, err)
	}
	for _, i := range g.index {
		b.states[i].steps++
	}
	return nil
}

// changeEach makes the steps of a group's parameters one after the other.
func (b *base) changeEach(g *group, r rule) error {
	for k, i := range g.index {
		one := group{groupKey: g.groupKey, params: g.params[k : k+1], grads: g.grads[k : k+1]}
		if g.two {
			one.others = g.others[k : k+1]
		}
		for j := range b.names {
			one.kept[j] = g.kept[j][k : k+1]
		}
		if err := r.together(&one); err != nil {
			return fmt.Errorf("optim: parameter %d: %w", i, err)
		}
		b.states[i].steps++
	}
	return nil
}

// String names a group's parameters.
func (g *group) String() string {
	if len(g.index) == 1 {
		return fmt.Sprintf("parameter %d", g.index[0])
	}
	const most = 8
	var names []string
	for _, i := range g.index[:min(most, len(g.index))] {
		names = append(names, fmt.Sprint(i))
	}
	if len(g.index) > most {
		names = append(names, "...")
	}
	return "parameters " + strings.Join(names, ", ")
}
