package opaque

import (
	"math"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/cublaslt"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/ir/fusion"
)

// A runner runs the kernels of operators that have device code of their own.
type runner interface {
	Run(c *ir.Call) error
}

// Product returns the launch of a product with what follows it, or with the sums of a
// factor, where cuBLASLt computes both in one call; nil where it does not.
func Product(p *fusion.Product) code.Launch {
	if p.Of.Op.Tags&ir.TagConvolution != 0 {
		if f := convolutionOf(p); f != nil {
			return f.launch
		}
		return nil
	}
	f := &fusedProduct{p}
	switch {
	case p.After == nil:
		if p.Sums != nil && p.Of.DType == ir.Float32 && len(p.Of.In) == 2 && isSum(p.Sums) {
			return f.sums
		}
	case p.Sums == nil && !p.Raw && len(p.Of.In) == 2 && isScaling(p.After):
		return f.scaled
	case p.Relaxed && p.Sums == nil:
		return f.relaxed()
	}
	return nil
}

// TakesProduct reports whether Product's launch serves a call. The library multiplies a
// product before it is rounded: by powers of two, of which no bit is lost then or later, or
// by any number where that may round otherwise.
func TakesProduct(p *fusion.Product, c *ir.Call) bool {
	if p.Of.Op.Tags&ir.TagConvolution != 0 {
		f := convolutionOf(p)
		return f != nil && f.takes(c)
	}
	if Product(p) == nil {
		return false
	}
	if p.After == nil || p.Relaxed || !isScaling(p.After) {
		return !p.Relaxed || p.After == nil || lieAlike(p, c)
	}
	factor := c.Scalars[0].Float()
	half, _ := math.Frexp(factor)
	// What is small in float16 is often subnormal.
	return math.Abs(half) == 0.5 && (p.Of.DType != ir.Float16 || math.Abs(factor) >= 1)
}

// A fusedProduct launches a product and what is computed with it.
type fusedProduct struct{ *fusion.Product }

// product is the call of the product alone, whose result is d: it has the shape that the
// operator gives.
func (f *fusedProduct) product(c *ir.Call, d ir.View) *ir.Call {
	x := c.In[0].Shape
	d.Shape = append(slices.Clone(x[:len(x)-1]), c.Space[1])
	d.Strides = ir.ContiguousStrides(d.Shape)
	return &ir.Call{Kernel: f.Of, Space: d.Shape, In: c.In[:len(f.Of.In)], Out: []ir.View{d}, Precision: c.Precision}
}

// scaled computes a product times a number.
func (f *fusedProduct) scaled(g code.GPU, c *ir.Call) error {
	own := f.product(c, c.Out[0])
	x, y := own.In[0], own.In[1]
	if _, small := ThinOf(x, y); !small && x.NumElements() > 0 {
		if l, ok := onLibrary(g); ok {
			err := cublaslt.MatMulScaled(l, x, y, own.Out[0], c.Scalars[0].Float(), c.Precision.MatmulTF32, c.Precision.Sums)
			if err == nil || !noCUBLASLt.covered(err) {
				return err
			}
		}
	}
	g.Ahead()
	if err := MatMul(g, own); err != nil {
		return err
	}
	only, factor := &f.After.Members[0], c.Scalars[0].Float()
	in := make([]ir.View, len(only.In))
	for i, from := range only.In {
		if in[i] = c.Out[0]; from.Value < 0 {
			in[i] = ir.View{Ptr: unsafe.Pointer(&factor), DType: ir.Float64, Shape: c.Space, Strides: make([]int, len(c.Space))}
		}
	}
	return g.(runner).Run(&ir.Call{Kernel: only.Kernel, Space: c.Space, In: in, Out: c.Out[:1]})
}

// sums computes a product, and the sums of a factor along the axis that it sums over.
func (f *fusedProduct) sums(g code.GPU, c *ir.Call) error {
	own := f.product(c, c.Out[0])
	if f.Summed == 0 {
		if done, err := thin(g, own.In[0], own.In[1], own.Out[0], 0, c.Out[1].Addr); done {
			return err
		}
	}
	if l, ok := onLibrary(g); ok && own.In[0].NumElements() > 0 {
		err := cublaslt.MatMulSums(l, own.In[0], own.In[1], own.Out[0], c.Out[1], f.Summed, c.Precision.MatmulTF32, c.Precision.Sums)
		if err == nil || !noCUBLASLt.covered(err) {
			return err
		}
	}
	g.Ahead()
	if err := MatMul(g, own); err != nil {
		return err
	}
	x, axis := c.In[f.Summed], 1-f.Summed
	out := c.Out[1]
	out.Shape, out.Strides = slices.Clone(x.Shape), []int{0, 0}
	out.Shape[axis], out.Strides[1-axis] = 1, 1
	return g.(runner).Run(&ir.Call{Kernel: f.Sums, Space: x.Shape, Axes: []int{axis}, In: []ir.View{x}, Out: []ir.View{out}, Scalars: c.Scalars, Attrs: c.Attrs})
}

// isScaling reports whether a region is one operand times its one number.
func isScaling(r *fusion.Region) bool {
	g, err := r.Graph()
	if err != nil || len(r.Members) != 1 || len(g.Roots) != 1 || len(g.Env.Operands) != 1 || len(g.Env.Params) != 1 {
		return false
	}
	v := unrounded(g.Roots[0])
	if v.Name != "mul" || len(v.Args) != 2 || v.Args[0].Op != expr.OpName || v.Args[1].Op != expr.OpName {
		return false
	}
	names := []string{v.Args[0].Name, v.Args[1].Name}
	return slices.Contains(names, g.Env.Operands[0].Name) && slices.Contains(names, g.Env.Params[0].Name)
}

// isSum reports whether a reduction adds up elements.
func isSum(k *ir.Kernel) bool {
	b, err := body.Of(k)
	if err != nil || b.Map == nil || b.Combine == nil || b.Finish == nil {
		return false
	}
	named := func(g *expr.Graph) bool { return len(g.Roots) == 1 && g.Roots[0].Op == expr.OpName }
	sum := b.Combine.Roots[0]
	return named(b.Map) && named(b.Finish) && len(b.Combine.Roots) == 1 && sum.Name == "add" && sum.Args[0].Op == expr.OpName && sum.Args[1].Op == expr.OpName
}
