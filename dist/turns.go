package dist

import (
	"context"
	"errors"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// besides is how many batches of an Overlapper have streams of their own at once.
const besides = 3

// Turns are the streams that batches take in turn where an engine lets them overlap. What else the
// group does is in the order of its one stream, after those before it and before those that follow.
type turns struct {
	list []turn
	next int
	give []func() // gives the streams back
}

// A turn is one of these streams.
type turn struct {
	stream stream.Stream
	ahead  bool // the group's stream does not follow what it was given
	behind bool // it does not follow what the group's stream was given
}

// streamOf returns the stream that a batch is given to.
func (g *Group) streamOf(b *Batch) (s stream.Stream, err error) {
	o, able := g.comm.(collective.Overlapper)
	if !able {
		return g.stream, nil
	}
	t := &g.turns
	if !o.Overlaps(stream.Current(g.Device()).ID(), b.calls...) {
		for i := range t.list {
			if t.list[i].ahead {
				err = errors.Join(err, g.follow(g.stream, t.list[i].stream))
			}
			t.list[i].ahead, t.list[i].behind = false, true
		}
		return g.stream, err
	}
	if len(t.list) == 0 {
		for range besides {
			s, give, err := takeStream(g.Device())
			if err != nil {
				return s, err
			}
			t.list, t.give = append(t.list, turn{stream: s, behind: true}), append(t.give, give)
		}
	}
	own := &t.list[t.next%len(t.list)]
	t.next++
	if own.behind {
		err = g.follow(own.stream, g.stream)
	}
	own.ahead, own.behind = true, false
	for _, h := range b.held {
		err = errors.Join(err, h.RecordStream(own.stream))
	}
	return own.stream, err
}

// follow has one of the group's streams wait for another one, unless that was given its work beside
// the capture that is under way.
func (g *Group) follow(s, other stream.Stream) error {
	d, drv, err := device.Find(g.Device())
	if err != nil {
		return err
	}
	k, able := drv.(device.Capturer)
	if able && k.CaptureOf(d.Index, other.ID()) != k.CaptureOf(d.Index, stream.Current(d).ID()) {
		return nil
	}
	return s.WaitStream(other)
}

// waited notes that the current stream waits for all that the group's streams do with a tensor.
func (g *Group) waited(t tensor.Tensor) {
	t.Handle().Waited(g.stream)
	for i := range g.turns.list {
		t.Handle().Waited(g.turns.list[i].stream)
	}
}

// end waits until the streams have nothing to do.
func (g *Group) end(ctx context.Context) error {
	err := g.stream.Synchronize(ctx)
	for i := range g.turns.list {
		err = errors.Join(err, g.turns.list[i].stream.Synchronize(ctx))
	}
	return err
}

// giveBack gives the streams back.
func (g *Group) giveBack() {
	g.give()
	for _, give := range g.turns.give {
		give()
	}
}
