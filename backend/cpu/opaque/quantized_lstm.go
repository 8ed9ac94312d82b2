package opaque

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// Int8LSTMSequence returns the outputs and cells, [steps, batch, width], of an LSTM over
// gates [steps, batch, 4*width], in the order input, output, forget, cell, from a first
// output and cell [batch, width]. The outputs of a step are quantized, all with one scale and
// one zero, before they are multiplied with weight [width, 4*width], int8 less its zero
// and times its scale, which are one number or one for each column. Attribute: reverse.
func Int8LSTMSequence(c *ir.Call) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	dense := func(i int) []float32 { return tile.Elements[float32](tile.Dense(c.In[i], ir.Float32)) }
	gates, h, before := dense(0), dense(1), dense(2)
	out, cells := tile.TargetOf(c.Out[0], ir.Float32), tile.TargetOf(c.Out[1], ir.Float32)
	l := newByteLayer(newRecurrence(c.Out[0].Shape, 4, c.Attrs[0]), packedBytes(c.In[3], c.KeptOf(3)), dense(4), c.In[5])
	defer l.room.Put()
	f := newSet[float32]()
	for s := range l.steps {
		t := l.at(s)
		l.multiply(h)
		x, hs, cs := gatesOf(l.recurrence, gates, t), state(l.recurrence, tile.Elements[float32](out), t), state(l.recurrence, tile.Elements[float32](cells), t)
		each(l.recurrence, func(k *cell[float32], row int) {
			z, top := k.room[:4*l.width], k.gate(k.room, 4)
			l.gates(z, rowOf(x, row, 4*l.width), row)
			k.apply(f.sigmoid, z[:3*l.width])
			k.apply(f.tanh, k.gate(z, 3))
			in, out, forget, fresh := k.gate(z, 0), k.gate(z, 1), k.gate(z, 2), k.gate(z, 3)
			c, cs, hs := rowOf(before, row, l.width), rowOf(cs, row, l.width), rowOf(hs, row, l.width)
			for i := range cs {
				cs[i] = forget[i]*c[i] + in[i]*fresh[i]
			}
			copy(top, cs)
			k.apply(f.tanh, top)
			for i := range hs {
				hs[i] = out[i] * top[i]
			}
		})
		h, before = hs, cs
	}
	tile.Finish(c.Out[0], out)
	tile.Finish(c.Out[1], cells)
	return nil
}

// A byteLayer is what a layer of bytes has of its weight, and the product of a step.
type byteLayer struct {
	*recurrence
	weight   *gemm.Bytes
	scale    []float32 // of each column
	zero     []int8    // of each column, or of all; nil: zero
	room     *scratch.Block
	bytes    []uint8 // of a step's outputs, in rows as weight takes them
	sums     []int32 // their products with the weight
	least    int32   // their zero
	by       float32 // their scale
	combined []float32
}

func newByteLayer(r *recurrence, weight *gemm.Bytes, scale []float32, zero ir.View) *byteLayer {
	n := 4 * r.width
	l := &byteLayer{recurrence: r, weight: weight, scale: make([]float32, n), combined: make([]float32, n)}
	for i := range l.scale {
		l.scale[i] = scale[i%len(scale)]
	}
	for i, z := range tile.Elements[int8](tile.Dense(zero, ir.Int8)) {
		if z != 0 && l.zero == nil {
			l.zero = make([]int8, n)
		}
		if l.zero != nil && zero.NumElements() > 1 {
			l.zero[i] = z
		} else if l.zero != nil {
			for j := range l.zero {
				l.zero[j] = z
			}
		}
	}
	row := weight.Row()
	l.room = scratch.Get(r.batch * (row + 4*n))
	l.sums = scratch.Slice[int32](l.room, r.batch*n)
	l.bytes = unsafe.Slice((*uint8)(unsafe.Add(l.room.Ptr(), r.batch*4*n)), r.batch*row)
	return l
}

// multiply quantizes the outputs h and multiplies them with the weight.
func (l *byteLayer) multiply(h []float32) {
	var low, high float32
	for _, v := range h {
		low, high = min(low, v), max(high, v)
	}
	if l.by = (high - low) / 255; l.by == 0 {
		l.by = 1
	}
	zero := math.RoundToEven(float64(-low / l.by))
	l.least = int32(zero)
	row := l.weight.Row()
	for b := range l.batch {
		to := l.bytes[b*row : (b+1)*row]
		for i, v := range rowOf(h, b, l.width) {
			to[i] = uint8(min(255, max(0, math.RoundToEven(float64(v/l.by))+zero)))
		}
		clear(to[l.width:])
	}
	for i, s := range l.scale {
		l.combined[i] = s * l.by
	}
	l.weight.Mul(l.batch, unsafe.Pointer(&l.bytes[0]), row, gemm.Matrix{Ptr: unsafe.Pointer(&l.sums[0]), Row: 4 * l.width, Col: 1}, nil)
}

// gates sets z to x, a row of gates, plus what the outputs of that row give to them.
func (l *byteLayer) gates(z, x []float32, row int) {
	n := 4 * l.width
	sums, columns, by := l.sums[row*n:(row+1)*n], l.weight.Sums(), l.combined
	z, x, columns, by = z[:len(sums)], x[:len(sums)], columns[:len(sums)], by[:len(sums)]
	if l.zero != nil {
		k := l.weight.Row()
		lost := gemm.SumBytes(l.bytes[row*k:(row+1)*k]) - int32(l.width)*l.least
		for i, zero := range l.zero {
			sums[i] -= int32(zero) * lost
		}
	}
	for i, s := range sums {
		z[i] = x[i] + float32(s-l.least*columns[i])*by[i]
	}
}
