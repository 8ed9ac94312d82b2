package opaque

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/cublaslt"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/ir/fusion"
)

// relaxed returns the launch of a product with what the library computes after it otherwise than
// operators one by one: without rounding between, and with its own functions; nil where it does
// not, or no quicker.
func (f *fusedProduct) relaxed() code.Launch {
	biased, short := len(f.Of.In) == 3, half(ir.View{DType: f.Of.DType})
	switch {
	case biased && !f.Raw && f.Of.DType != ir.Float64 && isReLU(f.After):
		return f.activated(cublaslt.ReLU)
	case biased && !f.Raw && short && isGELU(f.After):
		return f.activated(cublaslt.GELU)
	case biased && f.Raw && short && isGELU(f.After):
		return f.keeping
	case !biased && !f.Raw && short && f.pulls():
		return f.pulled
	case !f.Raw && short && isAddition(f.After) && f.beside() >= 0:
		return f.plus
	}
	return nil
}

// beside returns the operand of the call that what follows the product reads beside it; -1 where
// that is not one.
func (f *fusedProduct) beside() int {
	switch {
	case len(f.In) != 2 || f.In[0] == f.In[1]:
		return -1
	case f.In[0] < 0:
		return f.In[1]
	case f.In[1] < 0:
		return f.In[0]
	}
	return -1
}

// lieAlike reports whether what follows a product reads lies in memory as its result does.
func lieAlike(p *fusion.Product, c *ir.Call) bool {
	for _, from := range p.In {
		if from >= 0 && (!c.In[from].IsContiguous() || c.In[from].DType != p.Of.DType) {
			return false
		}
	}
	return true
}

// activated returns the launch of a product with a bias and what the library makes of that, relu
// or gelu by tanh. The library has it that NaN is not larger than 0.
func (f *fusedProduct) activated(act cublaslt.Activation) code.Launch {
	return func(g code.GPU, c *ir.Call) error {
		own := f.product(c, c.Out[0])
		if l, ok := onLibrary(g); ok && own.In[0].NumElements() > 0 {
			err := cublaslt.MatMulBias(l, own.In[0], own.In[1], own.In[2], own.Out[0], act, c.Precision.MatmulTF32, c.Precision.Sums)
			if err == nil || !noCUBLASLt.covered(err) {
				return err
			}
		}
		return f.apart(g, c, c.Out[0], own)
	}
}

// keeping computes gelu of a product with a bias, and that itself.
func (f *fusedProduct) keeping(g code.GPU, c *ir.Call) error {
	own, kept := f.product(c, c.Out[0]), f.product(c, c.Out[1])
	return f.byLibrary(g, c, kept, func(l library.GPU) error {
		return cublaslt.MatMulGELU(l, own.In[0], own.In[1], own.In[2], kept.Out[0], own.Out[0], c.Precision.MatmulTF32, c.Precision.Sums)
	})
}

// pulled computes a product times the derivative of gelu.
func (f *fusedProduct) pulled(g code.GPU, c *ir.Call) error {
	own := f.product(c, c.Out[0])
	of := f.product(c, c.In[f.beside()]).Out[0]
	return f.byLibrary(g, c, own, func(l library.GPU) error {
		return cublaslt.MatMulGELUGrad(l, own.In[0], own.In[1], of, own.Out[0], c.Precision.MatmulTF32, c.Precision.Sums)
	})
}

// plus computes a product, with its bias where it has one, plus what has its shape.
func (f *fusedProduct) plus(g code.GPU, c *ir.Call) error {
	own := f.product(c, c.Out[0])
	added := f.product(c, c.In[f.beside()]).Out[0]
	var bias ir.View
	if len(own.In) == 3 {
		bias = own.In[2]
	}
	return f.byLibrary(g, c, own, func(l library.GPU) error {
		return cublaslt.MatMulPlus(l, own.In[0], own.In[1], bias, added, own.Out[0], c.Precision.MatmulTF32, c.Precision.Sums)
	})
}

