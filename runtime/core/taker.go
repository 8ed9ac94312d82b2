package core

import (
	"errors"
	"fmt"
	"slices"
)

// A Taker takes the gradients of leaves in place of the engine, which adds them to the
// leaves' Grad otherwise. It is for those who keep gradients elsewhere, such as in the
// buckets of data parallel training.
type Taker interface {
	// Take is given the gradient that a pass of Backward has computed for one of the
	// taker's leaves, when it is complete, while the pass goes on to other leaves. g is
	// valid until Take returns. What it does with the leaf's Grad is its own to decide.
	// It is called by the goroutine of the pass, in the order in which leaves become
	// complete.
	Take(leaf int, g *Tensor) error
	// Finish ends a pass that took any gradient: once all are computed and before
	// Backward returns, with nil; or with the error that the pass ends with. What it
	// returns in place of nil is the error of the pass.
	Finish(err error) error
}

// SetTaker has k take the gradients of t, a leaf, in passes of Backward; nil has them
// accumulated again. A leaf has one taker at a time, which knows it by a number.
func (t *Tensor) SetTaker(k Taker, leaf int) error {
	if err := t.Err(); err != nil {
		return err
	}
	if t.grad == nil || t.grad.node != nil {
		return at(fmt.Errorf("set_taker: %w: the tensor is no leaf that requires gradients", ErrNoGrad))
	}
	s := t.grad
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taker != nil && k != nil {
		return at(errors.New("set_taker: the gradients of the tensor are taken already, as those of a model that is in data parallel training"))
	}
	switch {
	case s.taker == nil && k != nil:
		leafHooks.Add(1)
	case s.taker != nil && k == nil:
		leafHooks.Add(-1)
	}
	s.taker, s.number = k, leaf
	return nil
}

// hand gives the gradient of a leaf to its taker, if it has one.
func (e *engine) hand(s *gradState) (err error) {
	s.mu.Lock()
	k, leaf := s.taker, s.number
	s.mu.Unlock()
	g := e.leaves[s]
	if k == nil || e.captured != nil || g == nil {
		return nil
	}
	if !slices.Contains(e.takers, k) {
		e.takers = append(e.takers, k)
	}
	NoGrad(func() { err = k.Take(leaf, g) })
	if !e.o.CreateGraph {
		g.Release()
	}
	delete(e.leaves, s)
	e.order = slices.DeleteFunc(e.order, func(o *gradState) bool { return o == s })
	return err
}

// finishTakers ends the pass for those who took gradients of it, and returns what it
// ends with.
func (e *engine) finishTakers(err error) error {
	for _, k := range e.takers {
		NoGrad(func() {
			if ended := k.Finish(err); err == nil {
				err = ended
			}
		})
	}
	e.takers = nil
	return err
}

// Sole reports whether t has all of its memory to itself: no other handle, view or saved value
// has it, and t is all of it, without gaps.
func (t *Tensor) Sole() bool {
	return t.Err() == nil && t.grad == nil && t.storage.refs.Load() == 1 && t.layout.IsContiguous() && t.storage.bytes == int64(t.NumElements()*t.dtype.Size())
}
