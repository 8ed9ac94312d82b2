package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// hosted are the operators whose results have a size that their operands' values decide,
// or that read bits as another type: the host waits for them.
var hosted = map[string]lowering{
	"NonMaxSuppression": {make: suppress},
	"Unique":            {make: unique},
	"BitCast": {make: func(n *node) kernel {
		to := n.elem("to")
		unlike := func(from format.Elem) bool {
			return from.Bits() != to.Bits() || from.Bits() < 8 || isSmall(from) || isSmall(to)
		}
		if from := n.elems[0]; from != 0 && unlike(from) {
			n.refuse("the bits of %s as %s", from, to)
		}
		return func(c *call) error {
			if from := c.elem(0); unlike(from) {
				return fmt.Errorf("%w: the bits of %s as %s", ErrUnsupported, from, to)
			}
			x := c.t(0)
			raw, err := x.Bytes()
			if err != nil {
				return err
			}
			return c.as(0, tensor.FromBytes(raw, carriers[to], x.Shape(), tensor.On(c.dev)), to)
		}
	}},
}

// unique finds the elements, or along an axis the parts, of which there are no others
// before: numbers for their elements are put in order on the host.
func unique(n *node) kernel {
	sorted, along := n.flag("sorted"), n.given("axis")
	n.lacks(0, tensor.DType.IsComplex)
	return func(c *call) error {
		x, a := c.t(0), 0
		if !along {
			x = x.Reshape(x.NumElements())
		}
		a, err := axis(n.int("axis"), x.Rank())
		if !along {
			a, err = 0, nil
		}
		if err != nil {
			return err
		}
		parts := x.Movedim([]int{a}, 0).Contiguous()
		values, ranks, times := tensor.Unique(parts)
		if err := errors.Join(values.Err(), ranks.Err(), times.Err()); err != nil {
			return err
		}
		places, err := tensor.Data[int64](ranks)
		if err != nil {
			return err
		}
		count := x.Size(a)
		width := len(places) / max(count, 1)
		part := func(i int) []int64 { return places[i*width:][:width] }
		order := make([]int, count)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return slices.Compare(part(i), part(j)) })
		var groups [][]int // of equal parts, in order
		for i, p := range order {
			if i == 0 || !slices.Equal(part(order[i-1]), part(p)) {
				groups = append(groups, nil)
			}
			groups[len(groups)-1] = append(groups[len(groups)-1], p)
		}
		if !sorted {
			slices.SortFunc(groups, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
		}
		first, counts, inverse := make([]int64, len(groups)), make([]int64, len(groups)), make([]int64, count)
		for g, group := range groups {
			first[g], counts[g] = int64(group[0]), int64(len(group))
			for _, i := range group {
				inverse[i] = int64(g)
			}
		}
		if err := c.as(0, x.IndexSelect(a, tensor.From(first).To(c.dev)), c.elem(0)); err != nil {
			return err
		}
		for i, list := range [][]int64{first, inverse, counts} {
			if err := c.as(1+i, tensor.From(list).To(c.dev), format.Int64); err != nil {
				return err
			}
		}
		return nil
	}
}

// suppress keeps the boxes of the best scores that overlap none that was kept too much.
func suppress(n *node) kernel {
	centers := n.flag("center_point_box")
	return func(c *call) error {
		boxes, scores := c.t(0), c.t(1)
		bs, ss := boxes.Shape(), scores.Shape()
		if len(bs) != 3 || len(ss) != 3 || bs[2] != 4 || ss[0] != bs[0] || ss[2] != bs[1] {
			return fmt.Errorf("boxes %v and scores %v", bs, ss)
		}
		number := func(i int) (float64, error) {
			if !c.has(i) || c.in[i].t.NumElements() == 0 {
				return 0, nil
			}
			return c.one(i)
		}
		most, err := number(2)
		if err != nil {
			return err
		}
		limit, err := number(3)
		if err != nil {
			return err
		}
		least, err := number(4)
		if err != nil {
			return err
		}
		first, second := boxes.Narrow(2, 0, 2), boxes.Narrow(2, 2, 2)
		if centers {
			half := second.MulScalar(0.5)
			first, second = first.Sub(half), first.Add(half)
		} else {
			first, second = first.Minimum(second), first.Maximum(second)
		}
		values, order := scores.Sort(2, tensor.Descending())
		four := []int{ss[0], ss[1], ss[2], 4}
		boxes = tensor.Cat([]tensor.Tensor{first, second}, 2).Unsqueeze(1).Expand(four...)
		sorted := boxes.Gather(2, order.Unsqueeze(3).Expand(four...)).Reshape(ss[0]*ss[1], ss[2], 4)
		stay := sorted.NMSKept(limit).Reshape(ss...)
		if c.has(4) {
			stay = stay.LogicalAnd(values.GtScalar(float32(least)))
		}
		stay = stay.LogicalAnd(stay.ToType(tensor.Int64).Cumsum(2).LeScalar(most))
		places := stay.Nonzero().Narrow(1, 0, 2)
		return c.as(0, tensor.Cat([]tensor.Tensor{places, order.MaskedSelect(stay).Unsqueeze(1)}, 1), format.Int64)
	}
}
