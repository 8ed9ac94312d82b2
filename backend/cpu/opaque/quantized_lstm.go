package opaque

import (
	"math"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/step"
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
	switch c.Compute {
	case ir.Float32:
		byteLSTM[float32](c)
	case ir.Float64:
		byteLSTM[float64](c)
	default:
		return unsupported(c.Compute)
	}
	return nil
}

func byteLSTM[T float](c *ir.Call) {
	dense := func(i int) []T { return tile.Elements[T](tile.Dense(c.In[i], c.Compute)) }
	gates, h, before := dense(0), dense(1), dense(2)
	out, cells := tile.TargetOf(c.Out[0], c.Compute), tile.TargetOf(c.Out[1], c.Compute)
	outs, states := tile.Elements[T](out), tile.Elements[T](cells)
	l := newByteLayer(newRecurrence(c.Out[0].Shape, 4, c.Attrs[0]), packedBytes(c.In[3], c.KeptOf(3)), dense(4), c.In[5])
	defer l.room.Put()
	f := newSet[T]()
	var x, hs, cs []T
	eachStep(l.recurrence, false, func(s int) {
		t := l.at(s)
		l.multiply(h, s%2 == 1)
		x, hs, cs = gatesOf(l.recurrence, gates, t), state(l.recurrence, outs, t), state(l.recurrence, states, t)
	}, func(k *cell[T], row int) {
		z, top := k.room[:4*l.width], k.gate(k.room, 4)
		l.gates(z, rowOf(x, row, 4*l.width), row)
		k.apply(f.sigmoid, z[:3*l.width])
		k.apply(f.tanh, k.gate(z, 3))
		in, out, forget, fresh := k.gate(z, 0), k.gate(z, 1), k.gate(z, 2), k.gate(z, 3)
		c, cs, hs := rowOf(before, row, l.width), rowOf(cs, row, l.width), rowOf(hs, row, l.width)
		l.loops.Cell(cs, top, forget, c, in, fresh)
		k.apply(f.tanh, top)
		l.loops.Product(hs, out, top)
	}, func() { h, before = hs, cs })
	tile.Finish(c.Out[0], out)
	tile.Finish(c.Out[1], cells)
}

// A byteLayer is what a layer of bytes has of its weight, and the product of a step.
type byteLayer[T float] struct {
	*recurrence
	loops  step.Funcs[T]
	weight *gemm.Bytes
	scale  []T    // of each column
	zero   []int8 // of each column; nil: all are 0
	room   *scratch.Block
	bytes  []uint8 // of a step's outputs, in rows as weight takes them
	sums   []int32 // their products with the weight
	least  int32   // their zero
	by     T       // their scale
}

func newByteLayer[T float](r *recurrence, weight *gemm.Bytes, scale []T, zero ir.View) *byteLayer[T] {
	n, row, size := 4*r.width, weight.Row(), int(unsafe.Sizeof(T(0)))
	l := &byteLayer[T]{recurrence: r, loops: step.Of[T](simd.Active()), weight: weight, scale: scale}
	if zeros := tile.Elements[int8](tile.Dense(zero, ir.Int8)); slices.ContainsFunc(zeros, notZero) {
		l.zero = spread(zeros, n)
	}
	l.room = scratch.Get(n*size + r.batch*(row+4*n))
	if len(scale) == 1 {
		l.scale = scratch.Slice[T](l.room, n)
		for i := range l.scale {
			l.scale[i] = scale[0]
		}
	}
	sums := unsafe.Add(l.room.Ptr(), n*size)
	l.sums = unsafe.Slice((*int32)(sums), r.batch*n)
	l.bytes = unsafe.Slice((*uint8)(unsafe.Add(sums, r.batch*4*n)), r.batch*row)
	return l
}

// multiply quantizes the outputs h, as float32, and multiplies them with the weight: every other
// step with back from its end, which a cache still holds. Where the outputs have no finite scale,
// one of them is NaN or infinite, say, it is NaN for all.
func (l *byteLayer[T]) multiply(h []T, back bool) {
	low, scale := l.loops.Span(h)
	if scale-scale != 0 {
		l.least = 0
		l.by = T(math.NaN())
		return
	}
	l.least, l.by = min(255, step.Nearest(-low/scale)), T(scale) // a scale that is rounded down gives more
	row := l.weight.Row()
	for b := range l.batch {
		to := l.bytes[b*row : (b+1)*row]
		l.loops.Quantize(to, rowOf(h, b, l.width), scale, l.least)
		clear(to[l.width:])
	}
	sums := gemm.Matrix{Ptr: unsafe.Pointer(&l.sums[0]), Row: 4 * l.width, Col: 1}
	if back {
		l.weight.MulBack(l.batch, unsafe.Pointer(&l.bytes[0]), row, sums)
		return
	}
	l.weight.Mul(l.batch, unsafe.Pointer(&l.bytes[0]), row, sums, nil)
}

// gates sets z to x, a row of gates, plus what the outputs of that row give to them.
func (l *byteLayer[T]) gates(z, x []T, row int) {
	n := 4 * l.width
	sums := l.sums[row*n : (row+1)*n]
	if l.zero != nil {
		k := l.weight.Row()
		lost := gemm.SumBytes(l.bytes[row*k:(row+1)*k]) - int32(l.width)*l.least
		for i, zero := range l.zero {
			sums[i] -= int32(zero) * lost
		}
	}
	l.loops.Gates(z, x, l.scale, l.by, sums, l.weight.Sums(), l.least)
}
