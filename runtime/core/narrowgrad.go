package core

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
)

// A narrowGrad is a gradient that is there in a dtype of fewer bits, as averages over several
// devices travel. It is converted when somebody asks for the gradient, and not before: what
// reads it as it is needs no memory for more, and does not wait for the conversion.
type narrowGrad struct {
	from  *Tensor
	into  *Tensor  // where it is converted to; nil: to memory of its own
	dtype ir.DType // that it is converted to
	wide  bool     // the state's gradient is what from was converted to
	notes bool     // somebody notes when the elements are others
	// made is the capture that computes the elements, nil where they are there.
	made *graph.Capture
	// passed says that a replay computed another gradient since, which is not kept.
	passed bool
}

// SetNarrowGrad replaces the gradient accumulated for t by what from, of another dtype, is in
// that of t. It is converted when it is first asked for; until then nobody may change from. into
// is memory for that, of t's shape and dtype, or nil.
func (t *Tensor) SetNarrowGrad(from, into *Tensor) error {
	if err := t.Err(); err != nil {
		return err
	}
	switch {
	case t.grad == nil:
		return at(fmt.Errorf("set_narrow_grad: %w: the tensor does not require gradients", ErrNoGrad))
	case Recording():
		return recorderNow().fail(fmt.Errorf("set_narrow_grad: %w: a gradient that is not of its tensor's dtype", ErrUnrecordable))
	}
	if err := t.fits(from, from.DType()); err != nil {
		return err
	}
	n := &narrowGrad{dtype: t.dtype, made: graph.Current(t.dev)}
	if into != nil {
		if err := t.fits(into, t.dtype); err != nil {
			return err
		}
		n.into = into.alias()
	}
	n.from = from.alias()
	t.grad.mu.Lock()
	defer t.grad.mu.Unlock()
	t.grad.replace(nil)
	t.grad.narrow = n
	return nil
}

// fits returns an error unless g, of some dtype, may hold t's gradient.
func (t *Tensor) fits(g *Tensor, dt ir.DType) error {
	if err := g.Err(); err != nil {
		return err
	}
	if !equalInts(g.layout.Shape, t.layout.Shape) || g.dev != t.dev || g.dtype != dt {
		return at(fmt.Errorf("set_narrow_grad: %s %v on %s for the gradient of %s %v on %s",
			g.dtype, g.layout.Shape, g.dev, t.dtype, t.layout.Shape, t.dev))
	}
	return nil
}

// GradAsItIs is Grad for who reads other dtypes too: that of a gradient that SetNarrowGrad gave,
// which nobody has asked for yet.
func (t *Tensor) GradAsItIs() *Tensor {
	if t == nil || t.grad == nil || Recording() {
		return t.Grad()
	}
	t.grad.mu.Lock()
	if n := t.grad.narrow; n != nil && !n.wide && !n.passed {
		defer t.grad.mu.Unlock()
		return n.from.again(n.from.layout)
	}
	t.grad.mu.Unlock()
	return t.Grad()
}

// GradRenewed returns what notes that the elements of a gradient that SetNarrowGrad gave are
// others, as those that a replay computes anew: what they were converted to before is then no
// gradient any more, nor is another one that SetNarrowGrad gave since. It does nothing where t has
// no gradient of these.
func (t *Tensor) GradRenewed() func() {
	if t == nil || t.grad == nil {
		return func() {}
	}
	s := t.grad
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.narrow
	if n == nil {
		return func() {}
	}
	n.notes = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.narrow == n {
			n.wide, n.passed = false, false
		} else if s.narrow != nil {
			s.narrow.passed = true
		}
	}
}

// GradRenews reports whether somebody notes when the elements of the gradient that SetNarrowGrad
// gave are others.
func (t *Tensor) GradRenews() bool {
	if t == nil || t.grad == nil {
		return false
	}
	t.grad.mu.Lock()
	defer t.grad.mu.Unlock()
	return t.grad.narrow != nil && t.grad.narrow.notes
}

// refused returns why there is no gradient to convert.
func (n *narrowGrad) refused() error {
	if n.passed {
		return at(fmt.Errorf("grad: %w: the last step was a replay of a graph, and another pass was captured or run since the one that the graph has; "+
			"ask for the gradient before another pass, or forget it (ZeroGrad)", ErrNoGrad))
	}
	if now := graph.Current(n.from.dev); now != nil && now != n.made && !n.wide {
		return at(fmt.Errorf("grad: %w: the gradient is there in %s from before the capture; ask for it before, or forget it (ZeroGrad)", device.ErrCapturing, n.from.dtype))
	}
	return nil
}

// held returns the gradient, converted where that is to be done. The caller holds s.mu.
func (s *gradState) held() *Tensor {
	n := s.narrow
	if n == nil {
		return s.grad
	}
	if err := n.refused(); err != nil {
		return Failed(err)
	}
	if n.wide {
		return s.grad
	}
	wide := s.grad // of before it was renewed
	if wide == nil {
		wide = n.into
	}
	var err error
	Unrecorded(func() {
		OutsideScope(func() {
			NoGrad(func() {
				if wide != nil {
					err = CopyFrom(wide, n.from, TransferOptions{}, nil)
					return
				}
				made := castTo(n.from, n.dtype)
				if err = made.Err(); err == nil {
					wide = made.alias()
				}
				made.Release()
			})
		})
	})
	if err != nil {
		return Failed(err)
	}
	if s.grad == nil && wide == n.into {
		wide = n.into.alias()
	}
	s.grad, n.wide = wide, true
	return wide
}

// drop lets go of the elements.
func (n *narrowGrad) drop() {
	n.from.Release()
	if n.into != nil {
		n.into.Release()
	}
}
