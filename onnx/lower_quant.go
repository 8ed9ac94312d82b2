package onnx

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// quantization are the operators between numbers and small integers or floats.
var quantization = map[string]lowering{
	"QuantizeLinear":        {make: quantize},
	"DequantizeLinear":      {make: dequantize},
	"DynamicQuantizeLinear": plain(dynamicQuantize),
	"QLinearMatMul": {make: func(n *node) kernel {
		n.lacks(7, func(dt tensor.DType) bool { return !dt.IsInt() }) // the result, of 8 bits
		return linearMatMul
	}},
	"QLinearConv": {make: func(n *node) kernel {
		conv := integerConvolution(n, 2, 3, 5)
		return func(c *call) error {
			if err := cmp.Or(c.perTensor(1, 2, 6, 7), c.perChannel(c.t(3).Size(0), 4, 5)); err != nil {
				return err
			}
			y, err := conv(c)
			if err != nil {
				return err
			}
			if c.has(8) {
				y = y.Add(fit(c.t(8), y.Rank(), 1))
			}
			return requantize(c, y, c.t(1).Mul(fit(c.t(4), y.Rank(), 1)), 6)
		}
	}},
	"ConvInteger": {make: func(n *node) kernel {
		conv := integerConvolution(n, 2, 1, 3)
		return func(c *call) error {
			y, err := conv(c)
			if err != nil {
				return err
			}
			return c.as(0, y, format.Int32)
		}
	}},
}

// linearMatMul multiplies matrices of bytes to one of bytes.
func linearMatMul(c *call) error {
	if err := c.linearParameters(); err != nil {
		return err
	}
	if y, ok := c.byteProduct(0, 2, 3, 5); ok && c.t(1).NumElements() == 1 {
		return requantize(c, y, c.t(1).Reshape().ToType(tensor.Float32).Mul(fit(c.t(4), 2, -1).ToType(tensor.Float32)), 6)
	}
	x, y := centered(c, 0, 2, -2).ToType(tensor.Float32), c.centeredWeight(3, 5, -1)
	scale := fit(c.t(1), x.Rank(), -2).ToType(tensor.Float32).Mul(fit(c.t(4), y.Rank(), -1).ToType(tensor.Float32))
	return requantize(c, integerProduct(x, y, 255, 255), scale, 6)
}

// linearParameters fails unless scales and zeros of a QLinearMatMul are one number, of the first
// factor one for each row, or of the second one for each column.
func (c *call) linearParameters() error {
	x, y := c.t(0).Shape(), c.t(3).Shape()
	if len(x) == 0 || len(y) == 0 {
		return fmt.Errorf("factors have shapes %v and %v, want an axis at least", x, y)
	}
	rows := 1
	if len(x) > 1 {
		rows = x[len(x)-2]
	}
	return cmp.Or(c.along(x, rows, len(x)-1, 1, 2), c.along(y, y[len(y)-1], max(len(y)-2, 0), 4, 5), c.perTensor(6, 7))
}

// along fails unless operands are what perChannel allows, or have the shape of a factor but for
// an axis, along which they have one.
func (c *call) along(factor []int, n, axis int, list ...int) error {
	for _, i := range list {
		if c.has(i) && c.t(i).Rank() > 1 {
			want := slices.Clone(factor)
			if want[axis] = 1; !slices.Equal(c.t(i).Shape(), want) && c.t(i).NumElements() != 1 {
				return fmt.Errorf("operand %d has shape %v, want %v", i, c.t(i).Shape(), want)
			}
		} else if err := c.perChannel(n, i); err != nil {
			return err
		}
	}
	return nil
}

// perTensor fails unless the operands, where they are there, have one element.
func (c *call) perTensor(list ...int) error {
	for _, i := range list {
		if c.has(i) && c.t(i).NumElements() != 1 {
			return fmt.Errorf("operand %d has shape %v, want one element", i, c.t(i).Shape())
		}
	}
	return nil
}

// perChannel fails unless the operands, where they are there, have one element, or one for each
// of n channels.
func (c *call) perChannel(n int, list ...int) error {
	for _, i := range list {
		if c.has(i) && c.t(i).NumElements() != 1 && !slices.Equal(c.t(i).Shape(), []int{n}) {
			return fmt.Errorf("operand %d has shape %v, want one element or %d", i, c.t(i).Shape(), n)
		}
	}
	return nil
}

