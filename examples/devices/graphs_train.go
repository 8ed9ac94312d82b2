package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/runtime/stream"
)

const batch, in, hidden, classes = 64, 32, 64, 10

// A trainer is a network, its optimizer, and where a step reads its batch and leaves
// its loss.
type trainer struct {
	dev    device.Device
	model  nn.Module
	opt    optim.Optimizer
	images tensor.Tensor
	labels tensor.Tensor
	loss   tensor.Tensor // one element
}

// newTrainer returns a trainer whose parameters follow from the seed.
func newTrainer(dev device.Device, seed int64) (*trainer, error) {
	random.Seed(seed)
	model := nn.NewSequential(nn.NewLinear(in, hidden), nn.ReLU(), nn.NewDropout(0.1), nn.NewLinear(hidden, classes))
	if err := nn.To(model, dev); err != nil {
		return nil, err
	}
	opt, err := optim.NewAdam(nn.Parameters(model), 1e-3)
	if err != nil {
		return nil, err
	}
	t := &trainer{
		dev: dev, model: model, opt: opt,
		images: tensor.Zeros([]int{batch, in}, tensor.On(dev)),
		labels: tensor.Zeros([]int{batch}, tensor.On(dev), tensor.OfType(tensor.Int64)),
		loss:   tensor.Zeros(nil, tensor.On(dev)),
	}
	return t, errors.Join(t.images.Err(), t.labels.Err(), t.loss.Err())
}

// load draws the next batch into the placeholders: images whose class is the place of
// their largest element, in one of the first ten places.
func (t *trainer) load() error {
	return tensor.Scope(func() error {
		x := tensor.Randn([]int{batch, in}, tensor.On(t.dev))
		return errors.Join(t.images.CopyFrom(x), t.labels.CopyFrom(x.Index(tensor.Whole, tensor.Range(0, classes)).Argmax(tensor.Dim(1))))
	})
}

// step gives the device one training step.
func (t *trainer) step() error {
	return tensor.Scope(func() error {
		loss := t.model.Forward(t.images).CrossEntropy(t.labels)
		if err := loss.Backward(); err != nil {
			return err
		}
		return errors.Join(t.opt.Step(), t.loss.CopyFrom(loss.Detach()))
	})
}

// eager makes a step without a graph.
func (t *trainer) eager() error { return errors.Join(t.opt.ZeroGrad(), t.step()) }

// results are what compare finds.
type results struct {
	nodes           int
	eager, replayed time.Duration // a step
	losses          [2]float64    // of the last step, without and with a graph
	difference      float64       // largest, between parameters
}

// compare trains two networks that begin alike on the same batches.
func compare(dev device.Device, steps int) (r results, err error) {
	const seed = 1
	plain, err := newTrainer(dev, seed)
	if err != nil {
		return r, err
	}
	if r.eager, err = plain.train(steps, plain.eager); err != nil {
		return r, err
	}
	graphed, err := newTrainer(dev, seed)
	if err != nil {
		return r, err
	}
	g := graph.New(dev)
	if r.replayed, err = graphed.train(steps, func() error {
		if g.Nodes() > 0 {
			return g.Replay()
		}
		// What the optimizer keeps is made by a first step. Without gradients to begin
		// with, the captured step writes its own instead of adding to them.
		if err := graphed.eager(); err != nil {
			return err
		}
		return errors.Join(graphed.opt.ZeroGrad(), g.Capture(graphed.step))
	}); err != nil {
		return r, err
	}
	r.nodes = g.Nodes()
	if err := g.Reset(); err != nil {
		return r, err
	}
	if err := r.weigh(plain, graphed); err != nil {
		return r, err
	}
	return r, nil
}

// train makes steps and returns the time of one; the first, which is slower, does
// not count.
func (t *trainer) train(steps int, step func() error) (time.Duration, error) {
	var began time.Time
	for i := range steps {
		if i == 1 {
			if err := stream.Synchronize(context.Background(), t.dev); err != nil {
				return 0, err
			}
			began = time.Now()
		}
		if err := errors.Join(t.load(), step()); err != nil {
			return 0, err
		}
	}
	err := stream.Synchronize(context.Background(), t.dev)
	return time.Since(began) / time.Duration(steps-1), err
}

// weigh compares what two trainers have become.
func (r *results) weigh(a, b *trainer) error {
	for i, t := range []*trainer{a, b} {
		loss, err := t.loss.Item()
		if err != nil {
			return err
		}
		r.losses[i] = loss
	}
	p, q := a.opt.Parameters(), b.opt.Parameters()
	for i := range p {
		far, err := p[i].Detach().Sub(q[i].Detach()).Abs().Max().Item()
		if err != nil {
			return err
		}
		r.difference = math.Max(r.difference, far)
	}
	return nil
}
