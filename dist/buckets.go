package dist

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/stream"
)

// apartBytes is how large a gradient is at least that is reduced where Backward computed it.
// Smaller ones are copied to the memory of their bucket, one after the other.
var apartBytes = 1 << 20 // tests set it

// A bucket is gradients of one dtype that are reduced together.
type bucket struct {
	params []int
	n      int           // elements of the small ones
	flat   tensor.Tensor // the small ones, one after the other; none before a pass needs it

	// Of the pass that is under way.
	ready int    // gradients that are there
	parts []part // what is being reduced
	work  *Work  // nil: not being reduced
	done  *stream.Event
}

// A part is memory that is reduced, and the same in the dtype that it travels in, if that
// is another.
type part struct{ whole, packed tensor.Tensor }

// A spot is where a parameter's gradient is.
type spot struct {
	bucket *bucket
	at     int           // first element in the bucket's memory; -1: it has memory of its own
	view   tensor.Tensor // of the parameter's shape; none where there is none yet
}

// fill makes buckets for the parameters in the given order. A bucket is full when it has as
// many bytes as are asked for, or more.
func (r *reducer) fill(order []int) {
	d := r.d
	r.fills++
	r.letGo()
	for i := range r.places {
		r.places[i].view.Release()
	}
	r.buckets, r.places = nil, make([]spot, len(d.params))
	open := map[ir.DType]*bucket{}
	size := map[*bucket]int{}
	for _, i := range order {
		p := d.params[i]
		b := open[p.DType()]
		if b == nil {
			b = new(bucket)
			open[p.DType()] = b
			r.buckets = append(r.buckets, b)
		}
		b.params = append(b.params, i)
		bytes := p.NumElements() * p.DType().Size()
		r.places[i] = spot{bucket: b, at: -1}
		if bytes < apartBytes {
			r.places[i].at = b.n
			b.n += p.NumElements()
		}
		size[b] += bytes
		limit := d.limit
		if b == r.buckets[0] {
			limit = min(limit, firstBucket)
		}
		if size[b] >= limit {
			delete(open, p.DType())
		}
	}
	if r.fixed {
		_ = r.layAll() // what went wrong with memory is found by what uses it
	}
}

// apart reports whether a parameter's gradient has memory of its own, another one in each
// pass.
func (r *reducer) apart(i int) bool { return r.places[i].at < 0 && !r.fixed }

// lay gives the small gradients of a bucket their memory, if they have none yet.
func (r *reducer) lay(b *bucket) {
	if b.n == 0 || b.flat != (tensor.Tensor{}) {
		return
	}
	core.OutsideScope(func() {
		b.flat = tensor.Zeros([]int{b.n}, r.like(b.params[0])...)
		for _, i := range b.params {
			p, s := r.d.params[i], &r.places[i]
			if s.at >= 0 {
				s.view = b.flat.Narrow(0, s.at, p.NumElements()).View(p.Shape()...)
			}
		}
	})
}

// layAll gives all gradients memory that stays.
func (r *reducer) layAll() error {
	for _, b := range r.buckets {
		r.lay(b)
	}
	core.OutsideScope(func() {
		for i, p := range r.d.params {
			if s := &r.places[i]; s.at < 0 {
				s.view = tensor.Zeros(p.Shape(), r.like(i)...)
			}
		}
	})
	for i := range r.places {
		if err := r.places[i].view.Err(); err != nil {
			return err
		}
	}
	return nil
}

// like are the options of a tensor like a parameter.
func (r *reducer) like(i int) []tensor.Option {
	return []tensor.Option{tensor.On(r.d.group.Device()), tensor.OfType(r.d.params[i].DType())}
}

// memory returns what of a bucket is reduced.
func (b *bucket) memory(r *reducer) (all []tensor.Tensor) {
	if b.n > 0 {
		all = append(all, b.flat)
	}
	for _, i := range b.params {
		if s := &r.places[i]; s.at < 0 {
			all = append(all, s.view)
		}
	}
	return all
}

// put writes the gradient that a parameter has, if any, and g, if it is given, to its place.
func (r *reducer) put(i int, g tensor.Tensor) (err error) {
	s := &r.places[i]
	if r.apart(i) {
		core.OutsideScope(func() { err = r.putApart(i, g) })
		return err
	}
	r.lay(s.bucket)
	view, given := s.view, g != (tensor.Tensor{})
	old, has := r.d.params[i].Grad()
	if has {
		defer old.Release()
	}
	switch {
	case !has && !given:
		return view.FillInPlace(0)
	case !has:
		return view.CopyFrom(g)
	case !old.SharesStorage(view):
		if err := view.CopyFrom(old); err != nil {
			return err
		}
	}
	if !given {
		return nil
	}
	return view.AddInPlace(g)
}

