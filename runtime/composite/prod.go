package composite

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// ProdGrads are the operators that the gradient of a product is made of.
type ProdGrads struct {
	ProdGradParts func(g, x *core.Tensor, dim []int) *core.Tensor
	ProdOthers    func(g, x *core.Tensor, dim []int) *core.Tensor
}

// ProdGrad returns g times the product of the other elements of x along dim for each: the
// product of all, divided by each. Where that is to be differentiated, or a dtype has no wider
// one that holds the product of all, it is made of the products before and behind each.
func ProdGrad(o ProdGrads, g, x *core.Tensor, dim []int) *core.Tensor {
	if t := core.FirstError(g, x); t != nil {
		return t
	}
	if once(x, g) {
		return o.ProdOthers(g, x, dim)
	}
	return o.ProdGradParts(g, x, dim)
}

// ProdFactors are the operators that ProdOthers is made of.
type ProdFactors struct {
	ProdGradParts func(g, x *core.Tensor, dim []int) *core.Tensor
	ProdFactors   func(x *core.Tensor, dim []int, keepDim bool) (factor, exponent, others *core.Tensor)
	ProdSlope     func(g, x, factor, exponent, others *core.Tensor) *core.Tensor
}

// ProdOthers returns g times the product of the other elements of x along dim for each: the
// product of all, divided by each.
func ProdOthers(o ProdFactors, g, x *core.Tensor, dim []int) *core.Tensor {
	if t := core.FirstError(g, x); t != nil {
		return t
	}
	if look(x).DType() == ir.Float64 {
		return o.ProdGradParts(g, x, dim)
	}
	factor, exponent, others := o.ProdFactors(x, dim, true)
	return o.ProdSlope(g, x, factor, exponent, others)
}
