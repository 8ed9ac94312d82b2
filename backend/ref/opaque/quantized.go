package opaque

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// whole decodes an operand of integers.
func whole(v ir.View, dtype ir.DType) tensor[int64] {
	t := newTensor(v.Shape, int64(0))
	for i, s := range load(v, dtype).v {
		t.v[i] = s.Int()
	}
	return t
}

// of returns the i-th number of a parameter that has one for all or one for each.
func of[T any](t tensor[T], i int) T { return t.v[i%len(t.v)] }

// storeSums writes sums, which wrap, to a result of int32.
func storeSums(v ir.View, sums tensor[int64]) {
	t := newTensor(v.Shape, ir.Scalar{})
	for i, s := range sums.v {
		t.v[i] = ir.IntScalar(int64(int32(s)))
	}
	store(v, t, ir.Int32)
}

// Int8Product returns the product of x [..., m, k], uint8 less its zero, with y [k, n],
// bytes less their zero, which is one number or one for each column.
func Int8Product(c *ir.Call) error {
	x, y := whole(c.In[0], ir.Uint8), whole(c.In[1], c.DType)
	xZero, yZero := whole(c.In[2], ir.Uint8), whole(c.In[3], c.DType)
	out := newTensor(c.Out[0].Shape, int64(0))
	each(out.shape, func(at []int) {
		lead, j := at[:len(at)-1], at[len(at)-1]
		for k := range y.shape[0] {
			*out.at(at) += (*x.at(append(append([]int{}, lead...), k)) - xZero.v[0]) * (*y.at([]int{k, j}) - of(yZero, j))
		}
	})
	storeSums(c.Out[0], out)
	return nil
}

// Int8Convolution returns the cross-correlation of x [n, channels, height, width], uint8
// less its zero, with weight [out, channels/groups, kernel...], int8 less its zero, which
// is one number or one for each of out. Attributes: those of Convolution.
func Int8Convolution(c *ir.Call) error {
	x, w := whole(c.In[0], ir.Uint8), whole(c.In[1], c.DType)
	xZero, wZero := whole(c.In[2], ir.Uint8), whole(c.In[3], c.DType)
	out := newTensor(c.Out[0].Shape, int64(0))
	newGeometry(c, 0, x.shape, w.shape, out.shape).products(func(o, i, k []int) {
		if i != nil {
			*out.at(o) += (*x.at(i) - xZero.v[0]) * (*w.at(k) - of(wZero, o[1]))
		}
	})
	storeSums(c.Out[0], out)
	return nil
}

// quantized returns the bytes that a dynamic quantization has for float32 numbers, less
// their zero, and their scale. It is defined in float32.
func quantized(x []float64) (q []int64, scale float32) {
	var low, high float32
	for _, v := range x {
		low, high = min(low, float32(v)), max(high, float32(v))
	}
	if scale = (high - low) / 255; scale == 0 {
		scale = 1
	}
	zero := min(255, math.RoundToEven(float64(-low/scale))) // a scale that is rounded down gives more
	for _, v := range x {
		q = append(q, int64(min(255, max(0, math.RoundToEven(float64(float32(v)/scale))+zero))-zero))
	}
	return q, scale
}

// Int8LSTMSequence returns the outputs and the cells of an LSTM over gates
// [steps, batch, 4*width]: input, output, forget, cell. Its outputs are quantized for
// the whole batch before they are multiplied with weight [width, 4*width], int8 less its
// zero and times its scale. Attribute: reverse.
func Int8LSTMSequence(c *ir.Call) error {
	f := doubles
	dec := func(i int) tensor[float64] { return decode(c.In[i], c.Compute, f.ring) }
	gates, h, state, scale := dec(0), dec(1), dec(2), dec(4)
	weight, zero := whole(c.In[3], ir.Int8), whole(c.In[5], ir.Int8)
	out, cells := newTensor(c.Out[0].Shape, 0.0), newTensor(c.Out[1].Shape, 0.0)
	width := h.shape[1]
	l := cell[float64]{f: f, width: width}
	for _, t := range steps(gates.shape[0], c.Attrs[0]) {
		q, by := quantized(h.v)
		newH, newState := newTensor(h.shape, 0.0), newTensor(h.shape, 0.0)
		for b := range h.shape[0] {
			gate := func(k, j int) float64 {
				sum, column := int64(0), k*width+j
				for i := range width {
					sum += q[b*width+i] * (*weight.at([]int{i, column}) - of(zero, column))
				}
				return *gates.at([]int{t, b, column}) + float64(sum)*float64(by)*of(scale, column)
			}
			for j := range width {
				s := l.sigmoid(gate(2, j))**state.at([]int{b, j}) + l.sigmoid(gate(0, j))*l.tanh(gate(3, j))
				*newState.at([]int{b, j}) = s
				*newH.at([]int{b, j}) = l.sigmoid(gate(1, j)) * l.tanh(s)
				*cells.at([]int{t, b, j}), *out.at([]int{t, b, j}) = s, *newH.at([]int{b, j})
			}
		}
		h, state = newH, newState
	}
	encode(c.Out[0], c.Compute, f.ring, out)
	encode(c.Out[1], c.Compute, f.ring, cells)
	return nil
}