// byLibrary calls the library, or where it does not compute that the operators one by one, of
// which own is the product.
func (f *fusedProduct) byLibrary(g code.GPU, c, own *ir.Call, call func(l library.GPU) error) error {
	if l, ok := onLibrary(g); ok && own.In[0].NumElements() > 0 {
		err := call(l)
		if err == nil || !noCUBLASLt.covered(err) {
			return err
		}
	}
	to := c.Out[0]
	if f.Raw {
		to = c.Out[1]
	}
	return f.apart(g, c, to, own)
}

// apart computes the product to where it is kept, or to the result, and then what follows it.
// Where that reads the result's memory, too, the product has memory of its own.
func (f *fusedProduct) apart(g code.GPU, c *ir.Call, to ir.View, own *ir.Call) error {
	g.Ahead()
	if at := f.beside(); at >= 0 && c.In[at].Addr == to.Addr {
		var err error
		if to, err = scratchView(g, to.Shape, to.DType); err != nil {
			return err
		}
		own = f.product(c, to)
	}
	multiply := MatMul
	if len(own.In) == 3 {
		multiply = MatMulBias
	}
	if err := multiply(g, own); err != nil {
		return err
	}
	var in []ir.View
	for _, from := range f.In {
		if from < 0 {
			in = append(in, to)
		} else {
			in = append(in, c.In[from])
		}
	}
	only := &f.After.Members[0]
	return g.(runner).Run(&ir.Call{Kernel: only.Kernel, Space: c.Space, In: in, Out: c.Out[:1], Flat: true, Scalars: c.Scalars, Attrs: c.Attrs})
}

// isReLU reports whether a region of one operand is where(x <= 0, 0, x) of one operator, of which
// nothing is rounded.
func isReLU(r *fusion.Region) bool {
	g, err := r.Graph()
	if err != nil || len(r.Members) != 1 || len(g.Roots) != 1 || len(g.Env.Operands) != 1 {
		return false
	}
	x := reluOf(unrounded(g.Roots[0]))
	return x != nil && x.Op == expr.OpName
}

// isGELU reports whether a region of one operand is gelu by tanh, x*sigmoid(p(x)) with its
// polynomial p, of one operator, of which nothing is rounded. In float32 the library's takes as long
// as both by themselves.
func isGELU(r *fusion.Region) bool {
	g, err := r.Graph()
	if err != nil || len(r.Members) != 1 || len(g.Roots) != 1 || len(g.Env.Operands) != 1 {
		return false
	}
	x, s, ok := scaledOperand(unrounded(g.Roots[0]))
	if !ok || x.Name != g.Env.Operands[0].Name || s.Op != expr.OpCall || s.Name != "sigmoid" {
		return false
	}
	_, ok = geluOf(s, x)
	return ok
}

// scaledOperand returns the operand and the other factor of a product v.
func scaledOperand(v *expr.Value) (x, factor *expr.Value, ok bool) {
	if v.Name != "mul" || len(v.Args) != 2 {
		return nil, nil, false
	}
	x, factor = v.Args[0], v.Args[1]
	if x.Op != expr.OpName {
		x, factor = factor, x
	}
	return x, factor, x.Op == expr.OpName
}

// geluOf returns the polynomial of x that a sigmoid is of; ok is false where it is not that of gelu.
func geluOf(s, x *expr.Value) (p [4]float64, ok bool) {
	p, ok = polynomial(s.Args[0], x)
	linear := 2 * math.Sqrt(2/math.Pi)
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*b }
	return p, ok && p[0] == 0 && p[2] == 0 && near(p[1], linear) && near(p[3], 0.044715*linear)
}

// polynomial returns the coefficients of v as a polynomial in x of degree 3 at most.
func polynomial(v, x *expr.Value) (p [4]float64, ok bool) {
	switch {
	case v == x:
		p[1] = 1
		return p, true
	case v.Op == expr.OpConst:
		p[0] = v.Const.Float()
		return p, true
	case v.Op == expr.OpCall && len(v.Args) == 2 && (v.Name == "add" || v.Name == "mul"):
		a, okA := polynomial(v.Args[0], x)
		b, okB := polynomial(v.Args[1], x)
		if v.Name == "mul" {
			p, ok = multiplied(a, b)
			return p, ok && okA && okB
		}
		for i := range a {
			p[i] = a[i] + b[i]
		}
		return p, okA && okB
	}
	return p, false
}

