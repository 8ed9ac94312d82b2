package opaque

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A recurrentCase is the extents of a recurrence.
type recurrentCase struct {
	steps, batch, width int
	reverse             bool
}

var recurrentCases = []recurrentCase{{1, 1, 1, false}, {4, 3, 13, false}, {3, 1, 40, true}, {5, 70, 9, true}, {2, 2, 100, false}}

// each calls f for every element of the states in the order of steps, with the
// gates before activation, gates of x and of the state apart.
func (c recurrentCase) each(gates int, x, first, weight []float64, f func(out []float64, i, column int, x, y func(gate int) float64) float64) []float64 {
	w, n := c.width, c.batch*c.width
	out, h := make([]float64, c.steps*n), first
	for s := range c.steps {
		if c.reverse {
			s = c.steps - 1 - s
		}
		next := out[s*n : (s+1)*n]
		for i := range n {
			row, column := i/w, i%w
			next[i] = f(h, i, column, func(gate int) float64 {
				return x[(s*c.batch+row)*gates*w+gate*w+column]
			}, func(gate int) float64 {
				sum := 0.0
				for k := range w {
					sum += h[row*w+k] * weight[(gate*w+column)*w+k]
				}
				return sum
			})
		}
		h = next
	}
	return out
}

// views returns operands with small random numbers.
func views(dtype ir.DType, shapes ...[]int) (list []ir.View, values [][]float64) {
	rng := newRand()
	for _, shape := range shapes {
		v := cputest.FillFloat(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), shape...), rng, -1, 1)
		list, values = append(list, v), append(values, numbers(v))
	}
	return list, values
}

func TestRecurrences(t *testing.T) {
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, dtype := range []ir.DType{ir.Float32, ir.Float64} {
		for _, c := range recurrentCases {
			state, w := []int{c.batch, c.width}, c.width
			all := []int{c.steps, c.batch, c.width}
			shapes := func(gates, biases int) [][]int {
				return [][]int{{c.steps, c.batch, gates * w}, state, {gates * w, w}, {biases * w}}
			}
			name := fmt.Sprint(dtype, " ", c)
			result := func() ir.View { return cputest.NewView(dtype, "contiguous", all...) }

			in, v := views(dtype, append(shapes(4, 4), state)...)
			x, h, weight, bias, cells := v[0], v[1], v[2], v[3], append([]float64(nil), v[4]...)
			want := c.each(4, x, h, weight, func(_ []float64, i, j int, x, y func(int) float64) float64 {
				gate := func(k int) float64 { return x(k) + y(k) + bias[k*w+j] }
				cells[i] = logistic(gate(1))*cells[i] + logistic(gate(0))*math.Tanh(gate(2))
				return logistic(gate(3)) * math.Tanh(cells[i])
			})
			out := []ir.View{result(), result()}
			must(t, LSTMSequence, call(dtype, []ir.Value{flag(c.reverse)}, out, in[0], in[1], in[4], in[2], in[3]))
			checkNear(t, "LSTM "+name, out[0], want)

			in, v = views(dtype, shapes(3, 6)...)
			bias = v[3]
			want = c.each(3, v[0], v[1], v[2], func(h []float64, i, j int, x, y func(int) float64) float64 {
				gate := func(k int) float64 { return x(k) + bias[k*w+j] }
				given := func(k int) float64 { return y(k) + bias[(3+k)*w+j] }
				reset, update := logistic(gate(0)+given(0)), logistic(gate(1)+given(1))
				fresh := math.Tanh(gate(2) + reset*given(2))
				return fresh + update*(h[i]-fresh)
			})
			out = []ir.View{result()}
			must(t, GRUSequence, call(dtype, []ir.Value{flag(c.reverse)}, out, in...))
			checkNear(t, "GRU "+name, out[0], want)

			in, v = views(dtype, shapes(1, 1)...)
			bias = v[3]
			want = c.each(1, v[0], v[1], v[2], func(_ []float64, _, j int, x, y func(int) float64) float64 {
				return math.Tanh(x(0) + y(0) + bias[j])
			})
			must(t, RNNSequence, call(dtype, []ir.Value{flag(false), flag(c.reverse)}, out, in...))
			checkNear(t, "RNN "+name, out[0], want)
		}
	}
}

