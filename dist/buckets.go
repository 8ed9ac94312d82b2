package dist

import (
	"context"
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/graph"
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
// is another. Averages that are left stay as they travelled.
type part struct {
	whole, packed tensor.Tensor
	left          bool
	// Of two ranks: what both pack, one after the other. Their mean is computed by who reads it.
	both tensor.Tensor
}

// of returns what rank 0 or 1 packed of both, in the shape of the whole.
func (p part) of(rank int) tensor.Tensor { return p.both.Select(0, rank) }

// meanOfTwo writes the mean of what two ranks packed.
func meanOfTwo(into, from, other *core.Tensor) error {
	list := func(t *core.Tensor) []*core.Tensor { return []*core.Tensor{t} }
	return ops.MeanOfTwo(list(into), list(from), list(other), false)
}

// A spot is where a parameter's gradient is.
type spot struct {
	bucket *bucket
	at     int           // first element in the bucket's memory; -1: it has memory of its own
	view   tensor.Tensor // of the parameter's shape; none where there is none yet
	part   int           // in the bucket's parts, of the pass that is under way
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
	r.divide(b)
	c, dt := r.d.compress, b.parts[0].whole.DType()
	if c == ir.Invalid || !dt.IsFloat() || dt.Size() <= c.Size() {
		return r.average(b)
	}
	if r.leaves(dt) {
		r.shrink(b)
	}
	if r.packsAside(dt) {
		return r.aside.reduce(r, b)
	}
	if err := r.pack(b); err != nil {
		return err
	}
	return r.average(b)
}

// packsAside reports whether gradients of dt are converted on streams of their own. Where nothing is
// converted back, and no capture has streams cost the host nothing, the pass's own is quicker.
func (r *reducer) packsAside(dt ir.DType) bool {
	d := r.d.group.Device()
	if !d.Accelerator() || core.Recording() {
		return false
	}
	return graph.Current(d) != nil || !r.exchanges(dt) || !r.leaves(dt)
}

// divide finds the parts of a bucket, and of each of its gradients which one it is in.
func (r *reducer) divide(b *bucket) {
	b.parts, b.done = nil, nil
	for _, t := range b.memory(r) {
		b.parts = append(b.parts, part{whole: t})
	}
	next := 0
	if b.n > 0 {
		next = 1
	}
	for _, i := range b.params {
		s := &r.places[i]
		if s.part = 0; s.at < 0 {
			s.part = next
			next++
		}
	}
}

// leaves reports whether averages of gradients of dt stay as they travelled until somebody asks
// for them, because optimizers read them so. What is recorded or captured goes on after the pass:
// who holds a gradient finds the averages of each replay in it. In a step by Minimize, which reads
// them itself, a gradient is converted when it is asked for again.
func (r *reducer) leaves(dt ir.DType) bool {
	if dt != ir.Float32 || core.Recording() {
		return false
	}
	return r.change != nil || graph.Current(r.d.group.Device()) == nil
}

// shrink makes memory for averages that are left as they travelled. It is the current stream's,
// which reads them.
func (r *reducer) shrink(b *bucket) {
	for k := range b.parts {
		p := &b.parts[k]
		p.left = true
		if r.exchanges(p.whole.DType()) {
			r.shrinkTwo(p)
		} else {
			p.packed = r.narrow(p.whole.Shape())
		}
	}
}

// exchanges reports whether two ranks give each other all that they pack of gradients of dt, and
// compute the mean as they read it. As many bytes travel as where each adds up a half, and nothing is
// written to be read again.
func (r *reducer) exchanges(dt ir.DType) bool {
	return r.d.group.Size() == 2 && dt == ir.Float32
}

// shrinkTwo makes memory for what both ranks pack of a part.
func (r *reducer) shrinkTwo(p *part) {
	p.both = r.narrow(append([]int{2}, p.whole.Shape()...))
	p.packed = p.of(r.d.group.Rank())
}

// narrow is memory of the dtype that gradients travel in.
func (r *reducer) narrow(shape []int) tensor.Tensor {
	return tensor.Empty(shape, tensor.On(r.d.group.Device()), tensor.OfType(r.d.compress))
}

// pack converts what is reduced to the dtype that it travels in.
func (r *reducer) pack(b *bucket) error {
	for k := range b.parts {
		p := &b.parts[k]
		if !p.left && r.exchanges(p.whole.DType()) {
			r.shrinkTwo(p)
		}
		if p.packed == (tensor.Tensor{}) {
			p.packed = p.whole.ToType(r.d.compress)
		} else if err := p.packed.CopyFrom(p.whole); err != nil {
			return err
		}
	}
	return nil
}

// average gives a bucket to the group.
func (r *reducer) average(b *bucket) error {
	b.work = r.d.group.Batch(func(batch *Batch) {
		for _, p := range b.parts {
			if p.both != (tensor.Tensor{}) {
				batch.AllGather(p.both, p.packed)
			} else {
				batch.AllReduce(p.travels(), Average)
			}
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

// memory is what travels and comes.
func (p part) memory() tensor.Tensor {
	if p.both != (tensor.Tensor{}) {
		return p.both
	}
	return p.packed
}

// unpack waits for a bucket, and converts it back, but for what is left.
func (b *bucket) unpack() error {
	if err := b.work.Wait(context.Background()); err != nil {
		return err
	}
	for _, p := range b.parts {
		err := error(nil)
		switch {
		case p.left || p.packed == (tensor.Tensor{}):
		case p.both != (tensor.Tensor{}):
			err = tensor.Scope(func() error { return meanOfTwo(p.whole.Handle(), p.of(0).Handle(), p.of(1).Handle()) })
		default:
			err = p.whole.CopyFrom(p.packed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// left reports whether averages stay as they travelled, of all parts or of none.
func (b *bucket) left() bool { return len(b.parts) > 0 && b.parts[0].left }

// await has the current stream wait for all buckets, and unpacks them. Where averages stay as they travelled,
// parameters change in few kernels, elsewhere those of each bucket as it arrives: first
// those of half of the buckets, then of half of the others, and so on, so that what changes together is behind
// no more than what is still to come. The buckets' memory is then
// its alone again: released, it serves what comes next, and not what comes once the host
// finds that the other streams are done.
func (r *reducer) await() error {
	var arrived []*bucket // whose parameters are to change
	for i, b := range r.buckets {
		err := error(nil)
		if b.done != nil {
			err = stream.Current(r.d.group.Device()).WaitEvent(b.done)
		} else {
			err = b.unpack()
		}
		if arrived = append(arrived, b); err == nil && r.change != nil && (!b.left() || len(arrived) >= len(r.buckets)-1-i) {
			err = r.step(arrived)
			arrived = nil
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

// step changes the parameters of buckets by their gradients, which have arrived.
func (r *reducer) step(list []*bucket) error {
	var some []*nn.Parameter
	for _, b := range list {
		for _, i := range b.params {
			if err := r.give(i); err != nil {
				return err
			}
			some = append(some, r.d.params[i])
		}
	}
	err := r.change(some)
	if err != nil || graph.Current(r.d.group.Device()) == nil {
		return err
	}
	for _, p := range some {
		if h := p.Handle(); !h.GradRenews() { // no replay would say that it has another gradient
			if g := h.Grad(); g != nil {
				err = errors.Join(err, g.Err())
				g.Release()
			}
		}
	}
	return err
}

// give makes what was reduced for a parameter its gradient.
func (r *reducer) give(i int) (err error) {
	s, p := &r.places[i], r.d.params[i]
	from := part{}
	if len(s.bucket.parts) > 0 {
		from = s.bucket.parts[s.part]
	}
	switch {
	case !from.left:
		err = p.SetGrad(s.view)
	default:
		err = r.giveNarrow(i, from)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.d.names[i], err)
	}
	return nil
}

// giveNarrow makes what travelled of a part, or the parameter's place in it, its gradient.
func (r *reducer) giveNarrow(i int, from part) error {
	s, p := &r.places[i], r.d.params[i]
	return tensor.Scope(func() error {
		own := func(t tensor.Tensor) *core.Tensor {
			if s.at >= 0 {
				t = t.Narrow(0, s.at, p.NumElements()).View(p.Shape()...)
			}
			return t.Handle()
		}
		if from.both == (tensor.Tensor{}) {
			return p.Handle().SetNarrowGrad(own(from.packed), r.kept(i))
		}
		return p.Handle().SetMeanGrad(own(from.of(0)), own(from.of(1)), r.kept(i), meanOfTwo)
	})
}

// kept returns the memory that a parameter's gradient has in every pass; nil where it has none.
func (r *reducer) kept(i int) *core.Tensor {
	if r.apart(i) {
		return nil
	}
	return r.places[i].view.Handle()
}

// waited notes that the current stream waits for all that others do with the gradients.
func (r *reducer) waited() {
	for _, b := range r.buckets {
		for _, p := range b.parts {
			r.d.group.waited(p.whole)
			if p.left {
				r.d.group.waited(p.memory())
			}
			if r.aside.made {
				p.whole.Handle().Waited(r.aside.to)
				p.whole.Handle().Waited(r.aside.from)
				if p.left {
					p.memory().Handle().Waited(r.aside.to)
				}
			}
		}
	}
}

// letGo gives up what a pass has no use for any more when it is over.
func (r *reducer) letGo() {
	for _, b := range r.buckets {
		for _, p := range b.parts {
			p.packed.Release()
			p.both.Release()
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
		if err := r.pack(b); err != nil {
			return err
		}
		return r.average(b)
	})
	if err != nil {
		return err
	}
	left := b.parts[0].left // as all are
	if !left {
		err = a.from.Do(b.unpack)
		if err == nil {
			b.done, err = a.from.RecordEvent(nil)
		}
	}
	for _, p := range b.parts {
		uses := []tensor.Tensor{p.whole}
		if left {
			uses = append(uses, p.memory())
		}
		for _, t := range uses {
			err = errors.Join(err, t.RecordStream(a.to))
		}
		if left {
			continue
		}
		for _, t := range []tensor.Tensor{p.whole, p.memory()} {
			err = errors.Join(err, t.RecordStream(a.from))
		}
	}
	return err
}
