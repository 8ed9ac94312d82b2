package unit

import (
	"slices"
	"strings"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// HasCUDA reports whether device code is emitted for op.
func HasCUDA(op *schema.Op) bool {
	if !op.On("cuda") {
		return false
	}
	switch op.Kind {
	case ir.Elementwise, ir.Joint:
		return true
	case ir.Scan:
		return !Launches(op)
	case ir.Reduction: // kernels fold in any order
		return !op.Ordered && !Launches(op)
	}
	return false
}

// Launches reports whether op's device code is launched by a function of its own.
func Launches(op *schema.Op) bool {
	switch op.Kind {
	case ir.Opaque, ir.Reduction, ir.Scan:
		return op.Kernel["cuda"].Func != ""
	}
	return false
}

// PartsOf returns the operators that a composition calls.
func PartsOf(op *schema.Op) []*schema.Op {
	var out []*schema.Op
	if op.GoCompose != nil {
		out = append(out, op.GoCompose.With...)
	}
	for i := range op.Compose {
		op.Compose[i].Walk(func(v *schema.Value) {
			if v.Kind == schema.CallValue {
				out = append(out, v.Op)
			}
		})
	}
	return out
}

// HasOut reports whether op has a form that writes to a given tensor.
func HasOut(op *schema.Op) bool {
	return !op.NoOut && op.Tags&(ir.TagHidden|ir.TagView|ir.TagFactory) == 0 && op.Kind != ir.ViewBody &&
		len(op.Results) == 1 && !op.Results[0].List
}

// HasInPlace reports whether op has a form that changes its first operand.
func HasInPlace(op *schema.Op) bool {
	if op.NoInPlace || op.Kind != ir.Elementwise || len(op.Results) > 1 || op.Tags&(ir.TagHidden|ir.TagFactory) != 0 {
		return false
	}
	p := op.Params[0]
	if p.Operand != 0 || p.Optional || p.Fixed != ir.Invalid || op.Results[0].DType != ir.Invalid {
		return false
	}
	switch op.Promote {
	case ir.PromoteCompare, ir.PromoteToReal, ir.PromoteToComplex, ir.PromoteOption:
		return false
	}
	return keepsDType(op)
}

// ResultNames lists the names of op's results.
func ResultNames(op *schema.Op) string {
	var names []string
	for _, r := range op.Results {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// Public reports whether op has a function in the package users import.
func Public(op *schema.Op) bool { return op.Tags&ir.TagHidden == 0 }

// ComputeDTypes returns the dtypes that op's bodies compute in.
func ComputeDTypes(op *schema.Op) []ir.DType {
	set := op.DTypes
	if op.Promote == ir.PromoteFixed {
		set = ir.SetOf(op.Fixed)
	}
	var out []ir.DType
	for _, d := range set.List() {
		if c := op.ComputeIn(d); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// keepsDType reports whether the one result of every body has the compute dtype.
func keepsDType(op *schema.Op) bool {
	for _, v := range op.Variants {
		for _, d := range ComputeDTypes(op) {
			g, err := v.Check(d)
			if err != nil || g.Result() != d {
				return false
			}
		}
	}
	return true
}

// HasMethod reports whether op's function is also a method of its first operand.
func HasMethod(op *schema.Op) bool {
	return !op.NoMethod && len(op.Params) > 0 && op.Params[0].Type == schema.Tensor && !op.Params[0].Optional
}

// HasScalarForm reports whether op has a form that takes a number for an operand.
func HasScalarForm(op *schema.Op) bool {
	for _, p := range op.Params {
		if p.OrScalar {
			return true
		}
	}
	return false
}

// Differentiable returns the names of the operands that have a gradient.
func Differentiable(op *schema.Op) []string {
	var names []string
	for i := range op.Grads {
		if g := &op.Grads[i]; !op.NoGrad && !g.None {
			names = append(names, g.Operand.Name)
		}
	}
	return names
}
