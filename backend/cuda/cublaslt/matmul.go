package cublaslt

import (
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
)

// MatMul enqueues d = x @ y, whose shapes are those of operator matmul, none of extent
// 0. X and y have one dtype, which Supports reports with that of d. The error wraps ErrUnsupported
// where the library has no algorithm, or is of the library that is missing; all
// of d may be computed anew then. tf32 lets products of float32 use TF32,
// and sums says how those of 16-bit floats are added up.
func MatMul(g library.GPU, x, y, d ir.View, tf32 bool, sums ir.Sums) error {
	dev, err := deviceOf(g.API(), g.Device())
	if err != nil {
		return err
	}
	return dev.multiply(g, x, y, d, ir.View{}, Identity, tf32, sums)
}

// MatMulBias enqueues d = act(x @ y + bias), as MatMul does; bias has as many
// elements as y has columns. The dtype is a real one. The sum is rounded once: where
// the library's epilogue would round 16-bit products before it adds, the library adds
// the product to the bias.
func MatMulBias(g library.GPU, x, y, bias, d ir.View, act Activation, tf32 bool, sums ir.Sums) error {
	dev, err := deviceOf(g.API(), g.Device())
	if err != nil {
		return err
	}
	return dev.multiply(g, x, y, d, bias, act, tf32, sums)
}

// MatMulAdd enqueues d += x @ y, as MatMul does; the sum is rounded once. D may hold
// anything after an error.
func MatMulAdd(g library.GPU, x, y, d ir.View, tf32 bool, sums ir.Sums) error {
	dev, err := deviceOf(g.API(), g.Device())
	if err != nil {
		return err
	}
	return dev.enqueue(g, x, y, d, ir.View{}, kind{x.DType, d.DType, epilogueNone, tf32, sums, true, 1})
}

// MatMulScaled enqueues d = factor * (x @ y), as MatMul does; the result is rounded once.
func MatMulScaled(g library.GPU, x, y, d ir.View, factor float64, tf32 bool, sums ir.Sums) error {
	dev, err := deviceOf(g.API(), g.Device())
	if err != nil {
		return err
	}
	return dev.enqueue(g, x, y, d, ir.View{}, kind{x.DType, d.DType, epilogueNone, tf32, sums, false, factor})
}

// MatMulSums enqueues d = x @ y, of matrices, as MatMul does, and writes the sums of factor 0
// or 1, x or y, along the axis that the product sums over: of the rows of x, or the columns
// of y. They are next to each other.
func MatMulSums(g library.GPU, x, y, d, sums ir.View, factor int, tf32 bool, how ir.Sums) error {
	dev, err := deviceOf(g.API(), g.Device())
	if err != nil {
		return err
	}
	return dev.sums(g, x, y, d, sums, factor, kind{x.DType, d.DType, epilogueNone, tf32, how, false, 1})
}

func (dev *device) sums(g library.GPU, x, y, d, sums ir.View, factor int, of kind) error {
	x, err := readable(g, x)
	if err != nil {
		return err
	}
	if y, err = readable(g, y); err != nil {
		return err
	}
	p, ok := describe(x, y, d)
	geo, written := p.geometry(false)
	if !ok || !written || p.count > 0 || x.DType != sums.DType {
		return fmt.Errorf("%w: sums of a factor of shape %v and strides %v", ErrUnsupported, x.Shape, x.Strides)
	}
	of.epilogue = epilogueSumsA // of y, unless the factors are swapped
	if (factor == 0) != geo.swapped {
		of.epilogue = epilogueSumsB
	}
	return dev.loop(g, &p, &geo, beside{bias: sums.Addr}, of)
}

// multiply enqueues d = act(x @ y + bias), without the bias where it is not given.
func (dev *device) multiply(g library.GPU, x, y, d, bias ir.View, act Activation, tf32 bool, sums ir.Sums) error {
	return dev.enqueue(g, x, y, d, bias, kind{x.DType, d.DType, epilogueOf(bias.Given(), act), tf32, sums, false, 1})
}

// operands returns the factors as the library reads them, and the bias, which need not be given,
// without gaps.
func operands(g library.GPU, x, y, bias ir.View) (_, _, _ ir.View, err error) {
	if x, err = readable(g, x); err != nil {
		return x, y, bias, err
	}
	if y, err = readable(g, y); err != nil {
		return x, y, bias, err
	}
	if bias.Given() {
		bias, err = g.Dense(bias, bias.DType)
	}
	return x, y, bias, err
}

func (dev *device) enqueue(g library.GPU, x, y, d, bias ir.View, of kind) error {
	x, y, bias, err := operands(g, x, y, bias)
	if err != nil {
		return err
	}
	to := d
	p, ok := describe(x, y, to)
	geo, written := p.geometry(bias.Given())
	if ok && !written && !of.add {
		if to, err = scratch(g, d); err != nil {
			return err
		}
		p, ok = describe(x, y, to)
		geo, written = p.geometry(bias.Given())
	}
	if !ok || !written {
		return fmt.Errorf("%w: result %v, strides %v", ErrUnsupported, d.Shape, d.Strides)
	}
	if bias.Given() && d.DType.Size() == 2 && !p.aligned(&geo, d.DType.Size()) {
		g.Ahead() // the workspace
		if err := spread(g, bias, to); err != nil {
			return err
		}
		bias, of.epilogue, of.add = ir.View{}, of.epilogue&^epilogueBias, true
		if of.epilogue == 0 {
			of.epilogue = epilogueNone
		}
	}
	if err := dev.loop(g, &p, &geo, beside{bias: bias.Addr}, of); err != nil {
		return err
	}
	if to.Addr != d.Addr {
		return g.Store(d, to)
	}
	return nil
}

