// Package ref is the reference backend: it runs calls on host memory the slow
// and obvious way, and is the definition of the operators that every other
// backend is tested against. Scalar bodies are interpreted from their source one
// element at a time; operators without one run the function that was provided for
// them. It knows nothing of devices.
//
// Integers are exact and wrap to their width. Real arithmetic is wider than its
// dtype: float64 for float32 (which float16 and bfloat16 compute in), 160 bits
// for float64; a result is rounded once, as it is stored. Complex arithmetic is
// complex128. Reductions fold in row-major order without rounding in between.
// What overflows in the middle of an expression in the compute dtype alone, such
// as exp(100) in float32, does not overflow here.
package ref

import (
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
)

// kernels are the reference's functions of opaque operators, by descriptor: an
// ir.KernelFunc for each *ir.Op. They are no part of descriptors, which programs link.
var kernels sync.Map

// Provide says by which functions opaque operators are run. Any goroutine may call it.
func Provide(list map[*ir.Op]ir.KernelFunc) {
	for op, run := range list {
		kernels.Store(op, run)
	}
}

// Run computes c. All views are in host memory. A result may be exactly an
// operand of an element-wise call, and must not overlap one otherwise. Errors do
// not name the operator: the caller does. After an error the results of a
// scalar body may be partly written.
func Run(c *ir.Call) error {
	if c.Op.Kind == ir.Opaque {
		if run, ok := kernels.Load(c.Op); ok {
			return run.(ir.KernelFunc)(c)
		}
		return fmt.Errorf("not implemented by the reference, or its kernels are not part of this program")
	}
	b, err := body.Of(c.Kernel)
	if err != nil {
		return err
	}
	if c.Compute == ir.Float64 || c.Compute == ir.Complex128 {
		return run(c, b, wides{})
	}
	return run(c, b, doubles{})
}

func run[F any](c *ir.Call, b *body.Body, a arith[F]) error {
	if err := checkCall(c); err != nil {
		return err
	}
	r := runner[F]{call: c, body: b, a: a}
	switch c.Op.Kind {
	case ir.Elementwise:
		return r.elementwise()
	case ir.Joint:
		return r.joint()
	case ir.Reduction:
		return r.reduction()
	}
	return r.scan()
}

// checkCall reports a call whose operands are not those of its operator.
func checkCall(c *ir.Call) error {
	lists := 1
	if c.Op.Kind == ir.Joint {
		lists = len(c.Out) / len(c.Op.Out)
	}
	if len(c.Out) != lists*len(c.Op.Out) || len(c.In) != lists*len(c.Op.In) {
		return fmt.Errorf("%d results and %d operands for %d and %d", len(c.Out), len(c.In), len(c.Op.Out), len(c.Op.In))
	}
	for i, v := range c.In {
		if !v.Given() {
			return fmt.Errorf("operand %s is missing", c.Op.In[i/lists].Name)
		}
	}
	return nil
}
