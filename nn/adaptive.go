package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// An AdaptiveLogSoftmaxWithLoss approximates softmax over many classes of which
// few are frequent (Grave et al. 2016). Classes are numbered by falling frequency
// and divided into clusters: the head decides among the first ones and the
// clusters of the others, each of which has a narrower projection than the one
// before.
type AdaptiveLogSoftmaxWithLoss struct {
	Head *Linear     // [in, first cutoff + clusters]
	Tail [][]*Linear // of each cluster: [in, in/div^(i+1)], [that, classes of the cluster]

	in      int
	cutoffs []int // the first class of each cluster, then the number of classes
}

// NewAdaptiveLogSoftmaxWithLoss returns the layer for vectors of width in and so many
// classes. cutoffs are the classes at which clusters begin, at least one: increasing
// numbers from 1 to classes-1.
//
// Options: DivValue (4), HeadBias, tensor.On (the CPU), tensor.OfType (Float32).
func NewAdaptiveLogSoftmaxWithLoss(in, classes int, cutoffs []int, opts ...Option) *AdaptiveLogSoftmaxWithLoss {
	s := read("adaptive softmax", opts, adaptiveOptions)
	a := &AdaptiveLogSoftmaxWithLoss{in: in, cutoffs: append(slices.Clone(cutoffs), classes)}
	if err := a.check(s.divValue); err != nil && s.err == nil {
		s.err = fmt.Errorf("adaptive softmax: %w", err)
	}
	if s.err != nil {
		a.Head = &Linear{Weight: s.broken()}
		return a
	}
	clusters := len(cutoffs)
	s.bias = s.headBias
	a.Head = s.linear(in, cutoffs[0]+clusters)
	s.bias = false
	for i := range clusters {
		width := int(math.Floor(float64(in) / math.Pow(s.divValue, float64(i+1))))
		a.Tail = append(a.Tail, []*Linear{s.linear(in, width), s.linear(width, a.cutoffs[i+1]-a.cutoffs[i])})
	}
	return a
}

func (a *AdaptiveLogSoftmaxWithLoss) check(div float64) error {
	if len(a.cutoffs) < 2 || a.in < 1 || !(div > 0) {
		return fmt.Errorf("input %d, cutoffs %v and div value %g; it takes an input of at least 1, at least one cutoff and a positive div value",
			a.in, a.cutoffs[:len(a.cutoffs)-1], div)
	}
	low := 0
	for _, c := range a.cutoffs {
		if c <= low {
			return fmt.Errorf("cutoffs %v of %d classes; they must increase from 1 to classes-1", a.cutoffs[:len(a.cutoffs)-1], a.cutoffs[len(a.cutoffs)-1])
		}
		low = c
	}
	return nil
}

// broken returns the tensor that carries what is wrong with the layer or x.
func (a *AdaptiveLogSoftmaxWithLoss) broken(x tensor.Tensor) (tensor.Tensor, bool) {
	switch {
	case a == nil:
		return missing(a), true
	case a.Head == nil:
		return failed("the adaptive softmax was not made with NewAdaptiveLogSoftmaxWithLoss"), true
	case a.Head.Weight.value().Handle().Err() != nil:
		return a.Head.Weight.value(), true
	case x.Handle().Err() != nil:
		return x, true
	case len(x.Shape()) != 2 || x.Size(1) != a.in:
		return failed("adaptive softmax takes [n, %d], not %v", a.in, x.Shape()), true
	}
	return x, false
}

// Forward returns the logarithm of the probability of each target, [n], and the
// loss, the negative of their mean, for x [n, in] and int64 classes target [n].
// It waits for the device once a cluster, to know how many targets are in it.
func (a *AdaptiveLogSoftmaxWithLoss) Forward(x, target tensor.Tensor) (output, loss tensor.Tensor) {
	if bad, is := a.broken(x); is {
		return bad, bad
	}
	if !sound(target) {
		return target, target
	}
	if !slices.Equal(target.Shape(), x.Shape()[:1]) {
		bad := failed("adaptive softmax of %v takes one target a row, not %v", x.Shape(), target.Shape())
		return bad, bad
	}
	short := a.cutoffs[0]
	choice := target // the head's class: what is no class stays, and Gather refuses it
	var rows []tensor.Tensor
	for i := range a.Tail {
		inside := target.GeScalar(a.cutoffs[i]).LogicalAnd(target.LtScalar(a.cutoffs[i+1]))
		choice = choice.MaskedFillScalar(inside, short+i)
		rows = append(rows, inside.Nonzero().Select(1, 0))
	}
	output = a.Head.Forward(x).LogSoftmax(1).Gather(1, choice.Unsqueeze(1)).Squeeze(1)
	for i, r := range rows {
		if !sound(r) {
			return r, r
		}
		if r.Size(0) == 0 {
			continue
		}
		of := target.IndexSelect(0, r).SubScalar(a.cutoffs[i])
		within := a.tail(i, x.IndexSelect(0, r)).Gather(1, of.Unsqueeze(1)).Squeeze(1)
		output = output.IndexAdd(0, r, within)
	}
	return output, output.Mean().Neg()
}

// tail returns the logarithms of the probabilities within cluster i.
func (a *AdaptiveLogSoftmaxWithLoss) tail(i int, x tensor.Tensor) tensor.Tensor {
	for _, l := range a.Tail[i] {
		x = l.Forward(x)
	}
	return x.LogSoftmax(1)
}

// LogProb returns the logarithms of the probabilities of all classes, [n, classes],
// for x [n, in].
func (a *AdaptiveLogSoftmaxWithLoss) LogProb(x tensor.Tensor) tensor.Tensor {
	if bad, is := a.broken(x); is {
		return bad
	}
	head, short := a.Head.Forward(x).LogSoftmax(1), a.cutoffs[0]
	parts := []tensor.Tensor{head.Narrow(1, 0, short)}
	for i := range a.Tail {
		parts = append(parts, a.tail(i, x).Add(head.Narrow(1, short+i, 1)))
	}
	return tensor.Cat(parts, 1)
}

// Predict returns the most probable class of each row of x [n, in].
func (a *AdaptiveLogSoftmaxWithLoss) Predict(x tensor.Tensor) tensor.Tensor {
	return a.LogProb(x).Argmax(tensor.Dim(1))
}

// String describes the layer.
func (a *AdaptiveLogSoftmaxWithLoss) String() string {
	a = given(a)
	if len(a.cutoffs) == 0 {
		return "AdaptiveLogSoftmaxWithLoss()"
	}
	return fmt.Sprintf("AdaptiveLogSoftmaxWithLoss(in=%d, classes=%d, cutoffs=%v)", a.in, a.cutoffs[len(a.cutoffs)-1], a.cutoffs[:len(a.cutoffs)-1])
}
