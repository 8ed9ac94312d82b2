package opaque

import (
	"slices"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/cudnn"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/ir/fusion"
)

// A fusedConvolution launches a convolution and what is computed with it: what is added to it,
// and relu of that.
type fusedConvolution struct {
	*fusion.Product
	added []int // operands
	relu  bool
}

// convolutionOf returns what p is where cuDNN may compute it in one call, else nil.
func convolutionOf(p *fusion.Product) *fusedConvolution {
	if p.Of.Op.Tags&ir.TagConvolution == 0 || p.After == nil || p.Sums != nil || p.Raw || p.Of.DType == ir.Float64 || len(p.After.Outs) != 1 {
		return nil
	}
	g, err := p.After.Graph()
	if err != nil || len(g.Roots) != 1 {
		return nil
	}
	f := &fusedConvolution{Product: p}
	v := unrounded(g.Roots[0])
	if x := reluOf(v); x != nil {
		f.relu, v = true, unrounded(x)
	}
	products := 0
	if !f.terms(g, v, &products) || products != 1 {
		return nil
	}
	return f
}

// terms finds what v is a sum of: operands of the call, and the product. It reports false where
// it is something else.
func (f *fusedConvolution) terms(g *expr.Graph, v *expr.Value, products *int) bool {
	if v.Name == "add" && len(v.Args) == 2 {
		return f.terms(g, unrounded(v.Args[0]), products) && f.terms(g, unrounded(v.Args[1]), products)
	}
	at := slices.IndexFunc(g.Env.Operands, func(o expr.Operand) bool { return v.Op == expr.OpName && v.Name == o.Name })
	switch {
	case at < 0 || f.After.Kernel.In[at].DType != f.Of.DType:
		return false
	case f.In[at] < 0:
		*products++
	default:
		f.added = append(f.added, f.In[at])
	}
	return true
}

// unrounded returns what v rounds to a dtype in memory, or v.
func unrounded(v *expr.Value) *expr.Value {
	if v.Op == expr.OpCall && (v.Name == "rounded_float16" || v.Name == "rounded_bfloat16") {
		return v.Args[0]
	}
	return v
}

// exact reports whether results are those of the operators one by one, but for the order of
// sums: floats of 16 bits are rounded once. What is a product of matrices may be given to
// cuBLASLt, whose relu turns NaN into 0.
func (f *fusedConvolution) exact(c *ir.Call) bool {
	return !(f.relu && pointwise(cudnn.Forward, f.attrs(c), c.In[0], c.In[1])) && (len(f.added) == 0 || f.Of.DType == ir.Float32)
}

// attrs returns the convolution's attributes.
func (f *fusedConvolution) attrs(c *ir.Call) []ir.Value { return c.Attrs[len(c.Attrs)-4:] }

// roles returns the operands of a call that are a bias, which has a number for each channel,
// and an addend, which is like the result; the bias may be the convolution's. They are -1 where
// there are none; ok is false where there are others.
func (f *fusedConvolution) roles(c *ir.Call) (bias, addend int, ok bool) {
	bias, addend = -1, -1
	if len(f.Of.In) == 3 {
		bias = 2
	}
	for _, i := range f.added {
		role := &addend
		if s := c.In[i].Strides; !slices.Equal(s, c.Out[0].Strides) {
			role = &bias
		}
		if *role >= 0 {
			return bias, addend, false
		}
		*role = i
	}
	return bias, addend, true
}

// takes reports whether the launch serves a call. Products of matrices whose channels are not
// last are quicker by cuBLASLt, and those of float32 without TF32 by other algorithms of cuDNN.
func (f *fusedConvolution) takes(c *ir.Call) bool {
	x, weight, y := c.In[0], c.In[1], c.Out[0]
	_, _, ok := f.roles(c)
	switch {
	case !ok || !f.Relaxed && !f.exact(c), x.NumElements() == 0, !cudnn.Supports(x, weight, y),
		x.DType == ir.Float32 && !c.Precision.ConvTF32,
		!last(x, y) && pointwise(cudnn.Forward, f.attrs(c), x, weight):
		return false
	}
	return true
}

