package core

import "github.com/sinter-go/sinter/ir"

// An ended composition is on its way to whoever began it.
type ended struct{ f *failure }

// Look returns t for a composition or a gradient that looks into it: at its shape,
// dtype, device or elements. Where t carries an error there is nothing to look at: the
// composition ends, and the error stands for its results (Composing, Custom, Ended,
// the backward pass). Without that, what computes extents from a shape would have to
// ask for errors at every line.
func Look(t *Tensor) *Tensor {
	if t != nil {
		if f := t.fail.Load(); f != nil {
			panic(ended{f})
		}
	}
	return t
}

// endOf returns the failure that a composition ended with, or nil, from what recover
// returned. Other panics go on.
func endOf(v any) *failure {
	if v == nil {
		return nil
	}
	if e, ok := v.(ended); ok {
		return e.f
	}
	panic(v)
}

// Ended is deferred by a composition of several results: where Look ended it, they are
// the error, in which op is named.
func Ended(op *ir.Op, in []*Tensor, outs ...**Tensor) {
	f := endOf(recover())
	if f == nil {
		return
	}
	list := make([]*Tensor, len(outs))
	for i := range list {
		list[i] = failed(f)
	}
	Composed(op, in, list...)
	for i, out := range outs {
		*out = list[i]
	}
}

// attempt calls f and returns the failure that Look ended it with, or nil.
func attempt(f func()) (end *failure) {
	defer func() { end = endOf(recover()) }()
	f()
	return nil
}
