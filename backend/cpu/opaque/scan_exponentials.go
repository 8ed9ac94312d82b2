package opaque

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/backend/cpu/vmath"
	"github.com/sinter-go/sinter/ir"
)

// LogcumsumexpGrad returns the gradient of the logarithms of sums of exponentials up to each
// element, from the gradient of these and the elements.
func LogcumsumexpGrad(c *ir.Call) error {
	exp := vmath.Loop("expneg", ir.Float64, simd.Active())
	return scanGrad(c, func(n int) slope { return newExponentials(n, exp) })
}

// An exponentials is the slope of logcumsumexp. Its weights are the exponentials of elements less the
// largest one up to each; sums of them are of that largest one, and multiplied where a larger one
// comes. So each element has one exponential, and one that is larger than all before it one more, and
// no sum of more than 1 is infinite or zero.
type exponentials struct {
	exp     vector.Func // or nil
	args    []unsafe.Pointer
	block   *scratch.Block
	weights []float64
	parts   []float64 // gradients over the sum up to each element
	tops    []top
}

// A top is an element that is larger than all before it, and what sums of the one before are
// multiplied by.
type top struct {
	at    int
	ratio float64
}

func newExponentials(n int, exp vector.Func) *exponentials {
	e := &exponentials{exp: exp, args: make([]unsafe.Pointer, 2), block: scratch.Get(16 * n)}
	room := scratch.Slice[float64](e.block, 2*n)
	e.weights, e.parts = room[:n], room[n:]
	return e
}

func (e *exponentials) release() { e.block.Put() }

func (e *exponentials) line(to []float32, in [][]float32) {
	g, x := in[0], in[1]
	ordinary := e.differences(x)
	e.exponential(e.weights)
	sum := 0.0
	for k, t := range e.tops {
		sum *= t.ratio
		hi := e.end(k, len(x))
		w, parts, gs := e.weights[t.at:hi], e.parts[t.at:hi], g[t.at:hi]
		for i, v := range w {
			sum += v
			parts[i] = float64(gs[i]) / sum
		}
	}
	sum = 0
	for k := len(e.tops) - 1; k >= 0; k-- {
		lo, hi := e.tops[k].at, e.end(k, len(x))
		w, parts, out := e.weights[lo:hi], e.parts[lo:hi], to[lo:hi]
		for i := len(w) - 1; i >= 0; i-- {
			sum += parts[i]
			out[i] = float32(sum * w[i])
		}
		sum *= e.tops[k].ratio
	}
	if !ordinary {
		extraordinary(to, x)
	}
}

// end is the element behind those that the k-th top is the largest of.
func (e *exponentials) end(k, n int) int {
	if k+1 < len(e.tops) {
		return e.tops[k+1].at
	}
	return n
}

// differences sets the weights to the elements less the largest one up to each, and finds the tops. It
// reports whether all elements are numbers.
func (e *exponentials) differences(x []float32) (ordinary bool) {
	largest := math.Inf(-1)
	e.tops, ordinary = append(e.tops[:0], top{}), true
	for i, f := range x {
		v := float64(f)
		if v > largest {
			if i > 0 {
				e.tops = append(e.tops, top{i, math.Exp(largest - v)})
			}
			largest = v
		}
		d := v - largest
		if d-d != 0 {
			ordinary = false
			if v == largest { // an infinity less itself
				d = 0
			}
		}
		e.weights[i] = d
	}
	return ordinary
}

// exponential sets each element, of which none is positive, to its exponential.
func (e *exponentials) exponential(v []float64) {
	if e.exp == nil {
		for i, x := range v {
			v[i] = math.Exp(x)
		}
		return
	}
	for len(v) > 0 {
		n := min(len(v), 16*tile.Size)
		e.args[0], e.args[1] = unsafe.Pointer(&v[0]), unsafe.Pointer(&v[0])
		e.exp(n, e.args, nil, 0)
		v = v[n:]
	}
}

// extraordinary corrects the gradients of a line that has infinities or NaN: negative infinities have
// none, other infinities have no number, and a NaN makes all of them NaN.
func extraordinary(to, x []float32) {
	lost := false
	for _, v := range x {
		lost = lost || v != v
	}
	for i, v := range x {
		switch {
		case math.IsInf(float64(v), -1):
			to[i] = 0
		case lost || math.IsInf(float64(v), 1):
			to[i] = float32(math.NaN())
		}
	}
}