// launch enqueues the convolution, and what follows it apart where the library does not
// compute them together.
func (f *fusedConvolution) launch(g code.GPU, c *ir.Call) error {
	bias, addend, _ := f.roles(c)
	if l, ok := onLibrary(g); ok {
		a := f.attrs(c)
		v := cudnn.Convolution{
			X: c.In[0], Weight: c.In[1], Y: c.Out[0], ReLU: f.relu,
			Stride: a[0].Ints, Padding: a[1].Ints, Dilation: a[2].Ints, Groups: int(a[3].Int), TF32: c.Precision.ConvTF32,
		}
		var err error
		if v.Bias, err = f.bias(g, c, bias); err != nil {
			return err
		}
		if addend >= 0 {
			v.Addend = c.In[addend]
		}
		err = cudnn.Convolve(l, cudnn.Forward, v)
		if err == nil || !noCUDNN.covered(err) {
			return err
		}
	}
	g.Ahead() // the library's workspace
	if len(f.Of.In) == 3 {
		return f.apart(g, c, ConvolutionBias)
	}
	return f.apart(g, c, Convolution)
}

// bias returns an operand as one number for each channel, zeros where there is none.
func (f *fusedConvolution) bias(g code.GPU, c *ir.Call, operand int) (ir.View, error) {
	n := c.Out[0].Shape[1]
	if operand < 0 {
		zeros, err := scratchView(g, []int{n}, f.Of.DType)
		if err == nil {
			err = zero(g, zeros)
		}
		return zeros, err
	}
	v := c.In[operand]
	if len(v.Shape) > 1 {
		v.Shape, v.Strides = []int{n}, []int{v.Strides[1]}
	}
	return v, nil
}

// apart computes the convolution, and then each operator that follows it. The result may be
// written over the addend. Steps before the last one write where the result belongs only where
// nothing that lies there is read later.
func (f *fusedConvolution) apart(g code.GPU, c *ir.Call, convolve code.Launch) error {
	y := c.Out[0]
	values := make([]ir.View, f.After.Values())
	for i, from := range f.In {
		if from >= 0 {
			values[i] = c.In[from]
		}
	}
	own, err := f.place(g, values, y, 0)
	if err != nil {
		return err
	}
	if err := convolve(g, &ir.Call{Kernel: f.Of, In: c.In[:len(f.Of.In)], Out: []ir.View{own}, Precision: c.Precision, Attrs: f.attrs(c)}); err != nil {
		return err
	}
	for i, from := range f.In {
		if from < 0 {
			values[i] = own
		}
	}
	for i := range f.After.Members {
		m := &f.After.Members[i]
		in := make([]ir.View, len(m.In))
		for j, from := range m.In {
			in[j] = values[from.Value]
		}
		out, err := f.place(g, values, y, i+1)
		if err != nil {
			return err
		}
		values[m.Out] = out
		call := &ir.Call{Kernel: m.Kernel, Space: y.Shape, In: in, Out: []ir.View{out}}
		call.Flat = call.AllFlat()
		if err := g.(runner).Run(call); err != nil {
			return err
		}
	}
	return nil
}

// place returns where a step before the members from next on writes what is like the result y:
// there, or in scratch where one of these reads a value that lies there already. Values that
// are not computed yet lie nowhere.
func (f *fusedConvolution) place(g code.GPU, values []ir.View, y ir.View, next int) (ir.View, error) {
	for _, m := range f.After.Members[next:] {
		for _, from := range m.In {
			if from.Value >= 0 && values[from.Value].Addr == y.Addr {
				addr, err := g.Scratch(int64(y.NumElements()) * int64(y.DType.Size()))
				y.Addr = addr
				return y, err
			}
		}
	}
	return y, nil
}
