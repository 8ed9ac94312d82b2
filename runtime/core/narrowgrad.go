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
	other *Tensor  // the gradient is the mean of from and this; nil: it is from
	mean  MeanFunc // with other
	into  *Tensor  // where it is converted to; nil: to memory of its own
	dtype ir.DType // that it is converted to
	wide  bool     // the state's gradient is what from was converted to
	notes bool     // somebody notes when the elements are others
	// made is the capture that computes the elements, nil where they are there.
	made *graph.Capture
	// passed says that a replay computed another gradient since, which is not kept.
	passed bool
}

// A MeanFunc writes the mean of two tensors of a narrower dtype to memory.
type MeanFunc func(into, from, other *Tensor) error

// SetNarrowGrad replaces the gradient accumulated for t by what from, of another dtype, is in
// that of t. It is converted when it is first asked for; until then nobody may change from. into
// is memory for that, of t's shape and dtype, or nil.
func (t *Tensor) SetNarrowGrad(from, into *Tensor) error {
	return t.setNarrow(&narrowGrad{from: from, into: into})
}

// SetMeanGrad is SetNarrowGrad of the mean of two, by which steps can be made without it: it is
// computed when somebody asks for the gradient.
func (t *Tensor) SetMeanGrad(from, other, into *Tensor, mean MeanFunc) error {
	return t.setNarrow(&narrowGrad{from: from, other: other, into: into, mean: mean})
}

// setNarrow makes n the gradient, with handles of its own on what it has.
func (t *Tensor) setNarrow(n *narrowGrad) error {
	if err := t.Err(); err != nil {
		return err
	}
	switch {
	case t.grad == nil:
		return at(fmt.Errorf("set_narrow_grad: %w: the tensor does not require gradients", ErrNoGrad))
	case Recording():
		return recorderNow().fail(fmt.Errorf("set_narrow_grad: %w: a gradient that is not of its tensor's dtype", ErrUnrecordable))
	}
	narrow := n.from.DType()
	for _, g := range []struct {
		of **Tensor
		dt ir.DType
	}{{&n.from, narrow}, {&n.other, narrow}, {&n.into, t.dtype}} {
		if *g.of == nil && g.of != &n.from {
			continue
		}
		if err := t.fits(*g.of, g.dt); err != nil {
			return err
		}
	}
	n.dtype, n.made = t.dtype, graph.Current(t.dev)
	for _, g := range []**Tensor{&n.from, &n.other, &n.into} {
		if *g != nil {
			*g = (*g).alias()
		}
	}
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
	if n := t.grad.narrow; n != nil && !n.wide && !n.passed && n.other == nil {
		defer t.grad.mu.Unlock()
		return n.from.again(n.from.layout)
	}
	t.grad.mu.Unlock()
	return t.Grad()
}

// GradOfTwo returns the two whose mean the gradient is that SetMeanGrad gave, and what computes it,
// where nobody has asked for it yet; nil otherwise.
func (t *Tensor) GradOfTwo() (from, other *Tensor, mean MeanFunc) {
	if t == nil || t.grad == nil || Recording() {
		return nil, nil, nil
	}
	t.grad.mu.Lock()
	defer t.grad.mu.Unlock()
	n := t.grad.narrow
	if n == nil || n.wide || n.passed || n.other == nil {
		return nil, nil, nil
	}
	return n.from.again(n.from.layout), n.other.again(n.other.layout), n.mean
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
				wide, err = n.widened(wide)
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

// widened writes the gradient to wide, or where that is nil to memory of its own, which it returns.
func (n *narrowGrad) widened(wide *Tensor) (*Tensor, error) {
	own := wide == nil
	if own {
		made := castTo(n.from, n.dtype)
		defer made.Release()
		if err := made.Err(); err != nil {
			return nil, err
		}
		wide = made.alias()
	}
	var err error
	switch {
	case n.other != nil:
		err = n.mean(wide, n.from, n.other)
	case !own:
		err = CopyFrom(wide, n.from, TransferOptions{}, nil)
	}
	if err != nil && own {
		wide.Release()
	}
	return wide, err
}

// drop lets go of the elements.
func (n *narrowGrad) drop() {
	for _, t := range []*Tensor{n.from, n.other, n.into} {
		if t != nil {
			t.Release()
		}
	}
}
