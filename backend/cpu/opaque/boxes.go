package opaque

import (
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

type boxFunc func(boxes, kept ir.View, limit float64)

var suppressions = table[boxFunc]{ir.Float32: suppress[float32], ir.Float64: suppress[float64]}

// Suppressed says of boxes [batch, n, 4], by the corners x1, y1, x2 and y2 and the best
// ones first, which stay: those that share with none before them that stays more than a
// part of the area of both. Attribute: limit, that part.
func Suppressed(c *ir.Call) error {
	f, err := suppressions.of(c.Compute)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	d := tile.TargetOf(c.Out[0], ir.Bool)
	f(tile.Dense(c.In[0], c.Compute), d, c.Attrs[0].Scalar.Float())
	tile.Finish(c.Out[0], d)
	return nil
}

// A box is its corners and its area.
type box[T float] struct{ x1, y1, x2, y2, area T }

func suppress[T float](boxes, kept ir.View, limit float64) {
	corners, out := tile.Elements[T](boxes), tile.Elements[bool](kept)
	batch, n := boxes.Shape[0], boxes.Shape[1]
	pool.For(batch, 1, func(lo, hi int) {
		var stay []box[T]
		for ; lo < hi; lo++ {
			stay = stay[:0]
			for i := range n {
				p := corners[4*(lo*n+i):][:4]
				b := box[T]{p[0], p[1], p[2], p[3], T((p[2] - p[0]) * (p[3] - p[1]))}
				if out[lo*n+i] = !covered(b, stay, T(limit)); out[lo*n+i] {
					stay = append(stay, b)
				}
			}
		}
	})
}

// covered reports whether b shares more than a part with one of a list. A part that is no
// number, as of boxes without an area, is no more.
func covered[T float](b box[T], list []box[T], limit T) bool {
	for i := range list {
		a := &list[i]
		w, h := min(a.x2, b.x2)-max(a.x1, b.x1), min(a.y2, b.y2)-max(a.y1, b.y1)
		shared := T(max(w, 0) * max(h, 0))
		if shared/(a.area+b.area-shared) > limit {
			return true
		}
	}
	return false
}
