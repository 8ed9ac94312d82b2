package main

import (
	"context"
	"fmt"
	"io"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/data/digits"
	"github.com/sinter-go/sinter/examples/digits/network"
	"github.com/sinter-go/sinter/examples/digits/report"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
)

// trainer holds what a training run is made of.
type trainer struct {
	dev      device.Device
	epochs   int
	model    *network.Network
	train    *data.Loader // shuffled batches
	known    *data.Loader // the same images, for measuring
	test     *data.Loader
	optimize optim.Optimizer
	schedule *optim.Scheduler
}

func newTrainer(dev device.Device, train, test digits.Set, s options) (*trainer, error) {
	m, err := network.New(dev)
	if err != nil {
		return nil, err
	}
	t := &trainer{dev: dev, epochs: s.epochs, model: m}
	for _, part := range []struct {
		set     digits.Set
		shuffle bool
		batch   int
		into    **data.Loader
	}{{train, true, s.batch, &t.train}, {train, false, 256, &t.known}, {test, false, 256, &t.test}} {
		set, err := dataset(part.set)
		if err != nil {
			return nil, err
		}
		*part.into = &data.Loader{Dataset: set, BatchSize: part.batch, Shuffle: part.shuffle, Prefetch: 2, Device: dev}
	}
	adam, err := optim.NewAdamW(nn.Parameters(m), s.rate, optim.WeightDecay(0.01))
	if err != nil {
		return nil, err
	}
	steps := s.epochs * t.train.Len()
	t.optimize, t.schedule = adam, optim.NewScheduler(adam, optim.OneCycle(steps/5, steps, 0.1, 0.01))
	return t, nil
}

// dataset returns the images as float32 [n, 1, 8, 8] from 0 to 1, with their labels.
func dataset(s digits.Set) (data.Dataset, error) {
	images := tensor.From(s.Images, s.Len(), 1, digits.Side, digits.Side).ToType(tensor.Float32).DivScalar(digits.Max)
	return data.Tensors(images, tensor.From(s.Labels).ToType(tensor.Int64))
}

// epoch makes one pass over the training images.
func (t *trainer) epoch(ctx context.Context, progress *report.Progress) error {
	nn.Train(t.model)
	for batch, err := range t.train.Epoch(ctx) {
		if err != nil {
			return err
		}
		loss, err := t.step(batch[0], batch[1])
		if err != nil {
			return err
		}
		progress.Step(fmt.Sprintf("loss %.3f", loss))
	}
	return nil
}

// step improves the model by one batch and returns the loss before.
func (t *trainer) step(images, labels tensor.Tensor) (float64, error) {
	loss, err := optim.Minimize(t.optimize, func() tensor.Tensor {
		return t.model.Forward(images).CrossEntropy(labels)
	})
	if err != nil {
		return 0, err
	}
	t.schedule.Step()
	return loss.Item()
}

// fit makes all passes over the training images and measures after each.
func (t *trainer) fit(ctx context.Context, w io.Writer) (report.History, error) {
	var history report.History
	progress := report.NewProgress(w, t.epochs*t.train.Len(), "training")
	defer progress.Close()
	for range t.epochs {
		if err := t.epoch(ctx, progress); err != nil {
			return history, err
		}
		trainLoss, known, err := t.evaluate(t.known)
		if err != nil {
			return history, err
		}
		testLoss, unseen, err := t.evaluate(t.test)
		if err != nil {
			return history, err
		}
		history.Add(trainLoss, testLoss, known.Accuracy(), unseen.Accuracy())
	}
	return history, nil
}

// evaluate returns the mean loss over a loader's images and what each digit was
// taken for.
func (t *trainer) evaluate(images *data.Loader) (loss float64, confusion report.Confusion, err error) {
	confusion = report.NewConfusion("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
	nn.Eval(t.model)
	total := 0
	err = tensor.NoGrad(func() error {
		for batch, err := range images.Epoch(context.Background()) {
			if err != nil {
				return err
			}
			sum, err := tensor.ScopeValue(func() (float64, error) { return t.measure(batch[0], batch[1], confusion) })
			if err != nil {
				return err
			}
			loss += sum
			total += batch[1].NumElements()
		}
		return nil
	})
	return loss / float64(total), confusion, err
}

// measure adds one batch to the confusion matrix and returns its summed loss.
func (t *trainer) measure(images, labels tensor.Tensor, confusion report.Confusion) (float64, error) {
	scores := t.model.Forward(images)
	predicted, err := tensor.Data[int64](scores.Argmax(tensor.Dim(1)))
	if err != nil {
		return 0, err
	}
	actual, err := tensor.Data[int64](labels)
	if err != nil {
		return 0, err
	}
	for i, p := range predicted {
		if err := confusion.Add(int(actual[i]), int(p)); err != nil {
			return 0, err
		}
	}
	mean, err := scores.CrossEntropy(labels).Item()
	return mean * float64(len(actual)), err
}
