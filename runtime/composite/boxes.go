package composite

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// Boxes are the operators that suppression is made of.
type Boxes struct {
	BoxIoU     product
	Narrow     narrow
	Gt         func(x, y *core.Tensor) *core.Tensor
	LogicalAnd product
	LogicalNot copyOf
	Triu       func(x *core.Tensor, diagonal int) *core.Tensor
	Unsqueeze  alongAxis
	Any        func(x *core.Tensor, dim []int, keepdim bool) *core.Tensor
	Equal      func(x, y *core.Tensor) *core.Tensor
}

// Suppressed says of boxes [batch, n, 4], the best ones first, which stay: those that
// share with none before them that stays more than limit of the area of both. What stays
// after a round is known of one box more at least, and of most after a few: boxes that
// overlap make short chains. The host waits for each round.
func Suppressed(o Boxes, boxes *core.Tensor, limit float64) *core.Tensor {
	if t := core.FirstError(boxes); t != nil {
		return t
	}
	place := core.Placement{Device: look(boxes).Device()}
	bound := core.From([]float64{limit}, []int{}, place)
	over := o.Triu(o.Gt(o.BoxIoU(boxes, boxes), bound), 1) // [batch, before, after]
	none := func(stay *core.Tensor) *core.Tensor {
		return o.LogicalNot(o.Any(o.LogicalAnd(over, o.Unsqueeze(stay, 2)), []int{1}, false))
	}
	stay := o.LogicalNot(o.Any(over, []int{1}, false))
	for {
		next := none(stay)
		same, err := core.Item(o.Equal(next, stay))
		if err != nil {
			return core.Fail(op("suppressed"), err)
		}
		if same == ir.BoolScalar(true) {
			return next
		}
		stay = next
	}
}