// spread writes bias to each row of d.
func spread(g library.GPU, bias, d ir.View) error {
	stride := bias.Strides[0]
	bias.Shape, bias.Strides = d.Shape, make([]int, len(d.Shape))
	bias.Strides[len(d.Shape)-1] = stride
	return g.Store(d, bias)
}

// readable returns v, or a copy where the library knows no layout like its.
func readable(g library.GPU, v ir.View) (ir.View, error) {
	r := len(v.Shape)
	if v.Ptr == nil {
		if r == 1 {
			return v, nil // the stride is a distance between columns of one element
		}
		m := matrix{0, v.Shape[r-2], v.Shape[r-1], v.Strides[r-2], v.Strides[r-1]}
		if _, _, ok := m.stored(); ok {
			return v, nil
		}
	}
	return g.Dense(v, v.DType)
}

// scratch returns memory for a result like d.
func scratch(g library.GPU, d ir.View) (ir.View, error) {
	addr, err := g.Scratch(int64(d.NumElements()) * int64(d.DType.Size()))
	return ir.View{Addr: addr, DType: d.DType, Shape: d.Shape, Strides: ir.ContiguousStrides(d.Shape)}, err
}

func epilogueOf(biased bool, act Activation) uint32 {
	if !biased {
		return epilogueNone
	}
	switch act {
	case ReLU:
		return epilogueBias | epilogueReLU
	case GELU:
		return epilogueBias | epilogueGELU
	}
	return epilogueBias
}

// A kind is what a product is besides its geometry.
type kind struct {
	dtype    ir.DType // of the factors
	result   ir.DType
	epilogue uint32
	tf32     bool
	sums     ir.Sums
	add      bool    // to what is there
	factor   float64 // of the product, before anything is added
}

// loop enqueues p: the axis with most places is the library's batch, and each
// place of the others a call.
func (d *device) loop(g library.GPU, p *product, geo *geometry, with beside, k kind) error {
	last, others := p.widest()
	geo.batched(last)
	size, written := uint64(k.dtype.Size()), uint64(k.result.Size())
	a, b, out := geo.a, geo.b, geo.d
	for i := range others {
		x, y, z := p.at(i)
		if geo.swapped {
			x, y = y, x
		}
		geo.a, geo.b, geo.d = a+uint64(y)*size, b+uint64(x)*size, out+uint64(z)*written
		if err := d.run(g, geo, with, k); err != nil {
			return err
		}
	}
	return nil
}

// run enqueues one call of the library.
func (d *device) run(g library.GPU, geo *geometry, with beside, of kind) error {
	k := key{
		dtype: of.dtype, result: of.result, epilogue: of.epilogue, add: of.add, factor: of.factor,
		m: geo.m, n: geo.n, k: geo.k,
		lda: geo.lda, ldb: geo.ldb, ldd: geo.ldd,
		batch: geo.batch, sa: geo.sa, sb: geo.sb, sd: geo.sd,
		transA: geo.transA, transB: geo.transB,
		alignA: alignment(geo.a), alignB: alignment(geo.b), alignD: alignment(geo.d),
	}
	k.alignC = k.alignD
	if with.added != 0 {
		k.alignC = alignment(with.added)
	}
	if with.kept != 0 {
		k.keeps, k.alignKept = true, alignment(with.kept)
	}
	k.compute, k.reductions = arithmetic(of.dtype, of.result, of.tf32, of.sums)
	k.limit = d.workspaces.limit(g.Capability())
	p := d.find(&k)
	if p.err != nil {
		return library.Located(d.ordinal, p.err)
	}
	workspace, lent, err := d.workspaces.lend(g, p.workspace)
	if err != nil {
		return err
	}
	defer lent.back()
	if !g.Due() {
		return nil
	}
	if err := d.api.Enter(d.ordinal); err != nil {
		return err
	}
	c := dl.Get()
	err = d.call(c, p, geo, with, workspace, uintptr(g.Stream()))
	c.Free()
	d.api.Leave()
	return library.Located(d.ordinal, err)
}

func (d *device) call(c *dl.Frame, p *prepared, geo *geometry, with beside, workspace uint64, stream uintptr) error {
	at := c.Keep(unsafe.Pointer(p.call))
	desc := at + unsafe.Offsetof(call{}.desc)
	if with.bias != 0 || with.kept != 0 {
		// What is prepared is for any goroutine: addresses go into a copy of its description.
		own, address := c.Bytes(int(unsafe.Sizeof(p.desc)))
		copy(own, unsafe.Slice((*byte)(unsafe.Pointer(&p.desc)), unsafe.Sizeof(p.desc)))
		desc = address
	}
	for _, set := range []struct {
		attribute uintptr
		to        uint64
	}{{descBiasPointer, with.bias}, {descKeptPointer, with.kept}} {
		if set.to == 0 {
			continue
		}
		c.Words[0] = uintptr(set.to)
		if err := d.check("cublasLtMatmulDescSetAttribute", d.descSet.Call(c, desc, set.attribute, c.Addr(0), 8)); err != nil {
			return err
		}
	}
	out, added := at+unsafe.Offsetof(call{}.d), geo.d
	if with.added != 0 {
		added = with.added
	}
	return d.check("cublasLtMatmul", d.matmul.Call(c, d.handle, desc,
		at+unsafe.Offsetof(call{}.alpha), uintptr(geo.a), at+unsafe.Offsetof(call{}.a), uintptr(geo.b), at+unsafe.Offsetof(call{}.b),
		at+unsafe.Offsetof(call{}.beta), uintptr(added), out, uintptr(geo.d), out,
		at+unsafe.Offsetof(call{}.algorithm), uintptr(workspace), uintptr(p.workspace), stream))
}