// integerConvolution returns what convolves the integers of operand 0 with those of weight,
// less their zeros, to int32.
func integerConvolution(n *node, zero, weight, weightZero int) func(c *call) (tensor.Tensor, error) {
	conv, at, groups := convolve(n), windowOf(n), n.int("group")
	return func(c *call) (tensor.Tensor, error) {
		if y, ok, err := c.byteConvolution(at, groups, 0, zero, weight, weightZero); ok || err != nil {
			return y, err
		}
		inner := *c
		inner.in = []*value{{t: centered(c, 0, zero, 1).ToType(tensor.Float32)}, {t: c.centeredWeight(weight, weightZero, 0)}}
		return exact(&inner, conv, groups)
	}
}

// ranges has the smallest and largest number of each small integer.
var ranges = map[format.Elem][2]int{
	format.Uint8: {0, 255}, format.Int8: {-128, 127}, format.Uint16: {0, 65535}, format.Int16: {-32768, 32767},
	format.Uint4: {0, 15}, format.Int4: {-8, 7}, format.Uint2: {0, 3}, format.Int2: {-2, 1},
}

// spreadOver returns parameters of a quantization for every element of x: one number, one
// for each place along an axis, or one for each block along it.
func spreadOver(p, x tensor.Tensor, at, block int) (tensor.Tensor, error) {
	if p.Rank() == 0 || p.Rank() == 1 && p.Size(0) == 1 && block == 0 {
		return p.Reshape(), nil
	}
	a, err := axis(at, x.Rank())
	if err != nil {
		return p, err
	}
	if block > 0 {
		size := x.Size(a)
		if p.Rank() != x.Rank() || size > 0 && p.Size(a) <= (size-1)/block {
			return p, fmt.Errorf("parameters of shape %v in blocks of %d for %v", p.Shape(), block, x.Shape())
		}
		if block >= size {
			p, block = p.Narrow(a, 0, min(size, 1)), size
		}
		return p.RepeatInterleave(block, a).Narrow(a, 0, size), nil
	}
	if p.Rank() != 1 || x.Rank() == 0 || p.Size(0) != x.Size(a) {
		return p, fmt.Errorf("parameters of shape %v along axis %d of %v", p.Shape(), at, x.Shape())
	}
	shape := slices.Repeat([]int{1}, x.Rank())
	shape[a] = -1
	return p.Reshape(shape...), nil
}

func quantize(n *node) kernel {
	at, block, saturate := n.int("axis"), n.int("block_size"), !n.given("saturate") || n.flag("saturate")
	to := format.Uint8
	if n.given("output_dtype") && n.int("output_dtype") != 0 {
		to = n.elem("output_dtype")
	}
	if n.int("precision") != 0 && format.Elem(n.int("precision")) != format.Float {
		n.refuse("precision %s", format.Elem(n.int("precision")))
	}
	return func(c *call) error {
		x, e := c.t(0), to
		if c.has(2) {
			e = c.elem(2)
		}
		scale, err := spreadOver(c.t(1), x, at, block)
		if err != nil {
			return err
		}
		if x.DType() != scale.DType() || x.DType().Size() < 4 || isInt(x) {
			x, scale = x.ToType(tensor.Float32), scale.ToType(tensor.Float32)
		}
		y := x.Div(scale)
		limits, whole := ranges[e]
		if !whole {
			if y, err = narrow(y, e, saturate, "up"); err != nil {
				return err
			}
			return c.as(0, y, e)
		}
		y = y.Round()
		if c.has(2) {
			zero, err := spreadOver(c.t(2), x, at, block)
			if err != nil {
				return err
			}
			y = y.Add(zero.ToType(y.DType()))
		}
		return c.as(0, y.ClampScalar(limits[0], limits[1]).ToType(carriers[e]), e)
	}
}

func dequantize(n *node) kernel {
	at, block := n.int("axis"), n.int("block_size")
	return func(c *call) error {
		x, scale := c.t(0), c.t(1)
		dt := scale.DType()
		if n.given("output_dtype") && n.int("output_dtype") != 0 {
			dt = carriers[n.elem("output_dtype")]
		}
		scale, err := spreadOver(scale, x, at, block)
		if err != nil {
			return err
		}
		wide := tensor.Float32
		y := x
		if isInt(x) {
			y = x.ToType(tensor.Int32)
			if c.has(2) {
				zero, err := spreadOver(c.t(2), x, at, block)
				if err != nil {
					return err
				}
				y = y.Sub(zero.ToType(tensor.Int32))
			}
		}
		return c.as(0, y.ToType(wide).Mul(scale.ToType(wide)).ToType(dt), native[dt])
	}
}

// fit gives a parameter of one axis the rank of what it belongs to. A number stays one.
func fit(p tensor.Tensor, rank, at int) tensor.Tensor {
	if p.Rank() != 1 || p.Size(0) == 1 || rank == 0 {
		if p.Rank() == 1 {
			return p.Reshape()
		}
		return p
	}
	shape := slices.Repeat([]int{1}, rank)
	shape[(at+rank)%rank] = -1
	return p.Reshape(shape...)
}

