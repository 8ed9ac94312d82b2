package dist

import (
	"context"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// record takes the calls of a batch down in the program that the calling goroutine records,
// whose runs make them. The caller holds mu.
func (g *Group) record(b *Batch) *Work {
	defer b.release()
	d, drv, err := device.Find(g.Device())
	if err != nil {
		return &Work{err: g.named(err)}
	}
	x := &core.Exchange{Op: &ir.Op{Name: b.calls[0].Kind.String()}, Held: b.held, Device: d, Driver: drv, Err: g.Err, Abort: g.Abort}
	for _, c := range b.calls {
		if c.In.Given() {
			x.In = append(x.In, c.In)
		}
		if c.Out.Given() {
			x.Out = append(x.Out, c.Out)
		}
	}
	calls := b.calls
	x.Give = func(in, out []ir.View) (wait func() error, err error) { return g.again(calls, in, out) }
	w := &Work{}
	if w.recorded, err = core.RecordExchange(x); err != nil {
		w.err = g.named(err)
	}
	x.Held = nil
	return w
}

// again makes recorded calls with the memory of one run.
func (g *Group) again(calls []*collective.Call, in, out []ir.View) (wait func() error, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed.Load() {
		return nil, g.named(errLeft)
	}
	b := &Batch{group: g}
	for _, c := range calls {
		call := *c
		if c.In.Given() {
			call.In, in = in[0], in[1:]
		}
		if c.Out.Given() {
			call.Out, out = out[0], out[1:]
		}
		b.calls = append(b.calls, &call)
	}
	w := g.make(b)
	if w.done == nil && w.err != nil {
		return nil, w.err
	}
	return func() error { return w.Wait(context.Background()) }, nil
}
