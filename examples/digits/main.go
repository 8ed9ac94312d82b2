// Command digits trains a small convolutional network on handwritten digits,
// shows how it went, and saves the model, loads it again and tests it once more.
// It runs on a GPU where there is one and on the CPU elsewhere. Its last line is
// the accuracy on digits that training did not see.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/sinter-go/sinter/data/digits"
	"github.com/sinter-go/sinter/examples/digits/network"
	"github.com/sinter-go/sinter/examples/digits/report"
	"github.com/sinter-go/sinter/examples/settings"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/random"
)

// options are the command's flags.
type options struct {
	device string
	epochs int
	batch  int
	rate   float64
	seed   int64
	out    string
}

func main() {
	var s options
	flag.StringVar(&s.device, "device", "auto", "where to train: auto, cpu, cuda or cuda:N; auto takes a GPU where there is one")
	flag.IntVar(&s.epochs, "epochs", 14, "passes over the training images")
	flag.IntVar(&s.batch, "batch", 64, "images a step")
	flag.Float64Var(&s.rate, "rate", 4e-3, "highest learning rate")
	flag.Int64Var(&s.seed, "seed", 1, "of the split, the weights, the order and the dropout")
	flag.StringVar(&s.out, "out", ".", "directory for the plot and the model; made where there is none")
	settings.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, s); err != nil {
		slog.Error("digits", "error", err)
		os.Exit(1)
	}
}

// choose returns the device that a name stands for: "auto" is the best one
// there is, anything else must be there.
func choose(name string) (device.Device, error) {
	if name == "auto" {
		return device.Best(), nil
	}
	d, err := device.Parse(name)
	if err != nil {
		return device.Device{}, err
	}
	d, _, err = device.Find(d)
	return d, err
}

// describe names a device, an accelerator with its model.
func describe(dev device.Device) string {
	drv, err := device.DriverOf(dev.Kind)
	if err != nil || !dev.Accelerator() {
		return dev.String()
	}
	p, err := drv.Properties(dev.Index)
	if err != nil {
		return dev.String()
	}
	return fmt.Sprintf("%s, %s", dev, p.Name)
}

func run(ctx context.Context, w io.Writer, s options) error {
	if err := os.MkdirAll(s.out, 0o777); err != nil {
		return err
	}
	if s.epochs < 1 || s.batch < 1 {
		return errors.New("epochs and batch must be at least 1")
	}
	dev, err := choose(s.device)
	if err != nil {
		return err
	}
	random.Seed(s.seed)
	set, err := digits.Load()
	if err != nil {
		return err
	}
	train, test, err := set.Split(0.2, uint64(s.seed))
	if err != nil {
		return err
	}
	t, err := newTrainer(dev, train, test, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d images to learn from, %d to test on, %d parameters, on %s\n", train.Len(), test.Len(), nn.NumParameters(t.model), describe(dev))
	start := time.Now()
	history, err := t.fit(ctx, w)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "trained %d epochs in %.1f s\n\n", s.epochs, time.Since(start).Seconds())
	_, confusion, err := t.evaluate(t.test)
	if err != nil {
		return err
	}
	return finish(w, s, t, history, confusion)
}

// finish shows the run, saves the model and tests what was saved.
func finish(w io.Writer, s options, t *trainer, history report.History, confusion report.Confusion) error {
	if err := history.Print(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := confusion.Print(w); err != nil {
		return err
	}
	picture, file := filepath.Join(s.out, "digits.png"), filepath.Join(s.out, "digits.safetensors")
	if err := report.SavePNG(picture, "Handwritten digits", history, confusion); err != nil {
		return err
	}
	if err := t.model.Save(file); err != nil {
		return err
	}
	again, err := network.New(t.dev)
	if err != nil {
		return err
	}
	if err := again.Load(file); err != nil {
		return err
	}
	reloaded := *t
	reloaded.model = again
	_, second, err := reloaded.evaluate(t.test)
	if err != nil {
		return err
	}
	if second.Accuracy() != confusion.Accuracy() {
		return fmt.Errorf("the model loaded from %s has accuracy %.4f, the one saved %.4f", file, second.Accuracy(), confusion.Accuracy())
	}
	fmt.Fprintf(w, "\nplot: %s\nmodel: %s, which gives the same accuracy when loaded\n", picture, file)
	if t.dev.Accelerator() {
		fmt.Fprintf(w, "peak memory on %s: %.1f MiB\n", t.dev, float64(memory.MaxAllocated(t.dev))/(1<<20))
	}
	fmt.Fprintf(w, "test accuracy %.4f\n", second.Accuracy())
	return nil
}