// putApart is put for a gradient with memory of its own: it is g's where nobody else has that.
func (r *reducer) putApart(i int, g tensor.Tensor) error {
	p, s := r.d.params[i], &r.places[i]
	old, has := p.Grad()
	if has {
		defer old.Release()
	}
	given := g != (tensor.Tensor{})
	switch {
	case given && g.Handle().Sole():
		s.view = g.Detach()
	case given:
		s.view = g.Detach().Clone()
	case has:
		s.view = old.Detach().Clone()
	default:
		s.view = tensor.Zeros(p.Shape(), r.like(i)...)
	}
	if given && has {
		return s.view.AddInPlace(old)
	}
	return s.view.Err()
}

// reduce begins to average a bucket over the group.
func (r *reducer) reduce(b *bucket) error {
	b.parts, b.done = nil, nil
	for _, t := range b.memory(r) {
		b.parts = append(b.parts, part{whole: t})
	}
	c := r.d.compress
	if c == ir.Invalid || !b.parts[0].whole.DType().IsFloat() || b.parts[0].whole.DType().Size() <= c.Size() {
		return r.average(b)
	}
	if r.d.group.Device().Accelerator() && !core.Recording() {
		return r.aside.reduce(r, b)
	}
	r.pack(b)
	return r.average(b)
}

// pack converts what is reduced to the dtype that it travels in.
func (r *reducer) pack(b *bucket) {
	for k := range b.parts {
		b.parts[k].packed = b.parts[k].whole.ToType(r.d.compress)
	}
}

// average gives a bucket to the group.
func (r *reducer) average(b *bucket) error {
	b.work = r.d.group.Batch(func(batch *Batch) {
		for _, p := range b.parts {
			batch.AllReduce(p.travels(), Average)
		}
	})
	for _, p := range b.parts {
		if err := p.travels().Err(); err != nil {
			return err
		}
	}
	return nil
}

// travels is what goes to the other ranks.
func (p part) travels() tensor.Tensor {
	if p.packed != (tensor.Tensor{}) {
		return p.packed
	}
	return p.whole
}

// unpack waits for a bucket, and converts it back.
func (b *bucket) unpack() error {
	if err := b.work.Wait(context.Background()); err != nil {
		return err
	}
	for _, p := range b.parts {
		if p.packed != (tensor.Tensor{}) {
			if err := p.whole.CopyFrom(p.packed); err != nil {
				return err
			}
		}
	}
	return nil
}

// await has the current stream wait for all buckets, and unpacks them. Their memory is then
// its alone again: released, it serves what comes next, and not what comes once the host
// finds that the other streams are done.
func (r *reducer) await() error {
	for _, b := range r.buckets {
		err := error(nil)
		if b.done != nil {
			err = stream.Current(r.d.group.Device()).WaitEvent(b.done)
		} else {
			err = b.unpack()
		}
		if err == nil && r.change != nil {
			err = r.step(b)
		}
		if err != nil {
			return err
		}
	}
	r.changed = r.change != nil
	if !core.Recording() {
		r.waited()
	}
	return nil
}

// step changes a bucket's parameters by their gradients, which have arrived.
func (r *reducer) step(b *bucket) error {
	var some []*nn.Parameter
	for _, i := range b.params {
		p := r.d.params[i]
		if err := p.SetGrad(r.places[i].view); err != nil {
			return fmt.Errorf("%s: %w", r.d.names[i], err)
		}
		some = append(some, p)
	}
	return r.change(some)
}

// waited notes that the current stream waits for all that others do with the gradients.
func (r *reducer) waited() {
	for _, b := range r.buckets {
		for _, p := range b.parts {
			r.d.group.waited(p.whole)
			if r.aside.made {
				p.whole.Handle().Waited(r.aside.to)
				p.whole.Handle().Waited(r.aside.from)
			}
		}
	}
}

// letGo gives up what a pass has no use for any more when it is over.
func (r *reducer) letGo() {
	for _, b := range r.buckets {
		for _, p := range b.parts {
			p.packed.Release()
		}
		b.parts = nil
	}
	for i := range r.places {
		if s := &r.places[i]; r.apart(i) {
			s.view.Release()
			s.view = tensor.Tensor{}
		}
	}
}

// An aside is the streams that gradients are converted on, so that the pass does not wait for
// it: one to the dtype that they travel in, one back. It is made when it is first needed.
type aside struct {
	to, from stream.Stream
	made     bool
}

// reduce is average, with the conversions aside.
func (a *aside) reduce(r *reducer, b *bucket) error {
	d := r.d.group.Device()
	if !a.made {
		a.to, a.from, a.made = stream.New(d, 0), stream.New(d, 0), true
	}
	if err := a.to.WaitStream(stream.Current(d)); err != nil {
		return err
	}
	err := a.to.Do(func() error {
		r.pack(b)
		return r.average(b)
	})
	if err != nil {
		return err
	}
	err = a.from.Do(b.unpack)
	if err == nil {
		b.done, err = a.from.RecordEvent(nil)
	}
	for _, p := range b.parts {
		if err == nil {
			err = p.whole.RecordStream(a.to)
		}
		for _, t := range []tensor.Tensor{p.whole, p.packed} {
			if err == nil {
				err = t.RecordStream(a.from)
			}
		}
	}
	return err
}
