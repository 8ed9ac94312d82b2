package onnx

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// hosted are the operators whose results have a size that their operands' values decide,
// or that read bits as another type. They work on the host, whatever the device.
var hosted = map[string]lowering{
	"NonMaxSuppression": {make: suppress},
	"BitCast": {bits: true, make: func(n *node) kernel {
		to := n.elem("to")
		return func(c *call) error {
			from := c.elem(0)
			if from.Bits() != to.Bits() || carriers[from].Size()*8 != from.Bits() || carriers[to].Size()*8 != to.Bits() {
				if carriers[from].Size()*8 != from.Bits() || carriers[to].Size()*8 != to.Bits() {
					return fmt.Errorf("%w: the bits of %s as %s", ErrUnsupported, from, to)
				}
				return fmt.Errorf("the bits of %s as %s", from, to)
			}
			raw, err := c.t(0).Bytes()
			if err != nil {
				return err
			}
			return c.as(0, tensor.FromBytes(raw, carriers[to], c.t(0).Shape(), tensor.On(c.dev)), to)
		}
	}},
}

// A box is a rectangle by its corners.
type box struct{ y0, x0, y1, x1 float32 }

// overlap returns the area that two boxes share over the area of both.
func (a box) overlap(b box) float32 {
	h, w := min(a.y1, b.y1)-max(a.y0, b.y0), min(a.x1, b.x1)-max(a.x0, b.x0)
	if h <= 0 || w <= 0 {
		return 0
	}
	first, second := (a.y1-a.y0)*(a.x1-a.x0), (b.y1-b.y0)*(b.x1-b.x0)
	if union := first + second - h*w; first > 0 && second > 0 && union > 0 {
		return h * w / union
	}
	return 0
}

// suppress keeps the boxes of the best scores that overlap none that was kept too much.
func suppress(n *node) kernel {
	centers := n.flag("center_point_box")
	return func(c *call) error {
		bs, ss := c.in[0].t.Shape(), c.in[1].t.Shape()
		if len(bs) != 3 || len(ss) != 3 || bs[2] != 4 || ss[0] != bs[0] || ss[2] != bs[1] {
			return fmt.Errorf("boxes %v and scores %v", bs, ss)
		}
		corners, err := tensor.Data[float32](c.in[0].t)
		if err != nil {
			return err
		}
		scores, err := tensor.Data[float32](c.in[1].t)
		if err != nil {
			return err
		}
		number := func(i int, missing float64) float64 {
			if !c.has(i) || c.in[i].t.NumElements() == 0 || err != nil {
				return missing
			}
			v, e := c.one(i)
			err = e
			return v
		}
		most, limit := int(number(2, 0)), float32(number(3, 0))
		least, bounded := float32(number(4, 0)), c.has(4)
		if err != nil {
			return err
		}
		boxes := make([]box, len(corners)/4)
		for i := range boxes {
			p := corners[4*i:]
			b := box{min(p[0], p[2]), min(p[1], p[3]), max(p[0], p[2]), max(p[1], p[3])}
			if centers {
				b = box{p[1] - p[3]/2, p[0] - p[2]/2, p[1] + p[3]/2, p[0] + p[2]/2}
			}
			boxes[i] = b
		}
		var out []int64
		for batch := range ss[0] {
			for class := range ss[1] {
				own, of := scores[(batch*ss[1]+class)*ss[2]:][:ss[2]], boxes[batch*bs[1]:][:bs[1]]
				order := make([]int, 0, len(own))
				for i, s := range own {
					if !bounded || s > least {
						order = append(order, i)
					}
				}
				slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(own[b], own[a]) })
				var kept []int
				for _, i := range order {
					if len(kept) >= most {
						break
					}
					if !slices.ContainsFunc(kept, func(k int) bool { return of[i].overlap(of[k]) > limit }) {
						kept = append(kept, i)
						out = append(out, int64(batch), int64(class), int64(i))
					}
				}
			}
		}
		if out == nil {
			out = []int64{}
		}
		return c.as(0, tensor.From(out, len(out)/3, 3).To(c.dev), format.Int64)
	}
}