// Rows of a batch may be gone through by several, whose number makes no difference.
func TestRecurrencesByRows(t *testing.T) {
	attrs := []ir.Value{flag(true)}
	for i, c := range []recurrentCase{{5, 8, 4, true}, {3, 200, 1, true}, {3, 24, 2, true}, {2, 60, 3, true}, {3, 60, 4, true}, {4, 33, 40, true}, {3, 21, 130, true}, {3, 64, 64, true}, {3, 9, 300, true}} {
		states, one := []int{c.steps, c.batch, c.width}, []int{c.batch, c.width}
		gates := func(n int) []int { return []int{c.steps, c.batch, n * c.width} }
		weight := func(n int) []int { return []int{n * c.width, c.width} }
		for name, k := range map[string]struct {
			f       ir.KernelFunc
			attrs   []ir.Value
			in, out [][]int
		}{
			"lstm":      {LSTMSequence, attrs, [][]int{gates(4), one, one, weight(4), {4 * c.width}}, [][]int{states, states}},
			"lstm grad": {LSTMSequenceGrad, attrs, [][]int{states, states, gates(4), gates(4), states, weight(4), {4 * c.width}}, [][]int{gates(4), one, one}},
			"gru":       {GRUSequence, attrs, [][]int{gates(3), one, weight(3), {2, 3 * c.width}}, [][]int{states}},
			"gru grad":  {GRUSequenceGrad, attrs, [][]int{states, gates(3), gates(3), states, weight(3), {2, 3 * c.width}}, [][]int{gates(3), gates(3), one}},
			"rnn":       {RNNSequence, []ir.Value{flag(false), flag(true)}, [][]int{states, one, weight(1), {c.width}}, [][]int{states}},
			"rnn grad":  {RNNSequenceGrad, []ir.Value{flag(true), flag(true)}, [][]int{states, states, weight(1)}, [][]int{states, one}},
		} {
			for _, dtype := range []ir.DType{ir.Float32, ir.Float64} {
				if testing.Short() && ((dtype == ir.Float32) != (len(name)%2 == 0) || (i+len(name)/2)%2 != 0) { // each in one of them, and half of the sizes
					continue
				}
				in, _ := views(dtype, k.in...)
				var first [][]float64
				for _, procs := range []int{1, 2, 3, 16} {
					var out []ir.View
					for _, shape := range k.out {
						out = append(out, cputest.NewView(dtype, "contiguous", shape...))
					}
					old := runtime.GOMAXPROCS(procs)
					must(t, k.f, call(dtype, k.attrs, out, in...))
					runtime.GOMAXPROCS(old)
					var all [][]float64
					for _, v := range out {
						all = append(all, allOf(v))
					}
					if first == nil {
						first = all
					} else if !slices.EqualFunc(first, all, func(a, b []float64) bool {
						return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
					}) {
						t.Errorf("%s %s, %v: with %d processors otherwise than with one", dtype, name, c, procs)
					}
				}
			}
		}
	}
}

func BenchmarkLSTM(b *testing.B) {
	in, _ := views(ir.Float32, []int{32, 64, 512}, []int{64, 128}, []int{64, 128}, []int{512, 128}, []int{512})
	for i, v := range in {
		in[i] = tile.Dense(v, v.DType)
	}
	out := []ir.View{cputest.NewView(ir.Float32, "contiguous", 32, 64, 128), cputest.NewView(ir.Float32, "contiguous", 32, 64, 128)}
	for b.Loop() {
		if err := LSTMSequence(call(ir.Float32, []ir.Value{flag(false)}, out, in...)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLSTMGrad(b *testing.B) {
	states, gates, first := []int{32, 64, 128}, []int{32, 64, 512}, []int{64, 128}
	in, _ := views(ir.Float32, states, states, gates, gates, states, []int{512, 128}, []int{512})
	for i, v := range in {
		in[i] = tile.Dense(v, v.DType)
	}
	out := []ir.View{cputest.NewView(ir.Float32, "contiguous", gates...), cputest.NewView(ir.Float32, "contiguous", first...), cputest.NewView(ir.Float32, "contiguous", first...)}
	for b.Loop() {
		if err := LSTMSequenceGrad(call(ir.Float32, []ir.Value{flag(false)}, out, in...)); err != nil {
			b.Fatal(err)
		}
	}
}