// multiplied is the product of polynomials, of degree 3 at most.
func multiplied(a, b [4]float64) (p [4]float64, ok bool) {
	for i := range a {
		for j := range b {
			switch n := a[i] * b[j]; {
			case n != 0 && i+j >= len(p):
				return p, false
			case n != 0:
				p[i+j] += n
			}
		}
	}
	return p, true
}

// reluOf returns x where v is where(x <= 0, 0, x), else nil.
func reluOf(v *expr.Value) *expr.Value {
	if v.Name != "where" || len(v.Args) != 3 {
		return nil
	}
	test, zero, x := v.Args[0], v.Args[1], v.Args[2]
	if test.Name == "le" && test.Args[0] == x && isZero(test.Args[1]) && isZero(zero) {
		return x
	}
	return nil
}

func isZero(v *expr.Value) bool { return v.Op == expr.OpConst && v.Const.Float() == 0 }

// derivative are the coefficients of a polynomial's derivative.
func derivative(p [4]float64) (d [4]float64) {
	for i := 1; i < len(p); i++ {
		d[i-1] = float64(i) * p[i]
	}
	return d
}

// pulls reports whether what follows is the gradient of gelu by tanh, of one operator: the product
// times s + x*s*(1 - s)*p'(x), where s = sigmoid(p(x)) and x is the operand beside it.
func (f *fusedProduct) pulls() bool {
	r := f.After
	g, err := r.Graph()
	at := f.beside()
	if err != nil || at < 0 || len(r.Members) != 1 || len(g.Roots) != 1 || len(g.Env.Operands) != 2 {
		return false
	}
	dy, slope, ok := scaledOperand(unrounded(g.Roots[0]))
	first := slices.Index(f.In, -1)
	if !ok || dy.Name != g.Env.Operands[first].Name || slope.Name != "add" || len(slope.Args) != 2 {
		return false
	}
	s, rest := slope.Args[0], slope.Args[1]
	if s.Name != "sigmoid" {
		s, rest = rest, s
	}
	x := nameOf(g, g.Env.Operands[1-first].Name)
	if s.Name != "sigmoid" || x == nil {
		return false
	}
	p, ok := geluOf(s, x)
	return ok && isSlope(factors(rest), s, x, derivative(p))
}

// nameOf returns the value of an operand, nil where nothing reads it.
func nameOf(g *expr.Graph, name string) *expr.Value {
	for _, v := range g.Values {
		if v.Op == expr.OpName && v.Name == name {
			return v
		}
	}
	return nil
}

// factors are what a value is the product of.
func factors(v *expr.Value) []*expr.Value {
	if v.Name == "mul" && len(v.Args) == 2 {
		return append(factors(v.Args[0]), factors(v.Args[1])...)
	}
	return []*expr.Value{v}
}

// isSlope reports whether factors are x, s, 1 - s and a polynomial of x.
func isSlope(list []*expr.Value, s, x *expr.Value, want [4]float64) bool {
	plain, sigmoids, complements := 0, 0, 0
	p := [4]float64{1}
	for _, v := range list {
		switch {
		case v == x:
			plain++
		case v == s:
			sigmoids++
		case v.Name == "sub" && v.Args[0].Op == expr.OpConst && v.Args[0].Const.Float() == 1 && v.Args[1] == s:
			complements++
		default:
			q, ok := polynomial(v, x)
			if !ok {
				return false
			}
			if p, ok = multiplied(p, q); !ok {
				return false
			}
		}
	}
	for i := range p {
		if math.Abs(p[i]-want[i]) > 1e-6*math.Abs(want[i]) {
			return false
		}
	}
	return plain == 1 && sigmoids == 1 && complements == 1
}

// isAddition reports whether a region of two operands is their sum, of one operator.
func isAddition(r *fusion.Region) bool {
	g, err := r.Graph()
	if err != nil || len(r.Members) != 1 || len(g.Roots) != 1 || len(g.Env.Operands) != 2 || len(g.Env.Params) != 0 {
		return false
	}
	v := unrounded(g.Roots[0])
	return v.Name == "add" && len(v.Args) == 2 && v.Args[0].Op == expr.OpName && v.Args[1].Op == expr.OpName && v.Args[0] != v.Args[1]
}