// centered returns the integers of operand i, as int32, less its zero.
func centered(c *call, i, zero, at int) tensor.Tensor {
	x := c.t(i).ToType(tensor.Int32)
	if !c.has(zero) {
		return x
	}
	return x.Sub(fit(c.t(zero), x.Rank(), at).ToType(tensor.Int32))
}

// centeredWeight returns the integers of operand i less its zero in float32; where both are
// constants it is made once.
func (c *call) centeredWeight(i, zero, at int) tensor.Tensor {
	var z tensor.Tensor // which has a lock of its own, as the operand has
	if c.has(zero) {
		z = c.t(zero)
	}
	of := func(t tensor.Tensor) tensor.Tensor {
		if t = t.ToType(tensor.Int32); c.has(zero) {
			t = t.Sub(fit(z, t.Rank(), at).ToType(tensor.Int32))
		}
		return t.ToType(tensor.Float32)
	}
	name := fmt.Sprint("centered ", at)
	if c.has(zero) { // one weight may have several
		if c.in[zero].constant == nil {
			return of(c.t(i))
		}
		name += fmt.Sprintf(" %p", c.in[zero].constant)
	}
	return c.derived(i, name, of)
}

// wholeTerms is how many products of integers whose sizes are at most x and y have a sum that
// float32 holds, whatever their order.
func wholeTerms(x, y int) int { return (1 << 24) / (x * y) }

// integerProduct returns the product, as int32, of matrices of integers in float32, of sizes at
// most a and b: in parts whose sums float32 holds, added up as integers.
func integerProduct(x, y tensor.Tensor, a, b int) tensor.Tensor {
	k, part := 0, wholeTerms(a, b)
	if x.Rank() > 0 {
		k = x.Size(-1)
	}
	if k <= part || y.Rank() == 0 {
		return tensor.MatMul(x, y).ToType(tensor.Int32)
	}
	parts := (k + part - 1) / part
	rows := max(y.Rank()-2, 0)
	var sum tensor.Tensor
	for i := range parts {
		lo, hi := i*k/parts, (i+1)*k/parts
		some := tensor.MatMul(x.Narrow(-1, lo, hi-lo), y.Narrow(rows, lo, hi-lo)).ToType(tensor.Int32)
		if i == 0 {
			sum = some
			continue
		}
		sum = sum.Add(some)
	}
	return sum
}

// exact convolves integers in float32, which are at most 255 in size, and returns int32: in
// parts of channels whose sums float32 holds, or in float64, which holds all that int32 does.
func exact(c *call, conv kernel, group int) (tensor.Tensor, error) {
	x, w := c.in[0].t, c.in[1].t
	run := func(x, w tensor.Tensor, e format.Elem) (tensor.Tensor, error) {
		c.in, c.out = []*value{{t: x, elem: e}, {t: w, elem: e}}, make([]*value, 1)
		if err := conv(c); err != nil {
			return tensor.Tensor{}, err
		}
		return c.out[0].t.ToType(tensor.Int32), nil
	}
	if w.Rank() < 2 || w.NumElements() == 0 {
		return run(x, w, format.Float)
	}
	channels, part := w.Size(1), wholeTerms(255, 255)*w.Size(0)*w.Size(1)/w.NumElements()
	switch {
	case channels <= part:
		return run(x, w, format.Float)
	case group != 1 || part == 0 || x.Rank() < 2 || x.Size(1) != channels:
		return run(x.ToType(tensor.Float64), w.ToType(tensor.Float64), format.Double)
	}
	parts := (channels + part - 1) / part
	var sum tensor.Tensor
	for i := range parts {
		lo, hi := i*channels/parts, (i+1)*channels/parts
		some, err := run(x.Narrow(1, lo, hi-lo), w.Narrow(1, lo, hi-lo), format.Float)
		if err != nil {
			return sum, err
		}
		if i == 0 {
			sum = some
			continue
		}
		sum = sum.Add(some)
	}
	return sum, nil
}

// requantize returns sums as integers by a scale and a zero, which are operands i and i+1.
func requantize(c *call, sums, scale tensor.Tensor, i int) error {
	e := c.elem(i + 1)
	limits, ok := ranges[e]
	if !ok {
		return fmt.Errorf("%w: results of %s", ErrUnsupported, e)
	}
	y := sums.ToType(tensor.Float32).Mul(scale.ToType(tensor.Float32)).Div(fit(c.t(i), sums.Rank(), -1).ToType(tensor.Float32)).Round()
	y = y.Add(fit(c.t(i+1), sums.Rank(), -1).ToType(tensor.Float32))
	return c.as(0, y.ClampScalar(limits[0], limits[1]).ToType(carriers[e]), e)
}
