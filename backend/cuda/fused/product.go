package fused

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/opaque"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
)

// The names of the kernels of a product: thin_outer and thin_dot of thin.cuh with a region.
const (
	outerKernel  = module + "_outer"
	dotKernel    = module + "_dot"
	vectorKernel = dotKernel + "_vector"
)

// Takes reports whether Product's kernel serves a call: a small product of a thin matrix.
func Takes(p *fusion.Product, c *ir.Call) bool {
	if p.Of.Op.Tags&ir.TagProduct == 0 || p.After == nil || p.Sums != nil || p.Of.DType != ir.Float32 || p.After.Kernel.Compute != ir.Float32 || len(p.Of.In) > 3 {
		return false
	}
	_, ok := opaque.ThinOf(c.In[0], c.In[1])
	return ok
}

// Product returns the launch of a small product and what follows it, and the source of its
// kernels.
func Product(p *fusion.Product) (*code.Kernels, error) {
	g, err := p.After.Graph()
	if err == nil {
		err = steady(g)
	}
	if err != nil {
		return nil, err
	}
	k := &thinProduct{p}
	var b strings.Builder
	b.WriteString("namespace sinter {\n\n")
	b.WriteString(rounding(g))
	functor(&b, "RegionFn", g)
	fmt.Fprintf(&b, "\nstruct Place {\n  void* at;\n  long long row, element;\n  template <class S> SINTER_FN S& of(int r, int c) const { return static_cast<S*>(at)[r * row + c * element]; }\n};\n")
	fmt.Fprintf(&b, "\nstruct Region {\n  Thin product;\n  const float* bias;\n  Place x[%d], y[%d];\n  RegionFn<float32> f;\n", max(len(p.In)-1, 1), len(p.Op.Out))
	fmt.Fprintf(&b, "  SINTER_FN void operator()(int row, int column, float sum) const {\n%s  }\n};\n\n}  // namespace sinter\n", k.finish())
	for _, kernel := range []struct {
		name, function string
		threads        int
	}{{outerKernel, "thin_outer", 256}, {dotKernel, "thin_dot<1>", 128}, {vectorKernel, "thin_dot<4>", 128}} {
		fmt.Fprintf(&b, "extern \"C\" __global__ void __launch_bounds__(%d) %s(const sinter::Region p) { sinter::%s(p.product, p); }\n", kernel.threads, kernel.name, kernel.function)
	}
	return &code.Kernels{Module: module, Symbol: outerKernel, Source: only(including(b.String(), "elementwise", "thin")), Launch: k.launch, Early: true}, nil
}

// A thinProduct launches a small product and what follows it.
type thinProduct struct{ *fusion.Product }

// finish is the statements that compute and store what follows an element of the product.
func (k *thinProduct) finish() string {
	var b strings.Builder
	if len(k.Of.In) == 3 {
		b.WriteString("    sum += bias[column];\n")
	}
	args, n := []string{"0"}, 0
	for i, from := range k.In {
		if from < 0 {
			args = append(args, "sum")
			continue
		}
		d := k.After.Kernel.In[i].DType
		args = append(args, fmt.Sprintf("cast<compute_t<%s>>(x[%d].of<%s>(row, column))", d, n, d))
		n++
	}
	fmt.Fprintf(&b, "    auto r = f(%s);\n", strings.Join(args, ", "))
	outs := k.After.Kernel.Out
	for i := range outs {
		value := "r"
		if len(outs) > 1 {
			value = fmt.Sprintf("get<%d>(r)", i)
		}
		fmt.Fprintf(&b, "    y[%d].of<%s>(row, column) = cast<%s>(%s);\n", i, outs[i].DType, outs[i].DType, value)
	}
	if k.Raw {
		fmt.Fprintf(&b, "    y[%d].of<float32>(row, column) = sum;\n", len(outs))
	}
	return b.String()
}

// launch enqueues the kernel.
func (k *thinProduct) launch(g code.GPU, c *ir.Call) error {
	t, ok := opaque.ThinOf(c.In[0], c.In[1])
	if !ok {
		return errors.New("no product of a thin matrix")
	}
	var p driver.Params
	t.Params(&p, 0)
	bias := uint64(0)
	if len(k.Of.In) == 3 {
		v, err := g.Dense(c.In[2], ir.Float32)
		if err != nil {
			return err
		}
		bias = v.Addr
	}
	p.Uint64(bias)
	place := func(v *ir.View) {
		p.Uint64(v.Addr)
		p.Int64(int64(v.Strides[0]))
		p.Int64(int64(v.Strides[1]))
	}
	for _, from := range k.In {
		if from >= 0 {
			place(&c.In[from])
		}
	}
	if len(k.In) == 1 { // an array has one element at least
		place(&ir.View{Strides: []int{0, 0}})
	}
	for i := range c.Out {
		place(&c.Out[i])
	}
	scalars(&p, c)
	p.Align(8)
	name := outerKernel
	size, block := t.Blocks()
	switch dot, vectors := t.Dot(); {
	case vectors:
		name = vectorKernel
	case dot:
		name = dotKernel
	}
	return g.Launch(module, name, size, block, 0, p.Bytes())
}

// scalars are the fields of a functor of float32, as the call has them.
func scalars(p *driver.Params, c *ir.Call) {
	for i, a := range c.Op.Attrs {
		switch s := c.Scalars[i]; a.Kind {
		case ir.AttrBool:
			p.Bool(s.Bool())
		case ir.AttrInt:
			p.Int64(s.Int())
		default:
			p.Float32(float32(s.Float()))
		}
	}
	if len(c.Op.Attrs) == 0 {
		p.Uint8(0) // an empty struct takes one byte
	}
}
